"""Walks against the transition probabilities of the graph."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.compiled import threads
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.model.baselines.walks import NOWHERE, Walker


def weighted_graph() -> sp.csr_array:
    """Four nodes on a weighted path with a chord, and one alone."""
    dense = np.zeros((5, 5))
    for i, j, weight in ((0, 1, 1.0), (1, 2, 3.0), (2, 3, 0.5), (0, 2, 2.0)):
        dense[i, j] = dense[j, i] = weight
    return sp.csr_array(dense)


def test_walks_begin_at_their_starts_and_stay_on_edges() -> None:
    adjacency = planted_graph(300, seed=1).adjacency
    starts = np.arange(300)[::-1]
    walks = Walker.on(adjacency).walks(starts, 12, seed=3)
    assert walks.shape == (300, 12)
    np.testing.assert_array_equal(walks[:, 0], starts)
    edges = {(int(i), int(j)) for i, j in zip(*adjacency.nonzero(), strict=True)}
    moving = walks[np.diff(adjacency.indptr)[starts] > 0]
    assert {(int(i), int(j)) for walk in moving for i, j in pairwise(walk)} <= edges


def test_a_step_is_drawn_in_proportion_to_the_weight() -> None:
    adjacency = weighted_graph()
    steps = Walker.on(adjacency).walks(np.full(60_000, 2), 2, seed=0)[:, 1]
    share = np.bincount(steps, minlength=5) / len(steps)
    expected = adjacency.toarray()[2] / adjacency.toarray()[2].sum()
    np.testing.assert_allclose(share, expected, atol=0.01)  # five standard deviations


def test_visits_approach_the_stationary_distribution() -> None:
    adjacency = weighted_graph()
    walks = Walker.on(adjacency).walks(np.full(3000, 3), 60, seed=5)
    share = np.bincount(walks[:, 20:].ravel(), minlength=5) / walks[:, 20:].size
    strength = adjacency.sum(axis=1)
    np.testing.assert_allclose(share, strength / strength.sum(), atol=0.012)


def test_steps_of_a_walk_and_of_different_walks_are_independent() -> None:
    """On the complete graph of 3 nodes every triple of steps is equally likely."""
    triangle = sp.csr_array(np.ones((3, 3)) - np.eye(3))
    walks = Walker.on(triangle).walks(np.zeros(40_000, dtype=int), 4, seed=8)
    turns = (np.diff(walks, axis=1) % 3 == 1) @ np.array([4, 2, 1])
    np.testing.assert_allclose(np.bincount(turns, minlength=8) / len(turns), 1 / 8, atol=0.01)
    first = walks[:, 1] == 1
    assert abs(np.mean(first[:-1] == first[1:]) - 0.5) < 0.02


def test_a_node_alone_goes_nowhere() -> None:
    walk = Walker.on(weighted_graph()).walks(np.array([4]), 3, seed=0)
    assert walk.tolist() == [[4, NOWHERE, NOWHERE]]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_walks_repeat_whatever_the_number_of_threads(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    walker = Walker.on(planted_graph(400, seed=2).adjacency)
    starts = np.tile(np.arange(400), 10)
    expected = walker.walks(starts, 30, seed=11)
    monkeypatch.setattr(threads, "thread_count", lambda: count)
    monkeypatch.setattr(threads, "SMALL", 1)
    np.testing.assert_array_equal(walker.walks(starts, 30, seed=11), expected)
    assert not np.array_equal(walker.walks(starts, 30, seed=12), expected)


def test_bad_input_is_refused() -> None:
    walker = Walker.on(weighted_graph())
    with pytest.raises(InputError, match="give a length of at least 1"):
        walker.walks(np.array([0]), 0, seed=0)
    with pytest.raises(InputError, match="outside the nodes 0 to 4"):
        walker.walks(np.array([5]), 3, seed=0)
    with pytest.raises(InputError, match="finite and not negative"):
        Walker.on(sp.csr_array(np.array([[0.0, -1.0], [-1.0, 0.0]])))
