"""Numba helpers that several packages share: the decorator, a hash, CSR arrays and threads."""
