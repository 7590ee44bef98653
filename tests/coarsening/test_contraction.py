"""A' = MᵀAM: the sums, and the precision they are kept in."""

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

from hiergcn.coarsening.contraction import contract
from hiergcn.coarsening.matching import match_most_similar
from hiergcn.compiled.csr import Rows, matrix_of, rows_of


def whole_graph(n: int, density: float, seed: int, largest: int = 9) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.integers(1, largest + 1, (n, n)) * (rng.random((n, n)) < density))
    return sp.csr_array((weights + weights.T).astype(np.float64))


def grouping(n: int, n_coarse: int, seed: int) -> npt.NDArray[np.int32]:
    """Any grouping that leaves no hyper-node empty."""
    rng = np.random.default_rng(seed)
    return rng.permutation(np.r_[np.arange(n_coarse), rng.integers(n_coarse, size=n - n_coarse)]).astype(np.int32)


def product(adjacency: sp.csr_array, group: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    M = np.eye(group.max() + 1)[group]
    made: npt.NDArray[np.float64] = M.T @ adjacency.toarray() @ M
    return made


@pytest.mark.parametrize(
    ("n", "n_coarse", "density"), [(40, 11, 0.2), (300, 150, 0.9), (300, 3, 0.5), (500, 499, 0.02)]
)
def test_counts_are_summed_exactly_in_single_precision(n: int, n_coarse: int, density: float) -> None:
    adjacency, group = whole_graph(n, density, seed=n), grouping(n, n_coarse, seed=n_coarse)
    made = matrix_of(contract(rows_of(adjacency), group, n_coarse))
    assert made.dtype == np.float32
    assert np.array_equal(made.toarray(), product(adjacency, group))


@pytest.mark.parametrize("divisor", [1, 8])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rows_made_by_several_threads(monkeypatch: pytest.MonkeyPatch, threads: int, divisor: int) -> None:
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", threads)
    monkeypatch.setattr("hiergcn.compiled.jit.SMALL", 0)
    adjacency, group = sp.csr_array(whole_graph(200, 0.1, seed=0) / divisor), grouping(200, 90, seed=1)
    made = matrix_of(contract(rows_of(adjacency), group, 90))
    assert np.array_equal(made.toarray(), product(adjacency, group))


def test_a_single_fraction_keeps_double_precision() -> None:
    dense = whole_graph(30, 0.3, seed=0).toarray()
    dense[3, 29] = dense[29, 3] = 2.5
    adjacency, group = sp.csr_array(dense), grouping(30, 9, seed=1)
    made = matrix_of(contract(rows_of(adjacency), group, 9))
    assert made.dtype == np.float64
    assert np.array_equal(made.toarray(), product(adjacency, group))  # halves are exact in any order


@pytest.mark.parametrize(("largest", "kind"), [(2**23, np.float32), (2**23 + 1, np.float64)])
def test_sums_beyond_single_precision_keep_double(largest: int, kind: type) -> None:
    """Two nodes in one hyper-node: its self-loop is the edge, counted from either end."""
    adjacency = sp.csr_array(np.array([[0.0, largest], [largest, 0.0]]))
    made = contract(rows_of(adjacency), np.zeros(2, np.int32), 1)
    assert made.data.dtype == kind
    assert made.data.tolist() == [2.0 * largest]


def test_matching_compares_squares_that_single_precision_cannot_hold() -> None:
    """s² = 4097² / D of one neighbour against 4096² / D': told apart in double precision alone."""
    weights, scale = np.zeros((3, 3)), np.array([1.0, 4097.0**2, 4096.0**2 + 0.5])
    weights[0, 1:] = weights[1:, 0] = [4097.0, 4096.0]
    rows = rows_of(sp.csr_array(weights))
    narrow = Rows(rows.indptr, rows.indices, rows.data.astype(np.float32))
    for given in (rows, narrow):
        head = np.arange(3, dtype=np.int32)
        match_most_similar(given, np.array([0, 2, 1], np.int32), scale, np.ones(3, np.int64), None, head)
        assert head.tolist() == [0, 0, 2]
