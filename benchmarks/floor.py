"""The least time that a step of H-GCN can take on a machine: bytes over bandwidth, and operations over their rate.

Counted is what no way of computing the step can leave out. Every array comes from memory once for each pass that needs
it, and what lives between two passes of one layer stays in the caches:

    forward, a layer      Â (8 bytes an entry: int32 column, float32 value), what the layer takes in, what it gives out
    backward, a layer     Â again, what the layer took in (for θ's gradient), the gradient of what it gave out, that of
                          what it took in

Operations are the products alone: H θ once forward and twice backward (for H and for θ), Â H once each way, on the
narrower of the two sides. Draws of dropout, ReLU and Adam count nothing. So the floor is lower than anything that can
be reached, and the distance to it says how much could be gained at most.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np
import scipy.sparse as sp
import torch

from hiergcn.coarsen import Hierarchy
from hiergcn.model.hgcn import HGCNConfig

WORD = 4  # bytes of a float32


@dataclass(frozen=True)
class Work:
    """What a step has to move and to multiply."""

    bytes: int = 0
    operations: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.bytes + other.bytes, self.operations + other.operations)


@dataclass(frozen=True)
class Machine:
    """What this process gets of memory and of arithmetic, measured with the threads that torch has now."""

    bandwidth: float  # bytes a second
    rate: float  # operations a second

    @classmethod
    def measured(cls) -> "Machine":
        a, b = torch.rand(2, 1 << 25).unbind()  # 128 MB each, more than the caches hold
        left, right = torch.rand(4096, 512), torch.rand(512, 512)
        product = torch.empty(4096, 512)
        moved = 3 * WORD * a.numel()  # two reads and a write
        multiplied = 2 * left.numel() * right.shape[1]
        return cls(
            moved / _seconds(lambda: a.add_(b)), multiplied / _seconds(lambda: torch.mm(left, right, out=product))
        )

    def least_seconds(self, work: Work) -> float:
        return max(work.bytes / self.bandwidth, work.operations / self.rate)


def hgcn_work(
    hierarchy: Hierarchy, config: HGCNConfig, n_features: int, feature_entries: int, n_classes: int, training: bool
) -> Work:
    """Of one step over the whole graph. Features are counted as sparse where that is less."""
    L, d, p = min(config.levels, hierarchy.depth), config.hidden, config.weight_embedding
    sizes = [(level.n_nodes, entries_with_loops(level.adjacency)) for level in hierarchy.levels[: L + 1]]
    width = d * config.channels
    n, m = sizes[0]
    dense_bytes, sparse_bytes = WORD * n * n_features, 2 * WORD * feature_entries
    beside = p * config.embed_input if L else 0  # columns of S next to those of X
    first_width, first_out = (width, d) if L else (n_classes * config.output_channels, n_classes)
    work = _layer(n, m, beside, first_width, first_out, training, side=min(n_features + beside, first_width))
    passes = 2 if training else 1  # X θ, and Xᵀ times the gradient; no gradient of X is asked for
    products = 2 * min(n * n_features, feature_entries) * first_width
    work += Work(passes * min(dense_bytes, sparse_bytes), passes * products)
    if not L:
        return work
    inner = [*sizes[1:L], *sizes[:0:-1]]  # down to the level before the coarsest, then from it up to level 1
    for nodes, entries in inner:
        work += _layer(nodes, entries, d + p, width, d, training)
    return work + _layer(n, m, d, n_classes * config.output_channels, n_classes, training)


def _layer(n: int, m: int, fan_in: int, width: int, out: int, training: bool, side: int | None = None) -> Work:
    """n nodes, m entries of Â; `side` is the width that Â is multiplied with."""
    side = min(fan_in, width) if side is None else side
    forward = Work(2 * WORD * m + WORD * n * (fan_in + out), 2 * n * fan_in * width + 2 * m * side)
    if not training:
        return forward
    backward = Work(2 * WORD * m + WORD * n * (2 * fan_in + out), 4 * n * fan_in * width + 2 * m * side)
    return forward + backward


def entries_with_loops(adjacency: sp.csr_array) -> int:
    """Of A + I."""
    return int(adjacency.nnz + np.count_nonzero(adjacency.diagonal() == 0))


def _seconds(call: Callable[[], object], repeats: int = 15) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return median(times)
