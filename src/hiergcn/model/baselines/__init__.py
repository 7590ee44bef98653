"""Baselines, one file each.

A new baseline needs three things: a file here with NAMEConfig (a frozen dataclass of settings) and NAMEMethod (most
inherit `FlatMethod` and name their network), an entry in `model/registry.py`, and `recipes/<name>/default.toml`. Then
every command accepts it, and `tests/model/test_contract.py` tests it as it tests all methods. `gcn.py` is an example.
"""
