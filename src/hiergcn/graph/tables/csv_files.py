"""A graph from a file of edges and, if there is one, a file of nodes."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.graph import Graph
from hiergcn.graph.tables.assemble import EdgeTable, NodeTable, edges_of, graph_parts, nodes_of
from hiergcn.graph.tables.column_roles import ID, LABEL, CsvOptions, EdgeColumns, NodeColumns, shown_names, usual_ends
from hiergcn.graph.tables.delimited import LONG, Layout, layout_of, read_long_nodes, read_long_table, read_table
from hiergcn.graph.tables.label_columns import look_like_numbers
from hiergcn.graph.tables.node_ids import IdColumn
from hiergcn.graph.tables.table_files import TableFile, typed_table

PACKED = (".gz", ".zst", ".bz2", ".xz")
USUAL_NAMES = ("edges", "edge", "edgelist", "edge_list", "links", "graph")
"""Names of files of edges that say nothing about the graph."""


@dataclass(frozen=True, eq=False)
class CsvGraph:
    """A graph and the files that were read."""

    graph: Graph
    edges: EdgeTable
    nodes: NodeTable | None
    layouts: tuple[Layout | TableFile, ...]
    """Of the file of edges, then of the file of nodes."""

    @property
    def obstacle(self) -> str | None:
        """Why no model can learn from the labels, by file and column, and what to do; None if one can."""
        if self.nodes is None:
            remedy = "name a CSV of nodes after it, and its column of labels with --label"
            return f"{self.edges.origin} has edges and no labels; {remedy}."
        layout, column, labels = self.layouts[1], self.nodes.columns.label, self.graph.labels
        if self.graph.targets is not None:
            return self._missing_targets(self.graph.targets)
        if column is None or labels is None:
            others = shown_names([name for name in layout.names if name != self.nodes.columns.id]) or "no columns"
            missing = f"{layout} has no column named {' or '.join(LABEL)}"
            remedy = "name the column of the labels with --label, or of numbers to predict with --target"
            return f"{missing}; {remedy} (beside the ids there are {others})."
        where, counts = f"{layout}, column {column!r}", np.bincount(labels[labels >= 0])
        if not counts.any():
            words = self.nodes.labels.unknown_words if self.nodes.labels else ()
            if words:
                means = f"every label means unknown, such as {words[0][0]!r:.40}"
                return f"{where}: {means}; give the class of some nodes, or name the words for it with --unknown."
            return f"{where}: every label is blank; give the class of some nodes, or name another column with --label."
        if np.count_nonzero(counts) == 1:
            return f"{where}: every label is {self.graph.class_names[counts.argmax()]!r}; give two classes or more."
        if not self.nodes.columns.label_named and self.nodes.labels and look_like_numbers(self.nodes.labels):
            found = f"the labels are {len(self.graph.class_names):,} different numbers"
            number, each = f"--target {column} if the number is to be predicted", f"--label {column} if each is a class"
            return f"{where}: {found}; give {number}, or {each}."
        if self.graph.split is None and counts.max() == 1:
            return f"{where}: every class has one label; give one of them a second, so that some can validate."
        return None

    def _missing_targets(self, targets: NDArray[np.float64]) -> str | None:
        where, known = f"{self.layouts[1]}, column {self.graph.target_name!r}", targets[~np.isnan(targets)]
        if known.size < 2:
            found = "every value is blank" if not known.size else "one value is known"
            return f"{where}: {found}; give the numbers of some nodes, or name another column with --target."
        if np.ptp(known) == 0:
            return f"{where}: every value is {known[0]:g}; give nodes with different values."
        return None


def graph_name(edges: str | Path) -> str:
    """Return the name of the file of edges, or of its folder if the file is called `edges` or the like."""
    file = Path(edges)
    stem = Path(file.stem).stem if file.suffix.lower() in PACKED else file.stem
    return file.resolve().parent.name or stem if stem.lower() in USUAL_NAMES else stem


def read_csv(edges: str | Path, nodes: str | Path | None = None, options: CsvOptions | None = None) -> CsvGraph:
    """Read both files; an `InputError` says what is wrong with them, and where."""
    options = options or CsvOptions()
    try:
        return _read(edges, nodes, options)
    except InputError:
        if nodes is not None:
            _check_order(edges, nodes, options.delimiter)
        raise


def _read(edges: str | Path, nodes: str | Path | None, options: CsvOptions) -> CsvGraph:
    if nodes is None and options.of_nodes:
        belongs = f"Column {options.of_nodes!r} belongs to a file of nodes"
        raise InputError(f"{belongs}, and none is given; name it after the edges.")
    opened = _opened(edges, options)
    with ThreadPoolExecutor(2) as pool:  # reads both tables at the same time, since Arrow does not hold Python's lock
        if opened.path.is_file() and opened.path.stat().st_size >= LONG:
            pool.submit(import_module, "numba")  # which compiles the kernels that build a large graph
        ahead = pool.submit(_read_typed_edges, opened, options) if isinstance(opened, TableFile) else None
        known = None if nodes is None else _read_nodes(_opened(nodes, options), options)
        table = None if known is None else known[0]
        edges_layout: Layout | TableFile = opened
        notes: tuple[str, ...] = ()
        if isinstance(opened, Layout):
            listed, edges_layout, notes = _read_edges(opened, options, table)
        elif ahead is not None:
            listed = ahead.result()
    parts = graph_parts(listed, table, graph_name(edges))
    graph = Graph(**parts | {"notes": (*notes, *parts["notes"])})
    layouts = (edges_layout,) if known is None else (edges_layout, known[1])
    return CsvGraph(graph, listed, table, layouts)


def _opened(path: str | Path, options: CsvOptions) -> Layout | TableFile:
    return typed_table(path) or layout_of(path, options.delimiter)


def _check_order(edges: str | Path, nodes: str | Path, delimiter: str | None) -> None:
    """Refuse edges and nodes in each other's place, which can fail in many ways that would not show the cause."""
    ends, others = (usual_ends(_possible_names(file, delimiter)) for file in (nodes, edges))
    if ends is not None and others is None:
        raise InputError(
            f"{nodes} has columns {ends[0]!r} and {ends[1]!r}, as edges have, but was given for the nodes; "
            f"name the file of edges first, then that of nodes."
        )


def _possible_names(path: str | Path, delimiter: str | None) -> list[str]:
    typed = typed_table(path)
    if typed is not None:
        return typed.names
    layout = layout_of(path, delimiter)
    return [*(field.strip() for field in layout.first), *(layout.commented_names or ())]


def _read_nodes(layout: Layout | TableFile, options: CsvOptions) -> tuple[NodeTable, Layout | TableFile]:
    if isinstance(layout, TableFile):
        roles = NodeColumns.choose(layout, layout.names, options)
        frame = layout.frame([name for name in layout.names if name not in roles.dropped])
        return nodes_of(frame, layout, roles, options), layout
    features = [column.name for column in options.known or ()]
    named = (options.id, options.label, options.target, options.split)
    given = [name for name in (*named, *options.drop, *features) if name]
    layout = _with_header(layout, given, usual=any(name.lower() in ID for name in layout.commented_names or ()))
    if not layout.header and not layout.commented_names and not given:
        raise InputError(
            f"{layout}, row {layout.first_line}: numbers instead of the names of the columns; add a line of names, or "
            f"name the columns by their places (--label 2, label='2')."
        )
    columns = NodeColumns.choose(layout, layout.names, options)
    text = columns.text | {column.name for column in options.known or () if column.kind == "category"}
    cells = read_long_nodes(layout, layout.names, text=text)
    cells = read_table(layout, layout.names, text=text) if cells is None else cells
    table = nodes_of(cells, layout, columns, options)
    notes = [_taken_for_names(layout)] if layout.header and layout.looks_like_data else []
    return replace(table, notes=(*table.notes, *notes, *_comments_between(layout))), layout


def _read_typed_edges(file: TableFile, options: CsvOptions) -> EdgeTable:
    roles = EdgeColumns.choose(file, file.names, options)
    used = [*roles.ends, *([] if roles.weight is None else [roles.weight])]
    return replace(edges_of(file.read(used), file.names, file, roles), ids=file.nodes)


def _read_edges(
    layout: Layout, options: CsvOptions, nodes: NodeTable | None
) -> tuple[EdgeTable, Layout, tuple[str, ...]]:
    if len(layout.first) < 2:
        where = f"{layout}, row {layout.first_line}"
        raise InputError(
            f"{where}: one column, but an edge has two ends; name the delimiter (--delimiter) if it is unusual."
        )
    given = [name for name in (*(options.ends or ()), options.weight) if name]
    known = nodes is not None and bool((IdColumn.of(pd.Series(layout.first[:2])).positions_in(nodes.ids) >= 0).all())
    layout = _with_header(layout, given, usual=usual_ends(layout.commented_names or ()) is not None, data=known)
    names = layout.names
    columns = EdgeColumns.choose(layout, names, options)
    number = () if columns.weight is None else (columns.weight,)
    table: Any = read_long_table(layout, names, text=columns.ends, number=number)
    if table is None or (columns.weight and not np.isfinite(table[columns.weight].to_numpy()).all()):
        table = read_table(layout, names, text=columns.ends)
    found = edges_of(table, names, layout, columns, trimmed=layout.file.trimmed)
    notes: list[str] = []
    if layout.header and not columns.usual and not options.ends:
        notes.insert(0, _taken_for_names(layout))
    return found, layout, (*notes, *_comments_between(layout))


def _with_header(layout: Layout, given: Sequence[str], *, usual: bool, data: bool = False) -> Layout:
    """Return the layout with whether its first line holds the names of the columns.

    It does not if it holds numbers or is `data` for sure, or if the comment above it has names that are `usual`. It
    does in any case if it holds a name that the caller gives. In a line of numbers such a name is a place, 1, 2, ..,
    unless the line counts 0, 1, 2, .., as in tables whose columns nobody has named.
    """
    first = [field.strip() for field in layout.first]
    named = usual and usual_ends(first) is None and not any(name.lower() in ID for name in first)
    is_data = layout.looks_like_data or data or named
    counted = first == [str(k) for k in range(len(first))]
    places = [str(k + 1) for k in range(len(first))] if layout.looks_like_data and not counted else []
    return replace(layout, header=not is_data or any(name in first and name not in places for name in given))


def _taken_for_names(layout: Layout) -> str:
    return f"the first row of {layout.path.name} was taken for the names of its columns: {', '.join(layout.names)}"


def _comments_between(layout: Layout) -> list[str]:
    """Note comments below the first row, since a user may have ids that begin with #."""
    between = layout.file.comments - layout.comments_above
    return [f"lines of {layout.path.name} that begin with # were taken for comments: {between:,}"] if between else []
