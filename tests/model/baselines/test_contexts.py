"""Contexts, and the two ways to predict them, against autograd over the single pairs."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.model.baselines import contexts as module
from hiergcn.model.baselines.contexts import (
    Contexts,
    ContextSigmoid,
    ContextSoftmax,
    graph_contexts,
    in_batches,
    label_contexts,
)
from hiergcn.model.baselines.walks import Walker


def pairs_of(batch: Contexts) -> dict[tuple[int, int], int]:
    nodes = batch.nodes[batch.row].tolist()
    return dict(zip(zip(nodes, batch.context.tolist(), strict=True), batch.count.tolist(), strict=True))


def test_pairs_are_counted() -> None:
    batch = Contexts.of(np.array([7, 2, 7, 7]), np.array([0, 7, 0, 3]))
    assert batch.nodes.tolist() == [2, 7]
    assert pairs_of(batch) == {(2, 7): 1, (7, 0): 2, (7, 3): 1}


def test_a_step_is_gradient_descent_on_the_summed_cross_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SCORES_AT_ONCE", 20)  # two rows of ten nodes at a time
    nodes, contexts = np.array([1, 4, 4, 9, 1, 1, 6]), np.array([0, 1, 1, 9, 5, 0, 2])
    batch = Contexts.of(nodes, contexts)
    draw = torch.Generator().manual_seed(0)
    softmax = ContextSoftmax(10, 4, draw)
    E = torch.randn(10, 4, generator=draw, requires_grad=True)
    C, b = softmax.C.clone().requires_grad_(), softmax.b.clone().requires_grad_()
    scores = E[torch.from_numpy(nodes)] @ C.T + b
    torch.nn.functional.cross_entropy(scores, torch.from_numpy(contexts), reduction="sum").backward()
    by_H = softmax.descend(E.detach()[torch.from_numpy(batch.nodes)], batch, 0.1)
    assert E.grad is not None
    assert C.grad is not None
    assert b.grad is not None
    torch.testing.assert_close(by_H, E.grad[torch.from_numpy(batch.nodes)])
    torch.testing.assert_close(softmax.C, C.detach() - 0.1 * C.grad)
    torch.testing.assert_close(softmax.b, b.detach() - 0.1 * b.grad)


def test_a_step_is_gradient_descent_on_the_summed_logistic_loss() -> None:
    nodes, contexts = np.array([1, 4, 4, 9]), np.array([0, 1, 1, 9])
    others = np.array([[2, 2], [1, 3], [0, 5], [9, 7]])  # 1 and 9 are drawn both as a context and as none
    batch = Contexts.of(nodes, contexts, others)
    draw = torch.Generator().manual_seed(0)
    sigmoid = ContextSigmoid(10, 4, draw)
    E = torch.randn(10, 4, generator=draw, requires_grad=True)
    C = sigmoid.C.normal_(generator=draw).clone().requires_grad_()
    loss = -torch.nn.functional.logsigmoid((E[nodes] * C[contexts]).sum(dim=1)).sum()
    loss = loss - torch.nn.functional.logsigmoid(-(E[nodes][:, None] * C[others]).sum(dim=2)).sum()
    loss.backward()
    by_H = sigmoid.descend(E.detach()[torch.from_numpy(batch.nodes)], batch, 0.1)
    assert E.grad is not None
    assert C.grad is not None
    torch.testing.assert_close(by_H, E.grad[torch.from_numpy(batch.nodes)])
    torch.testing.assert_close(sigmoid.C, C.detach() - 0.1 * C.grad)


def test_graph_contexts_are_near_on_a_walk() -> None:
    """Two nodes and an edge: a walk of 3 steps goes to and fro; the node alone has no context."""
    walker = Walker.on(sp.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])))
    batch = next(graph_contexts(walker, 3, 3, 1, np.random.default_rng(0)))
    assert pairs_of(batch) == {(0, 0): 4, (0, 1): 6, (1, 0): 6, (1, 1): 4}
    wider = next(graph_contexts(walker, 3, 3, 3, np.random.default_rng(0)))
    assert sum(pairs_of(wider).values()) == 2 * 16


def test_label_contexts_share_their_class() -> None:
    nodes, classes = np.array([3, 8, 5, 1]), np.array([0, 1, 0, 1])
    label = dict(zip(nodes.tolist(), classes.tolist(), strict=True))
    seen = set()
    for batch in islice(label_contexts(nodes, classes, 50, np.random.default_rng(0)), 3):
        seen |= set(pairs_of(batch))
        assert batch.count.sum() == 50
    assert seen == {(i, j) for i in label for j in label if label[i] == label[j]}


def test_other_classes_are_no_label_contexts() -> None:
    nodes, classes = np.array([3, 8, 5, 1, 6]), np.array([0, 1, 0, 2, 1])
    label = dict(zip(nodes.tolist(), classes.tolist(), strict=True))
    seen = set()
    for batch in islice(label_contexts(nodes, classes, 50, np.random.default_rng(0), negatives=3), 3):
        assert (batch.count[batch.count > 0].sum(), batch.count[batch.count < 0].sum()) == (50, -150)
        pairs = zip(batch.nodes[batch.row].tolist(), batch.context.tolist(), batch.count < 0, strict=True)
        seen |= {(i, j) for i, j, no in pairs if no}
    assert seen == {(i, j) for i in label for j in label if label[i] != label[j]}


def test_any_node_may_be_drawn_as_no_graph_context() -> None:
    walker = Walker.on(sp.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])))
    batch = next(graph_contexts(walker, 3, 3, 1, np.random.default_rng(0), negatives=2))
    assert batch.count[batch.count > 0].sum() == 20
    assert batch.count[batch.count < 0].sum() == -40
    assert set(batch.context[batch.count < 0].tolist()) == {0, 1, 2}


def test_batches_go_through_all_before_they_repeat() -> None:
    batches = list(islice(in_batches(5, 2, np.random.default_rng(0)), 6))
    assert [len(batch) for batch in batches] == [2, 2, 1, 2, 2, 1]
    for part in (batches[:3], batches[3:]):
        assert sorted(np.concatenate(part).tolist()) == [0, 1, 2, 3, 4]
