"""The doors to other libraries and files, which `Graph` inherits; each format has a file of its own in `formats`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import scipy.sparse as sp
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd

    from hiergcn.graph.graph import Graph


class Conversions:
    """Formats are imported when they are asked for, so that no graph pays for the libraries of others."""

    @property
    def _graph(self) -> "Graph":
        return self  # type: ignore[return-value]  # Graph alone inherits from here

    @staticmethod
    def from_pandas(
        edges: "pd.DataFrame",
        nodes: "pd.DataFrame | None" = None,
        *,
        id: str | None = None,  # noqa: A002  # the word a user expects
        label: str | None = None,
        source: str | None = None,
        target: str | None = None,
        weight: str | None = None,
        name: str = "graph",
    ) -> "Graph":
        """A graph from a frame of edges and, where there is one, a frame of nodes, by the rules of `from_csv`.

        The ids of the nodes are in the column `id`, in one with a usual name (id, node, ..), in the index if it is not
        0, 1, 2, .., or in the first column. Ids that come as text stay text. A label of None, NaN, "" or the number -1
        is unknown. Every other column is a feature; where all of these are sparse, the features stay sparse.
        """
        from hiergcn.graph.formats.frames import graph_from_frames

        return graph_from_frames(edges, nodes, id, label, source, target, weight, name)

    def to_pandas(self) -> "tuple[pd.DataFrame, pd.DataFrame]":
        """A frame of edges (source, target and, unless all are 1, weight) and one of nodes (id, label, x0, x1, ..)."""
        from hiergcn.graph.formats.frames import frames_of

        return frames_of(self._graph)

    def to_csv(self, edges: str | Path, nodes: str | Path) -> None:
        """Two files with the columns of `to_pandas`, for `from_csv`; an unknown label is blank.

        Cells are written as they are, for programs; CSV cannot tell the text "7" from the number, nor name a class that
        no node has.
        """
        from hiergcn.graph.formats.frames import write_csv

        write_csv(self._graph, edges, nodes)

    @staticmethod
    def from_networkx(
        g: Any,
        *,
        label: str | None = None,
        features: str | Sequence[str] | None = None,
        weight: str = "weight",
        name: str | None = None,
    ) -> "Graph":
        """A graph from a NetworkX graph of any kind, made undirected; its nodes are the ids, in their order.

        Args:
            g: a networkx.Graph, DiGraph or multigraph. Parallel edges add up where they have weights.
            label: the node attribute that holds the class; by default `label` or `class` if there is one. Nodes without
                it, or with None, NaN, "" or the number -1, are unlabelled.
            features: the node attribute that holds a list of numbers (or {column: value}), by default `x` if there is
                one; or a list of attributes that hold a number, a truth value or a word each.
            weight: the edge attribute that holds the weight; an edge without it weighs 1.
            name: of the graph; by default its own.
        """
        from hiergcn.graph.formats.networkx_graph import graph_from_networkx

        return graph_from_networkx(g, label, features, weight, name)

    def to_networkx(self) -> Any:
        """A networkx.Graph by the user's ids, with node attributes `label` (where known) and `x` (the features)."""
        from hiergcn.graph.formats.networkx_graph import networkx_of

        return networkx_of(self._graph)

    @staticmethod
    def from_graphml(
        path: str | Path,
        *,
        label: str | None = None,
        features: str | Sequence[str] | None = None,
        weight: str = "weight",
    ) -> "Graph":
        """A graph from a GraphML file, as from a NetworkX graph. A file that declares a document type is refused.

        Gephi and yEd write the name that is drawn beside a node as its `label`: name the attribute of the class then.
        """
        from hiergcn.graph.formats.graphml import graph_from_graphml

        return graph_from_graphml(path, label, features, weight)

    def to_graphml(self, path: str | Path) -> None:
        """A GraphML file: edges with weights, nodes with labels, features as text that `from_graphml` reads again."""
        from hiergcn.graph.formats.graphml import write_graphml

        write_graphml(self._graph, path)

    @staticmethod
    def from_pyg(data: Any, *, name: str | None = None) -> "Graph":
        """A graph from a `torch_geometric.data.Data`, made undirected: edge_index, edge_weight (or an edge_attr of one
        column), x and y, which is -1 where the class is unknown.

        Its masks are a split: `Split.from_masks(data.train_mask, data.val_mask, data.test_mask)`.
        """
        from hiergcn.graph.formats.pyg_data import graph_from_pyg

        return graph_from_pyg(data, name)

    def to_pyg(self, *, sparse_features: bool = False) -> Any:
        """A `torch_geometric.data.Data` with every edge in both directions, and `ids` and `class_names` beside it.

        Most of PyG's layers want dense features; `sparse_features` leaves sparse ones as a CSR tensor.
        """
        from hiergcn.graph.formats.pyg_data import pyg_of

        return pyg_of(self._graph, sparse_features)

    def to_scipy(self) -> sp.csr_array:
        """The adjacency as a copy that may be changed."""
        return self._graph.adjacency.copy()

    @staticmethod
    def from_npz(path: str | Path) -> "Graph":
        """A graph from a file of `to_npz`, or from one in the layout of Shchur et al. (2018)."""
        from hiergcn.graph.formats.npz_graph import graph_from_npz

        return graph_from_npz(path)

    def to_npz(self, path: str | Path) -> None:
        """Everything there is to the graph in one file of plain arrays, quick to read again."""
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
        """A graph for a table and no graph: a node for each row, joined to the k rows nearest to it.

        Args:
            X: numbers, dense or sparse, or a frame, whose words become a column per value. It is the features too.
            y: the class of each row; None, NaN, "" or the number -1 where it is unknown.
            k: neighbours of each row.
            join: `union` joins two rows if either is among the other's nearest, so that every row has k neighbours or
                more; `mutual` only if both are, which drops chance neighbours but can leave rows without any.
            metric: a distance of scikit-learn, `euclidean` or `cosine` for instance.
            standardise: give columns mean 0 and variance 1 first, so that none counts more for its unit.
            ids: of the rows; by default the index of a frame unless it is 0, 1, 2, .., else the rows' numbers.
            name: of the graph.
        """
        from hiergcn.graph.formats.knn_table import graph_from_table

        return graph_from_table(X, y, k, join=join, metric=metric, standardise=standardise, ids=ids, name=name)
