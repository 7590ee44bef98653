"""Votes add up to the logits exactly."""

from pathlib import Path

import numpy as np
import pytest
import torch

from hiergcn.coarsening import coarsen
from hiergcn.datasets import planted_graph
from hiergcn.explanation.votes import Votes, votes
from hiergcn.graph.task import Task
from hiergcn.model.baselines.mlp import MLPMethod
from hiergcn.model.ensemble import Ensemble
from hiergcn.model.hgcn import HGCN, HGCNMethod
from hiergcn.model.hgcn_plus import HGCNPlus, HGCNPlusMethod
from hiergcn.model.method import Prepared
from hiergcn.settings.methods import HGCNConfig, HGCNPlusConfig, MLPConfig


def built(config: HGCNConfig, seed: int = 1) -> tuple[HGCN, Prepared]:
    graph = planted_graph(80, seed=5)
    method = HGCNMethod(config)
    task = Task.to_predict(graph, 3)
    prepared = method.prepare(task, coarsen(graph.adjacency, config.levels), torch.device("cpu"))
    return method.build(prepared, 3, torch.Generator().manual_seed(seed)).eval(), prepared


@pytest.fixture(scope="module")
def voted() -> tuple[HGCN, Prepared, np.ndarray, Votes]:
    model, prepared = built(HGCNConfig(levels=2, hidden=6, output_relu=False))
    with torch.no_grad():
        logits = model(prepared.features).numpy()
    found = votes(model, prepared.features, logits.argmax(axis=1))
    assert found is not None
    return model, prepared, logits, found


def test_a_share_is_what_the_score_loses_without_that_vote(voted: tuple[HGCN, Prepared, np.ndarray, Votes]) -> None:
    model, prepared, logits, found = voted
    with torch.no_grad():
        H = model.embed(prepared.features)
        for j in (0, 17):
            silent = H.clone()
            silent[j] = 0.0
            without = model.output(model.hierarchy.levels[0], silent).numpy()
            i = np.arange(len(logits))
            best = logits.argmax(axis=1)
            lost = (logits - logits.mean(1, keepdims=True))[i, best] - (without - without.mean(1, keepdims=True))[
                i, best
            ]
            np.testing.assert_allclose(found.shares.toarray()[:, j], lost, atol=1e-5)


def test_hyper_nodes_make_the_score_without_the_short_cut(voted: tuple[HGCN, Prepared, np.ndarray, Votes]) -> None:
    model, prepared, logits, found = voted
    with torch.no_grad():
        coarse, _ = model.embedding_parts(prepared.features)
        by_hyper = model.output(model.hierarchy.levels[0], coarse).numpy()
    centred = by_hyper - by_hyper.mean(axis=1, keepdims=True)
    expected = centred[np.arange(len(logits)), logits.argmax(axis=1)]
    np.testing.assert_allclose(found.by_hyper_nodes, expected, rtol=1e-4, atol=1e-5)


def built_plus(**changes: object) -> tuple[HGCNPlus, Prepared]:
    graph = planted_graph(80, seed=5)
    method = HGCNPlusMethod(HGCNPlusConfig(**{"levels": 2, "hidden": 6, "share": 0.3, "order": 3} | changes))  # type: ignore[arg-type]
    prepared = method.prepare(Task.to_predict(graph, 3), coarsen(graph.adjacency, 2), torch.device("cpu"))
    model = method.build(prepared, 3, torch.Generator().manual_seed(1)).eval()
    with torch.no_grad():
        model.first_bias.add_(torch.linspace(-0.3, 0.3, 6))  # so that the ReLU and the biases have a say
    return model, prepared


@pytest.mark.parametrize(
    "changes", [{}, {"order": 0}, {"order": 1}, {"input_dropout_on": "propagated"}, {"share": 0.0}]
)
def test_votes_of_plus_and_biases_add_up_to_the_score(changes: dict[str, object]) -> None:
    model, prepared = built_plus(**changes)
    with torch.no_grad():
        logits, passed = model(prepared.features).numpy(), (model.embed(prepared.features) > 0).numpy()
    best, i = logits.argmax(axis=1), np.arange(80)
    found = votes(model, prepared.features, best)
    assert found is not None
    assert found.hyper_nodes_vote
    theta = model.second.detach().numpy()
    theta = theta - theta.mean(axis=1, keepdims=True)
    bias = ((passed * model.first_bias.detach().numpy()) @ theta)[i, best]
    total = found.shares.sum(axis=1) + found.by_hyper_nodes + bias
    np.testing.assert_allclose(total, logits[i, best] - logits.mean(axis=1), rtol=1e-4, atol=1e-5)
    assert found.by_hyper_nodes.any() == (changes.get("share") != 0.0)


def test_a_vote_of_plus_is_the_loss_without_the_edge() -> None:
    model, prepared = built_plus(order=1, share=0.0, drop_node=0.0)
    best = np.zeros(80, dtype=np.int64)
    found = votes(model, prepared.features, best)
    assert found is not None
    with torch.no_grad():
        Y = prepared.features @ model.first
        passed = (model.embed(prepared.features) > 0).float()
        theta = model.second - model.second.mean(dim=1, keepdim=True)
        A = model.graph.adjacency.to_dense()
        brought = 0.5 * A[:, :, None] * Y[None]  # (i, j, hidden), by the one step of propagation
        expected = (brought * (passed * theta[:, 0])[:, None]).sum(dim=2)
        expected += torch.diag(0.5 * (Y * passed) @ theta[:, 0])
    np.testing.assert_allclose(found.shares.toarray(), expected.numpy(), atol=1e-5)


def test_votes_of_an_ensemble_add_up_to_the_mean_score() -> None:
    config = HGCNConfig(levels=2, hidden=6, output_relu=False)
    members, (prepared, _) = zip(*(built(config, seed) for seed in (1, 2)), strict=True)
    model = Ensemble(members)
    with torch.no_grad():
        best = model(prepared.features).numpy().argmax(axis=1)
        logits = np.mean([member(prepared.features).numpy() for member in members], axis=0)
    found = votes(model, prepared.features, best)
    assert found is not None
    score = logits[np.arange(80), best] - logits.mean(axis=1)
    np.testing.assert_allclose(found.shares.sum(axis=1), score, rtol=1e-4, atol=1e-5)
    each = [votes(member, prepared.features, best) for member in members]
    by_hyper_nodes = [one.by_hyper_nodes for one in each if one is not None]
    np.testing.assert_allclose(found.by_hyper_nodes, np.mean(by_hyper_nodes, axis=0), atol=1e-6)
    assert found.by_hyper_nodes.dtype == np.float32
    assert not found.hyper_nodes_vote


def test_votes_load_again(tmp_path: Path, voted: tuple[HGCN, Prepared, np.ndarray, Votes]) -> None:
    found = voted[3]
    found.save(tmp_path / "votes.npz")
    again = Votes.load(tmp_path / "votes.npz")
    np.testing.assert_array_equal(again.shares.toarray(), found.shares.toarray())
    np.testing.assert_array_equal(again.by_hyper_nodes, found.by_hyper_nodes)
    assert again.hyper_nodes_vote == found.hyper_nodes_vote


def test_no_votes_if_the_output_is_not_linear() -> None:
    model, prepared = built(HGCNConfig(levels=2, hidden=6, output_channels=2))
    assert votes(model, prepared.features, np.zeros(80, dtype=np.int64)) is None
    assert votes(Ensemble([model, model]), prepared.features, np.zeros(80, dtype=np.int64)) is None
    flat, prepared = built(HGCNConfig(levels=0))
    assert votes(flat, prepared.features, np.zeros(80, dtype=np.int64)) is None
    normalised, prepared_plus = built_plus(batch_norm=True)
    assert votes(normalised, prepared_plus.features, np.zeros(80, dtype=np.int64)) is None
    perceptron = MLPMethod(MLPConfig()).build(prepared, 3, torch.Generator())
    assert votes(perceptron, prepared.features, np.zeros(80, dtype=np.int64)) is None
