"""What a further seed has to move on a GPU, next to what it costs there by results/replicas.json.

Counted is what every kernel of an epoch reads and writes of one replica, in its training and in its evaluation: a
sparse product reads a row of the dense matrix for each entry, as often as there are entries. Some of that comes from
the caches, so that the rate may be higher than the memory's. The matrices themselves are read for all replicas at once
and count nothing.
"""

from itertools import pairwise
from typing import Any

from floor import WORD, entries_with_loops
from hiergcn.coarsen import Hierarchy, coarsen
from hiergcn.datasets import load_dataset
from hiergcn.graph import Graph
from hiergcn.model.hgcn import HGCNConfig
from hiergcn.run.settings import settings_for

H200 = 4.8e12  # bytes a second of its memory, by the vendor's data sheet


def table(parts: list[dict[str, Any]]) -> list[str]:
    heads = ["dataset", "settings", "further seed, ms", "its epoch, µs", "moves, MB", "TB/s", "all at 4.8 TB/s, s"]
    rows = [heads, ["---"] * len(heads)]
    for part in parts:
        further = (part["all"]["median"] - part["one"]["median"]) / (part["seeds"] - 1)
        moved, epoch = moved_by(part["dataset"], part["preset"]), further / part["epochs"]
        least = part["one"]["median"] + (part["seeds"] - 1) * part["epochs"] * moved / H200
        settings = "the paper's" if part["preset"] == "paper" else "the recipe's"
        figures = [f"{1e3 * further:.0f}", f"{1e6 * epoch:,.0f}", f"{moved / 1e6:,.0f}", f"{moved / epoch / 1e12:.1f}"]
        ratio = least / part["one"]["median"]
        rows.append([part["dataset"], settings, *figures, f"{least:.2f}, {ratio:.1f} times one"])
    return [f"| {' | '.join(row)} |" for row in rows]


def moved_by(name: str, preset: str) -> float:
    """Bytes of an epoch of one replica."""
    graph, settings = load_dataset(name).graph, settings_for("hgcn", preset, name)
    return WORD * epoch(graph, coarsen(graph.adjacency, settings.model.levels, settings.coarsen), settings.model)


def epoch(graph: Graph, hierarchy: Hierarchy, config: HGCNConfig) -> float:
    """Words, of a network with levels and an embedding of node weights; features are sparse."""
    L, d, p = min(config.levels, hierarchy.depth), config.hidden, config.weight_embedding
    width, classes = d * config.channels, graph.n_classes
    sizes = [(level.n_nodes, entries_with_loops(level.adjacency)) for level in hierarchy.levels[: L + 1]]
    n, m = sizes[0]
    words = features(graph, width, 1.0 - config.dropout)
    words += 3 * (m + n) * width + 2 * n * width + mixed(n, p, width, d)  # Â(Xθ), read once more for S θ and channels
    words += 3 * (m + n) * p + dropped(n, p)  # of S beside X: Â S, dropout
    for nodes, entries in [*sizes[1:L], *sizes[:0:-1]]:
        k = d + p
        words += dropped(nodes, k) + 2 * nodes * k + 3 * (entries + nodes) * k  # [H ‖ S] with dropout and without, Â H
        words += mixed(nodes, k, width, d)
    words += dropped(n, d) + dense(n, d, classes) + 3 * (m + n) * min(d, classes)  # the output layer
    words += (1 + 7 * config.output_relu) * n * classes  # the gradient of the loss, zeros for most; ReLU and its own
    words += sum(3 * 2 * (fine + coarse) * d for (fine, _), (coarse, _) in pairwise(sizes))  # M
    return words + 7 * graph.n_features * width  # Adam reads four of θ and writes three


def features(graph: Graph, width: int, kept: float) -> float:
    """X θ, and Xᵀ times the gradient: of what dropout keeps, and in the evaluation of all."""
    entries, nodes = graph.features.nnz, graph.n_nodes  # type: ignore[union-attr]
    return (1 + 2 * kept) * entries * width + 5 * entries + 2 * nodes * width + graph.n_features * width


def dense(n: int, k: int, width: int) -> int:
    """H θ in training and evaluation, and both gradients."""
    return 4 * n * (k + width)


def mixed(n: int, k: int, width: int, d: int) -> int:
    """H θ and its channels in one pass, kept as wide as it is in training alone; the channels' gradient, then both."""
    return n * (k + width + d) + n * (k + d) + n * (2 * width + d) + 2 * n * (k + width)


def dropped(n: int, k: int) -> int:
    """Dropout and its gradient."""
    return 4 * n * k
