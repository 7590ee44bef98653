"""Read a graph from a CSV file of edges and an optional CSV file of nodes."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hiergcn.errors import InputError
from hiergcn.graph.graph import Graph
from hiergcn.graph.split import Split
from hiergcn.graph.tables.arrow import read_long_table
from hiergcn.graph.tables.assemble import EdgeTable, NodeTable, edges_of, graph_parts, nodes_of
from hiergcn.graph.tables.column_roles import LABEL, EdgeColumns, NodeColumns, shown_names, usual_ends
from hiergcn.graph.tables.delimited import Layout, column_names, layout_of, read_table
from hiergcn.graph.tables.feature_columns import FeatureColumn
from hiergcn.graph.tables.split_column import NAME as SPLIT
from hiergcn.graph.tables.split_column import split_from_column

USUAL_NAMES = ("edges", "edge", "edgelist", "edge_list", "links", "graph")
"""Of files of edges, which tell nothing of the graph."""


@dataclass(frozen=True)
class Wanted:
    """What the caller says about the files; None is told from the files."""

    id: str | None = None
    label: str | None = None
    split: str | None = None
    drop: tuple[str, ...] = ()
    """Columns of the nodes to leave out."""
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    delimiter: str | None = None
    known: tuple[FeatureColumn, ...] | None = None
    """Columns of another file of nodes, whose features these must agree with; labels and splits are not read then."""


@dataclass(frozen=True, eq=False)
class NodesFile:
    """The file of nodes, as it was understood."""

    layout: Layout
    columns: NodeColumns
    table: NodeTable


@dataclass(frozen=True, eq=False)
class EdgesFile:
    """The file of edges, as it was understood."""

    layout: Layout
    header: bool
    columns: EdgeColumns
    table: EdgeTable
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CsvGraph:
    """A graph, the split that a column names if one does, and the files as they were understood."""

    graph: Graph
    split: Split | None
    edges: EdgesFile
    nodes: NodesFile | None

    @property
    def obstacle(self) -> str | None:
        """Why no model can learn from the labels, by file and column, and what to do; None where one can."""
        if self.nodes is None:
            path = self.edges.layout.path
            return (
                f"{path} has edges and no labels: name a CSV of nodes after it, and its column of labels with --label"
            )
        path, column, labels = self.nodes.layout.path, self.nodes.columns.label, self.graph.labels
        if column is None or labels is None:
            others = (name for name in self.nodes.layout.first if name.strip() != self.nodes.columns.id)
            return (
                f"{path} has no column named {' or '.join(LABEL)}: name that of the labels with --label "
                f"(beside the ids there are {shown_names([name.strip() for name in others])})"
            )
        where, counts = f"{path}, column {column!r}", np.bincount(labels[labels >= 0])
        if not counts.any():
            return f"{where}: every label is blank; give the class of some nodes, or name another column with --label"
        if np.count_nonzero(counts) == 1:
            return f"{where}: every label is {self.graph.class_names[counts.argmax()]!r}; give two classes or more"
        if self.split is None and counts.max() == 1:
            return f"{where}: every class has one label; give one of them a second, so that some can validate"
        return None


def graph_name(edges: str | Path) -> str:
    """That of the file of edges, or of its folder where the file has but the name of its kind."""
    file = Path(edges)
    return file.resolve().parent.name or file.stem if file.stem.lower() in USUAL_NAMES else file.stem


def read_csv(edges: str | Path, nodes: str | Path | None = None, wanted: Wanted | None = None) -> CsvGraph:
    """Read both files; an `InputError` says what is wrong with them, and where."""
    wanted = wanted or Wanted()
    try:
        return _read(edges, nodes, wanted)
    except InputError:
        if nodes is not None:
            _check_order(edges, nodes, wanted.delimiter)
        raise


def _read(edges: str | Path, nodes: str | Path | None, wanted: Wanted) -> CsvGraph:
    of_nodes = wanted.id or wanted.label or wanted.split or next(iter(wanted.drop), None)
    if nodes is None and of_nodes:
        raise InputError(f"column {of_nodes!r} belongs to a file of nodes, and none is given: name it after the edges")
    known = None if nodes is None else _read_nodes(layout_of(nodes, wanted.delimiter), wanted)
    table = None if known is None else known.table
    listed = _read_edges(layout_of(edges, wanted.delimiter), wanted, table)
    parts = graph_parts(listed.table, table, graph_name(edges))
    split, said = (None, []) if known is None or known.columns.split is None else _split(known)
    graph = Graph(**parts | {"notes": (*listed.notes, *parts["notes"], *said)})
    return CsvGraph(graph, split, listed, known)


def _split(nodes: NodesFile) -> tuple[Split, list[str]]:
    assert nodes.columns.split is not None
    return split_from_column(nodes.table, nodes.columns.split)


def _check_order(edges: str | Path, nodes: str | Path, delimiter: str | None) -> None:
    """Edges and nodes in each other's place can go wrong in many ways, none of which would tell the cause."""
    ends = usual_ends(column_names(layout_of(nodes, delimiter)))
    if ends is not None and usual_ends(column_names(layout_of(edges, delimiter))) is None:
        raise InputError(
            f"{nodes} has columns {ends[0]!r} and {ends[1]!r}, as edges have, and was given for the nodes: "
            f"name the file of edges first, that of nodes after it"
        )


def _read_nodes(layout: Layout, wanted: Wanted) -> NodesFile:
    names = column_names(layout)
    if layout.looks_like_data and not (wanted.id or wanted.label):
        raise InputError(f"{layout.path}, row 1: numbers where the names of the columns must be; add a line of names")
    origin = layout.origin(header=True)
    usual = next((name for name in names if name.lower() == SPLIT and name not in (*wanted.drop, wanted.label)), None)
    columns = NodeColumns.choose(origin, names, wanted.id, wanted.label, wanted.split or usual, wanted.drop)
    if wanted.known is not None:
        columns = NodeColumns(columns.id, None)
    table = nodes_of(read_table(layout, names, header=True, text=columns.text), origin, columns, wanted.known)
    if columns.dropped:
        dropped = f"columns left out as asked: {', '.join(columns.dropped)}"
        table = replace(table, notes=(*table.notes, dropped))
    return NodesFile(layout, columns, table)


def _read_edges(layout: Layout, wanted: Wanted, nodes: NodeTable | None) -> EdgesFile:
    path = layout.path
    if len(layout.first) < 2:
        raise InputError(f"{path}, row 1: one column where an edge needs two ends; name the delimiter if it is unusual")
    first = [field.strip() for field in layout.first]
    is_edge = layout.looks_like_data or (nodes is not None and bool(nodes.ids.isin(first[:2]).sum() == 2))
    header = not is_edge or any(name in first for name in (wanted.source, wanted.target, wanted.weight) if name)
    names = column_names(layout, header=header)
    origin = layout.origin(header=header)
    columns = EdgeColumns.choose(origin, names, wanted.source, wanted.target, wanted.weight)
    number = () if columns.weight is None else (columns.weight,)
    table = read_long_table(layout, names, header=header, text=columns.ends, number=number)
    if table is None or (columns.weight and not np.isfinite(table[columns.weight]).all()):
        table = read_table(layout, names, header=header, text=columns.text)
    found = edges_of(table, origin, columns)
    notes = [f"column {name!r} of the edges was not used" for name in names if name not in table.columns]
    if header and not columns.usual and not (wanted.source or wanted.target):
        notes.insert(0, f"the first row of {path.name} was taken for the names of its columns: {', '.join(names)}")
    return EdgesFile(layout, header, columns, found, tuple(notes))
