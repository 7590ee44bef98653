"""Positive pointwise mutual information of nodes that meet on short random walks (Zhuang & Ma, WWW 2018, Section 3.2).

With c_ij the number of times that i and j stand on the same walk, r_i = Σ_j c_ij and N = Σ_i r_i,

    P_ij = max(0, log(N c_ij / (r_i r_j)) - log k),        then P̂ = D^-1/2 P D^-1/2 with D the row sums of P.

All of it stays sparse: a pair that never meets has no entry.
"""

import numpy as np
import scipy.sparse as sp

from hiergcn.errors import InputError
from hiergcn.model.baselines.walks import NOWHERE, Walker

_PAIRS_AT_ONCE = 1 << 23  # bounds the memory that counting needs beside the counts


def co_occurrence(adjacency: sp.csr_array, walks: int, length: int, rng: np.random.Generator) -> sp.csr_array:
    """c: symmetric counts of pairs over `walks` walks of `length` nodes from each node, on the graph with self-loops.

    Each unordered pair of places on a walk counts once for (i, j) and once for (j, i), once in all if i = j.
    """
    for name, value, least in (("walks", walks, 1), ("length", length, 2)):
        if value < least:
            raise InputError(f"{name} is {value!r}; give a whole number of at least {least}.")
    n = adjacency.shape[0]
    walker = Walker.on(_with_self_loops(adjacency))
    places = np.triu_indices(length, 1)
    at_once = max(1, _PAIRS_AT_ONCE // (n * len(places[0])))
    met = sp.csr_array((n, n), dtype=np.int64)
    for begun in range(0, walks, at_once):
        starts = np.tile(np.arange(n), min(at_once, walks - begun))
        made = walker.walks(starts, length, int(rng.integers(2**63)))
        source, target = (made[:, place].ravel() for place in places)
        there = target != NOWHERE
        ones = np.ones(np.count_nonzero(there), dtype=np.int64)
        met = met + sp.coo_array((ones, (source[there], target[there])), shape=(n, n)).tocsr()
    loops = sp.diags_array(met.diagonal(), format="csr", dtype=np.int64)
    both = sp.csr_array(met + met.T - loops)
    both.eliminate_zeros()
    return both


def ppmi(counts: sp.csr_array, shift: float = 1.0) -> sp.csr_array:
    """P of symmetric counts; `shift` is k."""
    if not shift > 0:
        raise InputError(f"shift is {shift!r}; give a number above 0.")
    totals = np.asarray(counts.sum(axis=1), dtype=np.float64)
    coo = counts.tocoo()
    values = np.log(totals.sum() * coo.data / (totals[coo.row] * totals[coo.col])) - np.log(shift)
    kept = values > 0
    return sp.csr_array((values[kept], (coo.row[kept], coo.col[kept])), shape=counts.shape)


def symmetrically_normalised(matrix: sp.csr_array) -> sp.csr_array:
    """D^-1/2 P D^-1/2; an empty row stays empty."""
    degree = np.asarray(matrix.sum(axis=1), dtype=np.float64)
    inverse_root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    rows = np.repeat(inverse_root, np.diff(matrix.indptr))
    values = matrix.data * (rows * inverse_root[matrix.indices])  # this order keeps (i, j) equal to (j, i)
    return sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _with_self_loops(adjacency: sp.csr_array) -> sp.csr_array:
    """Each node also stays where it is with weight 1, whatever loop it had."""
    coo = adjacency.tocoo()
    apart = coo.row != coo.col
    others = sp.csr_array((coo.data[apart], (coo.row[apart], coo.col[apart])), shape=adjacency.shape)
    return sp.csr_array(others + sp.eye_array(adjacency.shape[0], format="csr"))
