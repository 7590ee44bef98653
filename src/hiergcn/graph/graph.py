"""A graph with features and labels: an immutable value whose parts have been checked.

Conversions from and to other formats are imported when used, so that none costs the others time; see `formats`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, Unpack

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from hiergcn.compiled.csr import read_only
from hiergcn.errors import InputError
from hiergcn.fragments import card, sentence, table
from hiergcn.graph.adjacency import (
    checked_adjacency,
    checked_ends,
    checked_weights,
    edge_count,
    position_of,
    read_only_csr,
    reordered_adjacency,
    symmetric_adjacency,
)
from hiergcn.graph.coordinates import Coordinates
from hiergcn.graph.split import Split
from hiergcn.graph.tables.column_roles import CsvOptions, FrameOptions, NodeOptions, Roles, checked_options
from hiergcn.graph.tables.feature_columns import LARGEST, STRUCTURAL, FeatureColumn
from hiergcn.graph.tables.feature_table import FeatureTable
from hiergcn.graph.tables.node_ids import IdColumn
from hiergcn.graph.target import TARGET, Target, make_target

_SHOWN_CLASSES, _SHOWN_NOTES = 10, 3  # in a notebook
Features: TypeAlias = NDArray[Any] | sp.csr_array


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected, weighted graph of n nodes.

    Parts are converted to the form below and checked when the graph is made; an `InputError` says what is wrong.
    Arrays that have that form already are not copied, and are available as read-only views.
    """

    adjacency: sp.csr_array
    """(n, n) symmetric weights, finite and not negative; canonical CSR of float64, int32 indices if they fit.

    Weights that are all 1 are a view of a single one, so they take no memory."""
    features: Features | None = None
    """(n, f) float32 or float64; dense stays dense, sparse stays sparse (CSR)."""
    labels: NDArray[np.int64] | None = None
    """(n,) the class of each node; -1 is unknown. A graph has labels or targets, not both."""
    ids: NDArray[Any] = None  # type: ignore[assignment]  # None is accepted, but never kept
    """(n,) the user's own names of the nodes, whole numbers or text; 0..n-1 by default."""
    class_names: tuple[str, ...] = ()
    """A name for each class; "0", "1", .. by default."""
    name: str = "graph"
    notes: tuple[str, ...] = ()
    """What a reader did with the data, a sentence each."""
    columns: tuple[FeatureColumn, ...] = ()
    """The columns of the table that the features were made of, if they were."""
    missing: NDArray[np.bool_] | None = None
    """(n, columns) where a number was missing and became the mean of its column; None if none was."""
    texts: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """The entries, (n,), of columns of text, whose features are weights of chosen words."""
    split: Split | None = None
    """The split that the data name, which `fit` uses unless it is given another; None if they name none."""
    targets: NDArray[np.float64] | None = None
    """(n,) the number to predict for each node; NaN is unknown."""
    target_name: str = TARGET
    """What the targets are, such as the name of their column."""
    coordinates: Coordinates | None = None
    """Where the nodes are, if the data say so; not a feature, but a place on the map of a report."""
    roles: Roles | None = None
    """The names of the columns of the tables that it was read from, by which later tables are read; None for others."""
    ids_given: bool | None = None
    """Whether the user gave the ids, so that they name the same nodes in another graph; found out if None."""
    target: Target = field(init=False)
    """What is predicted: the labels with the names of their classes, or the targets with their name."""

    def __post_init__(self) -> None:
        adjacency = checked_adjacency(self.adjacency)
        n = adjacency.shape[0]
        target = make_target(n, self.labels, self.class_names, self.targets, self.target_name)
        features = None if self.features is None else checked_features(self.features, n)
        width, n_features = sum(column.width for column in self.columns), 0 if features is None else features.shape[1]
        if self.columns and width != n_features:
            raise InputError(f"The columns describe {width:,} features, but there are {n_features:,}; leave them out.")
        if self.missing is not None and self.missing.shape != (n, len(self.columns)):
            raise InputError("The array of missing numbers must have a row per node and a column per table column.")
        if self.split is not None:
            self.split.check_nodes(n, "the graph")
        checked = {
            "adjacency": adjacency,
            "features": features,
            "ids": _checked_ids(self.ids, n),
            "ids_given": self.ids is not None if self.ids_given is None else self.ids_given,
            "notes": tuple(self.notes),
            "columns": tuple(self.columns),
            "class_names": (),
            "target": target,
            **target.fields(),
        }
        if self.coordinates is not None and len(self.coordinates.values) != n:
            raise InputError(f"There are coordinates of {len(self.coordinates.values):,} nodes, not of {n:,}.")
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def n_nodes(self) -> int:
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        """Distinct undirected edges; self-loops are not counted."""
        return edge_count(self.adjacency)

    @property
    def n_classes(self) -> int:
        return len(self.class_names)

    @property
    def n_features(self) -> int:
        return 0 if self.features is None else int(self.features.shape[1])

    @property
    def n_outputs(self) -> int:
        """What a model returns for each node: a score per class, or one number."""
        return self.target.n_outputs

    @property
    def truth(self) -> NDArray[Any]:
        """(n,) the labels, or the targets if there are any."""
        return self.target.truth

    @property
    def strata(self) -> NDArray[np.int64]:
        """(n,) the class of each node, or 0 if its number is known; -1 if nothing is."""
        return np.full(self.n_nodes, -1) if self.target.strata is None else self.target.strata

    @property
    def labelled(self) -> NDArray[np.int64]:
        """The nodes whose label or target is known, ascending."""
        return np.flatnonzero(self.strata >= 0)

    @property
    def has_own_features(self) -> bool:
        """Whether the nodes have features that were not made from the edges."""
        return self.features is not None and not any(column.kind == STRUCTURAL for column in self.columns)

    @property
    def feature_table(self) -> FeatureTable:
        """The features with all that is known about the columns that they were made of."""
        return FeatureTable(self.features, self.columns, self.missing, self.texts)

    def with_labels(self, labels: ArrayLike | None, class_names: Sequence[str] | None = None) -> "Graph":
        """Return the same graph with other labels, without targets and split; class names stay unless given."""
        names = self.class_names if class_names is None else tuple(class_names)
        classes = None if labels is None else np.asarray(labels)
        return replace(self, labels=classes, class_names=names, targets=None, split=None)

    def with_labels_from(self, path: str | Path, unknown: Sequence[str] | None = None) -> "Graph":
        """Return the same graph with the labels of a CSV of id and label as well, such as a filled-in `suggest`.

        A label that a node has is replaced, and blank ones and those that mean `unknown` are skipped, as in `from_csv`.
        If the graph has a split, nodes that get their first label join training.
        """
        from hiergcn.graph.tables.label_columns import with_further_labels, with_more_training

        graph = with_further_labels(self, path, unknown)
        return graph if self.split is None else replace(graph, split=with_more_training(self.split, self, graph))

    def reordered(self, order: NDArray[np.int64]) -> "Graph":
        """Return the same graph with its nodes in another order; `order` holds the node numbers."""
        return replace(
            self,
            adjacency=reordered_adjacency(self.adjacency, order),
            features=None if self.features is None else self.features[order],
            **self.target.reordered(order).fields(),
            ids=self.ids[order],
            missing=None if self.missing is None else self.missing[order],
            texts={name: texts[order] for name, texts in self.texts.items()},
            split=None if self.split is None else self.split.reordered(order),
            coordinates=None if self.coordinates is None else self.coordinates.reordered(order),
        )

    def with_targets(self, targets: ArrayLike, name: str = TARGET) -> "Graph":
        """Return the same graph with numbers to predict, NaN if unknown, instead of labels."""
        values = np.asarray(targets, dtype=np.float64)
        return replace(self, labels=None, class_names=(), targets=values, target_name=name, split=None)

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
        return cls(adjacency, features, labels, ids, tuple(class_names), name)  # type: ignore[arg-type]

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
        return cls(adjacency, features, labels, ids, tuple(class_names), name, notes)  # type: ignore[arg-type]

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
        edges: pd.DataFrame,
        nodes: pd.DataFrame | None = None,
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

    def to_pandas(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return frames of edges (source, target, and weight unless all are 1) and nodes (id, label, split, features).

        Features have the columns that they were made of; those without names are x0, x1, ..
        """
        from hiergcn.graph.formats.frames import frames_of

        return frames_of(self)

    def to_csv(self, edges: str | Path, nodes: str | Path) -> None:
        """Write two files with the columns of `to_pandas`, for `from_csv`; an unknown label is blank.

        CSV cannot distinguish the text "7" from the number, nor name a class that no node has.
        """
        from hiergcn.graph.formats.frames import write_graph_csv

        write_graph_csv(self, edges, nodes)

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

        return networkx_of(self)

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

        write_graphml(self, path)

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

        return pyg_of(self, sparse_features, exact)

    def to_scipy(self) -> sp.csr_array:
        """Return the adjacency as a copy that may be changed."""
        return self.adjacency.copy()

    @staticmethod
    def from_npz(path: str | Path) -> "Graph":
        """Return a graph from a file of `to_npz`, or from one in the layout of Shchur et al. (2018)."""
        from hiergcn.graph.formats.npz_graph import graph_from_npz

        return graph_from_npz(path)

    def to_npz(self, path: str | Path) -> None:
        """Write the whole graph to one file of plain arrays, quick to read."""
        from hiergcn.graph.formats.npz_graph import write_npz

        write_npz(self, path)

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

    def __deepcopy__(self, memo: object) -> "Graph":
        return self  # nothing in it changes

    def __repr__(self) -> str:
        facts = self._facts() | {"labelled": self.labelled.size}
        return f"Graph({self.name!r}, {', '.join(f'{name}={fact!r}' for name, fact in facts.items())})"

    def _facts(self) -> dict[str, object]:
        sizes: dict[str, object] = {"nodes": self.n_nodes, "edges": self.n_edges, "features": self.n_features}
        return sizes | self.target.facts()

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: sizes, classes with their labels, and the reader's notes."""
        parts = [sentence(note) for note in self.notes[:_SHOWN_NOTES]]
        if self.labels is not None and self.class_names:
            counts = np.bincount(self.labels[self.labelled], minlength=self.n_classes)
            order = np.argsort(-counts, kind="stable")[:_SHOWN_CLASSES]
            rows = [(self.class_names[k], int(counts[k])) for k in order]
            shares = [float(counts[k] / max(counts.max(), 1)) for k in order]
            more = self.n_classes - len(rows)
            parts += [table(("class", "labels"), rows, shares), *([sentence(f"and {more:,} more")] if more > 0 else [])]
        return card(self.name, self._facts() | {"with a label": int(self.labelled.size)}, *parts)


def checked_features(features: Any, n: int) -> Features:
    """Return features with a row per node: dense stays dense, sparse becomes CSR; numbers are float32 or float64."""
    sparse = sp.issparse(features)
    table: Any = features if sparse else np.asarray(features)
    if table.ndim != 2 or table.shape[0] != n:
        raise InputError(
            f"The features have shape {table.shape}, but the graph has {n:,} nodes; give a row per node and a column "
            f"per feature."
        )
    if table.dtype not in (np.float32, np.float64):
        if table.dtype.kind not in "buif":
            raise InputError(f"The features are of type {table.dtype}; turn them into numbers first.")
        # float32 holds integers of up to 16 bits, and half floats, exactly
        table = table.astype(np.float32 if table.dtype.itemsize <= 2 else np.float64)
    if sparse:
        table = sp.csr_array(table)
        if not table.has_canonical_format:
            table = table.copy()
            table.sum_duplicates()
    values = table.data if sparse else table
    if values.size and not (values.max() <= LARGEST and values.min() >= -LARGEST):  # NaN fails both comparisons
        entry = tuple(np.argwhere(~(np.abs(values) <= LARGEST))[0])
        node, column = position_of(table, entry[0]) if sparse else entry
        remedy = f"replace what is not finite, and rescale numbers beyond {LARGEST:.0e}"
        raise InputError(f"Feature {column} of node {node} is {values[entry]}; {remedy}.")
    return read_only_csr(table) if sparse else read_only(table)


def _checked_ids(ids: Any, n: int) -> NDArray[Any]:
    """Return the user's names of the nodes: whole numbers or text, each once; 0..n-1 for None."""
    if ids is None:
        return read_only(np.arange(n))
    if isinstance(ids, IdColumn):  # a reader has checked them
        return read_only(ids.to_numpy())
    array = np.asarray(ids)
    if array.shape != (n,):
        raise InputError(f"The ids have shape {array.shape}, but the graph has {n:,} nodes; give one id per node.")
    if pd.api.types.infer_dtype(array, skipna=False) not in ("integer", "string"):
        raise InputError(f"Ids are of type {array.dtype}; give all of them as whole numbers or all as text.")
    repeated = pd.Index(array).duplicated()
    if repeated.any():
        node = int(repeated.argmax())
        raise InputError(f"Id {array[node]!s:.80} of node {node} is that of an earlier node; give each its own id.")
    return read_only(array)
