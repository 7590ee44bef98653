"""PPMI against a dense calculation by hand."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.model.baselines import ppmi as module
from hiergcn.model.baselines.ppmi import co_occurrence, ppmi, symmetrically_normalised


def dense_ppmi(counts: np.ndarray, shift: float) -> np.ndarray:
    result = np.zeros_like(counts, dtype=float)
    total = counts.sum()
    for i in range(len(counts)):
        for j in range(len(counts)):
            if counts[i, j]:
                information = math.log(total * counts[i, j] / (counts[i].sum() * counts[:, j].sum()))
                result[i, j] = max(0.0, information - math.log(shift))
    return result


@pytest.mark.parametrize("shift", [1.0, 1.5])
def test_ppmi_is_the_formula(shift: float) -> None:
    counts = np.array([[4, 6, 0, 1], [6, 2, 3, 0], [0, 3, 9, 0], [1, 0, 0, 0]])
    P = ppmi(sp.csr_array(counts), shift)
    expected = dense_ppmi(counts, shift)
    np.testing.assert_allclose(P.toarray(), expected)
    assert P.nnz == np.count_nonzero(expected)  # what falls to 0 has no entry
    assert P.nnz < np.count_nonzero(counts)


def test_normalisation_is_symmetric_and_leaves_an_empty_row() -> None:
    P = sp.csr_array(np.array([[1.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    root = np.array([4.0, 3.0])
    expected = np.zeros((3, 3))
    expected[:2, :2] = P.toarray()[:2, :2] / np.sqrt(np.outer(root, root))
    np.testing.assert_allclose(symmetrically_normalised(P).toarray(), expected)


def test_counts_of_a_pair_of_nodes() -> None:
    """Two nodes and an edge: a walk of two nodes stays with probability 1/2, whatever loop the node had."""
    for loop in (0.0, 7.0):
        counts = co_occurrence(sp.csr_array(np.array([[loop, 1.0], [1.0, 0.0]])), 4000, 2, np.random.default_rng(0))
        stayed, crossed = counts.diagonal(), counts.toarray()[0, 1]
        np.testing.assert_allclose(stayed, 2000, atol=160)
        assert stayed.sum() + crossed == 8000  # each walk counts once
        assert counts.toarray()[1, 0] == crossed


def test_counts_take_every_pair_of_places_on_a_walk() -> None:
    """A node alone stays where it is: 3 places make 3 pairs a walk."""
    counts = co_occurrence(sp.csr_array((1, 1)), 5, 3, np.random.default_rng(0))
    assert counts.toarray().tolist() == [[15]]


def test_counts_are_of_neighbours_and_do_not_change_with_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = planted_graph(200, seed=4).adjacency
    counts = co_occurrence(adjacency, 40, 2, np.random.default_rng(1))
    np.testing.assert_array_equal(counts.toarray(), counts.toarray().T)
    reachable = (adjacency + sp.eye_array(200)) > 0
    assert (counts.astype(bool) > reachable).nnz == 0
    monkeypatch.setattr(module, "_PAIRS_AT_ONCE", 1)
    in_pieces = co_occurrence(adjacency, 40, 2, np.random.default_rng(1))
    assert in_pieces.sum() == pytest.approx(counts.sum(), rel=0.02)


def test_bad_input_is_refused() -> None:
    two = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    with pytest.raises(InputError, match="walks is 0"):
        co_occurrence(two, 0, 2, np.random.default_rng(0))
    with pytest.raises(InputError, match="length is 1"):
        co_occurrence(two, 1, 1, np.random.default_rng(0))
    with pytest.raises(InputError, match="shift is 0"):
        ppmi(two, 0)
