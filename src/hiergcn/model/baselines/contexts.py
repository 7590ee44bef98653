"""Pairs of a node and its context, drawn from walks or from labels, and what predicts one from the other.

Planetoid's unsupervised loss over a batch of pairs (i, c), with h_i the embedding of i, is either of

    -Σ log softmax(C h_i + b)_c                          over all nodes: n scores for each node of the batch
    -Σ log σ(γ c_c · h_i)      γ = 1, or -1 if drawn as no context of i: one score for each pair

The paper's text has the second; its demo the first, whose cost over a pass of all nodes grows with n².
A batch names a node in many pairs, but its softmax over all nodes is needed once: pairs are kept as counts per node.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from hiergcn.model.baselines.walks import NOWHERE, Walker

_SCORES_AT_ONCE = 1 << 26  # entries of the (nodes, contexts) matrix that are in memory together


@dataclass(frozen=True, eq=False)
class Contexts:
    """A batch of pairs: the distinct nodes, and for each the contexts it is to predict and how often.

    A count below 0 is that of a node drawn as no context.
    """

    nodes: npt.NDArray[np.int64]  # (s,), ascending
    row: npt.NDArray[np.int64]  # (entries,), ascending; nodes[row] is the node of an entry
    context: npt.NDArray[np.int64]  # (entries,)
    count: npt.NDArray[np.int64]  # (entries,)

    @classmethod
    def of(
        cls,
        nodes: npt.NDArray[np.integer],
        contexts: npt.NDArray[np.integer],
        others: npt.NDArray[np.integer] | None = None,
    ) -> "Contexts":
        """Of pairs (nodes[i], contexts[i]); others[i] (k,) are drawn as no contexts of nodes[i]."""
        distinct, row = np.unique(nodes.astype(np.int64), return_inverse=True)
        row, column = 2 * row + 1, contexts  # odd rows are those of contexts, even rows those of no contexts
        if others is not None:
            row, column = np.append(row, np.repeat(row - 1, others.shape[1])), np.append(contexts, others)
        width = int(column.max(initial=0)) + 1
        entries, count = np.unique(row * width + column, return_counts=True)
        row = entries // width
        return cls(distinct, row // 2, entries % width, np.where(row % 2, count, -count))

    def on(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """row, context and count as tensors."""
        row, context, count = map(torch.from_numpy, (self.row, self.context, self.count.astype(np.float32)))
        return row.to(device), context.to(device), count.to(device)


def in_batches(n: int, size: int, rng: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    """0 .. n-1 in random order, `size` at a time, again and again."""
    while True:
        order = rng.permutation(n)
        for begun in range(0, n, size):
            yield order[begun : begun + size]


def graph_contexts(
    walker: Walker, batch: int, steps: int, window: int, rng: np.random.Generator, negatives: int = 0
) -> Iterator[Contexts]:
    """Nodes within `window` places of each other, a node itself included, on a walk from each node of a batch.

    With each pair come `negatives` nodes of the whole graph as no contexts.
    """
    places = np.array([(i, j) for i in range(steps + 1) for j in range(steps + 1) if abs(i - j) <= window])
    for starts in in_batches(walker.n_nodes, batch, rng):
        walks = walker.walks(starts, steps + 1, int(rng.integers(2**63)))
        walks = walks[walks[:, -1] != NOWHERE]  # an isolated node has no context
        nodes, contexts = walks[:, places[:, 0]].ravel(), walks[:, places[:, 1]].ravel()
        yield Contexts.of(nodes, contexts, rng.integers(walker.n_nodes, size=(len(nodes), negatives)))


def label_contexts(
    nodes: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64],
    batch: int,
    rng: np.random.Generator,
    negatives: int = 0,
) -> Iterator[Contexts]:
    """A labelled node, and a labelled node of the same class, `batch` times.

    With each pair come `negatives` labelled nodes of other classes as no contexts.
    """
    by_class = nodes[np.argsort(classes, kind="stable")]
    size = np.bincount(classes)
    first = np.cumsum(size) - size
    while True:
        drawn = rng.integers(len(nodes), size=batch)
        kind = classes[drawn]
        contexts = by_class[first[kind] + rng.integers(size[kind])]
        # Counted on from the end of its class, round and round, by_class names those of other classes.
        onward = rng.integers((len(nodes) - size[kind])[:, None], size=(batch, negatives))
        others = by_class[((first + size)[kind][:, None] + onward) % len(nodes)]
        yield Contexts.of(nodes[drawn], contexts, others)


class ContextLoss(Protocol):
    """What teaches the embedding; it is of no use afterwards, so it is no part of the model that is kept."""

    def descend(self, H: Tensor, batch: Contexts, rate: float) -> Tensor:
        """One step down the loss of the batch, summed over its pairs; gives the gradient by H (s, width)."""


class ContextSigmoid:
    """σ(c · h) for each pair, with a gradient step of its own. A graph of any size costs the same."""

    def __init__(self, n: int, width: int, generator: torch.Generator) -> None:
        self.C = torch.empty(n, width, device=generator.device).normal_(0.0, 0.01, generator=generator)

    @torch.no_grad()
    def descend(self, H: Tensor, batch: Contexts, rate: float) -> Tensor:
        row, context, count = batch.on(H.device)
        of_H, of_C = H.index_select(0, row), self.C.index_select(0, context)  # (entries, width)
        probability = torch.sigmoid((of_H * of_C).sum(dim=1))
        by_score = (count.abs() * (probability - (count > 0).float()))[:, None]
        self.C.index_put_((context,), -rate * by_score * of_H, accumulate=True)
        return torch.zeros_like(H).index_put_((row,), by_score * of_C, accumulate=True)


class ContextSoftmax:
    """softmax(C h + b) over all n nodes, with a gradient step of its own; counts are above 0."""

    def __init__(self, n: int, width: int, generator: torch.Generator) -> None:
        self.C = nn.init.xavier_uniform_(torch.empty(n, width, device=generator.device), generator=generator)
        self.b = torch.zeros(n, device=generator.device)

    @torch.no_grad()
    def descend(self, H: Tensor, batch: Contexts, rate: float) -> Tensor:
        row, context, count = batch.on(H.device)
        pairs = torch.from_numpy(np.bincount(batch.row, batch.count, len(H)).astype(np.float32)).to(H.device)  # (s,)
        by_H, by_C, by_b = torch.empty_like(H), torch.zeros_like(self.C), torch.zeros_like(self.b)
        at_once = max(1, _SCORES_AT_ONCE // len(self.C))
        for low in range(0, len(H), at_once):
            high = min(low + at_once, len(H))
            inside = slice(*np.searchsorted(batch.row, (low, high)).tolist())
            by_score = torch.softmax(torch.addmm(self.b, H[low:high], self.C.T), dim=1)
            by_score.mul_(pairs[low:high, None])  # (high - low, n)
            by_score[row[inside] - low, context[inside]] -= count[inside]
            by_H[low:high] = by_score @ self.C
            by_C.addmm_(by_score.T, H[low:high])
            by_b += by_score.sum(dim=0)
        self.C.sub_(by_C, alpha=rate)
        self.b.sub_(by_b, alpha=rate)
        return by_H
