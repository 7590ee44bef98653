"""Conversions of graphs from and to arrays, files and other libraries, which `Graph` inherits; see also `formats`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hiergcn.errors import InputError
from hiergcn.graph.adjacency import checked_ends, checked_weights, symmetric_adjacency

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
        id: str | None = None,  # noqa: A002  # the word a user expects
        label: str | None = None,
        target: str | None = None,
        split: str | None = None,
        drop: Sequence[str] = (),
        ends: tuple[str, str] | None = None,
        weight: str | None = None,
        delimiter: str | None = None,
        unknown: Sequence[str] | None = None,
        like: "Graph | None" = None,
    ) -> "Graph":
        """Return a graph from a file of edges and, optionally, a file of nodes. docs/files.md has the rules.

        Args:
            edges: path of a file with a row per edge.
            nodes: path of a file with a row per node.
            id: column of the node ids; by default one named `id`, `node` or the like, else the first.
            label: column of the classes; by default `label` or `class`. Blank means unknown.
            target: column of a number to predict, instead of a label.
            split: column that says train, validation or test, which `fit` uses; by default `split`.
            drop: columns of the nodes to leave out; all others are features.
            ends: the two columns of the edges that hold ids; by default those with usual names, else the first two.
            weight: column of the edge weights; by default `weight`.
            delimiter: between columns; guessed by default.
            unknown: labels that mean unknown, instead of "unknown", "-1", "NA" and other usual words.
            like: a graph whose columns of features these are: its categories and means are used, so that a model that
                was trained on it can predict here. Other columns are ignored.
        """
        from hiergcn.graph.tables.column_roles import CsvOptions
        from hiergcn.graph.tables.csv_files import read_csv

        known = None if like is None else like.columns
        options = CsvOptions(id, label, split, drop, ends, target, weight, delimiter, unknown, known)
        return read_csv(edges, nodes, options).graph

    @staticmethod
    def from_pandas(
        edges: "pd.DataFrame",
        nodes: "pd.DataFrame | None" = None,
        *,
        id: str | None = None,  # noqa: A002  # the word a user expects
        label: str | None = None,
        target: str | None = None,
        split: str | None = None,
        drop: Sequence[str] = (),
        ends: tuple[str, str] | None = None,
        weight: str | None = None,
        unknown: Sequence[str] | None = None,
        like: "Graph | None" = None,
        name: str = "graph",
    ) -> "Graph":
        """Return a graph from a frame of edges and, if there is one, a frame of nodes, by the rules of `from_csv`.

        The ids of the nodes are in the column `id`, in one with a usual name (id, node, ..), in the index if it is not
        0, 1, 2, .., or in the first column. Ids that are text stay text. If all features are sparse, they stay so.
        """
        from hiergcn.graph.formats.frames import graph_from_frames
        from hiergcn.graph.tables.column_roles import CsvOptions

        known = None if like is None else like.columns
        options = CsvOptions(id, label, split, drop, ends, target, weight, None, unknown, known)
        return graph_from_frames(edges, nodes, options, name)

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
        label: str | None = None,
        target: str | None = None,
        split: str | None = None,
        features: str | Sequence[str] | None = None,
        weight: str = "weight",
        drop: Sequence[str] = (),
        unknown: Sequence[str] | None = None,
        name: str | None = None,
    ) -> "Graph":
        """Return a graph from a NetworkX graph of any kind, made undirected; its nodes are the ids, in their order.

        Args:
            g: a networkx.Graph, DiGraph or multigraph. Parallel edges add up if they have weights.
            label: the node attribute that holds the class; by default `label` or `class` if there is one. Nodes without
                it are unlabelled; None, NaN and words mean the same as in `from_csv`.
            target: the node attribute that holds a number to predict, instead of a label.
            split: the node attribute that says train, validation or test; by default `split` if there is one.
            features: the node attribute that holds a list of numbers (or {column: value}), by default `x` if there is
                one; or a list of attributes that hold a number, a truth value or a word each.
            weight: the edge attribute that holds the weight; an edge without it weighs 1.
            drop: ["split"] if that attribute is not a split.
            unknown: labels that mean unknown, instead of the usual words.
            name: name of the graph; by default that of `g`.
        """
        from hiergcn.graph.formats.networkx_graph import graph_from_networkx
        from hiergcn.graph.tables.column_roles import CsvOptions

        options = CsvOptions(label=label, target=target, split=split, drop=drop, unknown=unknown)
        return graph_from_networkx(g, features, options, weight, name)

    def to_networkx(self) -> Any:
        """Return a networkx.Graph by the user's ids; node attributes are `label`, `split` and `x` (the features)."""
        from hiergcn.graph.formats.networkx_graph import networkx_of

        return networkx_of(self._graph)

    @staticmethod
    def from_graphml(
        path: str | Path,
        *,
        label: str | None = None,
        target: str | None = None,
        split: str | None = None,
        features: str | Sequence[str] | None = None,
        weight: str = "weight",
        drop: Sequence[str] = (),
        unknown: Sequence[str] | None = None,
    ) -> "Graph":
        """Return a graph from a GraphML file, as from a NetworkX graph. A document type is refused.

        Gephi and yEd write the name that is drawn beside a node as its `label`: give the attribute of the class then.
        """
        from hiergcn.graph.formats.networkx_graph import graph_from_graphml
        from hiergcn.graph.tables.column_roles import CsvOptions

        options = CsvOptions(label=label, target=target, split=split, drop=drop, unknown=unknown)
        return graph_from_graphml(path, features, options, weight)

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

    def to_table(
        self, hops: int = 2, levels: int = 3, *, harmonic: bool = True, train: "ArrayLike | None" = None
    ) -> "pd.DataFrame":
        """Return a data frame with a row per node, indexed by id, for any tabular learner.

        Columns are the degree, the features, their means over neighbours (`hop1:NAME`, ..) and over hyper-nodes
        (`level1:NAME`, ..), and the labels nearby (`near:CLASS`): known labels, diffused over the graph. Those of a
        labelled node come from the labels of other folds, so that no row sees its own label.

        Args:
            hops: number of neighbourhoods to average over.
            levels: number of levels of the hierarchy to average over.
            harmonic: whether to add the labels nearby.
            train: numbers of the nodes whose labels may be used; by default the training nodes of the graph's split, or
                all labelled nodes. Leave out those that you test on.
        """
        import hiergcn  # graph does not import coarsen, which imports graph

        return hiergcn.node_table(self._graph, hops, levels, harmonic=harmonic, train=train)

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
        from hiergcn.graph.formats.knn_table import graph_from_table

        return graph_from_table(X, y, k, join=join, metric=metric, standardise=standardise, ids=ids, name=name)
