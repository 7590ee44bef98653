"""Targets: what a graph says of its classes or numbers, their unit, and what they refuse."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.target import Classes, Numbers, Scale
from hiergcn.graph.task import Task

LABELS, VALUES = np.array([0, 2, -1, 0, 2, 0]), np.array([1.0, 5.0, np.nan, 3.0, 2.0, 0.0])
SPLIT = Split(np.array([0, 1]), np.array([3]), np.array([4]))
NONE = sp.csr_array((6, 6))
CLASSES = Graph(NONE, labels=LABELS, class_names=("a", "b", "c"))
NUMBERS = Graph(NONE, targets=VALUES, target_name="price")


def test_a_graph_keeps_one_target_and_shows_its_parts() -> None:
    assert isinstance(CLASSES.target, Classes)
    assert CLASSES.labels is CLASSES.target.values
    assert (CLASSES.targets, CLASSES.target.names, CLASSES.n_outputs) == (None, ("a", "b", "c"), 3)
    assert isinstance(NUMBERS.target, Numbers)
    assert NUMBERS.targets is NUMBERS.target.values
    assert (NUMBERS.labels, NUMBERS.class_names, NUMBERS.target.names, NUMBERS.n_outputs) == (None, (), ("price",), 1)
    for graph, strata in ((CLASSES, LABELS), (NUMBERS, [0, 0, -1, 0, 0, 0])):
        assert graph.labelled.tolist() == [0, 1, 3, 4, 5]
        np.testing.assert_array_equal(graph.strata, strata)
        order = np.array([2, 1, 0, 3, 4, 5])
        np.testing.assert_array_equal(graph.reordered(order).truth, graph.truth[order])
    assert CLASSES.target.column()["label"].tolist() == ["a", "c", "", "a", "c", "a"]
    assert NUMBERS.target.column()["value"][1] == 5.0
    nothing = Graph(NONE)
    assert (nothing.labels, nothing.strata.tolist(), nothing.labelled.size) == (None, [-1] * 6, 0)


def test_a_replaced_part_replaces_the_target() -> None:
    assert replace(CLASSES, labels=None).labelled.size == 0
    assert replace(CLASSES, name="other").target.truth.tolist() == LABELS.tolist()
    assert replace(NUMBERS, targets=VALUES + 1).target.truth[0] == 2.0
    assert CLASSES.with_targets(VALUES, "price").target.kind == "numbers"
    assert NUMBERS.with_labels(LABELS).target.kind == "classes"


def test_a_task_learns_numbers_in_the_unit_of_the_training_values() -> None:
    task = Task.of(NUMBERS, SPLIT)
    assert task.target.scale == Scale(3.0, 2.0)
    assert (task.train_labels.tolist(), task.validation_labels.tolist()) == ([-1.0, 1.0], [0.0])
    assert task.train_labels.dtype == np.float32
    outputs = np.array([[-1.0], [0.5]], np.float32)
    assert task.target.restored(outputs).tolist() == [[1.0], [4.0]]
    assert task.target.hard_predictions(outputs).tolist() == [-1.0, 0.5]
    assert task.target.node_scores(np.array([1.0, 4.0]), np.array([[1.0], [2.0]])).tolist() == [1.0, 0.0]
    assert task.target.values is None
    assert Numbers(np.full(3, 7.0)).for_training(np.arange(3)).scale == Scale(7.0, 1.0)  # nothing to divide by


def test_classes_are_learned_as_they_are() -> None:
    target = CLASSES.target.for_training(SPLIT.train)
    outputs = np.array([[0.2, 0.1, 0.7], [0.6, 0.3, 0.1]], np.float32)
    assert target.standardised(LABELS) is LABELS
    assert target.restored(outputs) is outputs
    assert target.hard_predictions(outputs).tolist() == [2, 0]
    assert target.node_scores(np.array([2, 1]), outputs).tolist() == [True, False]
    assert (target.values, target.names, target.scale) == (None, ("a", "b", "c"), None)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"labels": LABELS, "targets": VALUES}, "has both labels and targets"),
        ({"targets": VALUES[:2]}, r"The targets have shape \(2,\)"),
        ({"targets": list("abcdef")}, "give a number per node, NaN if"),
        ({"targets": np.where(VALUES == 5.0, np.inf, VALUES)}, "target of node 1 is infinite"),
    ],
)
def test_bad_numbers_are_refused(parts: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Graph(NONE, **parts)


def test_training_values_must_differ() -> None:
    with pytest.raises(InputError, match="Every training value of graph is 1; give nodes with different values"):
        Split(np.array([0]), np.array([1]), np.array([3])).check(NUMBERS)
