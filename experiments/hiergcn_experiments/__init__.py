"""The paper's Section 4 and further experiments as data, a runner, a store, and the pages made from it.

`graphs` and `methods` have the graphs and methods that only they need.

Read `experiment.py` first (what experiments and studies are), then `studies/numbers.py` (a study in a file),
`store.py`, `results.py`, `page.py`, `display.py` and `runner.py`. `paper` has the paper's experiments, its claims and
their judges.
"""
