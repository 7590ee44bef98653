"""Features of one graph in the encoding of another: matched by name, with its categories and means.

Features without names, such as those of `Graph.from_scipy`, count as columns x0, x1, .., the names that `Graph.to_csv`
gives them.
"""

from collections.abc import Sequence
from dataclasses import replace

from hiergcn.errors import InputError
from hiergcn.graph.graph import Graph
from hiergcn.graph.tables.feature_columns import STRUCTURAL, FeatureColumn, number_columns, unnamed
from hiergcn.graph.tables.feature_table import read_features
from hiergcn.graph.tables.text_columns import Origin


def encoded_like(graph: Graph, columns: Sequence[FeatureColumn], n_features: int) -> Graph:
    """Return the graph with `n_features` features that were made of these columns, none if they are without names.

    A graph is returned without features if those of the other graph were made from the edges.
    """
    if graph.columns and graph.columns == tuple(columns):
        return graph
    if any(column.kind == STRUCTURAL for column in columns):
        return replace(graph, features=None, columns=(), missing=None, texts={})
    theirs = [column for column in columns if column.width] or number_columns(unnamed(n_features))
    ours = [column for column in graph.columns if column.width] or number_columns(unnamed(graph.n_features))
    if graph.features is None or not (columns or graph.columns):
        if graph.n_features != n_features:
            raise InputError(
                f"The model was trained on {n_features} features and {graph.name} has {graph.n_features}; "
                "give the same columns."
            )
        return graph
    if graph.missing is None and [*map(_encoding, ours)] == [*map(_encoding, theirs)]:
        return graph
    index = {column.name: k for k, column in enumerate(ours)}
    simple = all(column.kind == "number" for column in (*ours, *theirs)) and graph.missing is None
    if simple and all(column.name in index for column in theirs):
        features = graph.features[:, [index[column.name] for column in theirs]]
        return replace(graph, features=features, columns=tuple(theirs))
    table = replace(graph.feature_table, columns=tuple(graph.columns or ours)).frame()
    read = read_features(table, Origin(graph.name), theirs)
    return replace(graph, **read.fields(), notes=(*graph.notes, *read.notes))


def _encoding(column: FeatureColumn) -> tuple[object, ...]:
    """Return what decides how known values are encoded."""
    return column.name, column.kind, column.values, column.weights, column.spread and (column.mean, column.spread)
