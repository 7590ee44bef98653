"""Roofline of a training step of H-GCN: the time that memory bandwidth and arithmetic rate allow at best.

Only work that no implementation can avoid is counted, if it computes all rows. A training step of ours leaves out
those rows on the way up that the loss does not depend on, so its own least time is shorter. Each pass reads or writes
each array once; values between two passes of a layer stay in the caches:

    forward, per layer     Â (8 bytes per entry: int32 column, float32 value), the layer's input and output
    backward, per layer    Â, the layer's input (for θ's gradient), the gradients of its output and of its input

Operations are those of the products: H θ once forward and twice backward (for H and for θ), Â H once each way, on the
narrower side. Dropout, ReLU and Adam are not counted. No implementation of all rows can reach the roofline.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np
import scipy.sparse as sp
import torch

from hiergcn.coarsening import Hierarchy
from hiergcn.settings.methods import HGCNConfig

WORD = 4  # bytes per float32


@dataclass(frozen=True)
class Work:
    """Memory traffic and arithmetic of a step."""

    bytes: int = 0
    operations: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.bytes + other.bytes, self.operations + other.operations)


@dataclass(frozen=True)
class Machine:
    """Memory bandwidth and arithmetic rate of this machine with torch's current number of threads."""

    bandwidth: float  # bytes per second
    rate: float  # operations per second of torch's dense products

    @classmethod
    def measured(cls) -> "Machine":
        """Measure them on large arrays."""
        a, b = torch.rand(2, 1 << 25).unbind()  # 128 MB each, larger than the caches
        left, right = torch.rand(4096, 512), torch.rand(512, 512)
        product = torch.empty(4096, 512)
        traffic = 3 * WORD * a.numel()  # two reads and a write
        operations = 2 * left.numel() * right.shape[1]
        rate = operations / _seconds(lambda: torch.mm(left, right, out=product))
        return cls(traffic / _seconds(lambda: a.add_(b)), rate)

    def least_seconds(self, work: Work) -> float:
        """Return the roofline of `work`."""
        return max(work.bytes / self.bandwidth, work.operations / self.rate)


def hgcn_work(
    hierarchy: Hierarchy, config: HGCNConfig, n_features: int, feature_entries: int, n_classes: int, training: bool
) -> Work:
    """Count the work of one full-batch step. Features count as sparse if that is less."""
    L, d, p = min(config.levels, hierarchy.depth), config.hidden, config.weight_embedding
    sizes = [(level.n_nodes, entries_with_loops(level.adjacency)) for level in hierarchy.levels[: L + 1]]
    width = d * config.channels
    n, m = sizes[0]
    dense_bytes, sparse_bytes = WORD * n * n_features, 2 * WORD * feature_entries
    beside = p * config.embed_input if L else 0  # columns of S beside X
    first_width, first_out = (width, d) if L else (n_classes * config.output_channels, n_classes)
    work = _layer(n, m, beside, first_width, first_out, training, side=min(n_features + beside, first_width))
    passes = 2 if training else 1  # X θ, and Xᵀ times the gradient; X needs no gradient
    products = 2 * min(n * n_features, feature_entries) * first_width
    work += Work(passes * min(dense_bytes, sparse_bytes), passes * products)
    if not L:
        return work
    inner = [*sizes[1:L], *sizes[:0:-1]]  # down to the coarsest level, then up to level 1
    for nodes, entries in inner:
        work += _layer(nodes, entries, d + p, width, d, training)
    return work + _layer(n, m, d, n_classes * config.output_channels, n_classes, training)


def _layer(n: int, m: int, fan_in: int, width: int, out: int, training: bool, side: int | None = None) -> Work:
    """Count a layer of n nodes and m entries of Â; `side` is the width of the matrix that Â is multiplied with."""
    side = min(fan_in, width) if side is None else side
    forward = Work(2 * WORD * m + WORD * n * (fan_in + out), 2 * n * fan_in * width + 2 * m * side)
    if not training:
        return forward
    backward = Work(2 * WORD * m + WORD * n * (2 * fan_in + out), 4 * n * fan_in * width + 2 * m * side)
    return forward + backward


def entries_with_loops(adjacency: sp.csr_array) -> int:
    """Count the entries of A + I."""
    return int(adjacency.nnz + np.count_nonzero(adjacency.diagonal() == 0))


def _seconds(call: Callable[[], object], repeats: int = 15) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return median(times)
