"""Splits keep their parts apart and refuse what a model cannot learn from."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split


def test_parts_are_sorted_int64_and_read_only() -> None:
    split = Split(np.array([3, 1], np.int32), np.array([0]), np.array([]))
    assert split.train.tolist() == [1, 3]
    assert split.train.dtype == split.test.dtype == np.int64
    assert repr(split) == "Split(train=2, validation=1, test=0)"
    with pytest.raises(ValueError, match="read-only"):
        split.train[0] = 9


def test_masks_and_indices_give_the_same_split() -> None:
    split = Split.from_masks([True, False, False, False], [False, True, False, False], [False, False, False, True])
    assert [part.tolist() for part in (split.train, split.validation, split.test)] == [[0], [1], [3]]
    with pytest.raises(InputError, match="validation mask"):
        Split.from_masks([True, False], [True], [False, False])
    with pytest.raises(InputError, match="train mask"):
        Split.from_masks([1, 0], [False, True], [False, False])


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (([0, 1], [1], [2]), "Node 1 is in train and in validation"),
        (([0], [1], [0]), "Node 0 is in train and in test"),
        (([0], [1], [2, 3], [3, 4]), "Node 3 is in test and in calibration"),
        (([0, 0], [1], [2]), "The train part names node 0 twice"),
        (([0], [-1], [2]), "The validation part names node -1"),
        (([0.5], [1], [2]), "The train part must be a list of node numbers"),
        (([[0]], [1], [2]), "The train part must be a list of node numbers"),
    ],
)
def test_bad_parts(parts: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Split(*parts)


labelings = st.lists(st.integers(-1, 3), min_size=20, max_size=80)


@given(labelings, st.integers(0, 5))
@settings(max_examples=100, deadline=None)
def test_random_splits(labels: list[int], seed: int) -> None:
    array = np.array(labels)
    classes, sizes = np.unique(array[array >= 0], return_counts=True)
    if classes.size == 0 or sizes.min() < 2 or sizes.sum() - 2 * classes.size < 5:
        with pytest.raises(InputError):
            Split.random(labels, per_class=2, validation=5, seed=seed)
        return
    split = Split.random(labels, per_class=2, validation=5, seed=seed)
    assert np.bincount(array[split.train])[classes].tolist() == [2] * classes.size
    assert split.validation.size == 5
    together = np.concatenate([split.train, split.validation, split.test])
    assert sorted(together.tolist()) == np.flatnonzero(array >= 0).tolist()
    again = Split.random(labels, per_class=2, validation=5, seed=seed)
    assert (again.train == split.train).all()
    assert (again.validation == split.validation).all()


@pytest.mark.parametrize(
    ("labels", "options", "sentence"),
    [
        ([-1, -1], {}, "No node has a label"),
        ([0] * 30 + [1] * 3, {}, "Class 1 has 3 labelled nodes, too few for 20"),
        ([0] * 30 + [1] * 30, {}, "20 remain, but validation and test need 500"),
        ([0] * 30 + [1] * 30, {"validation": 10, "test": 20}, "20 remain, but validation and test need 30"),
        ([0, 1], {"per_class": 0}, "at least 1"),
        ([0, 1], {"validation": -1}, "negative"),
        ([0, 1], {"test": -1}, "negative"),
    ],
)
def test_random_says_what_is_too_small(labels: list[int], options: dict[str, int], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Split.random(labels, **options)


def graph_with(labels: list[int] | None) -> Graph:
    return Graph(sp.csr_array((6, 6)), labels=None if labels is None else np.array(labels), name="six")


@pytest.mark.parametrize(
    ("labels", "parts", "sentence"),
    [
        (None, ([0], [1], [2]), "six has no labels"),
        ([-1] * 6, ([0], [1], [2]), "six has no labels"),
        ([0] * 6, ([0], [1], [2]), "Every label of six is '0'"),
        ([0, 1, 0, 1, 0, 1], ([0, 1], [2], [6]), "The test part names node 6, but six has 6 nodes"),
        ([0, 1, -1, 1, 0, 1], ([0, 1], [2], [3]), "The validation part names node 2 without a label"),
        ([0, 1, 0, 2, 0, 1], ([0, 1], [2], [3]), "No training node has class '2'"),
        ([0, 1, 0, 1, 0, 1], ([], [2], [3]), "train part of the split is empty"),
        ([0, 1, 0, 1, 0, 1], ([0, 1], [], [3]), "validation part of the split is empty"),
    ],
)
def test_check_refuses_the_rest(labels: list[int] | None, parts: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Split(*parts).check(graph_with(labels))


def by_id(labels: Any, seed: int = 0, **given: Any) -> Split:
    return Split.by_id(labels, np.array([f"node {k}" for k in range(len(labels))]), seed=seed, **given)


@pytest.mark.parametrize("draw", [Split.holdout, by_id])
def test_holdout_keeps_every_class_to_train_and_spends_few_labels_on_tests(draw: Callable[..., Split]) -> None:
    labels = np.array([0] * 20 + [1] * 4 + [2] * 2 + [3] + [-1] * 5)
    split = draw(labels, seed=1)
    by_part = {
        part: np.bincount(labels[getattr(split, part)], minlength=4).tolist()
        for part in ("train", "validation", "test")
    }
    assert by_part == {"train": [12, 3, 1, 1], "validation": [4, 1, 1, 0], "test": [4, 0, 0, 0]}
    assert np.array_equal(draw(labels, seed=1).train, split.train)
    assert not np.array_equal(draw(labels, seed=2).train, split.train)
    with pytest.raises(InputError, match="leave some nodes to train"):
        draw(labels, validation=0.5, test=0.5)


def test_further_labels_move_few_nodes() -> None:
    """A user who added labels once was scored on other nodes than before."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 600)
    few = np.where(np.arange(600) < 300, labels, -1)
    before, after = by_id(few), by_id(labels)
    stay = {part: np.isin(getattr(before, part), getattr(after, part)).mean() for part in ("test", "validation")}
    assert min(stay.values()) > 0.85
    assert not np.isin(before.test, after.validation).any()
    assert len(after.test) == len(Split.holdout(labels).test)
    kept = by_id(labels, tested=before.test)
    assert np.isin(before.test, kept.test).all()
    assert len(kept.test) == len(after.test)
    order = rng.permutation(600)
    ids = np.array([f"node {k}" for k in range(600)])
    shuffled = Split.by_id(labels[order], ids[order])
    assert np.array_equal(np.sort(order[shuffled.test]), after.test)


def grid(width: int, height: int, labels: Any = None) -> Graph:
    """Streets on squared paper; nodes are numbered along the rows."""
    node = np.arange(width * height).reshape(height, width)
    across, down = (node[:, :-1], node[:, 1:]), (node[:-1], node[1:])
    source, target = (np.concatenate([across[k].ravel(), down[k].ravel()]) for k in (0, 1))
    given = np.arange(node.size) % 2 if labels is None else labels
    return Graph.from_edges(source, target, n=node.size, labels=given)


def hops_between(graph: Graph, sources: Any, targets: Any) -> float:
    """Fewest hops between two sets of nodes; infinity if no path joins them."""
    return float(sp.csgraph.dijkstra(graph.adjacency, unweighted=True, indices=sources, min_only=True)[targets].min())


class TestBlocked:
    @given(st.integers(0, 10_000), st.integers(20, 120), st.floats(0.5, 2), st.integers(0, 4))
    @settings(max_examples=60, deadline=None)
    def test_test_nodes_are_farther_than_all_others(self, seed: int, n: int, density: float, gap: int) -> None:
        """On graphs of any number of components, some nodes without a label."""
        rng = np.random.default_rng(seed)
        source, target = rng.integers(n, size=(2, round(n * density)))
        graph = Graph.from_edges(source, target, n=n, labels=rng.integers(-1, 3, n))
        labelled = graph.labelled
        split = Split.blocked(graph, gap=gap, seed=seed)
        drawn = np.concatenate([split.train, split.validation])
        assert split.train.size == split.validation.size == round(0.1 * labelled.size)
        assert split.test.size <= round(0.5 * labelled.size)
        assert np.isin(np.concatenate([drawn, split.test]), labelled).all()
        if split.test.size and drawn.size:
            assert hops_between(graph, drawn, split.test) >= gap
        if gap == 0:
            assert split.test.size == round(0.5 * labelled.size)
        again = Split.blocked(graph, gap=gap, seed=seed)
        assert all(np.array_equal(getattr(split, part), getattr(again, part)) for part in ("train", "test"))

    def test_what_cannot_be_drawn(self) -> None:
        for shares in ({"train": 0.6}, {"train": -0.1}, {"test": 0.9}, {"gap": -1}):
            with pytest.raises(InputError, match="sum to at most 1, and gap at least 0"):
                Split.blocked(grid(5, 5), **shares)
        for graph in (grid(5, 5, np.full(25, -1)), grid(5, 5).with_labels(None, ())):
            with pytest.raises(InputError, match="no labels to draw a split from"):
                Split.blocked(graph)


def test_calibration_takes_half_of_many_validation_nodes_or_a_third_of_each_class() -> None:
    labels = np.repeat([0, 1], 60)
    split = Split(np.arange(55, 65), np.arange(20, 50), np.arange(70, 90))
    drawn = split.with_calibration(labels, fewest=9)
    assert repr(drawn) == "Split(train=10, validation=15, test=20, calibration=15)"
    assert set(drawn.validation) | set(drawn.calibration) == set(split.validation)
    np.testing.assert_array_equal(drawn.with_calibration(labels, 9).calibration, drawn.calibration)

    labels = np.array([0] * 30 + [1] * 12 + [2] * 2 + [1] * 6)
    split = Split(np.arange(44), np.arange(44, 50), np.array([]))
    drawn = split.with_calibration(labels, fewest=9)
    np.testing.assert_array_equal(np.bincount(labels[drawn.calibration], minlength=3), [10, 4, 0])
    assert set(drawn.train) | set(drawn.calibration) == set(split.train)
    assert drawn.validation.size == 6

    few = Split(np.arange(12), np.arange(12, 20), np.array([]))
    assert few.with_calibration(np.arange(20) % 2, fewest=9) is few
    assert few.with_calibration(np.arange(20) % 2, fewest=4).calibration.size == 4


def test_validation_apart_keeps_test_nodes_and_sizes() -> None:
    graph = grid(40, 20)
    blocked = Split.blocked(graph)
    apart = blocked.apart(graph)
    np.testing.assert_array_equal(apart.test, blocked.test)
    assert (apart.train.size, apart.validation.size) == (blocked.train.size, blocked.validation.size)
    both = np.union1d(apart.train, apart.validation)
    np.testing.assert_array_equal(both, np.union1d(blocked.train, blocked.validation))
    assert set(graph.truth[apart.train]) == set(graph.truth[both])
    apart_hops, among_hops = (
        dijkstra(graph.adjacency, unweighted=True, indices=one.train, min_only=True)[one.validation].mean()
        for one in (apart, blocked)
    )
    assert apart_hops > 2 * among_hops
