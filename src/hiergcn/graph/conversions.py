"""Conversions of graphs from and to arrays, files and other libraries, which `Graph` inherits; see also `formats`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hiergcn.errors import InputError
from hiergcn.graph.adjacency import checked_ends, checked_weights, symmetric_adjacency
from hiergcn.graph.tables.column_roles import CsvOptions, FrameOptions, NodeOptions, checked_options

if TYPE_CHECKING:
    import pandas as pd

    from hiergcn.graph.graph import Graph


class Conversions:
    """The conversions, which `Graph` inherits. Formats are imported when used, so that none costs the others time."""

    @property
    def _graph(self) -> "Graph":
        return self  # type: ignore[return-value]  # only Graph inherits from this class

    @classmethod
    def from_scipy(
        cls,
        adjacency: Any,
        features: Any = None,
        labels: ArrayLike | None = None,
        *,
        ids: ArrayLike | None = None,
        class_names: Sequence[str] = (),
        name: str = "graph",
    ) -> Self:
        """Return a graph from any scipy sparse adjacency, which must be symmetric."""
        return cls(adjacency, features, labels, ids, tuple(class_names), name)  # type: ignore[call-arg]

    @classmethod
    def from_edges(
        cls,
        source: ArrayLike,
        target: ArrayLike,
        weight: ArrayLike | None = None,
        n: int | None = None,
        *,
        features: Any = None,
        labels: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        class_names: Sequence[str] = (),
        name: str = "graph",
    ) -> Self:
        """Return a graph from edges between nodes 0..n-1, made undirected; self-loops are dropped, with a note.

        Without weights an edge is there or not, however often it is listed: its weight is 1. With weights, edges listed
        again in the same direction add up, and of the two directions the heavier counts.
        """
        ends = [checked_ends(side, which) for side, which in ((source, "source"), (target, "target"))]
        if ends[0].size != ends[1].size:
            raise InputError(f"There are {ends[0].size:,} sources but {ends[1].size:,} targets; give both per edge.")
        highest = max(int(end.max()) if end.size else -1 for end in ends)
        n = highest + 1 if n is None else n
        if highest >= n:
            raise InputError(f"An edge ends in node {highest}, but the graph has {n:,} nodes, 0 to {n - 1}.")
        weights = None if weight is None else checked_weights(weight, ends[0].size)
        loops = int(np.count_nonzero(ends[0] == ends[1]))
        notes = (f"self-loops dropped: {loops:,}",) if loops else ()
        adjacency = symmetric_adjacency(ends[0], ends[1], weights, n)
        return cls(adjacency, features, labels, ids, tuple(class_names), name, notes)  # type: ignore[call-arg]

    @staticmethod
    def from_csv(
        edges: str | Path,
        nodes: str | Path | None = None,
        *,
        like: "Graph | None" = None,
        **options: Unpack[CsvOptions],
    ) -> "Graph":
        """Return a graph from a file of edges and, optionally, a file of nodes. docs/files.md has the rules.

        Args:
            edges: a file with a row per edge.
            nodes: a file with a row per node.
            like: a graph whose columns of features these are: its categories and means are used, so that a model that
                was trained on it can predict here. Other columns are ignored.
            options: `id`, `label`, `target`, `split`, `drop`, `ends`, `weight`, `delimiter` and `unknown`, see
                `CsvOptions`; all of them are detected by default.
        """
        from hiergcn.graph.tables.csv_files import read_csv

        return read_csv(edges, nodes, checked_options(options, CsvOptions, like)).graph

    @staticmethod
    def from_pandas(
        edges: "pd.DataFrame",
        nodes: "pd.DataFrame | None" = None,
        *,
        like: "Graph | None" = None,
        name: str = "graph",
        **options: Unpack[FrameOptions],
    ) -> "Graph":
        """Return a graph from a frame of edges and, if there is one, a frame of nodes, by the rules of `from_csv`.

        The ids of the nodes are in the column `id`, in one with a usual name (id, node, ..), in the index if it is not
        0, 1, 2, .., or in the first column. Ids that are text stay text. If all features are sparse, they stay so. The
        options are those of `from_csv`, without the delimiter.
        """
        from hiergcn.graph.formats.frames import graph_from_frames

        return graph_from_frames(edges, nodes, checked_options(options, FrameOptions, like), name)

    def to_pandas(self) -> "tuple[pd.DataFrame, pd.DataFrame]":
        """Return frames of edges (source, target, and weight unless all are 1) and nodes (id, label, split, features).

        Features have the columns that they were made of; those without names are x0, x1, ..
        """
        from hiergcn.graph.formats.frames import frames_of

        return frames_of(self._graph)

    def to_csv(self, edges: str | Path, nodes: str | Path) -> None:
        """Write two files with the columns of `to_pandas`, for `from_csv`; an unknown label is blank.

        CSV cannot distinguish the text "7" from the number, nor name a class that no node has.
        """
        from hiergcn.graph.formats.frames import write_graph_csv

        write_graph_csv(self._graph, edges, nodes)

    @staticmethod
    def from_networkx(
        g: Any,
        *,
        features: str | Sequence[str] | None = None,
        weight: str = "weight",
        name: str | None = None,
        **options: Unpack[NodeOptions],
    ) -> "Graph":
        """Return a graph from a NetworkX graph of any kind, made undirected; its nodes are the ids, in their order.

        Args:
            g: a networkx.Graph, DiGraph or multigraph. Parallel edges add up if they have weights.
            features: the node attribute that holds a list of numbers (or {column: value}), by default `x` if there is
                one; or a list of attributes that hold a number, a truth value or a word each.
            weight: the edge attribute that holds the weight; an edge without it weighs 1.
            name: name of the graph; by default that of `g`.
            options: node attributes: `label`, the class, by default `label` or `class` if there is one, or `target`, a
                number to predict instead; `split` (train, validation or test), and `drop=["split"]` if that attribute
                is none. `unknown` as in `from_csv`; nodes without the attribute are unlabelled.
        """
        from hiergcn.graph.formats.networkx_graph import graph_from_networkx

        return graph_from_networkx(g, features, checked_options(options, NodeOptions), weight, name)

    def to_networkx(self) -> Any:
        """Return a networkx.Graph by the user's ids; node attributes are `label`, `split` and `x` (the features)."""
        from hiergcn.graph.formats.networkx_graph import networkx_of

        return networkx_of(self._graph)

    @staticmethod
    def from_graphml(
        path: str | Path,
        *,
        features: str | Sequence[str] | None = None,
        weight: str = "weight",
        **options: Unpack[NodeOptions],
    ) -> "Graph":
        """Return a graph from a GraphML file, as from a NetworkX graph. A document type is refused.

        Gephi and yEd write the name that is drawn beside a node as its `label`: give the attribute of the class then.
        """
        from hiergcn.graph.formats.networkx_graph import graph_from_graphml

        return graph_from_graphml(path, features, checked_options(options, NodeOptions), weight)

    def to_graphml(self, path: str | Path) -> None:
        """Write a GraphML file: edges with weights, nodes with labels, features as text that `from_graphml` reads."""
        from hiergcn.graph.formats.networkx_graph import write_graphml

        write_graphml(self._graph, path)

    @staticmethod
    def from_pyg(data: Any, *, name: str | None = None) -> "Graph":
        """Return a graph from a `torch_geometric.data.Data`, made undirected. It has edge_index, edge_weight
        (or an edge_attr of one column), x and y, which is -1 if the class is unknown. A y with fractions is a target.

        Its train_mask, val_mask and test_mask are the graph's split, unless they hold several.
        """
        from hiergcn.graph.formats.pyg_data import graph_from_pyg

        return graph_from_pyg(data, name)

    def to_pyg(self, *, sparse_features: bool = False, exact: bool = False) -> Any:
        """Return a `torch_geometric.data.Data` with every edge in both directions, `ids` and `class_names`.

        Args:
            sparse_features: keep sparse features as a CSR tensor; most of PyG's layers need dense ones.
            exact: keep double precision, for a round trip without loss; by default numbers are of torch's default type,
                float32, as layers expect.
        """
        from hiergcn.graph.formats.pyg_data import pyg_of

        return pyg_of(self._graph, sparse_features, exact)

    def to_scipy(self) -> sp.csr_array:
        """Return the adjacency as a copy that may be changed."""
        return self._graph.adjacency.copy()

    @staticmethod
    def from_npz(path: str | Path) -> "Graph":
        """Return a graph from a file of `to_npz`, or from one in the layout of Shchur et al. (2018)."""
        from hiergcn.graph.formats.npz_graph import graph_from_npz

        return graph_from_npz(path)

    def to_npz(self, path: str | Path) -> None:
        """Write the whole graph to one file of plain arrays, quick to read."""
        from hiergcn.graph.formats.npz_graph import write_npz

        write_npz(self._graph, path)

    @staticmethod
    def from_table(
        X: Any,
        y: Any = None,
        k: int = 10,
        *,
        join: Literal["union", "mutual"] = "union",
        metric: str = "euclidean",
        standardise: bool = True,
        ids: ArrayLike | None = None,
        name: str = "table",
    ) -> "Graph":
        """Return the nearest-neighbour graph of a table: a node for each row, joined to the k rows nearest to it.

        Args:
            X: numbers, dense or sparse, or a frame, whose words are one-hot encoded. It becomes the features, too.
            y: the class of each row; None, NaN, -1, "unknown" and so on if it is unknown, as in `from_csv`.
            k: number of neighbours of each row.
            join: `union` joins two rows if either is among the other's nearest, so that every row has k neighbours or
                more; `mutual` only if both are, which drops chance neighbours but can leave rows without any.
            metric: a distance of scikit-learn, such as `euclidean` or `cosine`.
            standardise: give columns mean 0 and variance 1 first, so that units do not matter.
            ids: ids of the rows; by default the index of a frame unless it is 0, 1, 2, .., else the row numbers.
            name: name of the graph.
        """
        from hiergcn.graph.formats.frames import graph_from_table

        return graph_from_table(X, y, k, join=join, metric=metric, standardise=standardise, ids=ids, name=name)
