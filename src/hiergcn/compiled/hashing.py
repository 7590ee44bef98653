"""A hash of 64-bit integers, for neighbour sets and for random draws per pair of nodes."""

import numpy as np

from hiergcn.compiled.jit import kernel


@kernel
def mix(x: np.uint64) -> np.uint64:
    """Return the finaliser of splitmix64: a bijection of the 64-bit integers that spreads every bit."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
