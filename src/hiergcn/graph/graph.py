"""A graph with features and labels: an immutable value that has been checked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from hiergcn.errors import InputError
from hiergcn.graph.checks import (
    Features,
    checked_adjacency,
    checked_class_names,
    checked_features,
    checked_ids,
    checked_labels,
    read_only,
)
from hiergcn.graph.conversions import Conversions
from hiergcn.graph.edges import symmetric_adjacency
from hiergcn.graph.tables.feature_columns import FeatureColumn


@dataclass(frozen=True, eq=False)
class Graph(Conversions):
    """An undirected, weighted graph of n nodes.

    Parts are brought into the form below and checked when the graph is made; an `InputError` says where they are wrong.
    Arrays that have that form already are not copied, and are handed out as read-only views.
    """

    adjacency: sp.csr_array
    """(n, n) symmetric weights, finite and not negative; canonical CSR of float64, int32 indices where they fit."""

    features: Features | None = None
    """(n, f) float32 or float64; dense stays dense, sparse stays sparse (CSR)."""

    labels: NDArray[np.int64] | None = None
    """(n,) the class of each node; -1 is unknown."""

    ids: NDArray[Any] = None  # type: ignore[assignment]  # None is accepted, but never kept
    """(n,) the user's own names of the nodes, whole numbers or text; 0..n-1 where none are given."""

    class_names: tuple[str, ...] = ()
    """A name for each class; "0", "1", .. where none are given."""

    name: str = "graph"

    notes: tuple[str, ...] = ()
    """What a reader did with the data on its way here, a sentence each."""

    columns: tuple[FeatureColumn, ...] = ()
    """The columns of a table that the features were made of, where they were."""

    def __post_init__(self) -> None:
        adjacency = checked_adjacency(self.adjacency)
        n = adjacency.shape[0]
        labels = None if self.labels is None else checked_labels(self.labels, n)
        checked = {
            "adjacency": adjacency,
            "features": None if self.features is None else checked_features(self.features, n),
            "labels": labels,
            "ids": checked_ids(self.ids, n),
            "class_names": checked_class_names(self.class_names, labels),
            "notes": tuple(self.notes),
            "columns": tuple(self.columns),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    @property
    def n_nodes(self) -> int:
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        """Distinct undirected edges; self-loops are not counted."""
        loops = np.count_nonzero(self.adjacency.diagonal())
        return int(self.adjacency.nnz - loops) // 2

    @property
    def n_classes(self) -> int:
        return len(self.class_names)

    @property
    def n_features(self) -> int:
        return 0 if self.features is None else int(self.features.shape[1])

    @property
    def labelled(self) -> NDArray[np.int64]:
        """The nodes whose label is known, ascending."""
        return np.empty(0, np.int64) if self.labels is None else np.flatnonzero(self.labels >= 0)

    def with_labels(self, labels: ArrayLike | None, class_names: Sequence[str] | None = None) -> "Graph":
        """The same graph with other labels; class names stay unless others are given."""
        names = self.class_names if class_names is None else tuple(class_names)
        return replace(self, labels=None if labels is None else np.asarray(labels), class_names=names)

    def __deepcopy__(self, memo: object) -> "Graph":
        return self  # nothing in it changes

    def __repr__(self) -> str:
        return (
            f"Graph({self.name!r}, nodes={self.n_nodes}, edges={self.n_edges}, features={self.n_features}, "
            f"classes={self.n_classes}, labelled={self.labelled.size})"
        )

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
    ) -> "Graph":
        """A graph from any scipy sparse adjacency, which must be symmetric."""
        return cls(adjacency, features, labels, ids, tuple(class_names), name)  # type: ignore[arg-type]  # checked there

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
    ) -> "Graph":
        """A graph from edges between nodes 0..n-1, made undirected; self-loops are dropped, with a note.

        Without weights an edge is there or not, however often it is listed: its weight is 1. With weights, edges listed
        again in the same direction add up, and of the two directions the heavier counts.
        """
        ends = [_checked_ends(side, which) for side, which in ((source, "source"), (target, "target"))]
        if ends[0].size != ends[1].size:
            raise InputError(
                f"there are {ends[0].size:,} sources but {ends[1].size:,} targets: give one of each per edge"
            )
        highest = max(int(end.max()) if end.size else -1 for end in ends)
        n = highest + 1 if n is None else n
        if highest >= n:
            raise InputError(f"an edge ends in node {highest} but the graph has {n:,} nodes, 0 to {n - 1}")
        weights = None if weight is None else _checked_weights(weight, ends[0].size)
        loops = int(np.count_nonzero(ends[0] == ends[1]))
        notes = (f"self-loops dropped: {loops:,}",) if loops else ()
        adjacency = symmetric_adjacency(ends[0], ends[1], weights, n)
        return cls(adjacency, features, labels, ids, tuple(class_names), name, notes)  # type: ignore[arg-type]

    @classmethod
    def from_csv(
        cls,
        edges: str | Path,
        nodes: str | Path | None = None,
        *,
        id: str | None = None,  # noqa: A002  # the word a user expects
        label: str | None = None,
        drop: Sequence[str] = (),
        source: str | None = None,
        target: str | None = None,
        weight: str | None = None,
        delimiter: str | None = None,
    ) -> "Graph":
        """A graph from a table of edges and perhaps a table of nodes: see `hiergcn.graph.tables.csv_files`.

        Columns of the nodes that are named in `drop` are left out, and so is one that is named split: `read_csv` in
        that file gives the graph and the split.
        """
        from hiergcn.graph.tables.csv_files import Wanted, read_csv

        wanted = Wanted(id, label, None, tuple(drop), source, target, weight, delimiter)
        return read_csv(edges, nodes, wanted).graph


def _checked_ends(ends: ArrayLike, which: str) -> NDArray[Any]:
    array = np.asarray(ends)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"the {which} nodes must be a list of whole numbers: got {array.ndim} axes of {array.dtype}")
    if array.min() < 0:
        edge = int(array.argmin())
        raise InputError(f"edge {edge} has {which} node {array[edge]}: nodes count from 0")
    return read_only(array)


def _checked_weights(weight: ArrayLike, edges: int) -> NDArray[np.float64]:
    array = np.asarray(weight, dtype=np.float64)
    if array.shape != (edges,):
        raise InputError(
            f"the weights have shape {array.shape} but there are {edges:,} edges: give one weight per edge"
        )
    wrong = ~((array >= 0) & (array < np.inf))
    if wrong.any():
        edge = int(wrong.argmax())
        raise InputError(f"edge {edge} has weight {array[edge]}: weights must be finite and not negative")
    return read_only(array)
