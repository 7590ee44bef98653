"""Graphs for the tests of coarsening."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

Edge = tuple[int, int, float]


def graph_of(n: int, edges: Sequence[Edge]) -> sp.csr_array:
    """The symmetric adjacency of edges between 0..n-1; (i, i, w) is a self-loop."""
    dense = np.zeros((n, n))
    for i, j, weight in edges:
        dense[i, j] = dense[j, i] = weight
    return sp.csr_array(dense)


def real_graph(n: int, density: float, seed: int) -> sp.csr_array:
    """Random edges with real weights, of which no two sums are alike."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < density, 1) * rng.uniform(0.1, 10.0, (n, n))
    return sp.csr_array(upper + upper.T)


@st.composite
def integer_graphs(draw: st.DrawFn, max_nodes: int = 18) -> sp.csr_array:
    """Small graphs with integer weights, so that sums are exact, rich in ties, twins, self-loops and isolated nodes."""
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node, st.integers(1, 4).map(float)), max_size=3 * n))
    return graph_of(n, edges)


@st.composite
def real_graphs(draw: st.DrawFn) -> sp.csr_array:
    """Graphs without ties."""
    return real_graph(draw(st.integers(1, 40)), draw(st.sampled_from([0.02, 0.1, 0.4])), draw(st.integers(0, 10**6)))
