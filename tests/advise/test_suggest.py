"""Suggestions: never a node with a label, in favour of what is unsure, better than random nodes."""

import re

import numpy as np
import pytest

import hiergcn
from hiergcn import Graph, InputError, planted_graph
from hiergcn.advise.suggest import suggest
from hiergcn.coarsening.diffusion import Diffusion


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(400, classes=4, depth=2, degree=8, homophily=0.9, seed=3)


def test_a_table_to_fill_in(graph: Graph) -> None:
    table = suggest(graph.with_labels(None), 12)
    assert list(table) == ["id", "reason", "label"]
    assert table["id"].nunique() == 12
    assert (table["label"] == "").all()
    assert table["reason"].str.fullmatch(r"stands for \d+ nodes without a label|stands for itself alone").all()
    assert "suggest" in hiergcn.__all__


def test_nodes_with_a_label_are_never_suggested(graph: Graph) -> None:
    labels = np.where(np.arange(400) < 300, graph.truth, -1)
    some = graph.with_labels(labels)
    for confidence in (None, np.full(400, 0.5)):
        nodes = suggest(some, 40, confidence=confidence)["id"]
        assert len(set(nodes)) == 40
        assert nodes.min() >= 300
    assert sorted(suggest(some, 100)["id"]) == list(range(300, 400))


def test_unsure_parts_come_first(graph: Graph) -> None:
    unsure: np.ndarray = graph.truth == 2
    confidence = np.where(unsure, 0.4, 1.0)
    found = [suggest(graph.with_labels(None), 10, confidence=confidence, seed=seed) for seed in range(5)]
    assert np.mean([unsure[table["id"]].mean() for table in found]) > 0.85
    assert re.search(r"stands for \d+ nodes without a label, mean confidence 0\.[456]", found[0]["reason"][0])


def test_better_than_random_nodes(graph: Graph) -> None:
    """By the harmonic function, over ten draws."""
    truth, bare, diffusion = graph.truth, graph.with_labels(None), Diffusion(graph.adjacency)

    def accuracy(nodes: np.ndarray) -> float:
        found = diffusion.harmonic(nodes, truth[nodes], 4).argmax(axis=1)
        return float((found == truth).mean())

    ours = np.mean([accuracy(suggest(bare, 12, seed=seed)["id"].to_numpy()) for seed in range(10)])
    random = np.mean([accuracy(np.random.default_rng(seed).choice(400, 12, replace=False)) for seed in range(10)])
    assert ours > random + 0.03


def test_budgets_that_cannot_be_met(graph: Graph) -> None:
    with pytest.raises(InputError, match="Every node has a label already"):
        suggest(graph, 5)
    with pytest.raises(InputError, match="only 400 nodes have no label"):
        suggest(graph.with_labels(None), 401)
    with pytest.raises(InputError, match="at least 1"):
        suggest(graph.with_labels(None), 0)
    with pytest.raises(InputError, match="give a whole number of nodes"):
        suggest(graph, 5.5)  # type: ignore[arg-type]
