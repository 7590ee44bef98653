"""The paper's Section 4 and further experiments as data, a runner, a store, and the pages made from it.

`graphs` and `methods` have the graphs and methods that only they need.

Read `experiment.py` first (what an experiment is), then `experiments.py`, `store.py`, `runner.py` and `claims.py`.
"""
