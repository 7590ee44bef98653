"""Pairs of a node and its context, drawn from walks or from labels, and the softmax that predicts one from the other.

Planetoid's unsupervised loss over a batch of pairs (i, c) is -Σ log softmax(C h_i + b)_c, with h_i the embedding of i.
A batch names a node in many pairs, but its softmax over all nodes is needed once: pairs are kept as counts per node.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from hiergcn.model.walks import NOWHERE, Walker

_SCORES_AT_ONCE = 1 << 26  # entries of the (nodes, contexts) matrix that are in memory together


@dataclass(frozen=True, eq=False)
class Contexts:
    """A batch of pairs: the distinct nodes, and for each the contexts it is to predict and how often."""

    nodes: npt.NDArray[np.int64]  # (s,), ascending
    row: npt.NDArray[np.int64]  # (entries,), ascending; nodes[row] is the node of an entry
    context: npt.NDArray[np.int64]  # (entries,)
    count: npt.NDArray[np.int64]  # (entries,)

    @classmethod
    def of(cls, nodes: npt.NDArray[np.integer], contexts: npt.NDArray[np.integer]) -> "Contexts":
        distinct, row = np.unique(nodes.astype(np.int64), return_inverse=True)
        width = int(contexts.max(initial=0)) + 1
        entries, count = np.unique(row * width + contexts, return_counts=True)
        return cls(distinct, entries // width, entries % width, count)


def in_batches(n: int, size: int, rng: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    """0 .. n-1 in random order, `size` at a time, again and again."""
    while True:
        order = rng.permutation(n)
        for begun in range(0, n, size):
            yield order[begun : begun + size]


def graph_contexts(walker: Walker, batch: int, steps: int, window: int, rng: np.random.Generator) -> Iterator[Contexts]:
    """Nodes within `window` places of each other, a node itself included, on a walk from each node of a batch."""
    places = np.array([(i, j) for i in range(steps + 1) for j in range(steps + 1) if abs(i - j) <= window])
    for starts in in_batches(walker.n_nodes, batch, rng):
        walks = walker.walks(starts, steps + 1, int(rng.integers(2**63)))
        walks = walks[walks[:, -1] != NOWHERE]  # an isolated node has no context
        yield Contexts.of(walks[:, places[:, 0]].ravel(), walks[:, places[:, 1]].ravel())


def label_contexts(
    nodes: npt.NDArray[np.int64], classes: npt.NDArray[np.int64], batch: int, rng: np.random.Generator
) -> Iterator[Contexts]:
    """A labelled node, and a labelled node of the same class, `batch` times."""
    by_class = nodes[np.argsort(classes, kind="stable")]
    size = np.bincount(classes)
    first = np.cumsum(size) - size
    while True:
        drawn = rng.integers(len(nodes), size=batch)
        kind = classes[drawn]
        yield Contexts.of(nodes[drawn], by_class[first[kind] + rng.integers(size[kind])])


class ContextSoftmax:
    """softmax(C h + b) over all n nodes, with a gradient step of its own.

    It teaches the embedding and is of no use afterwards, so it is no part of the model that is kept.
    """

    def __init__(self, n: int, width: int, generator: torch.Generator) -> None:
        self.C = nn.init.xavier_uniform_(torch.empty(n, width, device=generator.device), generator=generator)
        self.b = torch.zeros(n, device=generator.device)

    @torch.no_grad()
    def descend(self, H: Tensor, batch: Contexts, rate: float) -> Tensor:
        """One step down the loss of the batch, summed over its pairs; gives the gradient by H (s, width)."""
        row, context, count = (
            torch.from_numpy(part).to(H.device) for part in (batch.row, batch.context, batch.count.astype(np.float32))
        )
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
