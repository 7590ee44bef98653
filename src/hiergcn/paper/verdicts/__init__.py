"""Each sentence of the paper that claims a result, judged by our runs: read `statements.py` first."""
