"""A graph with features and labels: an immutable value whose parts have been checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from hiergcn.compiled.csr import read_only
from hiergcn.errors import InputError
from hiergcn.fragments import card, sentence, table
from hiergcn.graph.adjacency import checked_adjacency, edge_count, position_of, read_only_csr, reordered_adjacency
from hiergcn.graph.conversions import Conversions
from hiergcn.graph.coordinates import Coordinates
from hiergcn.graph.split import Split
from hiergcn.graph.tables.feature_columns import LARGEST, STRUCTURAL, FeatureColumn
from hiergcn.graph.tables.feature_table import FeatureTable
from hiergcn.graph.tables.node_ids import IdColumn
from hiergcn.graph.target import TARGET, Target, make_target

_SHOWN_CLASSES, _SHOWN_NOTES = 10, 3  # in a notebook
Features: TypeAlias = NDArray[Any] | sp.csr_array


@dataclass(frozen=True, eq=False)
class Graph(Conversions):
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
    if table.ndim != 2:
        raise InputError(f"The features have {table.ndim} axes; give a row per node and a column per feature.")
    if table.shape[0] != n:
        raise InputError(f"The features have {table.shape[0]:,} rows, but the graph has {n:,} nodes; give one each.")
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
