"""Graphs as pandas frames, one of edges and one of nodes, as CSV files of the same columns, and of a table's rows."""

from dataclasses import replace
from os import PathLike
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hiergcn.errors import InputError
from hiergcn.files import written_whole
from hiergcn.graph.graph import Graph, checked_features
from hiergcn.graph.tables.column_roles import ID, LABEL, SPLIT, CsvOptions, EdgeColumns, NodeColumns, node_option
from hiergcn.graph.tables.csv_files import edges_of, graph_parts, nodes_of
from hiergcn.graph.tables.feature_columns import STRUCTURAL, TEXT, number_columns, unnamed
from hiergcn.graph.tables.feature_table import FeatureTable, natural_names, read_features
from hiergcn.graph.tables.label_columns import label_texts, part_names, read_labels
from hiergcn.graph.tables.node_ids import IdColumn
from hiergcn.graph.tables.text_columns import Origin, column_name, column_names

ROWS = 8192  # written to CSV at once, so that sparse features never become dense as a whole


def graph_from_frames(edges: pd.DataFrame, nodes: pd.DataFrame | None, options: CsvOptions, name: str) -> Graph:
    """Implement `Graph.from_pandas`."""
    if nodes is None and not options.get("roles") and (column := node_option(options)):
        raise InputError(f"Column {column!r} belongs to a frame of nodes, and none is given; give one.")
    origin = Origin("The frame of edges")
    links = edges.set_axis(column_names(edges.columns, origin), axis=1).reset_index(drop=True)
    ends = EdgeColumns.choose(origin, list(links.columns), options)
    ids = [links[end] for end in ends.ends]
    listed = None
    if nodes is not None:
        node_origin = Origin("The frame of nodes")
        table = _with_id_column(nodes, options.get("id"))
        table = table.set_axis(column_names(table.columns, node_origin), axis=1).reset_index(drop=True)
        roles = NodeColumns.choose(node_origin, list(table.columns), options)
        ids = [table[roles.id]]
        others = (*roles.text, roles.target, *roles.dropped)
        rest = natural_names(column for column in table.columns if column not in others)
        kinds = list(table[rest].dtypes)
        is_sparse = all(isinstance(kind, pd.SparseDtype) and kind.fill_value == 0 for kind in kinds)
        if kinds and is_sparse and options.get("known") is None:
            matrix = sp.csr_array(table[rest].sparse.to_coo())  # type: ignore[attr-defined]  # unknown to stubs
            listed = nodes_of(table.drop(columns=rest), node_origin, roles, options)
            listed = replace(listed, features=FeatureTable(matrix, tuple(number_columns(rest))))
        else:
            numbers = {column: _as_numbers(table[column]) for column in rest}
            listed = nodes_of(table.assign(**numbers), node_origin, roles, options)
    parts = graph_parts(edges_of(links, list(links.columns), origin, ends), listed, name)
    if not all(pd.api.types.is_numeric_dtype(column) for column in ids):
        parts["ids"] = IdColumn(parts["ids"].strings)  # "12" was text and stays so
    if nodes is not None and roles.id not in map(str, nodes.columns):  # but in the index
        parts["roles"] = replace(parts["roles"], id=None)
    return Graph(**parts)


def _with_id_column(nodes: pd.DataFrame, id_name: str | None) -> pd.DataFrame:
    """Make the index a column if it holds the ids: no column is named by the caller or has a usual name."""
    index = nodes.index
    if id_name is not None:
        has_ids = id_name not in nodes.columns and index.name == id_name
    else:
        is_counted = isinstance(index, pd.RangeIndex) and index.name is None
        has_ids = not is_counted and not any(str(name).lower() in ID for name in nodes.columns)
    if not has_ids:
        return nodes
    if index.nlevels > 1:
        raise InputError("The frame of nodes has an index of several levels; give a column of ids (id=..).")
    return nodes.reset_index(names=id_name or str(index.name or "id"))


def _as_numbers(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return as numbers a column of them that pandas holds as objects, for instance because some are None."""
    numeric = pd.api.types.infer_dtype(column, skipna=True) in ("integer", "floating", "mixed-integer-float", "decimal")
    return pd.to_numeric(column) if numeric and not pd.api.types.is_numeric_dtype(column) else column


def frames_of(graph: Graph) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Implement `Graph.to_pandas`."""
    if not sp.issparse(graph.features) or graph.texts:
        return edge_frame(graph), _node_frame(graph, slice(None))
    features = pd.DataFrame.sparse.from_spmatrix(graph.features)  # type: ignore[attr-defined]  # unknown to stubs
    names = [column.name for column in graph.columns if column.width]
    features = features.set_axis(names if _has_names(graph) else unnamed(graph.n_features), axis=1)
    return edge_frame(graph), pd.concat([_node_frame(graph, slice(None), features=False), features], axis=1)


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
        for first in range(0, graph.n_nodes, ROWS):
            table = _node_frame(graph, slice(first, first + ROWS))
            table.to_csv(stream, index=False, header=stream.tell() == 0, lineterminator="\n")


def _node_frame(graph: Graph, rows: slice, *, features: bool = True) -> pd.DataFrame:
    """Return ids, labels or targets, split, and the columns that features were made of, or features without names."""
    table = pd.DataFrame({"id": graph.ids[rows]})
    if graph.labels is not None:
        table["label"] = label_texts(graph.labels[rows], graph.class_names)
    if graph.targets is not None:
        table[graph.target_name] = graph.targets[rows]
    if graph.split is not None:
        table["split"] = part_names(graph.split, graph.n_nodes)[rows]
    if graph.features is None or not features:
        return table
    block: Any = graph.features[rows]
    if _has_names(graph):
        missing = None if graph.missing is None else graph.missing[rows]
        texts = {name: entries[rows] for name, entries in graph.texts.items()}
        columns = FeatureTable(block, graph.columns, missing, texts).frame()
    else:
        dense = block if isinstance(block, np.ndarray) else block.toarray()
        columns = pd.DataFrame(dense).set_axis(unnamed(graph.n_features), axis=1)
    return pd.concat([table, columns], axis=1)


def _has_names(graph: Graph) -> bool:
    """Return whether the features were made of columns, and none is called like the others in a table of nodes."""
    names = {column.name.lower() for column in graph.columns}
    taken = {*ID, *LABEL, SPLIT, *([] if graph.targets is None else [graph.target_name.lower()])}
    return bool(names) and not names & taken and graph.columns[0].kind != STRUCTURAL


def graph_from_table(
    X: Any, y: Any, k: int, *, join: Literal["union", "mutual"], metric: str, standardise: bool, ids: Any, name: str
) -> Graph:
    """Implement `Graph.from_table`: each row is a node, joined to the rows most similar to it."""
    from sklearn.neighbors import NearestNeighbors
    from sklearn.preprocessing import StandardScaler

    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"The setting k must be a whole number of at least 1, not {k!r}.")
    if join not in ("union", "mutual"):
        raise InputError(f"The setting join must be 'union' or 'mutual', not {join!r}.")
    if isinstance(X, pd.DataFrame):
        table = read_features(X.set_axis([column_name(name) for name in X.columns], axis=1), Origin("The table"))
        if table.matrix is None:
            raise InputError("The table has no column that can be a feature; give numbers, or words that repeat.")
    else:
        cells: Any = X if sp.issparse(X) else np.asarray(X)
        if cells.ndim != 2 or cells.shape[1] == 0:
            raise InputError(f"The table has shape {cells.shape}; give a row per node and a column per feature.")
        table = FeatureTable(checked_features(cells, cells.shape[0]))
    matrix: Any = table.matrix
    notes, n = list(table.notes), int(matrix.shape[0])
    if n < 2:
        raise InputError(f"The table has {n} row; give at least two.")
    if standardise and not any(column.kind == TEXT for column in table.columns):  # numbers beside text already are
        matrix = StandardScaler(with_mean=not sp.issparse(matrix)).fit_transform(matrix)  # zeros stay if sparse
        matrix = matrix if isinstance(matrix, np.ndarray) else sp.csr_array(matrix)
    if k >= n:
        notes.append(f"each of the {n:,} rows has at most {n - 1:,} neighbours, not {k:,}")
    classes = None if y is None else pd.Series(y).reset_index(drop=True)
    if classes is not None and len(classes) != n:
        raise InputError(f"There are {len(classes):,} labels for {n:,} nodes; give one each, None if unknown.")
    labels = None if classes is None else read_labels(classes)
    if ids is None and isinstance(X, pd.DataFrame) and not isinstance(X.index, pd.RangeIndex):
        ids = X.index.to_numpy()
    try:
        finder = NearestNeighbors(n_neighbors=min(int(k), n - 1), metric=metric).fit(matrix)
        directed = sp.csr_array(finder.kneighbors_graph())  # (n, n), without the rows themselves
    except ValueError as error:
        raise InputError(f"The metric {metric!r:.40} finds no neighbours ({error!s:.200}); name another.") from error
    directed.sort_indices()
    adjacency = sp.csr_array(directed.maximum(directed.T) if join == "union" else directed.minimum(directed.T))
    alone = int(np.count_nonzero(np.diff(adjacency.indptr) == 0))
    if alone:
        notes.append(f"rows without a mutual neighbour, now nodes without an edge: {alone:,}")
    notes += labels.notes if labels else []
    columns = number_columns(name for column in table.columns if column.width for name in column.features)
    numbers, class_names = (None, ()) if labels is None else (labels.values, labels.names)
    return Graph(adjacency, matrix, numbers, ids, class_names, name, tuple(notes), tuple(columns))
