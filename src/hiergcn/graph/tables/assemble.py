"""A graph from a table of edges and, if there is one, a table of nodes, from files or from frames.

Edges: a row per edge. Nodes: a row per node with its id, perhaps a label (blank if unknown), and features;
`column_roles` says which column is what. Ids are compared as text, without blanks around them, so that 7 and 007 are
two nodes; if all of them are whole numbers they become whole numbers. Every reader of tables ends here, so that the
same data mean the same in every format.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.adjacency import LARGEST_WEIGHT, symmetric_adjacency
from hiergcn.graph.coordinates import find_coordinates
from hiergcn.graph.graph import strata
from hiergcn.graph.split import Split
from hiergcn.graph.tables.column_roles import CsvOptions, EdgeColumns, NodeColumns
from hiergcn.graph.tables.delimited import Origin
from hiergcn.graph.tables.feature_columns import FeatureTable, numbers, read_features
from hiergcn.graph.tables.label_columns import Labels, look_like_numbers, read_labels, read_targets, split_from_column
from hiergcn.graph.tables.node_ids import IdColumn
from hiergcn.graph.tables.text_columns import TextColumn
from hiergcn.graph.target import TARGET

MOST_UNLISTED = 0.2
"""Ids that only the edges name, as a share of the ids that the nodes list; above it, the two do not belong together."""


@dataclass(frozen=True, eq=False)
class NodeTable:
    """The content of a table of nodes."""

    origin: Origin
    columns: NodeColumns
    ids: IdColumn
    features: FeatureTable
    labels: Labels | None
    split: Split | None
    notes: tuple[str, ...]
    targets: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """The content of a table of edges."""

    origin: Origin
    columns: EdgeColumns
    ends: tuple[IdColumn, IdColumn]
    weight: NDArray[np.float64] | None
    notes: tuple[str, ...]
    unused: tuple[str, ...] = ()
    """Columns that are neither an end nor a weight."""
    ids: IdColumn | None = None
    """The ids of all nodes, if the file counts them, such as a matrix."""


def nodes_of(table: pd.DataFrame, origin: Origin, columns: NodeColumns, options: CsvOptions) -> NodeTable:
    """Return ids, labels or targets, split and features of a table of any values."""
    ids = _checked_ids(IdColumn.of(table[columns.id]), origin, columns.id)
    used = (columns.id, columns.label, columns.target, columns.split, *columns.dropped, "")
    features = read_features(table[[name for name in table.columns if name not in used]], origin, options.known)
    notes = list(features.notes)
    if "" in table.columns and columns.id != "":
        notes.append("a column without a name was left out")
    if columns.dropped:
        notes.append(f"columns dropped on request: {', '.join(columns.dropped)}")
    labels = None if columns.label is None else read_labels(table[columns.label], options.unknown)
    targets = None if columns.target is None else read_targets(table[columns.target], origin, options.unknown)
    known = strata(None if labels is None else labels.numbers, targets)
    split, more = _split(table, known, ids, origin, columns)
    notes += [*(labels.notes if labels else ()), *more]
    if labels is not None and look_like_numbers(labels):
        taken = f"the labels are {len(labels.class_names):,} different numbers, and each was taken for a class"
        notes.append(f"{taken}; to predict the number, name the column as the target")
    return NodeTable(origin, columns, ids, features, labels, split, tuple(notes), targets)


def _split(
    table: pd.DataFrame, known: NDArray[np.int64] | None, ids: IdColumn, origin: Origin, columns: NodeColumns
) -> tuple[Split | None, list[str]]:
    if columns.split is None:
        return None, []
    if known is None:
        return None, [f"column {columns.split!r} was not used, because there are no labels"]
    text = TextColumn.of(table[columns.split])
    return split_from_column(text, known, ids.to_numpy(), origin, columns.split)


def edges_of(
    table: Any, names: Sequence[str], origin: Origin, columns: EdgeColumns, *, trimmed: bool = False
) -> EdgeTable:
    """Return both ends of each edge and its weight, of a frame or Arrow table of any values.

    Args:
        names: of all columns, even if the table has some of them only.
        trimmed: whether there are no blanks around ids.
    """
    ends = _both(lambda name: IdColumn.of(table[name], trimmed=trimmed), columns.ends)
    for name, end in zip(columns.ends, ends, strict=True):
        _check_no_blank(end, origin, name, "an edge needs two ends")
    weights = None
    if columns.weight is not None:
        column = table[columns.weight]
        weights = _checked_weight(
            column if isinstance(column, pd.Series) else pd.Series(column.to_numpy(), name=columns.weight), origin
        )
    unused = tuple(name for name in names if name not in (*columns.ends, columns.weight))
    notes = tuple(f"column {name!r} of the edges was not used" for name in unused)
    return EdgeTable(origin, columns, (ends[0], ends[1]), weights, notes, unused)


def graph_parts(edges: EdgeTable, nodes: NodeTable | None, name: str) -> dict[str, Any]:
    """Return the arguments of a `Graph`, by field name."""
    ids, ends, notes = _all_ids(edges, nodes)
    adjacency = symmetric_adjacency(ends[0], ends[1], edges.weight, len(ids))
    notes += _notes_on_edges(ends, adjacency.nnz)
    parts = {"adjacency": adjacency, "ids": ids, "name": name}
    if nodes is None:
        return parts | {"notes": (*edges.notes, *notes)}
    extra = len(ids) - len(nodes.ids)
    features = nodes.features.with_blank_rows(extra)
    return parts | {
        "features": features.matrix,
        "columns": features.columns if features.matrix is not None else (),
        "missing": features.missing,
        "texts": features.texts,
        "coordinates": None if features.matrix is None else find_coordinates(features),
        "labels": None if nodes.labels is None else np.append(nodes.labels.numbers, np.full(extra, -1)),
        "class_names": () if nodes.labels is None else nodes.labels.class_names,
        "targets": None if nodes.targets is None else np.append(nodes.targets, np.full(extra, np.nan)),
        "target_name": nodes.columns.target or TARGET,
        "split": nodes.split,
        "notes": (*nodes.notes, *edges.notes, *notes),
    }


def _checked_ids(ids: IdColumn, origin: Origin, column: str) -> IdColumn:
    _check_no_blank(ids, origin, column, "give every node an id")
    if not len(ids):
        raise InputError(f"{origin} has no rows; give a row per node.")
    again = ids.first_repeated
    if again is not None:
        found = f"id {ids.text(again)!r:.80} is in an earlier row"
        raise InputError(f"{origin.at(again, column)}: {found}; list each node once.")
    return ids


def _check_no_blank(ids: IdColumn, origin: Origin, column: str, remedy: str) -> None:
    blank = ids.first_blank
    if blank is not None:
        raise InputError(f"{origin.at(blank, column)}: the id is blank; {remedy}.")


def _checked_weight(column: "pd.Series[Any]", origin: Origin) -> NDArray[np.float64]:
    values = numbers(column, origin)
    wrong = np.flatnonzero((values < 0) | (values > LARGEST_WEIGHT))
    if wrong.size:
        rule = f"must be finite, not negative and at most {LARGEST_WEIGHT:g}"
        raise InputError(f"{origin.at(wrong[0], column.name)}: weight {values[wrong[0]]} {rule}.")
    return values


def _all_ids(edges: EdgeTable, nodes: NodeTable | None) -> tuple[IdColumn, list[NDArray[np.int64]], list[str]]:
    """Return the ids of all nodes, the numbers of both ends of each edge, and notes.

    The nodes of the table come first, in their order; then those that only edges name, in natural order.
    """
    if nodes is None:
        ids = edges.ids or edges.ends[0].followed_by(edges.ends[1]).distinct().in_natural_order()
        if not len(ids):
            raise InputError(f"{edges.origin} has no rows; give a row per edge, or a file of nodes.")
        return ids, _both(lambda end: end.positions_in(ids), edges.ends), []
    ends = _both(lambda end: end.positions_in(nodes.ids), edges.ends)
    absent = [np.flatnonzero(places < 0) for places in ends]
    if not any(rows.size for rows in absent):
        return nodes.ids, ends, []
    one, other = (end.rows(rows) for end, rows in zip(edges.ends, absent, strict=True))
    extra = one.followed_by(other).distinct().in_natural_order()
    _check_enough_listed(edges, nodes, absent, extra)
    for places, rows, names in zip(ends, absent, (one, other), strict=True):
        places[rows] = len(nodes.ids) + names.positions_in(extra)
    blank = "" if nodes.features.matrix is None else " and with every feature missing"
    note = f"ids that only the edges name, now nodes without a label{blank}: {len(extra):,}"
    return nodes.ids.followed_by(extra), ends, [note]


def _both(work: Callable[[Any], Any], ends: Sequence[Any]) -> list[Any]:
    """Do the same for both ends of the edges, at the same time: Arrow does not hold Python's lock."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, ends))


def _check_enough_listed(edges: EdgeTable, nodes: NodeTable, absent: list[NDArray[np.int64]], extra: IdColumn) -> None:
    """Refuse edges between nodes of which too few, or none, are in the table of nodes."""
    none_listed = all(rows.size == len(end) for rows, end in zip(absent, edges.ends, strict=True))
    if not none_listed and (nodes.features.matrix is None or len(extra) <= MOST_UNLISTED * len(nodes.ids)):
        return
    row, side = min((int(rows[0]), side) for side, rows in enumerate(absent) if rows.size)
    value = edges.ends[side].text(row)
    where = f"{edges.origin}, row {edges.origin.row(row)}: id {value!r:.80} is not in {nodes.origin.inline}"
    hint = _alike_hint(value, nodes)
    if none_listed:
        raise InputError(f"{where}, and no other id of the edges is; write ids alike in both{hint}.")
    remedy = f"add it there or take the edge out ({len(extra):,} such ids)"
    raise InputError(f"{where}, so it has no features; {remedy}{hint}.")


def _alike_hint(value: str, nodes: NodeTable) -> str:
    """Return a node id that differs from this one in form only: P1 and p1, 7 and 7.0 or 007.

    The two encodings of é and zero-width characters count as form, too.
    """

    def plain(text: str) -> str:
        return re.sub(r"^\+?0*(?=\d)|\.0+$|[\s\u200b\ufeff]", "", unicodedata.normalize("NFKC", text).casefold())

    near = next((one for one in map(str, nodes.ids.to_numpy()) if plain(one) == plain(value)), None)
    if near is None:
        return ""
    shown = repr(near) if unicodedata.normalize("NFC", near) != unicodedata.normalize("NFC", value) else ascii(near)
    return f"; perhaps it is {shown:.60} there"


def _notes_on_edges(ends: list[NDArray[np.int64]], entries: int) -> list[str]:
    loops = int(np.count_nonzero(ends[0] == ends[1]))
    again = ends[0].size - loops - entries // 2
    notes = [f"self-loops dropped: {loops:,}"] if loops else []
    if again:
        notes.append(f"rows that repeat an edge, in the same or the other direction, or have weight 0: {again:,}")
    return notes
