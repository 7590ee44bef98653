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
from hiergcn.graph.tables.column_roles import ID, LABEL, CsvOptions, EdgeColumns, NodeColumns
from hiergcn.graph.tables.delimited import Origin
from hiergcn.graph.tables.feature_columns import STRUCTURAL, FeatureTable, decode_columns, number_columns, unnamed
from hiergcn.graph.tables.label_columns import SPLIT, label_texts, part_names
from hiergcn.graph.tables.node_ids import IdColumn
from hiergcn.graph.tables.text_columns import column_names

ROWS = 8192  # written to CSV at once, so that sparse features never become dense as a whole


def graph_from_frames(edges: pd.DataFrame, nodes: pd.DataFrame | None, options: CsvOptions, name: str) -> Graph:
    """Implement `Graph.from_pandas`."""
    if nodes is None and options.of_nodes:
        raise InputError(f"Column {options.of_nodes!r} belongs to a frame of nodes, and none is given; give one.")
    origin = Origin("The frame of edges")
    listed = _with_text_names(edges, origin)
    columns = EdgeColumns.choose(origin, list(listed.columns), options)
    known, ids = (None, [listed[end] for end in columns.ends]) if nodes is None else _node_table(nodes, options)
    parts = graph_parts(edges_of(listed, list(listed.columns), origin, columns), known, name)
    if not all(pd.api.types.is_numeric_dtype(column) for column in ids):
        parts["ids"] = IdColumn(parts["ids"].strings)  # "12" was text and stays so
    return Graph(**parts)


def frames_of(graph: Graph) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Implement `Graph.to_pandas`."""
    nodes = _node_columns(graph, slice(None))
    if not sp.issparse(graph.features) or graph.texts:
        return edge_frame(graph), pd.concat([nodes, _feature_table(graph, slice(None))], axis=1)
    features = pd.DataFrame.sparse.from_spmatrix(graph.features)  # type: ignore[attr-defined]  # unknown to stubs
    return edge_frame(graph), pd.concat([nodes, features.set_axis(feature_names(graph), axis=1)], axis=1)


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
    with written_whole(edges) as part:
        edge_frame(graph).to_csv(part, index=False, lineterminator="\n")
    with written_whole(nodes) as part, part.open("w", encoding="utf-8", newline="") as stream:
        for table in _node_blocks(graph):
            table.to_csv(stream, index=False, header=stream.tell() == 0, lineterminator="\n")


def _node_blocks(graph: Graph) -> Iterable[pd.DataFrame]:
    for first in range(0, graph.n_nodes, ROWS):
        rows = slice(first, first + ROWS)
        yield pd.concat([_node_columns(graph, rows), _feature_table(graph, rows)], axis=1)


def _node_columns(graph: Graph, rows: slice) -> pd.DataFrame:
    table = pd.DataFrame({"id": graph.ids[rows]})
    if graph.labels is not None:
        table["label"] = label_texts(graph.labels[rows], graph.class_names)
    if graph.targets is not None:
        table[graph.target_name] = graph.targets[rows]
    if graph.split is not None:
        table["split"] = part_names(graph.split, graph.n_nodes)[rows]
    return table


def _feature_table(graph: Graph, rows: slice) -> pd.DataFrame:
    """Return the columns that the features were made of, or the features if these have no names."""
    if graph.features is None:
        return pd.DataFrame(index=range(len(graph.ids[rows])))
    block: Any = graph.features[rows]
    if _has_names(graph):
        missing = None if graph.missing is None else graph.missing[rows]
        texts = {name: entries[rows] for name, entries in graph.texts.items()}
        return decode_columns(FeatureTable(block, graph.columns, missing, texts))
    dense = block if isinstance(block, np.ndarray) else block.toarray()
    return pd.DataFrame(dense).set_axis(feature_names(graph), axis=1)


def feature_names(graph: Graph) -> list[str]:
    return [column.name for column in graph.columns if column.width] if _has_names(graph) else unnamed(graph.n_features)


def _has_names(graph: Graph) -> bool:
    """Return whether the features were made of columns, and none is called like the others in a table of nodes."""
    names = {column.name.lower() for column in graph.columns}
    taken = {*ID, *LABEL, SPLIT, graph.target_name.lower()} if graph.targets is not None else {*ID, *LABEL, SPLIT}
    return bool(names) and not names & taken and graph.columns[0].kind != STRUCTURAL


def _node_table(nodes: pd.DataFrame, options: CsvOptions) -> tuple[NodeTable, list["pd.Series[Any]"]]:
    """Return the content of the frame, and its column of ids as it is."""
    origin = Origin("The frame of nodes")
    table = _with_text_names(_with_id_column(nodes, options.id), origin)
    columns = NodeColumns.choose(origin, list(table.columns), options)
    rest = [name for name in table.columns if name not in (*columns.text, columns.target, *columns.dropped)]
    sparse = _sparse_features(table[rest]) if options.known is None else None
    if sparse is None:
        found = nodes_of(table.assign(**{name: as_numbers(table[name]) for name in rest}), origin, columns, options)
    else:
        found = nodes_of(table.drop(columns=rest), origin, columns, options)
        found = replace(found, features=FeatureTable(sparse, tuple(number_columns(rest))))
    return found, [table[columns.id]]


def _with_id_column(nodes: pd.DataFrame, id_name: str | None) -> pd.DataFrame:
    """Make the index a column if it holds the ids: no column is named by the caller or has a usual name."""
    if id_name is None and any(str(name).lower() in ID for name in nodes.columns):
        return nodes
    if id_name is None and isinstance(nodes.index, pd.RangeIndex) and nodes.index.name is None:
        return nodes
    if id_name is not None and (id_name in nodes.columns or nodes.index.name != id_name):
        return nodes
    if nodes.index.nlevels > 1:
        raise InputError("The frame of nodes has an index of several levels; give a column of ids (id=..).")
    return nodes.reset_index(names=id_name or str(nodes.index.name or "id"))


def _with_text_names(frame: pd.DataFrame, origin: Origin) -> pd.DataFrame:
    names = column_names(frame.columns, origin)
    if not names:
        raise InputError(f"{origin} has no columns; give a frame with at least a column of ids.")
    return frame.set_axis(names, axis=1).reset_index(drop=True)


def as_numbers(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return as numbers a column of them that pandas holds as objects, for instance because some are None."""
    numeric = pd.api.types.infer_dtype(column, skipna=True) in ("integer", "floating", "mixed-integer-float", "decimal")
    return pd.to_numeric(column) if numeric and not pd.api.types.is_numeric_dtype(column) else column


def _sparse_features(table: pd.DataFrame) -> sp.csr_array | None:
    """Return the matrix of a frame whose columns are all sparse with fill value 0; None for any other."""
    kinds = list(table.dtypes)
    if not kinds or not all(isinstance(kind, pd.SparseDtype) and kind.fill_value == 0 for kind in kinds):
        return None
    return sp.csr_array(table.sparse.to_coo())  # type: ignore[attr-defined]  # unknown to stubs
