"""Numba helpers that several packages share: the decorator, CSR arrays, hashing and threads."""
