"""A graph from a table of edges and, if there is one, a table of nodes: from files, or from frames of any reader.

Edges: a row per edge. Nodes: a row per node with its id, perhaps a label (blank if unknown), and features;
`column_roles` says which column is what. Ids are compared as text, without blanks around them, so that 7 and 007 are
two nodes; if all of them are whole numbers they become whole numbers. Every reader of tables ends in `graph_parts`, so
that the same data mean the same in every format.
"""

import re
import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.adjacency import LARGEST_WEIGHT, symmetric_adjacency
from hiergcn.graph.coordinates import find_coordinates
from hiergcn.graph.graph import Graph
from hiergcn.graph.split import Split
from hiergcn.graph.tables.column_roles import (
    ID,
    LABEL,
    CsvOptions,
    EdgeColumns,
    NodeColumns,
    Roles,
    node_option,
    shown_names,
    usual_ends,
)
from hiergcn.graph.tables.feature_columns import floats
from hiergcn.graph.tables.feature_table import FeatureTable, read_features
from hiergcn.graph.tables.label_columns import Labels, look_like_numbers, read_target
from hiergcn.graph.tables.node_ids import IdColumn
from hiergcn.graph.tables.table_files import TableFile, typed_table
from hiergcn.graph.tables.text_columns import Origin
from hiergcn.graph.tables.text_files import LONG, TextFile, as_frame
from hiergcn.graph.target import Classes, Numbers

PACKED = (".gz", ".zst", ".bz2", ".xz")
USUAL_NAMES = ("edges", "edge", "edgelist", "edge_list", "links", "graph")
"""Names of files of edges that say nothing about the graph."""
MOST_UNLISTED = 0.2
"""Ids that only the edges name, as a share of the ids that the nodes list; above it, the two do not belong together."""


@dataclass(frozen=True, eq=False)
class NodeTable:
    """The content of a table of nodes."""

    origin: Origin
    columns: NodeColumns
    ids: IdColumn
    features: FeatureTable
    target: Labels | Numbers | None
    split: Split | None
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """The content of a table of edges."""

    origin: Origin
    columns: EdgeColumns
    ends: IdColumn
    """The sources of all edges, then their targets."""
    weight: NDArray[np.float64] | None
    unused: tuple[str, ...]
    """Columns that are neither an end nor a weight."""
    notes: tuple[str, ...] = ()
    """On the file; they come before those on the nodes."""
    ids: IdColumn | None = None
    """The ids of all nodes, if the file counts them, such as a matrix."""


@dataclass(frozen=True, eq=False)
class CsvGraph:
    """A graph and the files that were read."""

    graph: Graph
    edges: EdgeTable
    nodes: NodeTable | None

    @cached_property
    def positions(self) -> list[NDArray[np.int64]]:
        """The numbers of both ends of each edge."""
        ids = IdColumn.from_column(pd.Series(self.graph.ids))
        return list(self.edges.ends.positions_in(ids).reshape(2, -1))

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """Each distinct edge that is no self-loop as one number, source * n + target."""
        source, target = self.positions
        return np.asarray(pd.unique((source * self.graph.n_nodes + target)[source != target]))

    @property
    def obstacle(self) -> str | None:
        """Why no model can learn from the labels, by file and column, and what to do; None if one can."""
        if self.nodes is None:
            remedy = "name a CSV of nodes after it, and its column of labels with --label"
            return f"{self.edges.origin} has edges and no labels; {remedy}."
        file, roles, graph, target = self.nodes.origin, self.nodes.columns, self.graph, self.graph.target
        column = roles.label
        if isinstance(target, Numbers):
            where, known = f"{file}, column {target.name!r}", target.truth[~np.isnan(target.truth)]
            if known.size < 2:
                values = "every value is blank" if not known.size else "one value is known"
                return f"{where}: {values}; give the numbers of some nodes, or name another column with --target."
            same = f"{where}: every value is {known[0]:g}; give nodes with different values."
            return same if np.ptp(known) == 0 else None
        if not isinstance(self.nodes.target, Labels):
            names = file.names if isinstance(file, TextFile | TableFile) else []
            others = shown_names([name for name in names if name != roles.id]) or "no columns"
            missing = f"{file} has no column named {' or '.join(LABEL)}"
            remedy = "name the column of the labels with --label, or of numbers to predict with --target"
            return f"{missing}; {remedy} (beside the ids there are {others})."
        where, counts = f"{file}, column {column!r}", np.bincount(graph.truth[graph.truth >= 0])
        if not counts.any():
            if words := self.nodes.target.unknown_words:
                means = f"every label means unknown, such as {words[0][0]!r:.40}"
                return f"{where}: {means}; give the class of some nodes, or name the words for it with --unknown."
            return f"{where}: every label is blank; give the class of some nodes, or name another column with --label."
        if np.count_nonzero(counts) == 1:
            return f"{where}: every label is {graph.class_names[counts.argmax()]!r}; give two classes or more."
        if not roles.label_named and look_like_numbers(self.nodes.target):
            numbers = f"the labels are {len(graph.class_names):,} different numbers"
            number, each = f"--target {column} if the number is to be predicted", f"--label {column} if each is a class"
            return f"{where}: {numbers}; give {number}, or {each}."
        if graph.split is None and counts.max() == 1:
            return f"{where}: every class has one label; give one of them a second, so that some can validate."
        return None


def graph_name(edges: str | Path) -> str:
    """Return the name of the file of edges, or of its folder if the file is called `edges` or the like."""
    file = Path(edges)
    stem = Path(file.stem).stem if file.suffix.lower() in PACKED else file.stem
    return file.resolve().parent.name or stem if stem.lower() in USUAL_NAMES else stem


def read_csv(edges: str | Path, nodes: str | Path | None = None, options: CsvOptions | None = None) -> CsvGraph:
    """Read both files; an `InputError` says what is wrong with them, and where."""
    options = options or CsvOptions()
    if nodes is None and not options.get("roles") and (name := node_option(options)):
        raise InputError(f"Column {name!r} belongs to a file of nodes, and none is given; name it after the edges.")
    try:
        listed = None if nodes is None else _read_nodes(_opened(nodes, options), options)
        links = _read_edges(_opened(edges, options), options, listed)
        return CsvGraph(Graph(**graph_parts(links, listed, graph_name(edges))), links, listed)
    except InputError:
        _check_order(edges, nodes, options)
        raise


def _opened(path: str | Path, options: CsvOptions) -> TextFile | TableFile:
    return typed_table(path) or TextFile.from_path(path, options.get("delimiter"))


def _check_order(edges: str | Path, nodes: str | Path | None, options: CsvOptions) -> None:
    """Refuse edges and nodes in each other's place, a cause that other errors would not show."""
    names: list[list[str]] = []
    for path in (edges,) if nodes is None else (nodes, edges):
        file = _opened(path, options)
        names.append(file.names if isinstance(file, TableFile) else [*file.first, *(file.commented_names or ())])
    ends = usual_ends(names[0])
    if nodes is not None and ends is not None and usual_ends(names[1]) is None:
        raise InputError(
            f"{nodes} has columns {ends[0]!r} and {ends[1]!r}, as edges have, but was given for the nodes; "
            f"name the file of edges first, then that of nodes."
        )


def _read_nodes(file: TextFile | TableFile, options: CsvOptions) -> NodeTable:
    known = options.get("known") or ()
    if isinstance(file, TextFile):
        named = [options.get(name) for name in ("id", "label", "target", "split")]
        named += [*(options.get("drop") or ()), *(column.name for column in known)]
        given = [str(name) for name in named if name]
        file = _with_header(file, given, usual=any(name.lower() in ID for name in file.commented_names or ()))
        if not file.header and not file.commented_names and not given:
            raise InputError(
                f"{file}, row {file.first_line}: numbers instead of the names of the columns; add a line of names, or "
                f"name the columns by their places (--label 2, label='2')."
            )
    roles = NodeColumns.choose(file, file.names, options)
    wanted = [name for name in file.names if name not in roles.dropped]
    text = roles.text | {column.name for column in known if column.is_word and column.name in wanted}
    table, file = file.read(wanted, text)
    nodes = nodes_of(as_frame(table, roles.text), file, roles, options)
    doubtful = isinstance(file, TextFile) and file.looks_like_data
    return replace(nodes, notes=(*nodes.notes, *_file_notes(file, doubtful)))


def _read_edges(file: TextFile | TableFile, options: CsvOptions, nodes: NodeTable | None) -> EdgeTable:
    if file.path.is_file() and file.path.stat().st_size >= LONG:
        Thread(target=import_module, args=("numba",)).start()  # which compiles the kernels that build a large graph
    if isinstance(file, TextFile):
        if len(file.first) < 2:
            where = f"{file}, row {file.first_line}"
            raise InputError(
                f"{where}: one column, but an edge has two ends; name the delimiter (--delimiter) if it is unusual."
            )
        given = [name for name in (*(options.get("ends") or ()), options.get("weight")) if name]
        first = IdColumn.from_column(pd.Series(file.first[:2]))
        is_listed = nodes is not None and bool((first.positions_in(nodes.ids) >= 0).all())
        usual = usual_ends(file.commented_names or ()) is not None
        file = _with_header(file, given, usual=usual, data=is_listed)
    names = file.names
    roles = EdgeColumns.choose(file, names, options)
    used = [*roles.ends, *([] if roles.weight is None else [roles.weight])]
    table, file = file.read(used, roles.ends)
    notes = _file_notes(file, not roles.usual and not options.get("ends"))
    links = edges_of(table, names, file, roles)
    return replace(links, notes=tuple(notes), ids=file.nodes if isinstance(file, TableFile) else None)


def _with_header(file: TextFile, given: Sequence[str], *, usual: bool, data: bool = False) -> TextFile:
    """Return the file with whether its first line holds the names of the columns.

    It does not if it holds numbers or is `data` for sure, or if the comment above it has names that are `usual`. It
    does in any case if it holds a name that the caller gives. In a line of numbers such a name is a place, 1, 2, ..,
    unless the line counts 0, 1, 2, .., as in tables whose columns nobody has named.
    """
    first = file.first
    named = usual and usual_ends(first) is None and not any(name.lower() in ID for name in first)
    is_data = file.looks_like_data or data or named
    counted = list(first) == [str(k) for k in range(len(first))]
    places = [str(k + 1) for k in range(len(first))] if file.looks_like_data and not counted else []
    return replace(file, header=not is_data or any(name in first and name not in places for name in given))


def _file_notes(file: TextFile | TableFile, is_doubtful: bool) -> list[str]:
    """Note doubtful names of columns, and comments below the first row, since a user may have ids that begin with #."""
    if isinstance(file, TableFile):
        return []
    between, name = file.comments - file.comments_above, file.path.name
    taken = f"the first row of {name} was taken for the names of its columns: {', '.join(file.names)}"
    notes = [taken] if file.header and is_doubtful else []
    return notes + ([f"lines of {name} that begin with # were taken for comments: {between:,}"] if between else [])


def nodes_of(table: pd.DataFrame, origin: Origin, columns: NodeColumns, options: CsvOptions) -> NodeTable:
    """Return ids, labels or targets, split and features of a table of any values."""
    ids = IdColumn.from_column(table[columns.id])
    ids.check_no_blank(origin, columns.id, "give every node an id")
    if not len(ids):
        raise InputError(f"{origin} has no rows; give a row per node.")
    if (again := pd.Series(ids.to_numpy()).duplicated().to_numpy()).any():
        row = int(again.argmax())
        repeated = f"id {str(ids.to_numpy()[row])!r:.80} is in an earlier row"
        raise InputError(f"{origin.at(row, columns.id)}: {repeated}; list each node once.")
    used = (columns.id, columns.label, columns.target, columns.split, *columns.dropped, "")
    cells = table[[name for name in table.columns if name not in used]]
    features = read_features(cells, origin, options.get("known"))
    notes = list(features.notes)
    if "" in table.columns and columns.id != "":
        notes.append("a column without a name was left out")
    if columns.dropped:
        notes.append(f"columns dropped on request: {', '.join(columns.dropped)}")
    target, split, more = read_target(table.__getitem__, columns, ids.to_numpy(), origin, options.get("unknown"))
    notes += more
    if isinstance(target, Labels) and look_like_numbers(target):
        taken = f"the labels are {len(target.names):,} different numbers, and each was taken for a class"
        notes.append(f"{taken}; to predict the number, name the column as the target")
    return NodeTable(origin, columns, ids, features, target, split, tuple(notes))


def edges_of(table: Any, names: Sequence[str], origin: Origin, columns: EdgeColumns) -> EdgeTable:
    """Return both ends of each edge and its weight, of a frame or Arrow table of any values.

    `names` are those of all columns of the file, of which the table may have some only.
    """
    with ThreadPoolExecutor(2) as pool:  # Arrow does not hold Python's lock
        ends = list(pool.map(lambda name: IdColumn.from_column(table[name]), columns.ends))
    for name, end in zip(columns.ends, ends, strict=True):
        end.check_no_blank(origin, name, "an edge needs two ends")
    weights = None
    if columns.weight is not None:
        column = table[columns.weight]
        cells = column if isinstance(column, pd.Series) else pd.Series(column.to_numpy())
        weights = np.asarray(floats(cells), np.float64)
        wrong = np.flatnonzero(np.isnan(weights))
        if wrong.size:
            entry = "nothing" if pd.isna(cells.iloc[wrong[0]]) else repr(cells.iloc[wrong[0]])
            raise InputError(f"{origin.at(wrong[0], columns.weight)}: {entry:.80} instead of a number; correct it.")
        wrong = np.flatnonzero((weights < 0) | (weights > LARGEST_WEIGHT))
        if wrong.size:
            rule = f"must be finite, not negative and at most {LARGEST_WEIGHT:g}"
            raise InputError(f"{origin.at(wrong[0], columns.weight)}: weight {weights[wrong[0]]} {rule}.")
    unused = tuple(name for name in names if name not in (*columns.ends, columns.weight))
    return EdgeTable(origin, columns, ends[0].followed_by(ends[1]), weights, unused)


def graph_parts(edges: EdgeTable, nodes: NodeTable | None, name: str) -> dict[str, Any]:
    """Return the arguments of a `Graph`, by field name."""
    ids, positions, notes = _all_ids(edges, nodes)
    ends = positions.reshape(2, -1)
    adjacency = symmetric_adjacency(ends[0], ends[1], edges.weight, len(ids))
    notes = [*(f"column {name!r} of the edges was not used" for name in edges.unused), *notes]
    loops = int(np.count_nonzero(ends[0] == ends[1]))
    again = ends[0].size - loops - adjacency.nnz // 2
    if loops:
        notes.append(f"self-loops dropped: {loops:,}")
    if again:
        notes.append(f"rows that repeat an edge, in the same or the other direction, or have weight 0: {again:,}")
    file = edges.origin
    unnamed = edges.ids or (isinstance(file, TextFile) and not file.header and not file.commented_names)
    roles = Roles(None, None if unnamed else edges.columns.ends, edges.columns.weight)
    if nodes is not None:
        roles = replace(roles, id=nodes.columns.id, label=nodes.columns.label)
    parts = {"adjacency": adjacency, "ids": ids, "name": name, "roles": roles}
    if nodes is None:
        return parts | {"notes": (*edges.notes, *notes)}
    extra = len(ids) - len(nodes.ids)
    features, target = nodes.features.with_blank_rows(extra), nodes.target
    if target is not None:
        blank = np.full(extra, np.nan if isinstance(target, Numbers) else -1)
        target = replace(target, values=np.append(target.truth, blank))
    return parts | {
        **features.fields(),
        **(target or Classes()).fields(),
        "coordinates": None if features.matrix is None else find_coordinates(features),
        "split": nodes.split,
        "notes": (*edges.notes, *nodes.notes, *notes),
    }


def _all_ids(edges: EdgeTable, nodes: NodeTable | None) -> tuple[IdColumn, NDArray[np.int64], list[str]]:
    """Return the ids of all nodes, the numbers of both ends of the edges, and notes.

    The nodes of the table come first, in their order; then those that only edges name, in natural order.
    """
    ends = edges.ends
    if nodes is None:
        ids = edges.ids or ends.distinct()
        if not len(ids):
            raise InputError(f"{edges.origin} has no rows; give a row per edge, or a file of nodes.")
        return ids, ends.positions_in(ids), []
    positions = ends.positions_in(nodes.ids)
    absent = np.flatnonzero(positions < 0)
    if not absent.size:
        return nodes.ids, positions, []
    unlisted = ends.rows(absent)
    extra = unlisted.distinct()
    none_listed, has_features = absent.size == len(ends), nodes.features.matrix is not None
    if none_listed or (has_features and len(extra) > MOST_UNLISTED * len(nodes.ids)):
        row = int((absent % (len(ends) // 2)).argmin())  # the first, of the sources if both ends are absent
        value, table = str(unlisted.to_numpy()[row]), str(nodes.origin)
        table = table[:1].lower() + table[1:] if isinstance(nodes.origin.name, str) else table
        number = edges.origin.row(absent[row] % (len(ends) // 2))
        where = f"{edges.origin}, row {number}: id {value!r:.80} is not in {table}"
        near = next((text for text in map(str, nodes.ids.to_numpy()) if _form(text) == _form(value)), None)
        hint = ""
        if near is not None:  # two that look alike are shown by their codes
            is_same = unicodedata.normalize("NFC", near) == unicodedata.normalize("NFC", value)
            hint = f"; perhaps it is {ascii(near) if is_same else repr(near):.60} there"
        if none_listed:
            raise InputError(f"{where}, and no other id of the edges is; write ids alike in both{hint}.")
        remedy = f"add it there or take the edge out ({len(extra):,} such ids)"
        raise InputError(f"{where}, so it has no features; {remedy}{hint}.")
    positions[absent] = len(nodes.ids) + unlisted.positions_in(extra)
    blank = " and with every feature missing" if has_features else ""
    note = f"ids that only the edges name, now nodes without a label{blank}: {len(extra):,}"
    return nodes.ids.followed_by(extra), positions, [note]


def _form(text: str) -> str:
    """Return an id without what may differ in form only: P1 and p1, 7 and 7.0 or 007, é in two encodings, blanks."""
    return re.sub(r"^\+?0*(?=\d)|\.0+$|[\s\u200b\ufeff]", "", unicodedata.normalize("NFKC", text).casefold())
