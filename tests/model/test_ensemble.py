"""Ensembles: each network learns as it would alone, and their mean predicts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hiergcn.coarsening import coarsen
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.estimator import HGCNClassifier
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.ensemble import Ensemble
from hiergcn.model.hgcn import HGCN
from hiergcn.model.hgcn_plus import HGCNPlus
from hiergcn.model.inputs import build_method
from hiergcn.model.method import Prepared
from hiergcn.model.ops import layer as layer_module
from hiergcn.model.ops.layer import recomputed
from hiergcn.run.fit import fit
from hiergcn.run.predict import explain
from hiergcn.run.run import Run
from hiergcn.settings.settings import Settings, settings_for
from hiergcn.train.learners import labelled_nodes, make_optimiser

CPU = torch.device("cpu")
SMALL = {"levels": 2, "hidden": 6}
STILL = {"drop_node": 0.0, "input_dropout": 0.0, "hidden_dropout": 0.0, "passes": 1, "warm_up": 3, "label_prior": 2.0}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(90, seed=2)


@pytest.fixture(scope="module")
def split(graph: Graph) -> Split:
    return Split.random(graph.truth, per_class=4, validation=20, seed=0)


def plus(**changes: Any) -> Settings:
    return settings_for("hgcn", "plus").override(SMALL | changes)


def built(graph: Graph, split: Split, settings: Settings, seed: int = 0) -> tuple[Ensemble, Prepared]:
    method = build_method(settings.method, settings.model)
    prepared = method.prepare(Task.of(graph, split), coarsen(graph.adjacency, 2), CPU)
    model = method.build(prepared, graph.n_classes, torch.Generator().manual_seed(seed))
    assert isinstance(model, Ensemble)
    return model, prepared


def test_networks_are_drawn_one_after_the_other(graph: Graph, split: Split) -> None:
    model, prepared = built(graph, split, plus(networks=3))
    generator = torch.Generator().manual_seed(0)
    for member in model.each:
        alone = build_method("hgcn-plus", plus().model).build(prepared, graph.n_classes, generator)
        assert isinstance(member, HGCNPlus)
        assert isinstance(alone, HGCNPlus)
        torch.testing.assert_close(member.first, alone.first, rtol=0, atol=0)


@pytest.mark.parametrize("preset", ["plus", "paper"])
def test_the_prediction_is_the_mean_of_probabilities(graph: Graph, split: Split, preset: str) -> None:
    settings = settings_for("hgcn", preset).override(SMALL | {"networks": 3})
    model, prepared = built(graph, split, settings)
    model.eval()
    with torch.no_grad():
        found = torch.softmax(model(prepared.features), dim=1).double().numpy()
        each = [torch.softmax(member(prepared.features).double(), dim=1).numpy() for member in model.each]
    np.testing.assert_allclose(found, sum(each) / 3, atol=1e-6)
    assert isinstance(model.each[0], HGCNPlus if preset == "plus" else HGCN)
    assert not np.allclose(each[0], each[1], atol=1e-3)


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_each_network_learns_as_it_would_alone(graph: Graph, split: Split, optimiser: str) -> None:
    """Without dropout, from the same initial weights. An L2 penalty would show if losses were averaged."""
    settings = plus(**STILL, networks=3, l2=0.1, optimiser=optimiser)
    model, prepared = built(graph, split, settings)
    nodes = labelled_nodes(Task.of(graph, split), CPU).train
    alone = [build_method("hgcn-plus", replace(settings.model, networks=1)) for _ in model.each]
    singles = [one.build(prepared, graph.n_classes, torch.Generator()) for one in alone]
    for single, member in zip(singles, model.each, strict=True):
        single.load_state_dict(member.state_dict())
    for one in [model, *singles]:
        optimising = make_optimiser(one, dict(one.named_parameters()), settings.train)
        for epoch in range(1, 6):
            one.train().step(prepared.features, nodes, optimising, epoch)
    for single, member in zip(singles, model.each, strict=True):
        for (name, value), (_, expected) in zip(member.named_parameters(), single.named_parameters(), strict=True):
            torch.testing.assert_close(value, expected, rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("plus", {}),
        ("plus", {"scaling": "standard"}),
        ("plus", {"components": 3}),
        ("plus", {"prediction_balance": 0.5}),
        ("paper", {"scaling": "standard"}),
    ],
)
def test_a_saved_ensemble_predicts_the_same(
    graph: Graph, split: Split, preset: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    settings = settings_for("hgcn", preset).override(SMALL | changes | {"networks": 2, "epochs": 8})
    result = fit(graph, split, settings, [0, 1], device="cpu")
    result.write(tmp_path / "run")
    run = Run.load(tmp_path / "run")
    assert run.settings == settings
    again = run.model.predict_proba(graph, device="cpu")
    np.testing.assert_allclose(again, result.probabilities, atol=1e-5)
    found = explain(run, graph, "5", device="cpu")
    assert abs(found.missed) <= 0.05 * abs(found.score - found.without) + 1e-3


@pytest.mark.parametrize(
    ("preset", "changes"), [("paper", {"recompute": True}), ("paper", {"batches": 2}), ("plus", {"batches": 2})]
)
def test_ensembles_take_batches_and_recomputation(
    graph: Graph, split: Split, preset: str, changes: dict[str, Any]
) -> None:
    settings = settings_for("hgcn", preset).override(SMALL | {"networks": 2, "epochs": 40, "patience": None} | changes)
    result = fit(graph, split, settings, [0], device="cpu")
    assert result.validation.accuracy.values.mean() > 0.4  # four classes


def test_recomputation_reaches_the_networks(graph: Graph, split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recomputation changes nothing, to the last bit."""
    settings = settings_for("hgcn", "paper").override(SMALL | {"networks": 2, "epochs": 4})
    layers = []

    def counted(*given: Any) -> torch.Tensor:
        layers.append(given)
        return recomputed(*given)

    monkeypatch.setattr(layer_module, "recomputed", counted)
    plain = fit(graph, split, settings, [0], device="cpu")
    assert not layers
    thrifty = fit(graph, split, settings.override({"recompute": True}), [0], device="cpu")
    assert len(layers) == 4 * 2 * 5  # epochs, networks, layers of two levels
    assert np.array_equal(plain.probabilities, thrifty.probabilities)


def test_an_error_names_the_member_not_the_ensemble(graph: Graph, split: Split) -> None:
    with pytest.raises(InputError, match="HGCNPlus cannot recompute"):
        fit(graph, split, plus(networks=2, recompute=True, epochs=1), [0], device="cpu")


@pytest.mark.parametrize("preset", ["plus", "paper"])
def test_the_classifier_takes_several_networks(graph: Graph, preset: str, tmp_path: Path) -> None:
    classifier = HGCNClassifier(preset=preset, networks=3, device="cpu", epochs=3, levels=2, hidden=6).fit(graph)
    assert classifier.embedding_ is not None
    assert classifier.embedding_.shape == (90, 3 * 6)
    assert classifier.result_.votes is not None
    classifier.save(tmp_path / "run")
    again = HGCNClassifier.load(tmp_path / "run", device="cpu")
    assert again.get_params()["networks"] == 3
    np.testing.assert_allclose(again.predict_proba(graph), classifier.predict_proba(), atol=1e-5)
