"""What features alone and edges alone say about the classes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.choose import estimate
from hiergcn.choose.estimate import FOLDS, MOST_COLUMNS, Evidence, measure_evidence
from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.structure import with_structural_features


def measured(graph: Graph) -> Any:
    return measure_evidence(graph, Split.holdout(graph.truth))


def without_order(graph: Graph) -> Graph:
    """The same graph with its features dealt to other nodes."""
    return replace(graph, features=np.random.default_rng(0).permutation(np.asarray(graph.features)))


def test_each_source_is_judged_by_itself() -> None:
    clear = planted_graph(600, classes=3, degree=8, homophily=0.95, noise=0.5, seed=1)
    both, edges = measured(clear), measured(without_order(clear))
    features = measured(planted_graph(600, classes=3, degree=8, homophily=0.0, noise=0.5, seed=1))
    assert min(both.features, both.edges) > 0.9
    assert edges.edges == both.edges
    assert edges.features == pytest.approx(1 / 3, abs=0.1)
    assert features.features > 0.9
    assert features.edges == pytest.approx(1 / 3, abs=0.1)
    assert both.largest == pytest.approx(1 / 3, abs=0.01)


def test_validation_and_test_labels_are_not_read() -> None:
    graph = planted_graph(300, seed=1)
    split = Split.holdout(graph.truth)
    hidden = graph.truth.copy()
    others = np.concatenate([split.validation, split.test])
    hidden[others] = (hidden[others] + 1) % 4
    assert measure_evidence(graph.with_labels(hidden), split) == measure_evidence(graph, split)


def test_words_in_many_columns() -> None:
    graph = planted_graph(400, classes=2, seed=1)
    rng = np.random.default_rng(0)
    words = rng.random((400, 2 * MOST_COLUMNS)) < 0.005
    words[:, -20:] = rng.random((400, 20)) < np.where(graph.truth == 1, 0.3, 0.1)[:, None]
    found = measured(replace(graph, features=sp.csr_array(words.astype(np.float64))))
    assert found.features > 0.75
    assert found == measured(replace(graph, features=words.astype(np.float64)))


def test_classes_with_few_labels_are_left_out() -> None:
    graph = planted_graph(300, classes=4, seed=1)
    keep = np.flatnonzero(graph.truth < 3)
    rare = np.flatnonzero(graph.truth == 3)[:2]
    none = np.empty(0, np.int64)
    with_rare, alone = (measure_evidence(graph, Split(part, none, none)) for part in (np.union1d(keep, rare), keep))
    assert with_rare == alone
    assert alone is not None
    assert alone.labels == keep.size
    assert measure_evidence(graph, Split.random(graph.truth, per_class=4, validation=20)) is None
    one_class = np.flatnonzero(graph.truth == 0)
    assert measure_evidence(graph, Split(one_class, none, none)) is None


def test_what_is_missing_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = planted_graph(300, classes=2, seed=1)
    bare = replace(graph, features=None)
    assert measured(bare).features is measured(with_structural_features(bare)).features is None
    assert "features" not in measured(bare).sentence()
    no_edges = replace(graph, adjacency=sp.csr_array((300, 300)))
    assert measured(no_edges).edges is None
    assert measured(no_edges).features is not None
    products = 2 * FOLDS * graph.adjacency.nnz
    monkeypatch.setattr(estimate, "MOST_PRODUCTS", products)
    assert measured(graph).edges is not None
    monkeypatch.setattr(estimate, "MOST_PRODUCTS", products - 1)
    assert measured(graph).edges is None


def test_sentence() -> None:
    assert Evidence(140, 0.143, 0.614, 0.7449).sentence() == (
        "Of 140 training labels, held out in turn, features alone give 61 % and edges alone give 74 %; "
        "always naming the largest class gives 14 %."
    )
