"""Splits keep their parts apart and refuse what a model cannot learn from."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from hiergcn.datasets import load_dataset, planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.split import PUBLIC, SplitSpec, few_labels, parse_splits, random_splits


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
        (([0], [1], [1]), "Node 1 is in validation and in test"),
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


def test_random_takes_as_many_test_nodes_as_asked_and_other_seeds_give_others() -> None:
    labels = np.arange(1000) % 4
    splits = [Split.random(labels, per_class=5, validation=50, test=100, seed=seed) for seed in (0, 1)]
    assert [split.test.size for split in splits] == [100, 100]
    assert splits[0].train.tolist() != splits[1].train.tolist()
    # every part of the graph is drawn from, not its beginning
    assert splits[0].validation.max() > 800


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


def test_check_accepts_what_can_be_learned() -> None:
    Split([0, 1], [2], [3]).check(graph_with([0, 1, 0, 1, -1, -1]))  # type: ignore[arg-type]
    Split([0, 1], [2], []).check(graph_with([0, 1, 0, -1, -1, -1]))  # type: ignore[arg-type]


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


def test_a_graph_planted_with_the_same_seed_is_divided_at_random() -> None:
    """Seeds 0 to 4 for both: every class is about as frequent in validation as it is in the graph."""
    for seed in range(5):
        labels = planted_graph(400, classes=2, seed=seed).labels
        assert labels is not None
        split = Split.random(labels, per_class=5, validation=100, seed=seed)
        assert 30 <= int(labels[split.validation].sum()) <= 70


def test_holdout_keeps_every_class_to_train_and_spends_few_labels_on_tests() -> None:
    labels = np.array([0] * 20 + [1] * 4 + [2] * 2 + [3] + [-1] * 5)
    split = Split.holdout(labels, seed=1)
    by_part = {
        part: np.bincount(labels[getattr(split, part)], minlength=4).tolist()
        for part in ("train", "validation", "test")
    }
    assert by_part == {"train": [12, 3, 1, 1], "validation": [4, 1, 1, 0], "test": [4, 0, 0, 0]}
    assert np.array_equal(Split.holdout(labels, seed=1).train, split.train)
    assert not np.array_equal(Split.holdout(labels, seed=2).train, split.train)
    with pytest.raises(InputError, match="leave some nodes to train"):
        Split.holdout(labels, validation=0.5, test=0.5)


@pytest.mark.parametrize("text", ["", "private", "random", "random:0", "random:x", "random:-1"])
def test_bad_splits_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"give public, or random:N"):
        parse_splits(text)


class TestSplitSpec:
    cora = load_dataset("cora")

    def test_few_labels_are_drawn_from_the_training_set_and_nested(self) -> None:
        graph, own = self.cora.graph, self.cora.split
        assert graph.labels is not None
        five, ten = (few_labels(count, 3, small_validation=False)[2].split(graph, own) for count in (5, 10))
        assert set(five.train) < set(ten.train) < set(own.train)
        assert np.bincount(graph.labels[five.train]).tolist() == [5] * 7
        assert np.array_equal(five.validation, own.validation)
        assert np.array_equal(five.test, own.test)
        other = few_labels(5, 3, small_validation=False)[1].split(graph, own)
        assert set(other.train) != set(five.train)

    def test_a_small_validation_set_has_as_many_of_each_class(self) -> None:
        graph, own = self.cora.graph, self.cora.split
        assert graph.labels is not None
        small = few_labels(5, 1, small_validation=True)[0].split(graph, own)
        assert np.bincount(graph.labels[small.validation]).tolist() == [5] * 7
        assert set(small.validation) < set(own.validation)
        assert np.array_equal(small.test, own.test)

    def test_random_splits_differ_and_repeat(self) -> None:
        graph, own = self.cora.graph, self.cora.split
        first, second = (split.split(graph, own) for split in random_splits(2))
        assert set(first.train) != set(second.train)
        assert np.array_equal(first.train, SplitSpec("random", 0).split(graph, own).train)
        assert (first.train.size, first.validation.size) == (140, 500)

    def test_names_tell_splits_apart(self) -> None:
        every = [
            PUBLIC,
            *random_splits(3),
            *(spec for small in (True, False) for n in (5, 10) for spec in few_labels(n, 3, small_validation=small)),
        ]
        assert len({spec.name for spec in every}) == len(every)

    def test_too_few_nodes_to_draw_from_is_said(self) -> None:
        with pytest.raises(InputError, match="20 labelled nodes, too few for 21"):
            SplitSpec("few", 0, 21).split(self.cora.graph, self.cora.split)

    def test_names_are_those_of_stored_results(self) -> None:
        few = few_labels(5, 1, small_validation=True)[0], few_labels(10, 2, small_validation=False)[1]
        names = [spec.name for spec in (*parse_splits("public"), *parse_splits("random:2"), *few)]
        assert names == ["public", "random-0", "random-1", "few-5-draw-0-small", "few-10-draw-1"]
