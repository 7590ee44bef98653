"""The front door in Python."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import hiergcn
from hiergcn import Graph, HGCNClassifier, InputError, NodeClassifier
from hiergcn.datasets import planted_graph
from hiergcn.estimator import NotFittedError


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Most labels unknown, as a user's are."""
    planted = planted_graph(150, seed=5)
    assert planted.labels is not None
    labels = np.where(np.arange(150) % 3 == 0, planted.labels, -1)
    return planted.with_labels(labels, ["red", "green", "blue", "grey"])


@pytest.fixture(scope="module")
def classifier(graph: Graph) -> HGCNClassifier:
    return HGCNClassifier(levels=2, hidden=8, epochs=40, dropout=0.3, seed=0, device="cpu").fit(graph)


def test_every_node_gets_a_class(graph: Graph, classifier: HGCNClassifier) -> None:
    predicted = classifier.predict()
    assert predicted.shape == (150,)
    assert set(predicted) <= {"red", "green", "blue", "grey"}
    assert classifier.predict_proba().shape == (150, 4)
    assert classifier.classes_ == ("red", "green", "blue", "grey")
    assert classifier.hierarchy_ is not None
    assert classifier.hierarchy_.depth == 2


def test_it_beats_chance_where_labels_were_hidden(classifier: HGCNClassifier) -> None:
    truth = planted_graph(150, seed=5).with_labels(planted_graph(150, seed=5).labels, classifier.classes_)
    hidden = np.flatnonzero(np.arange(150) % 3 != 0)
    assert classifier.score(truth, hidden) > 0.5  # four classes


def test_save_and_load(classifier: HGCNClassifier, graph: Graph, tmp_path: Path) -> None:
    classifier.save(tmp_path / "run")
    loaded = HGCNClassifier.load(tmp_path / "run", device="cpu")
    assert np.array_equal(loaded.predict(), classifier.predict())
    assert np.array_equal(loaded.predict_proba(), classifier.predict_proba())
    np.testing.assert_allclose(loaded.predict_proba(graph), classifier.predict_proba(), rtol=1e-5)


def test_a_seed_repeats(graph: Graph, classifier: HGCNClassifier) -> None:
    again = NodeClassifier("hgcn", levels=2, hidden=8, epochs=40, dropout=0.3, seed=0, device="cpu").fit(graph)
    assert np.array_equal(again.predict_proba(), classifier.predict_proba())


def test_nothing_works_before_fit(graph: Graph) -> None:
    with pytest.raises(NotFittedError, match="call fit first"):
        HGCNClassifier().predict()
    with pytest.raises(NotFittedError, match="call fit first"):
        HGCNClassifier().save("nowhere")


def test_no_labels_is_a_sentence(graph: Graph) -> None:
    with pytest.raises(InputError, match="has no labels"):
        HGCNClassifier().fit(graph.with_labels(None))


def test_unknown_setting() -> None:
    with pytest.raises(InputError, match="did you mean levels"):
        HGCNClassifier(level=3)


def test_names_at_the_top_are_all_there() -> None:
    assert set(hiergcn.__all__) <= set(dir(hiergcn))
    for name, home in hiergcn._HOME.items():
        assert getattr(hiergcn, name) is getattr(import_module(home), name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = hiergcn.nonsense
