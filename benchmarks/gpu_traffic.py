"""Memory traffic of one more seed on a GPU, compared with its measured cost in results/replicas.json.

Counted are the bytes of one replica that the kernels of an epoch read and write, in training and evaluation. A sparse
product reads a row of the dense matrix for every entry. Some rows come from caches, so the rate may exceed the
memory's bandwidth. The sparse matrices are read once for all replicas and are not counted.
"""

from itertools import pairwise
from typing import Any

from hiergcn.coarsen import Hierarchy, coarsen
from hiergcn.datasets import load_dataset
from hiergcn.graph import Graph
from hiergcn.model.hgcn import HGCNConfig
from hiergcn.run.settings import settings_for
from roofline import WORD, entries_with_loops

H200 = 4.8e12  # bytes per second, from the vendor's data sheet


def table(parts: list[dict[str, Any]]) -> list[str]:
    """Return the table of one more seed: time, traffic, rate, and all seeds at full bandwidth."""
    heads = ["dataset", "preset", "one more seed, ms", "per epoch, µs", "traffic, MB", "TB/s"]
    heads += ["all seeds at 4.8 TB/s, s", "relative to one seed"]
    rows = [heads, ["---"] * len(heads)]
    for part in parts:
        further = (part["all"]["median"] - part["one"]["median"]) / (part["seeds"] - 1)
        traffic, epoch = traffic_of(part["dataset"], part["preset"]), further / part["epochs"]
        least = part["one"]["median"] + (part["seeds"] - 1) * part["epochs"] * traffic / H200
        figures = [
            f"{1e3 * further:.0f}",
            f"{1e6 * epoch:,.0f}",
            f"{traffic / 1e6:,.0f}",
            f"{traffic / epoch / 1e12:.1f}",
        ]
        ratio = least / part["one"]["median"]
        rows.append([part["dataset"], part["preset"], *figures, f"{least:.2f}", f"{ratio:.1f}"])
    return [f"| {' | '.join(row)} |" for row in rows]


def traffic_of(name: str, preset: str) -> float:
    """Return the bytes per epoch and replica."""
    graph, settings = load_dataset(name).graph, settings_for("hgcn", preset, name)
    return WORD * epoch_words(graph, coarsen(graph.adjacency, settings.model.levels, settings.coarsen), settings.model)


def epoch_words(graph: Graph, hierarchy: Hierarchy, config: HGCNConfig) -> float:
    """Count the words per epoch of a network with levels, node weight embedding and sparse features."""
    L, d, p = min(config.levels, hierarchy.depth), config.hidden, config.weight_embedding
    width, classes = d * config.channels, graph.n_classes
    sizes = [(level.n_nodes, entries_with_loops(level.adjacency)) for level in hierarchy.levels[: L + 1]]
    n, m = sizes[0]
    words = feature_words(graph, width, 1.0 - config.dropout)
    words += 3 * (m + n) * width + 2 * n * width + channel_words(n, p, width, d)  # Â(Xθ), read again to add S θ
    words += 3 * (m + n) * p + dropout_words(n, p)  # S beside X: Â S, dropout
    for nodes, entries in [*sizes[1:L], *sizes[:0:-1]]:
        k = d + p
        words += dropout_words(nodes, k) + 2 * nodes * k + 3 * (entries + nodes) * k  # [H ‖ S] twice, Â H
        words += channel_words(nodes, k, width, d)
    words += dropout_words(n, d) + dense_words(n, d, classes) + 3 * (m + n) * min(d, classes)  # the output layer
    words += (1 + 7 * config.output_relu) * n * classes  # gradient of the loss; ReLU and its gradient
    words += sum(3 * 2 * (fine + coarse) * d for (fine, _), (coarse, _) in pairwise(sizes))  # M
    return words + 7 * graph.n_features * width  # Adam reads four arrays of θ's size and writes three


def feature_words(graph: Graph, width: int, kept: float) -> float:
    """Count X θ and Xᵀ times the gradient: of the entries that dropout keeps, and of all in evaluation."""
    entries, nodes = graph.features.nnz, graph.n_nodes  # type: ignore[union-attr]
    return (1 + 2 * kept) * entries * width + 5 * entries + 2 * nodes * width + graph.n_features * width


def dense_words(n: int, k: int, width: int) -> int:
    """Count H θ in training and evaluation, and both gradients."""
    return 4 * n * (k + width)


def channel_words(n: int, k: int, width: int, d: int) -> int:
    """Count H θ fused with the mix of channels (training stores H θ), the mix's gradient, and both of the product."""
    return n * (k + width + d) + n * (k + d) + n * (2 * width + d) + 2 * n * (k + width)


def dropout_words(n: int, k: int) -> int:
    """Count dropout and its gradient."""
    return 4 * n * k
