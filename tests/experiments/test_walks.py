"""Walks against the transition probabilities of the graph, and the pairs drawn from them."""

from itertools import islice, pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.compiled import jit
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn_experiments.methods.walks import Contexts, Walker, graph_contexts, label_contexts


def weighted_graph() -> sp.csr_array:
    """Four nodes on a weighted path with a chord, and one isolated node."""
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


def test_steps_of_a_walk_and_of_different_walks_are_independent() -> None:
    """On the complete graph of 3 nodes every triple of steps is equally likely."""
    triangle = sp.csr_array(np.ones((3, 3)) - np.eye(3))
    walks = Walker.on(triangle).walks(np.zeros(40_000, dtype=int), 4, seed=8)
    turns = (np.diff(walks, axis=1) % 3 == 1) @ np.array([4, 2, 1])
    np.testing.assert_allclose(np.bincount(turns, minlength=8) / len(turns), 1 / 8, atol=0.01)
    first = walks[:, 1] == 1
    assert abs(np.mean(first[:-1] == first[1:]) - 0.5) < 0.02


@pytest.mark.parametrize("count", [1, 2, 7])
def test_walks_repeat_whatever_the_number_of_threads(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    walker = Walker.on(planted_graph(400, seed=2).adjacency)
    starts = np.tile(np.arange(400), 10)
    expected = walker.walks(starts, 30, seed=11)
    monkeypatch.setattr(jit, "thread_count", lambda: count)
    monkeypatch.setattr(jit, "SMALL", 1)
    np.testing.assert_array_equal(walker.walks(starts, 30, seed=11), expected)
    assert not np.array_equal(walker.walks(starts, 30, seed=12), expected)


def test_bad_input_is_refused() -> None:
    walker = Walker.on(weighted_graph())
    with pytest.raises(InputError, match="Walk length must be at least 1"):
        walker.walks(np.array([0]), 0, seed=0)
    with pytest.raises(InputError, match="must start at nodes 0 to 4"):
        walker.walks(np.array([5]), 3, seed=0)
    with pytest.raises(InputError, match="finite, non-negative"):
        Walker.on(sp.csr_array(np.array([[0.0, -1.0], [-1.0, 0.0]])))


def pairs_of(batch: Contexts) -> dict[tuple[int, int], int]:
    nodes = batch.nodes[batch.row].tolist()
    return dict(zip(zip(nodes, batch.context.tolist(), strict=True), batch.count.tolist(), strict=True))


def test_a_batch_counts_its_pairs() -> None:
    batch = Contexts.of(np.array([7, 2, 7, 7]), np.array([0, 7, 0, 3]))
    assert batch.nodes.tolist() == [2, 7]
    assert pairs_of(batch) == {(2, 7): 1, (7, 0): 2, (7, 3): 1}


def test_graph_contexts_are_near_on_a_walk() -> None:
    """Two nodes and an edge: a walk of 3 steps goes back and forth; the isolated node has no context."""
    walker = Walker.on(sp.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])))
    batch = next(graph_contexts(walker, 3, 3, 1, np.random.default_rng(0)))
    assert pairs_of(batch) == {(0, 0): 4, (0, 1): 6, (1, 0): 6, (1, 1): 4}
    wider = next(graph_contexts(walker, 3, 3, 3, np.random.default_rng(0)))
    assert sum(pairs_of(wider).values()) == 2 * 16


@pytest.mark.parametrize("negatives", [0, 3])
def test_contexts_of_labels_are_of_the_class_and_negative_samples_of_others(negatives: int) -> None:
    nodes, classes = np.array([3, 8, 5, 1, 6]), np.array([0, 1, 0, 2, 1])
    label, seen = dict(zip(nodes.tolist(), classes.tolist(), strict=True)), set()
    for batch in islice(label_contexts(nodes, classes, 50, np.random.default_rng(0), negatives), 3):
        assert (batch.count[batch.count > 0].sum(), batch.count[batch.count < 0].sum()) == (50, -50 * negatives)
        signs = (batch.count > 0).tolist()
        seen |= set(zip(batch.nodes[batch.row].tolist(), batch.context.tolist(), signs, strict=True))
    pairs = {(i, j, label[i] == label[j]) for i in label for j in label}
    assert seen == (pairs if negatives else {pair for pair in pairs if pair[2]})
