"""A graph from a table of edges and, if there is one, a table of nodes, from files or from frames.

Edges: a row per edge. Nodes: a row per node with its id, perhaps a label (blank if unknown), and features;
`column_roles` says which column is what. Ids are compared as text, without blanks around them, so that 7 and 007 are
two nodes; if all of them are whole numbers they become whole numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.adjacency import symmetric_adjacency
from hiergcn.graph.graph import Features
from hiergcn.graph.tables.column_roles import (
    EdgeColumns,
    NodeColumns,
    TextColumn,
    class_labels,
    natural_order,
    natural_values,
)
from hiergcn.graph.tables.delimited import MISSING, Origin
from hiergcn.graph.tables.feature_columns import FeatureColumn, encode_columns, fit_columns, notes_on, numbers

MOST_UNLISTED = 0.2
"""Ids that only the edges name, as a share of the ids that the nodes list; above it, the two do not belong together."""


@dataclass(frozen=True, eq=False)
class NodeTable:
    """The content of a table of nodes."""

    origin: Origin
    columns: NodeColumns
    ids: "pd.Index[str]"
    features: Features | None
    labels: NDArray[np.int64] | None
    class_names: tuple[str, ...]
    notes: tuple[str, ...]
    described: tuple[FeatureColumn, ...] = ()
    """How each column that is neither id nor label was encoded."""
    split: TextColumn | None = None
    """The column that names the part of the split of each node."""


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """The content of a table of edges."""

    origin: Origin
    columns: EdgeColumns
    ends: tuple[TextColumn, TextColumn]
    weight: NDArray[np.float64] | None
    notes: tuple[str, ...]
    unused: tuple[str, ...] = ()
    """Columns that are neither an end nor a weight."""

    def first_of(self, ids: "pd.Index[str]") -> tuple[int, str]:
        """Return the first row of the table that names one of the ids, and that id."""
        hits = []
        for end in self.ends:
            named = end.values.isin(ids)[end.code]
            if named.any():
                position = int(named.argmax())
                hits.append((position, str(end.values[end.code[position]])))
        position, found = min(hits)
        return self.origin.row(position), found


def nodes_of(
    table: pd.DataFrame, origin: Origin, columns: NodeColumns, known: Sequence[FeatureColumn] | None = None
) -> NodeTable:
    """Return ids, labels and features of a table whose text columns hold text or nothing.

    `known` are the columns of another table, by which these are encoded; other columns are ignored then.
    """
    ids = _checked_ids(TextColumn.of(table[columns.id]), origin, columns.id)
    used = (columns.id, columns.label, columns.split, *columns.dropped, "")
    if known is None:
        features, described = fit_columns(table[[name for name in table.columns if name not in used]], origin)
        notes = notes_on(described)
    else:
        features, notes = encode_columns(table, origin, known)
        described = list(known)
    if "" in table.columns and columns.id != "":
        notes.append("a column without a name was left out")
    labels, names = (None, ()) if columns.label is None else class_labels(TextColumn.of(table[columns.label]))
    notes += [
        f"{name!r} was taken for a class; leave it blank if it means that the label is unknown"
        for name in names
        if name in MISSING
    ]
    split = None if columns.split is None else TextColumn.of(table[columns.split])
    return NodeTable(origin, columns, ids, features, labels, names, tuple(notes), tuple(described), split)


def edges_of(table: pd.DataFrame, origin: Origin, columns: EdgeColumns) -> EdgeTable:
    """Return both ends of each edge and its weight, of a table whose text columns hold text or nothing."""
    ends = [TextColumn.of(table[name]) for name in columns.ends]
    for name, end in zip(columns.ends, ends, strict=True):
        _check_no_blank(end, origin, name, "an edge needs two ends")
    weights = None if columns.weight is None else _checked_weight(table[columns.weight], origin)
    unused = tuple(str(name) for name in table.columns if name not in (*columns.ends, columns.weight))
    notes = tuple(f"column {name!r} of the edges was not used" for name in unused)
    return EdgeTable(origin, columns, (ends[0], ends[1]), weights, notes, unused)


def graph_parts(edges: EdgeTable, nodes: NodeTable | None, name: str) -> dict[str, Any]:
    """Return the arguments of a `Graph`, by field name."""
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
        "ids": natural_values(ids),
        "class_names": () if nodes is None else nodes.class_names,
        "columns": () if nodes is None or nodes.features is None else nodes.described,
        "name": name,
        "notes": (*(nodes.notes if nodes else ()), *edges.notes, *notes, *_notes_on_edges(ends, adjacency.nnz)),
    }


def _checked_ids(text: TextColumn, origin: Origin, column: str) -> "pd.Index[str]":
    _check_no_blank(text, origin, column, "give every node an id")
    if text.code.size == 0:
        raise InputError(f"{origin} has no rows; give a row per node.")
    again = np.flatnonzero(pd.Index(text.code).duplicated())
    if again.size:
        value = text.values[text.code[again[0]]]
        raise InputError(f"{origin.at(again[0], column)}: id {value!r:.80} is in an earlier row; list each node once.")
    return text.values[text.code]


def _check_no_blank(text: TextColumn, origin: Origin, column: str, remedy: str) -> None:
    blank = np.flatnonzero(text.code < 0)
    if blank.size:
        raise InputError(f"{origin.at(blank[0], column)}: the id is blank; {remedy}.")


def _checked_weight(column: "pd.Series[Any]", origin: Origin) -> NDArray[np.float64]:
    values = numbers(column, origin)
    wrong = np.flatnonzero((values < 0) | np.isinf(values))
    if wrong.size:
        where = origin.at(wrong[0], column.name)
        raise InputError(f"{where}: weight {values[wrong[0]]} must be finite and not negative.")
    return values


def _all_ids(edges: EdgeTable, nodes: NodeTable | None) -> tuple["pd.Index[str]", list[str]]:
    """Return the ids of the nodes in their order, then those that only edges name, in natural order; and notes."""
    if nodes is None:
        named = edges.ends[0].values.union(edges.ends[1].values, sort=False)
        if named.empty:
            raise InputError(f"{edges.origin} has no rows; give a row per edge, or a file of nodes.")
        return natural_order(named), []
    first, second = (end.values[nodes.ids.get_indexer(end.values) < 0] for end in edges.ends)
    extra = first.union(second, sort=False)
    if extra.empty:
        return nodes.ids, []
    if nodes.features is not None and (len(extra) > MOST_UNLISTED * len(nodes.ids) or not nodes.described):
        row, value = edges.first_of(extra)
        raise InputError(
            f"{edges.origin}, row {row}: id {value!r:.80} is not in {nodes.origin.inline}, so it has no features; "
            f"add it there or take the edge out ({len(extra):,} such ids)."
        )
    blank = "" if nodes.features is None else " and with every feature missing"
    note = f"ids that only the edges name, now nodes without a label{blank}: {len(extra):,}"
    return nodes.ids.append(natural_order(extra)), [note]


def _with_blank_rows(nodes: NodeTable, n_nodes: int) -> Features | None:
    """Return the features, with a row of missing values for each node that the table does not list."""
    extra, features = n_nodes - len(nodes.ids), nodes.features
    if not extra or features is None:
        return features
    rows = np.tile(np.concatenate([column.blank for column in nodes.described]), (extra, 1))
    if isinstance(features, np.ndarray):
        return np.vstack([features, rows])
    return sp.csr_array(sp.vstack([features, sp.csr_array(rows)], format="csr"))


def _notes_on_edges(ends: list[NDArray[Any]], entries: int) -> list[str]:
    loops = int(np.count_nonzero(ends[0] == ends[1]))
    again = ends[0].size - loops - entries // 2
    notes = [f"self-loops dropped: {loops:,}"] if loops else []
    if again:
        notes.append(f"rows that repeat an edge, in the same or the other direction, or have weight 0: {again:,}")
    return notes
