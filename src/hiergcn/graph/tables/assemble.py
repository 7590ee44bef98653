"""A graph from a table of edges and, where there is one, a table of nodes, wherever the tables came from.

Edges: a row per edge. Nodes: a row per node with its id, perhaps a label (blank where unknown), and features; which
column is what is chosen in `column_roles`. Ids are compared as text, without blanks around it, so that 7 and
007 are two nodes; where all of them are whole numbers they come back as such.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.checks import Features
from hiergcn.graph.edges import symmetric_adjacency
from hiergcn.graph.tables.column_roles import EdgeColumns, NodeColumns
from hiergcn.graph.tables.delimited import MISSING, Origin
from hiergcn.graph.tables.feature_columns import FeatureColumn, encoded_columns, notes_on, numbers
from hiergcn.graph.tables.remembered import encoded_as
from hiergcn.graph.tables.text_column import TextColumn

MOST_UNLISTED = 0.2
"""Ids that only the edges name, as a share of those that the table of nodes lists; more, and the two do not match."""


@dataclass(frozen=True, eq=False)
class NodeTable:
    """What a table of nodes says."""

    origin: Origin
    ids: "pd.Index[str]"
    features: Features | None
    labels: NDArray[np.int64] | None
    class_names: tuple[str, ...]
    notes: tuple[str, ...]
    described: tuple[FeatureColumn, ...] = ()
    """What became of each column that is neither id nor label."""
    split: TextColumn | None = None
    """The column that says which part of the split a node belongs to."""


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """What a table of edges says."""

    origin: Origin
    ends: tuple[TextColumn, TextColumn]
    weight: NDArray[np.float64] | None
    notes: tuple[str, ...]
    unused: tuple[str, ...] = ()
    """Columns that are neither an end nor a weight."""

    def first_of(self, ids: "pd.Index[str]") -> tuple[int, str]:
        """The first row of the table that names one of the ids, and that id."""
        hits = []
        for end in self.ends:
            named = end.values.isin(ids)[end.code]
            if named.any():
                position = int(named.argmax())
                hits.append((self.origin.row(position), str(end.values[end.code[position]])))
        return min(hits)


def nodes_of(
    table: pd.DataFrame, origin: Origin, columns: NodeColumns, known: Sequence[FeatureColumn] | None = None
) -> NodeTable:
    """Ids, labels and features; the columns named as text hold text or nothing.

    `known` are the columns of another table, whose features these must agree with; other columns are not looked at.
    """
    ids = _checked_ids(TextColumn.of(table[columns.id]), origin, columns.id)
    used = (columns.id, columns.label, columns.split, *columns.dropped, "")
    if known is None:
        features, described = encoded_columns(table[[name for name in table.columns if name not in used]], origin)
        notes = notes_on(described)
    else:
        features, notes = encoded_as(table, origin, known)
        described = list(known)
    if "" in table.columns and columns.id != "":
        notes.append("a column without a name was left out")
    labels, names = (None, ()) if columns.label is None else class_labels(TextColumn.of(table[columns.label]))
    notes += [
        f"{one!r} was taken for a class; blank it where it means that the label is unknown"
        for one in names
        if one in MISSING
    ]
    split = None if columns.split is None else TextColumn.of(table[columns.split])
    return NodeTable(origin, ids, features, labels, names, tuple(notes), tuple(described), split)


def edges_of(table: pd.DataFrame, origin: Origin, columns: EdgeColumns) -> EdgeTable:
    """The two ends of each edge and its weight; the columns named as text hold text or nothing."""
    ends = [_checked_end(TextColumn.of(table[name]), origin, name) for name in columns.ends]
    weights = None if columns.weight is None else _checked_weight(table[columns.weight], origin)
    unused = tuple(str(name) for name in table.columns if name not in (*columns.ends, columns.weight))
    notes = tuple(f"column {name!r} of the edges was not used" for name in unused)
    return EdgeTable(origin, (ends[0], ends[1]), weights, notes, unused)


def graph_parts(edges: EdgeTable, nodes: NodeTable | None, name: str) -> dict[str, Any]:
    """The parts of a `Graph`, by field name."""
    ids, notes = _all_ids(edges, nodes)
    ends = [ids.get_indexer(end.values)[end.code] for end in edges.ends]
    adjacency = symmetric_adjacency(ends[0], ends[1], edges.weight, len(ids))
    labels = None if nodes is None else nodes.labels
    if labels is not None:
        labels = np.concatenate([labels, np.full(len(ids) - labels.size, -1)])
    return {
        "adjacency": adjacency,
        "features": None if nodes is None else _with_blank_rows(nodes, len(ids)),
        "labels": labels,
        "ids": _natural(ids),
        "class_names": () if nodes is None else nodes.class_names,
        "columns": () if nodes is None or nodes.features is None else nodes.described,
        "name": name,
        "notes": (*(nodes.notes if nodes else ()), *edges.notes, *notes, *_notes_on_edges(ends, adjacency.nnz)),
    }


def class_labels(text: TextColumn) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Numbers of the classes in the order of their names (numbers by value), and the names."""
    present = text.values[np.unique(text.code[text.code >= 0])]
    names = _in_order(present)
    return np.append(names.get_indexer(text.values), -1)[text.code], tuple(names)


def _checked_ids(text: TextColumn, origin: Origin, column: str) -> "pd.Index[str]":
    blank = np.flatnonzero(text.code < 0)
    if blank.size:
        row = origin.row(blank[0])
        raise InputError(f"{origin}, row {row}, column {column!r}: the id is blank; give every node an id")
    if text.code.size == 0:
        raise InputError(f"{origin} has no rows: give a row per node")
    again = np.flatnonzero(pd.Index(text.code).duplicated())
    if again.size:
        value = text.values[text.code[again[0]]]
        row = origin.row(again[0])
        raise InputError(f"{origin}, row {row}, column {column!r}: id {value!r:.80} is there already; list a node once")
    return text.values[text.code]


def _checked_end(text: TextColumn, origin: Origin, column: str) -> TextColumn:
    blank = np.flatnonzero(text.code < 0)
    if blank.size:
        row = origin.row(blank[0])
        raise InputError(f"{origin}, row {row}, column {column!r}: the id is blank; an edge needs two ends")
    return text


def _checked_weight(column: "pd.Series[Any]", origin: Origin) -> NDArray[np.float64]:
    values = numbers(column, origin)
    wrong = np.flatnonzero((values < 0) | np.isinf(values))
    if wrong.size:
        row = origin.row(wrong[0])
        found = values[wrong[0]]
        raise InputError(
            f"{origin}, row {row}, column {str(column.name)!r}: weight {found} must be finite and not negative"
        )
    return values


def _all_ids(edges: EdgeTable, nodes: NodeTable | None) -> tuple["pd.Index[str]", list[str]]:
    """The ids of the table of nodes in its order; those that only edges name come after them, ordered."""
    if nodes is None:
        named = edges.ends[0].values.union(edges.ends[1].values, sort=False)
        if named.empty:
            raise InputError(f"{edges.origin} has no rows: give a row per edge, or a file of nodes")
        return _in_order(named), []
    first, second = (end.values[nodes.ids.get_indexer(end.values) < 0] for end in edges.ends)
    extra = first.union(second, sort=False)
    if extra.empty:
        return nodes.ids, []
    if nodes.features is not None and (len(extra) > MOST_UNLISTED * len(nodes.ids) or not nodes.described):
        row, value = edges.first_of(extra)
        raise InputError(
            f"{edges.origin}, row {row}: id {value!r:.80} is not in {nodes.origin}, so it has no features; "
            f"add it there or take the edge out ({len(extra):,} such ids)"
        )
    blank = "" if nodes.features is None else " and with every feature missing"
    note = f"ids that only the edges name, now nodes without a label{blank}: {len(extra):,}"
    return nodes.ids.append(_in_order(extra)), [note]


def _with_blank_rows(nodes: NodeTable, n_nodes: int) -> Features | None:
    """The features, with a row of missing values for each node that the table does not list."""
    extra = n_nodes - len(nodes.ids)
    if not extra or not isinstance(nodes.features, np.ndarray):  # nodes with sparse features are all listed
        return nodes.features
    rows = np.tile(np.concatenate([column.blank for column in nodes.described]), (extra, 1))
    return np.vstack([nodes.features, rows])


def _in_order(texts: "pd.Index[str]") -> "pd.Index[str]":
    """Whole numbers by value, other texts as a dictionary has them."""
    return texts[np.argsort(_natural(texts), kind="stable")]


def _natural(texts: "pd.Index[str]") -> NDArray[Any]:
    """Whole numbers where every text is one as it is usually written, else the texts."""
    array = texts.to_numpy(object)
    try:
        whole = array.astype(np.int64)
    except (ValueError, OverflowError):
        return array
    return whole if (whole.astype(str).astype(object) == array).all() else array


def _notes_on_edges(ends: list[NDArray[Any]], entries: int) -> list[str]:
    loops = int(np.count_nonzero(ends[0] == ends[1]))
    again = ends[0].size - loops - entries // 2
    notes = [f"self-loops dropped: {loops:,}"] if loops else []
    if again:
        notes.append(f"rows that repeat an edge, in the same or the other direction, or have weight 0: {again:,}")
    return notes
