"""Baselines, one file each.

A new baseline needs a file here with NAMEConfig (a frozen dataclass of settings) and NAMEMethod (most inherit
`FlatMethod` and name their network), a call of `register_method` at the end of `settings/methods.py`, and
`recipes/NAME/default.toml` if it has a recipe. Then every command accepts it, and `tests/model/test_contract.py` tests
it as it tests all methods. docs/contributing.md has a complete example.
"""
