"""The contract of every method: it learns, repeats, restores, refuses nonsense and never sees test labels."""

from dataclasses import fields
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError, MissingPackageError
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import fit
from hiergcn.run.predict import predictions_again
from hiergcn.run.run import Run
from hiergcn.settings.registry import config_class, method_names
from hiergcn.settings.settings import Settings, settings_for

CLASSES = 3
EPOCHS, FEW = 40, 5
CHEAP: dict[str, dict[str, Any]] = {  # what a small graph and few epochs need instead of the recipe's settings
    "hgcn": {"levels": 2, "dropout": 0.3, "output_relu": False},  # a ReLU before the softmax loses a class at times
    "hgcn-exchange": {"levels": 2, "dropout": 0.3, "output_relu": False},
    "dgcn": {"output_relu": False},
    "graph-unet": {"dropout": 0.3},
    "planetoid-t": {"label_steps": 100, "graph_steps": 20},
    "planetoid-i": {"label_steps": 100, "graph_steps": 20},
    "deepwalk": {"walks": 10},
}
WITHOUT_CHANCE = {
    "label-propagation",
    "harmonic",
    "constant",
}  # methods that draw nothing, so that every seed gives the same model

AT_ONCE = {
    "label-propagation",
    "harmonic",
    "constant",
    "deepwalk",
}  # methods whose first step learns everything, without gradients

each_method = pytest.mark.parametrize("method", method_names())


@cache
def easy_graph() -> Graph:
    return planted_graph(240, classes=CLASSES, depth=1, degree=8, homophily=0.9, features=12, noise=0.7, seed=1)


@cache
def easy_split() -> Split:
    return Split.random(easy_graph().truth, per_class=10, validation=60, seed=2)


def cheap_settings(method: str, epochs: int) -> Settings:
    settings = settings_for(method).override(CHEAP.get(method, {}))
    if method in AT_ONCE:
        return settings
    return settings.override({"epochs": min(settings.train.epochs, epochs)})


def fitted(
    method: str, graph: Graph, seeds: tuple[int, ...] = (0,), split: Split | None = None, epochs: int = EPOCHS
) -> Run:
    try:
        return fit(graph, split or easy_split(), cheap_settings(method, epochs), seeds, device="cpu")
    except MissingPackageError as missing:
        pytest.skip(str(missing))


@cache
def two_seeds(method: str) -> Run:
    """A run of seeds 0 and 1, made with torch's and numpy's global generators in a known state."""
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002  (the generator that a method must not touch)
    return fitted(method, easy_graph(), (0, 1))


@each_method
def test_learns_an_easy_graph(method: str) -> None:
    result = two_seeds(method)
    assert result.test is not None
    assert not result.scores["failed_seeds"]
    if method != "constant":  # which is there to show what chance gives
        assert result.test.accuracy.values.min() > 0.7  # chance is a third
    assert result.probabilities.shape == (240, CLASSES)
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1.0, rtol=1e-5)
    assert (result.probabilities >= 0).all()


@each_method
def test_repeats_bit_for_bit_whatever_ran_before(method: str) -> None:
    """Before or after another seed, whatever the state of the global generators, which do not change."""
    first = two_seeds(method)
    torch.manual_seed(2)
    np.random.seed(2)  # noqa: NPY002
    before, before_numpy = torch.random.get_rng_state(), numpy_state()
    again = fitted(method, easy_graph(), (1, 0))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert np.array_equal(numpy_state(), before_numpy)
    assert same_weights(again, first)
    assert np.array_equal(again.probabilities, first.probabilities)
    assert all(np.array_equal(history(again, seed), history(first, seed)) for seed in (0, 1))


@each_method
def test_another_seed_is_another_model(method: str) -> None:
    result = two_seeds(method)
    same = np.array_equal(history(result, 0), history(result, 1))
    assert same == (method in WITHOUT_CHANCE)


@each_method
def test_never_sees_test_labels(method: str) -> None:
    """Every label outside training and validation is made wrong: the model stays the same, its test accuracy falls."""
    graph, split, honest = easy_graph(), easy_split(), two_seeds(method)
    assert honest.test is not None
    labels = graph.truth.copy()
    unseen = np.setdiff1d(np.arange(graph.n_nodes), np.concatenate([split.train, split.validation]))
    labels[unseen] = (labels[unseen] + 1) % CLASSES
    poisoned = fitted(method, graph.with_labels(labels), (0, 1))
    assert same_weights(poisoned, honest)
    assert np.array_equal(poisoned.probabilities, honest.probabilities)
    assert poisoned.test is not None
    assert poisoned.test.accuracy.values.max() < honest.test.accuracy.values.min()


@each_method
def test_saves_and_loads(method: str, tmp_path: Path) -> None:
    result, graph = two_seeds(method), easy_graph()
    result.write(tmp_path / "run")
    run = Run.load(tmp_path / "run")
    assert run.settings == result.settings
    assert all(torch.equal(run.members[0].weights[name], value) for name, value in result.members[0].weights.items())
    restored = run.model.predict_proba(graph, "cpu")
    np.testing.assert_allclose(restored, result.probabilities, rtol=0, atol=1e-6)
    assert (
        predictions_again(run, graph, device="cpu")["predicted"].tolist() == result.predictions()["predicted"].tolist()
    )


@each_method
def test_takes_sparse_features_and_isolated_nodes(method: str) -> None:
    graph = easy_graph()
    features = np.abs(np.asarray(graph.features))
    apart = np.ones(graph.n_nodes)
    apart[easy_split().test[:5]] = 0.0
    adjacency = sp.csr_array(sp.diags_array(apart) @ graph.adjacency @ sp.diags_array(apart))
    sparse = Graph.from_scipy(adjacency, sp.csr_array(np.where(features > 1.0, features, 0.0)), graph.labels)
    result = fitted(method, sparse, epochs=FEW)
    assert np.isfinite(result.probabilities).all()
    assert not result.scores["failed_seeds"]


@each_method
def test_works_without_features(method: str) -> None:
    graph = easy_graph()
    result = fitted(method, Graph.from_scipy(graph.adjacency, None, graph.labels), epochs=FEW)
    assert np.isfinite(result.probabilities).all()
    assert not result.scores["failed_seeds"]


@each_method
def test_refuses_a_split_that_cannot_train(method: str) -> None:
    graph, split = easy_graph(), easy_split()
    one_class_missing = Split(split.train[graph.truth[split.train] != 0], split.validation, split.test)
    with pytest.raises(InputError, match="No training node has class"):
        fitted(method, graph, split=one_class_missing)
    with pytest.raises(InputError, match="no labels"):
        fitted(method, graph.with_labels(None))


def nonsense() -> list[Any]:
    """Return an invalid value for each setting of each method, and values just beyond a limit."""
    cases = [
        *(pytest.param("grand", *pair) for pair in (("passes", 0), ("drop_node", 1.0), ("temperature", 0.0))),
        *(pytest.param("hgcn", *pair) for pair in (("hidden", 0), ("hidden", 2.5), ("dropout", 1.0))),
        *(pytest.param("hgcn-plus", *pair) for pair in (("share", 1.2), ("scale", 0.0), ("prediction_balance", 1.5))),
        pytest.param("hgcn-plus", "first_level", 5),
    ]
    for method in method_names():
        kinds = get_type_hints(config_class(method))
        for field in fields(config_class(method)):
            kind = next((part for part in get_args(kinds[field.name]) if part is not NoneType), kinds[field.name])
            if get_origin(kinds[field.name]) is Literal:
                kind = str
            value = {int: -5, float: float("nan"), str: "nonsense"}.get(kind)
            if value is not None:
                cases.append(pytest.param(method, field.name, value, id=f"{method}-{field.name}"))
    return cases


@pytest.mark.parametrize(("method", "setting", "value"), nonsense())
def test_refuses_settings_that_make_no_sense(method: str, setting: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"{setting} is {value!r}"):
        settings_for(method).override({setting: value})


@each_method
def test_refuses_settings_without_effect(method: str) -> None:
    if method in AT_ONCE:
        for name, value in (("l2", "5"), ("epochs", "3"), ("class_weight", "balanced")):
            with pytest.raises(InputError, match=f"{name} has no effect here: {method} learns in one step"):
                settings_for(method).override({name: value})
    else:
        assert settings_for(method).override({"l2": "5"}).train.l2 == 5.0
    if config_class(method).uses_hierarchy:
        assert settings_for(method).override({"strategy": "random"}).coarsen.strategy == "random"
    else:
        with pytest.raises(InputError, match=f"strategy has no effect here: {method} does not coarsen"):
            settings_for(method).override({"strategy": "random"})


def same_weights(one: Run, other: Run) -> bool:
    ours, theirs = one.members[0].weights, other.members[0].weights
    return ours.keys() == theirs.keys() and all(torch.equal(value, theirs[name]) for name, value in ours.items())


def numpy_state() -> np.ndarray:
    state: np.ndarray = np.random.get_state(legacy=False)["state"]["key"]  # noqa: NPY002
    return state


def history(result: Run, seed: int) -> np.ndarray:
    rows: np.ndarray = result.history[result.history["seed"] == seed].drop(columns="seed").to_numpy()
    return rows
