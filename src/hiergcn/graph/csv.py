"""A graph from a CSV file of edges and, where there is one, a CSV file of nodes: see `hiergcn.graph.assemble`."""

from pathlib import Path
from typing import Any

from hiergcn.errors import InputError
from hiergcn.graph.assemble import EdgeColumns, EdgeTable, NodeColumns, NodeTable, edges_of, graph_parts, nodes_of
from hiergcn.graph.table import Layout, column_names, layout_of, read_table


def read_graph(
    edges: str | Path,
    nodes: str | Path | None,
    id: str | None,  # noqa: A002  # the word a user expects
    label: str | None,
    source: str | None,
    target: str | None,
    weight: str | None,
    delimiter: str | None,
) -> dict[str, Any]:
    """The parts of a `Graph`, by field name."""
    if nodes is None and (id or label):
        raise InputError(
            f"column {id or label!r} belongs to a file of nodes, and none is given: name it after the edges"
        )
    known = None if nodes is None else _read_nodes(layout_of(nodes, delimiter), id, label)
    listed, notes = _read_edges(layout_of(edges, delimiter), source, target, weight, known)
    parts = graph_parts(listed, known, Path(edges).stem)
    return parts | {"notes": (*notes, *parts["notes"])}


def _read_nodes(layout: Layout, id_name: str | None, label_name: str | None) -> NodeTable:
    names = column_names(layout)
    if layout.looks_like_data and not (id_name or label_name):
        raise InputError(f"{layout.path}, row 1: numbers where the names of the columns must be; add a line of names")
    origin = layout.origin(header=True)
    columns = NodeColumns.choose(origin, names, id_name, label_name)
    return nodes_of(read_table(layout, names, header=True, text=columns.text), origin, columns)


def _read_edges(
    layout: Layout, source: str | None, target: str | None, weight: str | None, nodes: NodeTable | None
) -> tuple[EdgeTable, list[str]]:
    """The edges, and what is to be said about the way they were read."""
    path = layout.path
    if len(layout.first) < 2:
        raise InputError(f"{path}, row 1: one column where an edge needs two ends; name the delimiter if it is unusual")
    first = [field.strip() for field in layout.first]
    is_edge = layout.looks_like_data or (nodes is not None and bool(nodes.ids.isin(first[:2]).sum() == 2))
    header = not is_edge or any(name in first for name in (source, target, weight) if name)
    names = column_names(layout, header=header)
    origin = layout.origin(header=header)
    columns = EdgeColumns.choose(origin, names, source, target, weight)
    notes = []
    if header and not columns.usual and not (source or target):
        notes.append(f"the first row of {path.name} was taken for the names of its columns: {', '.join(names)}")
    return edges_of(read_table(layout, names, header=header, text=columns.text), origin, columns), notes
