"""The result of coarsening: levels of coarser and coarser graphs, and the maps between nodes and hyper-nodes."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiergcn.coarsening.contraction import group_sums
from hiergcn.compiled.csr import Int32s, Int64s
from hiergcn.errors import InputError
from hiergcn.fragments import card, table
from hiergcn.graph.adjacency import edge_count, reordered_adjacency
from hiergcn.settings.fields import CoarsenConfig

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Level:
    """One graph of a hierarchy. Level 0 is the input graph. The arrays are read-only."""

    adjacency: sp.csr_array
    """A_l, (n_l, n_l): symmetric, rows sorted. The diagonal holds the edges inside hyper-nodes, each twice.

    A coarser level is float32 if that holds its weights, and their sums over a node, exactly (whole numbers up to
    2^24); otherwise levels are float64."""
    node_weight: Int64s
    """(n_l,): the number of input nodes in each node."""
    group: Int32s | None = None
    """(n_l,): each node's hyper-node in the next level; None at the coarsest."""

    def __post_init__(self) -> None:
        n = self.adjacency.shape[0]
        if self.adjacency.shape != (n, n):
            raise InputError(f"The adjacency of a level must be square, but its shape is {self.adjacency.shape}.")
        if self.node_weight.shape != (n,) or self.node_weight.dtype.kind != "i" or (n and self.node_weight.min() < 1):
            raise InputError(f"The node weights of a level of {n} nodes must be {n} positive integers.")
        group = self.group
        if group is not None and (group.shape != (n,) or group.dtype.kind != "i" or (n and group.min() < 0)):
            raise InputError(f"The grouping of a level of {n} nodes must be {n} hyper-node numbers from 0.")

    @property
    def n_nodes(self) -> int:
        return int(self.adjacency.shape[0])

    @cached_property
    def n_edges(self) -> int:
        """Distinct undirected edges; self-loops are not counted."""
        return edge_count(self.adjacency)

    def grouping(self) -> Int32s:
        """Return `group`, for levels that have one."""
        if self.group is None:
            raise InputError("The coarsest level is not grouped further.")
        return self.group


class Sizes(NamedTuple):
    """Nodes and edges of each level, the input graph first."""

    nodes: tuple[int, ...]
    edges: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A graph and its coarser versions, finest first."""

    levels: tuple[Level, ...]
    """Level 0 is the input graph; `levels[l].group` leads from level l to level l + 1."""
    config: CoarsenConfig
    """The configuration it was made with."""
    requested: int
    """The number of coarser levels requested; `depth` is less if the graph could not be coarsened further."""

    def __post_init__(self) -> None:
        if not self.levels:
            raise InputError("A hierarchy needs at least the level of the input graph.")
        if self.depth > self.requested:
            raise InputError(f"A hierarchy of {self.depth} coarser levels cannot come from {self.requested} requested.")
        for index, (level, coarser) in enumerate(zip_longest(self.levels, self.levels[1:])):
            if (level.group is None) != (coarser is None):
                raise InputError(f"Level {index} must have {'no' if coarser is None else 'a'} grouping.")
            if level.group is None:
                continue
            if not np.array_equal(group_sums(level.group, level.node_weight, coarser.n_nodes), coarser.node_weight):
                raise InputError(f"Node weights of level {index + 1} are not the sums over groups of level {index}.")

    @property
    def depth(self) -> int:
        """The number of coarser levels."""
        return len(self.levels) - 1

    def sizes(self) -> Sizes:
        """Return nodes and edges of each level."""
        return Sizes(tuple(level.n_nodes for level in self.levels), tuple(level.n_edges for level in self.levels))

    def truncated(self, levels: int) -> "Hierarchy":
        """Return the first `levels` coarser levels: what coarsening the graph that many times gives."""
        if levels == self.requested:
            return self
        kept = self.levels[: levels + 1]
        return Hierarchy((*kept[:-1], replace(kept[-1], group=None)), self.config, levels)

    def reordered(self, order: Int64s | None) -> "Hierarchy":
        """Return the hierarchy of the same graph with its nodes in another order; None is the order they have."""
        if order is None:
            return self
        first = self.levels[0]
        adjacency = reordered_adjacency(first.adjacency, order)
        group = None if first.group is None else first.group[order]
        return replace(self, levels=(Level(adjacency, first.node_weight[order], group), *self.levels[1:]))

    def hyper_nodes(self, level: int) -> Int32s:
        """Return the hyper-node of every input node at `level`, (n_0,)."""
        self._check_level(level, self.depth)
        nodes = np.arange(self.levels[0].n_nodes, dtype=np.int32)
        for finer in self.levels[:level]:
            nodes = finer.grouping()[nodes]
        return nodes

    def members(self, level: int, hyper_node: int) -> Int64s:
        """Return the input nodes in a hyper-node of `level`, ascending."""
        self._check_level(level, self.depth)
        if not 0 <= hyper_node < self.levels[level].n_nodes:
            raise InputError(f"Level {level} has hyper-nodes 0 to {self.levels[level].n_nodes - 1}, not {hyper_node}.")
        return np.flatnonzero(self.hyper_nodes(level) == hyper_node)

    def grouping_matrix(self, level: int) -> sp.csr_array:
        """Return M of Eq. 3, (n_l, n_{l+1}): 1 if node j of `level` is in hyper-node k of the next level, else 0."""
        self._check_level(level, self.depth - 1)
        group = self.levels[level].grouping()
        parts = (np.ones(len(group)), group, np.arange(len(group) + 1, dtype=np.int32))
        return sp.csr_array(parts, shape=(len(group), self.levels[level + 1].n_nodes))

    def to_frame(self, ids: npt.ArrayLike | None = None) -> "pd.DataFrame":
        """Return a table of `node`, `level`, `hyper_node`, with a row for every input node at every coarser level."""
        import pandas as pd

        n = self.levels[0].n_nodes
        nodes: npt.NDArray[Any] = np.arange(n) if ids is None else np.asarray(ids)
        if nodes.shape != (n,):
            raise InputError(f"The ids have shape {nodes.shape}, but there are {n} nodes; give one id per node.")
        coarser = range(1, self.depth + 1)
        return pd.DataFrame(
            {
                "node": np.tile(nodes, self.depth),
                "level": np.repeat(np.asarray(coarser, dtype=np.int64), n),
                "hyper_node": np.concatenate([np.empty(0, np.int32), *map(self.hyper_nodes, coarser)]),
            }
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the hierarchy as an npz file (see `storage`)."""
        from hiergcn.coarsening.storage import save_hierarchy

        save_hierarchy(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Hierarchy":
        """Read a hierarchy that `save` wrote; it is the same to the last bit."""
        from hiergcn.coarsening.storage import load_hierarchy

        return load_hierarchy(path)

    def _check_level(self, level: int, last: int) -> None:
        if not 0 <= level <= last:
            raise InputError(f"There is no level {level} to use here; give one of 0 to {last}.")

    def __repr__(self) -> str:
        return f"Hierarchy(nodes={list(self.sizes().nodes)}, edges={list(self.sizes().edges)})"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: the levels, the input graph first."""
        nodes, edges = self.sizes()
        rows = [(level, n, m) for level, (n, m) in enumerate(zip(nodes, edges, strict=True))]
        levels = table(("level", "nodes", "edges"), rows, [n / max(nodes[0], 1) for n in nodes])
        return card("Hierarchy", {"coarser levels": self.depth, "strategy": self.config.strategy}, levels)
