"""Contexts and their softmax against autograd over the single pairs."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.model import contexts as module
from hiergcn.model.contexts import Contexts, ContextSoftmax, graph_contexts, in_batches, label_contexts
from hiergcn.model.walks import Walker


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


def test_batches_go_through_all_before_they_repeat() -> None:
    batches = list(islice(in_batches(5, 2, np.random.default_rng(0)), 6))
    assert [len(batch) for batch in batches] == [2, 2, 1, 2, 2, 1]
    for part in (batches[:3], batches[3:]):
        assert sorted(np.concatenate(part).tolist()) == [0, 1, 2, 3, 4]
