"""Memory traffic of seeds in parallel on a GPU: what the kernels of an epoch read and write, counted.

Counted are the bytes of one replica, in training and evaluation. Refining layers and the output layer compute only the
rows that the loss, or the validation, depends on; the first count leaves that out. A sparse product reads a row of the
dense matrix for every entry. Some rows come from caches, so the rate may exceed the memory's bandwidth. The sparse
matrices are read once for all replicas and are not counted, nor is the last evaluation, of all nodes.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from hiergcn.coarsening import Hierarchy, coarsen
from hiergcn.datasets import load_dataset
from hiergcn.graph import Graph, Split
from hiergcn.model.levels import HierarchyTensors
from hiergcn.settings.methods import HGCNConfig
from hiergcn.settings.settings import settings_for
from hiergcn.train.side_by_side import NODES_PER_LABEL
from roofline import WORD, entries_with_loops

H200 = 4.8e12  # bytes per second, from the vendor's data sheet


def table(parts: list[dict[str, Any]]) -> list[str]:
    """Return the table: traffic of a seed and epoch with all rows and with those that are needed, and its time."""
    heads = ["dataset", "preset", "all rows, MB", "rows needed, MB", "all seeds at 4.8 TB/s, s"]
    rows = [heads, ["---"] * len(heads)]
    for part in parts:
        every, some = traffic_of(part["dataset"], part["preset"])
        least = part["seeds"] * part["epochs"] * some / H200
        rows.append([part["dataset"], part["preset"], f"{every / 1e6:,.0f}", f"{some / 1e6:,.0f}", f"{least:.2f}"])
    return [f"| {' | '.join(row)} |" for row in rows]


def traffic_of(name: str, preset: str) -> tuple[float, float]:
    """Return the bytes per epoch and replica if all rows are computed, and if those are that are needed."""
    data, settings = load_dataset(name), settings_for("hgcn", preset, name)
    hierarchy = coarsen(data.graph.adjacency, settings.model.levels, settings.coarsen)
    none = np.empty(0, dtype=np.int64)
    every = Split(np.arange(data.graph.n_nodes), none, none)
    given = data.graph, hierarchy, settings.model
    return WORD * epoch_words(*given, every), WORD * epoch_words(*given, data.split)


class Part(NamedTuple):
    """The part of a level that a layer computes."""

    rows: int  # of its result
    inputs: int  # rows of what it propagates
    entries: int  # of Â
    coarser: int  # hyper-nodes that the inputs belong to


def whole(hierarchy: Hierarchy) -> list[Part]:
    """Return all rows of each level."""
    sizes = [level.n_nodes for level in hierarchy.levels]
    entries = [entries_with_loops(level.adjacency) for level in hierarchy.levels]
    return [Part(n, n, m, coarser) for n, m, coarser in zip(sizes, entries, [*sizes[1:], 0], strict=True)]


def needed(hierarchy: Hierarchy, nodes: np.ndarray) -> list[Part]:
    """Return the part of each level that these nodes depend on in refining layers."""
    field = HierarchyTensors(hierarchy).receptive_field(torch.tensor(nodes), hierarchy.depth)
    parts = whole(hierarchy)
    for i, level in enumerate(field):
        if level.inputs is not None:
            A = level.adjacency
            parts[i] = Part(A.shape[0], A.shape[1], len(A.values), level.gather.shape[0])
    return parts


def epoch_words(graph: Graph, hierarchy: Hierarchy, config: HGCNConfig, split: Split) -> float:
    """Count the words per epoch of a network with levels, node weight embedding and sparse features."""
    hierarchy = hierarchy.truncated(min(config.levels, hierarchy.depth))
    labelled = np.union1d(split.train, split.validation)
    down, train = whole(hierarchy), needed(hierarchy, split.train)
    seen = needed(hierarchy, labelled) if NODES_PER_LABEL * len(labelled) <= graph.n_nodes else down
    d, k, width = config.hidden, config.hidden + config.weight_embedding, config.hidden * config.channels
    words = feature_words(graph, width, 1.0 - config.dropout) + first_layer_words(down[0], config)
    words += sum(layer_words(part, part, k, width, d) for part in down[1:-1])
    words += sum(layer_words(*parts, k, width, d) for parts in zip(train[1:], seen[1:], strict=True))
    words += output_words(train[0], seen[0], d, graph.n_classes, config.output_relu)
    words += sum(3 * (fine.rows + coarse.rows) * d for fine, coarse in pairwise(down))  # pooling
    words += sum(
        (2 * (a.inputs + a.coarser) + b.inputs + b.coarser) * d for a, b in zip(train[:-1], seen[:-1], strict=True)
    )
    return words + 7 * graph.n_features * width  # Adam reads four arrays of θ's size and writes three


def feature_words(graph: Graph, width: int, kept: float) -> float:
    """Count X θ and Xᵀ times the gradient: of the entries that dropout keeps, and of all in evaluation."""
    entries, nodes = graph.features.nnz, graph.n_nodes  # type: ignore[union-attr]
    return (1 + 2 * kept) * entries * width + 5 * entries + 2 * nodes * width + graph.n_features * width


def first_layer_words(level: Part, config: HGCNConfig) -> int:
    """Count what the first layer does with X θ: Â (X θ) + (Â S) θ_S, of which training stores the sum, and the mix."""
    n, m, p, d = level.rows, level.entries, config.weight_embedding, config.hidden
    width = d * config.channels
    forward = 2 * (m * width + n * (p + d)) + n * width
    backward = n * (2 * width + d) + 2 * n * (width + p) + (m + n) * width  # the mix's, two thin products, Â
    return forward + backward + 3 * (m + n) * p + dropout_words(n, p)  # Â S


def layer_words(train: Part, seen: Part, k: int, width: int, d: int) -> int:
    """Count a layer on k columns: dropout, Â, the product fused with the mix (training stores it), and gradients."""
    words = dropout_words(train.inputs, k) + (train.inputs + seen.inputs) * k
    words += (2 * train.entries + train.rows + train.inputs + seen.entries + seen.rows) * k
    words += train.rows * (k + width + d) + seen.rows * (k + d)
    return words + train.rows * (2 * width + d) + 2 * train.rows * (k + width)


def output_words(train: Part, seen: Part, d: int, classes: int, relu: bool) -> int:
    """Count the output layer, propagated on its narrower side, and the gradient of the loss."""
    words = dropout_words(train.inputs, d) + (3 * train.rows + seen.rows) * (d + classes)
    words += (2 * train.entries + train.rows + train.inputs + seen.entries + seen.rows) * min(d, classes)
    return words + (1 + 7 * relu) * train.rows * classes


def dropout_words(n: int, k: int) -> int:
    """Count dropout and its gradient."""
    return 4 * n * k
