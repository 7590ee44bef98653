"""Kernels in numba or plain Python, and what several packages share of them: a hash, CSR arrays and threads."""
