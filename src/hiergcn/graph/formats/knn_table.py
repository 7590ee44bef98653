"""The nearest-neighbour graph of a table: each row is a node, joined to the rows most similar to it."""

from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hiergcn.errors import InputError
from hiergcn.graph.graph import Features, Graph, checked_features
from hiergcn.graph.tables.delimited import Origin
from hiergcn.graph.tables.feature_columns import TEXT, FeatureTable, number_columns, read_features
from hiergcn.graph.tables.label_columns import labels_of
from hiergcn.graph.tables.text_columns import column_name

Join = Literal["union", "mutual"]


def graph_from_table(
    X: Any, y: Any, k: int, *, join: Join, metric: str, standardise: bool, ids: Any, name: str
) -> Graph:
    """Implement `Graph.from_table`."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"The setting k must be a whole number of at least 1, not {k!r}.")
    if join not in ("union", "mutual"):
        raise InputError(f"The setting join must be 'union' or 'mutual', not {join!r}.")
    table = _table(X)
    matrix: Any = table.matrix
    notes = list(table.notes)
    n = int(matrix.shape[0])
    if n < 2:
        raise InputError(f"The table has {n} row; give at least two.")
    if standardise and not any(column.kind == TEXT for column in table.columns):  # numbers beside text already are
        matrix = _standardised(matrix)
    if k >= n:
        notes.append(f"each of the {n:,} rows has at most {n - 1:,} neighbours, not {k:,}")
    labels = None if y is None else labels_of(y, n)
    if ids is None and isinstance(X, pd.DataFrame) and not isinstance(X.index, pd.RangeIndex):
        ids = X.index.to_numpy()
    adjacency = _adjacency(matrix, min(int(k), n - 1), metric, join)
    alone = int(np.count_nonzero(np.diff(adjacency.indptr) == 0))
    if alone:
        notes.append(f"rows without a mutual neighbour, now nodes without an edge: {alone:,}")
    numbers, class_names = (None, ()) if labels is None else (labels.numbers, labels.class_names)
    notes += labels.notes if labels else []
    columns = number_columns(name for column in table.columns if column.width for name in column.features)
    return Graph(adjacency, matrix, numbers, ids, class_names, name, tuple(notes), tuple(columns))


def _table(X: Any) -> FeatureTable:
    if isinstance(X, pd.DataFrame):
        found = read_features(X.set_axis([column_name(name) for name in X.columns], axis=1), Origin("The table"))
        if found.matrix is None:
            raise InputError("The table has no column that can be a feature; give numbers, or words that repeat.")
        return found
    table: Any = X if sp.issparse(X) else np.asarray(X)
    if table.ndim != 2 or table.shape[1] == 0:
        raise InputError(f"The table has shape {table.shape}; give a row per node and a column per feature.")
    return FeatureTable(checked_features(table, table.shape[0]))


def _standardised(matrix: Features) -> Features:
    """Return columns of mean 0 and variance 1; sparse ones are only scaled, so that zeros stay."""
    from sklearn.preprocessing import StandardScaler

    result: Any = StandardScaler(with_mean=not sp.issparse(matrix)).fit_transform(matrix)
    return result if isinstance(result, np.ndarray) else sp.csr_array(result)


def _adjacency(matrix: Features, k: int, metric: str, join: Join) -> sp.csr_array:
    from sklearn.neighbors import NearestNeighbors

    try:
        finder = NearestNeighbors(n_neighbors=k, metric=metric).fit(matrix)
        directed = sp.csr_array(finder.kneighbors_graph())  # (n, n), without the rows themselves
    except ValueError as error:
        raise InputError(f"The metric {metric!r:.40} finds no neighbours ({error!s:.200}); name another.") from error
    directed.sort_indices()
    return sp.csr_array(directed.maximum(directed.T) if join == "union" else directed.minimum(directed.T))
