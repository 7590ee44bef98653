"""The memory that a fit will take, counted before it starts.

Counted are the arrays that live at the same time: the graph as tensors, what every layer keeps for the backward pass,
and what the largest step makes on top. For H-GCN the count follows the network layer by layer; of n nodes that take in
f numbers and make w = hidden * channels, a layer keeps n (2 f + 4 f + 4 w) bytes: dropout's bits (which our kernel on a
GPU makes again instead), Â H and the channels. H-GCN+ and GRAND keep of each pass what comes before and after the ReLU
and, where they are dense or made in full, the features that it saw, thrice if normalised. Of several networks each
keeps as much. Other methods are counted by a rule of thumb. `benchmarks/memory.py` holds it against measured peaks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch

from hiergcn.coarsen import Hierarchy
from hiergcn.graph import Graph
from hiergcn.graph.structure import WIDTH
from hiergcn.model.baselines.grand import MOST_IN_FULL, GRANDConfig
from hiergcn.model.hgcn import HGCNConfig
from hiergcn.model.plus.network import HGCNPlusConfig
from hiergcn.run.memory import available_memory, require_memory
from hiergcn.run.settings import Settings

WORD = 4  # bytes of a float32
BITS = 2  # of dropout, an entry
ENTRY = 8  # of a CSR matrix as a tensor: column and value
NODE = 60  # of a level: the row of its weight, its group, and the sums over both; on a GPU also the pieces of rows
PREPARING = 48  # an entry, while a level is normalised in double precision
COARSER = 8  # an entry of a coarser level as it is kept in the hierarchy
SPARSE = 20  # an entry of sparse features: value, column, the transpose's order and column, in training what is left


class Size(NamedTuple):
    """Nodes of a level and entries of its adjacency, those of the diagonal included."""

    nodes: int
    entries: int


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes on top of what the process holds before."""

    hierarchy: int
    """The coarser levels, in the memory of the host."""
    structure: int
    """Features and levels as tensors."""
    kept: int
    """What the layers keep for the backward pass."""
    working: int
    """What is made on top while a step is taken, or a level prepared."""
    looks_at_whole: bool = True
    """Whether all nodes are looked at in one piece after an epoch, also where batches are trained on."""

    @property
    def on_device(self) -> int:
        return self.structure + self.kept + self.working

    @property
    def total(self) -> int:
        """Where host and device are the same."""
        return self.hierarchy + self.on_device


def plan_memory(
    graph: Graph, settings: Settings, hierarchy: Hierarchy | None = None, look_at_whole: bool = True
) -> MemoryPlan:
    """Of training one seed. Without a hierarchy, levels are taken to halve the nodes and keep the edges."""
    if isinstance(settings.model, GRANDConfig):
        return _passes(graph, settings, hierarchy)
    if not isinstance(settings.model, HGCNConfig):
        return _rule_of_thumb(graph, settings)
    sizes = _sizes(graph, settings.model, hierarchy)
    share = 1.0 / settings.train.batches  # of the graph that a step takes at a time
    layers = _layers(sizes, settings.model, graph)
    kept = settings.model.networks * int(share * sum(layer.kept(settings.train.recompute) for layer in layers))
    largest = max(layers, key=lambda layer: layer.whole)
    step = share * (largest.working + (largest.whole if settings.train.recompute else 0))
    look = largest.working if look_at_whole and settings.train.batches > 1 else 0  # without gradients
    features = _feature_bytes(graph)
    preparing = PREPARING * max(size.entries for size in sizes) + 2 * features
    levels = sum(ENTRY * size.entries + NODE * size.nodes for size in sizes)
    structure = levels + features
    parts = share * structure if settings.train.batches > 1 else 0  # of the batch whose turn it is
    return MemoryPlan(
        hierarchy=COARSER * sum(size.entries for size in sizes[1:]) if settings.model.coarsening else 0,
        structure=int(structure + parts) + 2 * WORD * sizes[0].nodes * graph.n_classes,
        kept=kept,
        working=int(max(step, look - kept, preparing - kept)),  # layers keep nothing while all is looked at or prepared
        looks_at_whole=look_at_whole,
    )


def planned_to_fit(graph: Graph, settings: Settings, hierarchy: Hierarchy | None, device: torch.device) -> MemoryPlan:
    """The plan, if there is memory for it; else a sentence that says how to do with less. The hierarchy is there."""
    available = available_memory(device)
    plan = plan_memory(graph, settings, hierarchy)
    if available is None or plan.on_device <= available:
        return plan
    thrifty = plan_memory(graph, settings, hierarchy, look_at_whole=False)
    if thrifty.on_device <= available:
        return thrifty
    require_memory(
        plan.on_device,
        what=f"the layers of {settings.method} over {graph.n_nodes:,} nodes and {graph.n_edges:,} edges",
        remedy=_remedy(graph, settings, hierarchy, available),
        device=device,
    )
    return plan


def _remedy(graph: Graph, settings: Settings, hierarchy: Hierarchy | None, available: int) -> str:
    """What would make it fit: recomputation, which changes nothing but the time, else the fewest batches."""

    def fits(**changes: Any) -> bool:
        changed = replace(settings, train=replace(settings.train, **changes))
        return plan_memory(graph, changed, hierarchy, look_at_whole=False).on_device <= available

    if isinstance(settings.model, HGCNConfig) and not settings.train.recompute and fits(recompute=True):
        return "take --set recompute=true, which keeps less and computes more"
    networks = "networks, " if getattr(settings.model, "networks", 1) > 1 else ""
    fewer = f"fewer {networks}levels or hidden columns"
    for batches in (2**k for k in range(1, 11)):
        if batches > settings.train.batches and fits(batches=batches):
            return f"take --set batches={batches}, which trains on parts of the graph, or {fewer}"
    return f"take {fewer}, or a machine with more"


def coarsening_memory(graph: Graph, levels: int) -> int:
    """Bytes of the coarser levels at most, and of one that is being made; whole weights take less."""
    whole = np.array_equal(graph.adjacency.data, np.floor(graph.adjacency.data))
    return int((COARSER if whole else COARSER + WORD) * graph.adjacency.nnz * (levels + 1))


@dataclass(frozen=True)
class _Layer:
    nodes: int
    fixed: int  # columns of features, which need no gradient
    learned: int  # columns that need one
    width: int  # of all channels together

    @property
    def fan_in(self) -> int:
        return self.fixed + self.learned

    @property
    def whole(self) -> int:
        return self.nodes * (WORD * (self.fan_in + self.width) + BITS * self.learned)

    @property
    def working(self) -> int:
        return WORD * self.nodes * (2 * self.fan_in + 2 * self.width)

    def kept(self, recompute: bool) -> int:
        return WORD * self.nodes * self.learned if recompute else self.whole


def _layers(sizes: Sequence[Size], config: HGCNConfig, graph: Graph) -> list[_Layer]:
    d, p, width = config.hidden, config.weight_embedding, config.hidden * config.channels
    n, classes = sizes[0].nodes, graph.n_classes * config.output_channels
    dense = 0 if _is_sparse(graph) else graph.n_features or WIDTH
    if len(sizes) == 1:
        return [_Layer(n, dense, 0, classes)]
    inner = [size.nodes for size in [*sizes[1:-1], *sizes[:0:-1]]]
    return [
        _Layer(n, dense, p * config.embed_input, width),
        *(_Layer(nodes, 0, d + p, width) for nodes in inner),
        _Layer(n, 0, d, classes),
    ]


def _size(graph: Graph) -> Size:
    return Size(graph.n_nodes, graph.adjacency.nnz + graph.n_nodes)


def _sizes(graph: Graph, config: HGCNConfig | HGCNPlusConfig, hierarchy: Hierarchy | None) -> list[Size]:
    n, entries = _size(graph)
    if isinstance(config, HGCNConfig) and not config.coarsening:
        return [Size(n, entries)] * (config.levels + 1)
    if hierarchy is not None:
        used = hierarchy.levels[: config.levels + 1]
        return [Size(level.n_nodes, level.adjacency.nnz + level.n_nodes) for level in used]
    halved = [max(n >> i, 1) for i in range(config.levels + 1)]
    return [Size(nodes, min(entries, nodes**2)) for nodes in halved]


def _is_sparse(graph: Graph) -> bool:
    return graph.features is not None and not isinstance(graph.features, np.ndarray)


def _feature_bytes(graph: Graph) -> int:
    if graph.features is None:
        return WORD * WIDTH * graph.n_nodes
    if isinstance(graph.features, np.ndarray):
        return int(WORD * graph.features.size)
    return int(SPARSE * graph.features.nnz)


def _passes(graph: Graph, settings: Settings, hierarchy: Hierarchy | None) -> MemoryPlan:
    config, n, share = settings.model, graph.n_nodes, 1.0 / settings.train.batches
    levels = _sizes(graph, config, hierarchy) if isinstance(config, HGCNPlusConfig) else [_size(graph)]
    components = config.components if isinstance(config, HGCNPlusConfig) else 0
    entries, f = sum(size.entries for size in levels), graph.n_features or WIDTH
    f = min(components or f, f)
    wanted = config.input_dropout > 0 or config.batch_norm or f < config.hidden
    in_full = wanted and config.input_dropout_on != "features"
    in_full = in_full and (config.input_dropout_on == "propagated" or n * f <= MOST_IN_FULL)
    sparse = not (in_full or components)
    dense = 0 if _is_sparse(graph) and sparse else f
    stored = graph.features.nnz if isinstance(graph.features, sp.csr_array) and sparse else 0
    seen = dense * (3 if in_full and config.batch_norm else 1)  # before and after normalising, and dropout's bits
    one = WORD * (n * (seen + 5 * config.hidden + 4 * graph.n_classes) + 2 * stored)
    kept = int(share * config.networks * config.passes * one)
    features = (2 * WORD * n * f if in_full else 0) + _feature_bytes(graph)
    made = 1 if not in_full else 3 if len(levels) == 1 else 5  # arrays as wide as the features, on the way
    step = share * WORD * n * (made * dense + 8 * config.hidden)
    before = 2 * WORD * n * made * dense if in_full else 0  # when they are propagated once for all looks at the graph
    return MemoryPlan(
        hierarchy=COARSER * sum(size.entries for size in levels[1:]),
        structure=ENTRY * entries + NODE * sum(size.nodes for size in levels) + features,
        kept=kept,
        working=int(max(step, before - kept, PREPARING * _size(graph).entries)),
    )


def _rule_of_thumb(graph: Graph, settings: Settings) -> MemoryPlan:
    """Some arrays as wide as the features and as the hidden layers for each node, and some numbers for each edge.

    A method with attention heads keeps what they make for each edge.
    """
    heads = getattr(settings.model, "heads", 1)
    hidden = getattr(settings.model, "hidden", 32) * heads
    entries = graph.adjacency.nnz + graph.n_nodes
    each_edge = 32 + (6 * WORD * hidden if heads > 1 else 0)
    dense = 0 if _is_sparse(graph) else graph.n_features or WIDTH
    kept = WORD * graph.n_nodes * (dense + 6 * hidden) // settings.train.batches
    return MemoryPlan(0, _feature_bytes(graph) + ENTRY * entries, kept, each_edge * entries // settings.train.batches)
