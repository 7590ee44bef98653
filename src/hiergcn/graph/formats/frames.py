"""Graphs as pandas frames, one of edges and one of nodes, and as CSV files of the same columns."""

from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hiergcn.errors import InputError
from hiergcn.files import written_whole
from hiergcn.graph.graph import Graph
from hiergcn.graph.tables.assemble import NodeTable, edges_of, graph_parts, nodes_of
from hiergcn.graph.tables.column_roles import ID, CsvOptions, EdgeColumns, NodeColumns, as_text, label_texts, labels_of
from hiergcn.graph.tables.delimited import Origin

ROWS = 8192  # written to CSV at once, so that sparse features never become dense as a whole


def graph_from_frames(edges: pd.DataFrame, nodes: pd.DataFrame | None, options: CsvOptions, name: str) -> Graph:
    """Implement `Graph.from_pandas`."""
    if nodes is None and (options.id or options.label):
        wanted = options.id or options.label
        raise InputError(f"Column {wanted!r} belongs to a frame of nodes, and none is given; give one.")
    origin = Origin("The frame of edges")
    listed = _with_text_names(edges, origin)
    columns = EdgeColumns.choose(origin, list(listed.columns), options)
    texts = {end: as_text(listed[end]) for end in columns.ends}
    known, ids = (None, [listed[end] for end in columns.ends]) if nodes is None else _node_table(nodes, options)
    parts = graph_parts(edges_of(listed.assign(**texts), origin, columns), known, name)
    if not all(pd.api.types.is_numeric_dtype(column) for column in ids):
        parts["ids"] = parts["ids"].astype(str).astype(object)  # "12" was text and stays so
    return Graph(**parts)


def frames_of(graph: Graph) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Implement `Graph.to_pandas`."""
    nodes = _node_columns(graph, slice(None))
    if sp.issparse(graph.features):
        features = pd.DataFrame.sparse.from_spmatrix(graph.features)  # type: ignore[attr-defined]  # unknown to stubs
    else:
        features = pd.DataFrame(graph.features)
    features.columns = pd.Index([f"x{k}" for k in range(graph.n_features)])
    return edge_frame(graph), pd.concat([nodes, features], axis=1)


def edge_frame(graph: Graph) -> pd.DataFrame:
    """Return each edge once, by the user's ids, and its weight unless all are 1."""
    upper = sp.triu(graph.adjacency, format="coo")
    rows, columns = upper.coords
    table = pd.DataFrame({"source": graph.ids[rows], "target": graph.ids[columns]})
    if (upper.data != 1).any():
        table["weight"] = upper.data
    return table


def write_graph_csv(graph: Graph, edges: str | PathLike[str], nodes: str | PathLike[str]) -> None:
    """Implement `Graph.to_csv`."""
    try:
        with written_whole(edges) as part:
            edge_frame(graph).to_csv(part, index=False, lineterminator="\n")
        with written_whole(nodes) as part, part.open("w", encoding="utf-8", newline="") as stream:
            for table in _node_blocks(graph):
                table.to_csv(stream, index=False, header=stream.tell() == 0, lineterminator="\n")
    except OSError as error:
        raise InputError(f"{error.filename} cannot be written ({error.strerror}); name another file.") from error


def _node_blocks(graph: Graph) -> Iterable[pd.DataFrame]:
    for first in range(0, graph.n_nodes, ROWS):
        rows = slice(first, first + ROWS)
        table = _node_columns(graph, rows)
        if graph.features is not None:
            block: Any = graph.features[rows]
            dense = pd.DataFrame(block if isinstance(block, np.ndarray) else block.toarray())
            dense.columns = pd.Index([f"x{k}" for k in range(graph.n_features)])
            table = pd.concat([table, dense], axis=1)
        yield table


def _node_columns(graph: Graph, rows: slice) -> pd.DataFrame:
    table = pd.DataFrame({"id": graph.ids[rows]})
    if graph.labels is not None:
        table["label"] = label_texts(graph.labels[rows], graph.class_names)
    return table


def _node_table(nodes: pd.DataFrame, options: CsvOptions) -> tuple[NodeTable, list["pd.Series[Any]"]]:
    """Return the content of the frame, and its column of ids as it is."""
    origin = Origin("The frame of nodes")
    table = _with_text_names(_with_id_column(nodes, options.id), origin)
    columns = NodeColumns.choose(origin, list(table.columns), options)
    ids = [table[columns.id]]
    rest = [name for name in table.columns if name not in columns.text]
    sparse = _sparse_features(table[rest])
    if sparse is not None:
        table = table[[name for name in table.columns if name in columns.text]]
    else:
        table = table.assign(**{name: _as_numbers(table[name]) for name in rest})
    found = nodes_of(table.assign(**{name: as_text(table[name]) for name in columns.text}), origin, columns)
    if columns.label is not None:
        labels, names = labels_of(table[columns.label], len(table))
        found = replace(found, labels=labels, class_names=names)
    return (found if sparse is None else replace(found, features=sparse)), ids


def _with_id_column(nodes: pd.DataFrame, id_name: str | None) -> pd.DataFrame:
    """Make the index a column if it holds the ids: no column is named by the caller or has a usual name."""
    if id_name is None and any(str(name).lower() in ID for name in nodes.columns):
        return nodes
    if id_name is None and isinstance(nodes.index, pd.RangeIndex) and nodes.index.name is None:
        return nodes
    if id_name is not None and (id_name in nodes.columns or nodes.index.name != id_name):
        return nodes
    return nodes.reset_index(names=id_name or str(nodes.index.name or "id"))


def _with_text_names(frame: pd.DataFrame, origin: Origin) -> pd.DataFrame:
    names = pd.Index([str(name) for name in frame.columns])
    if names.has_duplicates:
        twice = names[int(names.duplicated().argmax())]
        raise InputError(f"{origin} has two columns named {twice!r:.80}; give every column its own name.")
    if names.empty:
        raise InputError(f"{origin} has no columns; give a frame with at least a column of ids.")
    return frame.set_axis(names, axis=1).reset_index(drop=True)


def _as_numbers(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return as numbers a column of them that pandas holds as objects, for instance because some are None."""
    numeric = pd.api.types.infer_dtype(column, skipna=True) in ("integer", "floating", "mixed-integer-float", "decimal")
    return pd.to_numeric(column) if numeric and not pd.api.types.is_numeric_dtype(column) else column


def _sparse_features(table: pd.DataFrame) -> sp.csr_array | None:
    """Return the matrix of a frame whose columns are all sparse with fill value 0; None for any other."""
    kinds = list(table.dtypes)
    if not kinds or not all(isinstance(kind, pd.SparseDtype) and kind.fill_value == 0 for kind in kinds):
        return None
    return sp.csr_array(table.sparse.to_coo())  # type: ignore[attr-defined]  # unknown to stubs
