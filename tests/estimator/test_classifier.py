"""The classifiers: fit, predict, save and load."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from hiergcn import Graph, HGCNClassifier, InputError, NodeClassifier
from hiergcn.datasets import planted_graph
from hiergcn.estimator import NotFittedError
from hiergcn.run.out_folder import write_manifest

QUICK: dict[str, Any] = {"levels": 2, "hidden": 8, "epochs": 40, "passes": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Most labels unknown, as a user's are."""
    planted = planted_graph(150, seed=5)
    labels = np.where(np.arange(150) % 3 == 0, planted.truth, -1)
    return planted.with_labels(labels, ["red", "green", "blue", "grey"])


@pytest.fixture(scope="module")
def classifier(graph: Graph) -> HGCNClassifier:
    return HGCNClassifier(**QUICK).fit(graph)


def test_every_node_gets_a_class(graph: Graph, classifier: HGCNClassifier) -> None:
    predicted = classifier.predict()
    assert predicted.shape == (150,)
    assert set(predicted) <= {"red", "green", "blue", "grey"}
    assert classifier.predict_proba().shape == (150, 4)
    assert classifier.classes_.tolist() == ["red", "green", "blue", "grey"]
    assert classifier.hierarchy_ is not None
    assert classifier.hierarchy_.depth == 2


def test_hidden_labels_are_predicted_better_than_chance(classifier: HGCNClassifier) -> None:
    truth = planted_graph(150, seed=5).with_labels(planted_graph(150, seed=5).labels, list(classifier.classes_))
    hidden = np.flatnonzero(np.arange(150) % 3 != 0)
    assert classifier.score(truth, hidden) > 0.5  # four classes
    assert classifier.score(truth) == classifier.score(truth, hidden)  # by default what was not learned from


def test_a_score_by_training_nodes_is_refused(graph: Graph, classifier: HGCNClassifier, tmp_path: Path) -> None:
    classifier.save(tmp_path / "run")
    for one in (classifier, HGCNClassifier.load(tmp_path / "run", device="cpu")):
        with pytest.raises(InputError, match="Every labelled node of planted-150 was used in training"):
            one.score(graph)
    with pytest.raises(InputError, match="labels are known"):
        classifier.score(graph, [1])


def test_save_and_load(classifier: HGCNClassifier, graph: Graph, tmp_path: Path) -> None:
    classifier.save(tmp_path / "run")
    loaded = HGCNClassifier.load(tmp_path / "run", device="cpu")
    assert np.array_equal(loaded.predict(), classifier.predict())
    assert np.array_equal(loaded.predict_proba(), classifier.predict_proba())
    np.testing.assert_allclose(loaded.predict_proba(graph), classifier.predict_proba(), rtol=1e-5)
    assert loaded.settings_ == classifier.settings_
    assert np.array_equal(clone(loaded).fit(graph).predict_proba(), classifier.predict_proba())


def test_what_cannot_be_done_is_refused(graph: Graph) -> None:
    for unfitted in (
        HGCNClassifier().predict,
        lambda: HGCNClassifier().save("nowhere"),
        lambda: HGCNClassifier().suggest(4),
    ):
        with pytest.raises(NotFittedError, match="call fit first"):
            unfitted()
    with pytest.raises(InputError, match="has no labels"):
        HGCNClassifier().fit(graph.with_labels(None))
    with pytest.raises(InputError, match="did you mean levels"):
        HGCNClassifier(level=3)
    with pytest.raises(InputError, match="did you mean input_dropout"):
        HGCNClassifier(dropout=0.3)
    assert HGCNClassifier(model="hgcn", dropout=0.3).settings.model.dropout == 0.3


def test_settings_are_adapted_unless_a_preset_is_named(graph: Graph) -> None:
    chosen = HGCNClassifier(epochs=2, device="cpu").fit(graph)
    assert chosen.settings_.preset == "adapted"
    assert chosen.settings_.train.epochs == 2  # given
    assert chosen.settings_.method == "hgcn-plus"
    assert {"levels", "order"} <= chosen.result_.reasons.keys() >= {"hidden"}
    assert "epochs" not in chosen.result_.reasons
    asked = HGCNClassifier(preset="paper", epochs=2, device="cpu").fit(graph)
    assert asked.settings_ == asked.settings
    assert asked.settings_.method == "hgcn"
    assert asked.settings_.model.output_relu
    network = HGCNClassifier(model="hgcn", epochs=2, device="cpu").fit(graph)
    assert (network.settings_.preset, network.settings_.model.output_relu) == ("adapted", False)


def test_parameters() -> None:
    classifier = HGCNClassifier(levels=2, seed=5)
    assert classifier.get_params() == {
        "model": None,
        "preset": None,
        "seed": 5,
        "device": "auto",
        "time_limit": None,
        "coverage": None,
        "verbose": False,
        "levels": 2,
    }
    assert repr(classifier) == "HGCNClassifier(seed=5, levels=2)"
    assert classifier.set_params(levels=3, hidden=16, seed=1) is classifier
    assert (classifier.settings.model.levels, classifier.settings.model.hidden, classifier.seed) == (3, 16, 1)
    with pytest.raises(InputError, match="did you mean levels"):
        classifier.set_params(seed=9, level=2)
    changed = {"model": None, "preset": None, "seed": 1, "device": "auto", "time_limit": None}
    changed |= {"coverage": None, "verbose": False, "levels": 3, "hidden": 16}
    assert classifier.get_params() == changed
    sibling = NodeClassifier(model="mlp", epochs=3)
    assert repr(sibling) == "NodeClassifier(model='mlp', epochs=3)"
    with pytest.raises(InputError, match="no model named 'lmp'"):
        sibling.set_params(model="lmp")
    assert sibling.get_params()["model"] == "mlp"


def test_embedding_is_the_input_of_the_output_layer(graph: Graph, classifier: HGCNClassifier) -> None:
    embedding = classifier.embedding_
    assert embedding is not None
    assert embedding.shape == (150, 8)
    assert classifier.embedding_ is embedding  # computed once
    weights = classifier.result_.members[0].weights
    logits = embedding @ weights["second"].numpy() + weights["second_bias"].numpy()
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(classifier.predict_proba(), expected, atol=1e-4)


def test_embedding_of_loaded_and_of_flat_models(graph: Graph, classifier: HGCNClassifier, tmp_path: Path) -> None:
    propagated = NodeClassifier("label-propagation", device="cpu").fit(graph)
    assert propagated.embedding_ is None
    assert propagated.hierarchy_ is None
    with pytest.raises(InputError, match="has no embedding"):
        propagated.embed(graph)
    classifier.save(tmp_path / "run")
    loaded = HGCNClassifier.load(tmp_path / "run", device="cpu")
    assert loaded.embedding_ is not None
    np.testing.assert_allclose(loaded.embedding_, classifier.embed(graph))
    (tmp_path / "run" / "graph.npz").unlink()  # as in a folder of `hiergcn fit`
    write_manifest(tmp_path / "run")
    bare = HGCNClassifier.load(tmp_path / "run", device="cpu")
    with pytest.raises(NotFittedError, match=r"give it: embed\(graph\)"):
        _ = bare.embedding_
    np.testing.assert_allclose(bare.embed(graph), classifier.embed(graph))


def test_a_second_fit_replaces_the_first(graph: Graph) -> None:
    classifier = HGCNClassifier(levels=1, hidden=4, epochs=2, device="cpu").fit(graph)
    first = classifier.embedding_
    classifier.set_params(hidden=6).fit(graph)
    second = classifier.embedding_
    assert first is not None
    assert second is not None
    assert (first.shape, second.shape) == ((150, 4), (150, 6))


def test_hgcn_classifier_refuses_runs_of_other_models(graph: Graph, tmp_path: Path) -> None:
    NodeClassifier("mlp", epochs=2, device="cpu").fit(graph).save(tmp_path / "run")
    with pytest.raises(InputError, match="HGCNClassifier has no model 'mlp'"):
        HGCNClassifier.load(tmp_path / "run")
    assert NodeClassifier.load(tmp_path / "run", device="cpu").get_params()["model"] == "mlp"


@pytest.mark.parametrize(("model", "preset"), [(None, None), ("hgcn", None), (None, "paper")])
def test_a_loaded_classifier_has_the_parameters_of_the_saved_one(
    graph: Graph, tmp_path: Path, model: str | None, preset: str | None
) -> None:
    HGCNClassifier(model=model, preset=preset, levels=1, epochs=2, device="cpu").fit(graph).save(tmp_path / "run")
    loaded = HGCNClassifier.load(tmp_path / "run", device="cpu")
    assert (loaded.model, loaded.preset) == (model, preset)


def test_suggestions_of_a_fitted_and_of_a_loaded_classifier(
    graph: Graph, classifier: HGCNClassifier, tmp_path: Path
) -> None:
    table = classifier.suggest(4)
    assert set(table["id"]) <= set(graph.ids[np.arange(150) % 3 != 0])
    classifier.save(tmp_path / "run")
    loaded = HGCNClassifier.load(tmp_path / "run", device="cpu")
    pd.testing.assert_frame_equal(loaded.suggest(4), table)
    with pytest.raises(InputError, match="other nodes than the fitted graph"):
        loaded.suggest(4, planted_graph(60, seed=0))
