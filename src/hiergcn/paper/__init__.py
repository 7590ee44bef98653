"""The paper's Section 4 as data, a runner that does what is missing, and a store that keeps what is done.

Read `plan.py` first (what an experiment is), then `paper.py` (the paper's), `store.py` and `runner.py`.
"""
