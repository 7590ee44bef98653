"""Splits by name: parsed, drawn, the same again."""

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.comparison.splits import parse_splits, splits_text
from hiergcn.datasets import load_dataset
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split

CORA = load_dataset("cora")
GRAPH, OWN = CORA.graph, CORA.split


def test_drawn_splits_by_name() -> None:
    first, second = (spec.split(GRAPH, OWN) for spec in parse_splits("tenths:2"))
    assert first.train.size == pytest.approx(271, abs=9)
    assert first.validation.size == pytest.approx(271, abs=3)
    assert set(first.train) != set(second.train)
    for k, (blocked, apart) in enumerate(zip(parse_splits("blocked:2"), parse_splits("apart:2"), strict=True)):
        drawn = blocked.split(GRAPH, OWN)
        assert np.array_equal(drawn.test, Split.blocked(GRAPH, seed=k).test)
        assert np.array_equal(apart.split(GRAPH, OWN).train, drawn.apart(GRAPH, k).train)


def test_blocked_splits_without_a_class_are_skipped() -> None:
    """A path whose last quarter is a class of its own: a start in the first half never trains on it."""
    graph = Graph(sp.csr_array(np.eye(80, k=1) + np.eye(80, k=-1)), labels=(np.arange(80) >= 60).astype(np.int64))
    whole = [seed for seed in range(30) if np.unique(graph.truth[Split.blocked(graph, seed=seed).train]).size == 2]
    assert whole[:3] != [0, 1, 2]
    for seed, spec in zip(whole, parse_splits("blocked:3"), strict=False):
        assert np.array_equal(spec.split(graph, OWN).train, Split.blocked(graph, seed=seed).train)


@pytest.mark.parametrize(
    ("text", "names"), [("public", ["public"]), ("random:2", ["random-0", "random-1"]), ("tenths:1", ["tenths-0"])]
)
def test_splits_have_one_text_and_the_names_of_stored_results(text: str, names: list[str]) -> None:
    assert splits_text(parse_splits(text)) == text
    assert [spec.name for spec in parse_splits(text)] == names


@pytest.mark.parametrize("text", ["", "private", "random", "random:0", "random:x", "random:-1", "blocked", "few:2"])
def test_bad_splits_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"give public, or random:N"):
        parse_splits(text)
