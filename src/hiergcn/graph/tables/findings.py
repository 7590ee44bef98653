"""What `hiergcn check` reports about files: their layout, the roles of their columns, and everything odd."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.graph.graph import Graph
from hiergcn.graph.tables.assemble import NodeTable
from hiergcn.graph.tables.column_roles import shown_names
from hiergcn.graph.tables.csv_files import CsvGraph
from hiergcn.graph.tables.delimited import Layout
from hiergcn.graph.tables.label_columns import DOUBTFUL, Labels, is_unknown
from hiergcn.graph.tables.node_ids import IdColumn
from hiergcn.graph.tables.table_files import TableFile

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "blanks"}
SHOWN = 5  # examples in a sentence
_MISSING = {"category": "none of its categories", "text": "no words", "id": "nothing"}  # what a missing value becomes
_KINDS = {"text": "free text: TF-IDF weights of its words", "date": "date: days since 1970"}
_LEFT_OUT = {"empty": "nothing: it is empty", "id": "nothing: its entries look like ids"}


@dataclass(frozen=True)
class Finding:
    """An irregularity in the files, how often it occurs, and how it is handled."""

    what: str
    count: int
    done: str


@dataclass(frozen=True)
class ColumnRole:
    """A column of a file and its role."""

    file: str
    column: str
    becomes: str


def understood(read: CsvGraph) -> list[str]:
    """Describe the layout of the files and the kind of graph, a sentence each."""
    lines = [_written(file) for file in read.layouts]
    lines += [_unnamed(file) for file in read.layouts if isinstance(file, Layout) and not file.header]
    graph = read.graph
    kind = "whole numbers" if graph.ids.dtype.kind == "i" else "text"
    lines.append(f"ids are {kind}, from {graph.ids[0]!s:.40} to {graph.ids[-1]!s:.40}")
    weight = read.edges.columns.weight
    weighted = "edges have no weights: each counts 1" if weight is None else f"edges are weighted by column {weight!r}"
    return [*lines, weighted, _direction(read)]


def column_roles(read: CsvGraph) -> list[ColumnRole]:
    """Return the role of every column of the files."""
    name, columns = read.layouts[0].path.name, read.edges.columns
    roles = [
        ColumnRole(name, columns.ends[0], "one end of an edge"),
        ColumnRole(name, columns.ends[1], "the other end"),
    ]
    roles += [ColumnRole(name, columns.weight, "weight")] if columns.weight is not None else []
    roles += [ColumnRole(name, one, f"nothing; a weight with --weight {shlex.quote(one)}") for one in read.edges.unused]
    return roles + ([] if read.nodes is None else list(_node_roles(read.nodes, read.layouts[1].path.name)))


def findings(read: CsvGraph) -> list[Finding]:
    """Return all irregularities that a fit can handle; others raised an `InputError` before."""
    found = [*_on_edges(read), *_on_ids(read)]
    if read.nodes is not None:
        found += [*_on_features(read.nodes), *_on_labels(read.graph, read.nodes.labels)]
    return [finding for finding in found if finding.count]


def label_counts(graph: Graph) -> list[tuple[str, int]]:
    """Return each class and its number of labels, the largest first."""
    if graph.labels is None:
        return []
    sizes = np.bincount(graph.labels[graph.labelled], minlength=graph.n_classes)
    return [(graph.class_names[k], int(sizes[k])) for k in np.argsort(-sizes, kind="stable")]


def _written(file: Layout | TableFile) -> str:
    if isinstance(file, TableFile):
        return f"{file.path.name}: {file.kind}"
    text, delimiter = file.file, DELIMITERS.get(file.delimiter, repr(file.delimiter))
    packed = "" if text.compression is None else f", {text.compression}"
    comments = f", {text.comments:,} comment lines" if text.comments else ""
    return f"{file.path.name}: {delimiter} between columns, {text.encoding}{packed}{comments}"


def _unnamed(file: Layout) -> str:
    if file.commented_names:
        return f"{file.path.name} has the names of its columns in a comment: {', '.join(file.names)}"
    return f"{file.path.name} has no line of column names: its columns are called 1, 2, .."


def _direction(read: CsvGraph) -> str:
    """Say whether the file lists edges both ways, by the share of edges that have their mirror."""
    keys, mirrored = _pairs(read)
    both = np.isin(mirrored, keys).mean() if keys.size else 0.0
    if both == 1:
        return "every edge is listed both ways: the graph is undirected"
    return f"edges are taken in both directions, whichever end is named first ({100 * both:.0f} % are listed both ways)"


def _pairs(read: CsvGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each distinct edge that is no self-loop as one number, and the number of its mirror."""
    source, target = _ends(read)
    n = read.graph.n_nodes
    keys = pd.unique((source * n + target)[source != target])
    return keys, keys % n * n + keys // n


def _ends(read: CsvGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    ids = IdColumn.of(pd.Series(read.graph.ids))
    one, other = (end.positions_in(ids) for end in read.edges.ends)
    return one, other


def _on_edges(read: CsvGraph) -> Iterator[Finding]:
    source, target = _ends(read)
    loops = int(np.count_nonzero(source == target))
    yield Finding("self-loops", loops, "dropped")
    again = source.size - loops - _pairs(read)[0].size
    weighted = read.edges.weight is not None
    yield Finding("edges listed again in the same direction", again, "weights added up" if weighted else "counted once")
    if weighted:
        yield Finding("edges of weight 0", int(np.count_nonzero(read.edges.weight == 0)), "no edge")
    alone = int(np.count_nonzero(np.diff(read.graph.adjacency.indptr) == 0))
    yield Finding("nodes without an edge", alone, "kept; predicted from their own features alone")


def _on_ids(read: CsvGraph) -> Iterator[Finding]:
    if read.nodes is None:
        return
    listed = len(read.nodes.ids)
    blank = "nodes without a label" + ("" if read.nodes.features.matrix is None else "; all features missing")
    yield Finding("ids that only the edges name", read.graph.n_nodes - listed, blank)
    absent = np.setdiff1d(np.arange(listed), np.concatenate(_ends(read))).size
    yield Finding("ids that only the nodes name", absent, "nodes without an edge")
    alike = _alike([str(name) for name in read.graph.ids]) if read.graph.ids.dtype.kind != "i" else []
    yield _named("ids that differ by case or blanks only, such as", alike, "different nodes")


def _on_features(nodes: NodeTable) -> Iterator[Finding]:
    columns = nodes.features.columns
    empty = [column.name for column in columns if column.kind == "empty"]
    yield _named("empty columns:", empty, "left out")
    ids = [column.name for column in columns if column.kind == "id"]
    yield _named("columns that look like ids, since hardly any word occurs twice:", ids, "left out")
    constant = [column.name for column in columns if column.constant and column.kind != "empty"]
    yield _named("columns with one value only:", constant, "kept, though they carry no information")
    for column in columns:
        if column.kind != "empty":
            done = _MISSING.get(column.kind, "the column's mean")
            yield Finding(f"missing values in column {column.name!r:.60}", column.missing, done)
    if nodes.features.matrix is None:
        yield Finding("nodes without features", len(nodes.ids), "features made from the edges")


def _on_labels(graph: Graph, labels: Labels | None) -> Iterator[Finding]:
    if graph.targets is not None:
        yield Finding("nodes without a value", graph.n_nodes - graph.labelled.size, "predicted")
    if graph.labels is None or labels is None:
        return
    for word, count in labels.unknown_words:
        yield Finding(f"labels {word!r:.40}", count, "unknown; --unknown names other words for that")
    yield Finding("nodes without a label", graph.n_nodes - graph.labelled.size, "predicted")
    single = [name for name, count in label_counts(graph) if count == 1]
    yield _named("classes with one label:", single, "used for training; none is left to validate the class")
    alike = _alike(list(graph.class_names))
    yield _named("classes that differ by case or blanks only:", alike, "different classes")
    doubtful = [name for name in graph.class_names if name.casefold() in DOUBTFUL or is_unknown(name)]
    yield _named("classes named like a missing label:", doubtful, "classes; --unknown makes them unknown")


def _alike(names: list[str]) -> list[str]:
    """Return names that are the same apart from case and blanks."""
    plain = pd.Series(names, dtype=object).str.casefold().str.replace(r"\s+", "", regex=True)
    return [names[k] for k in np.flatnonzero(plain.duplicated(keep=False))]


def _named(what: str, names: list[str], done: str) -> Finding:
    return Finding(f"{what} {shown_names(names, SHOWN, 40)}", len(names), done)


def _node_roles(nodes: NodeTable, name: str) -> Iterator[ColumnRole]:
    columns = nodes.columns
    yield ColumnRole(name, columns.id, "id")
    if columns.label is not None:
        yield ColumnRole(name, columns.label, "label; blank is unknown")
    if columns.target is not None:
        yield ColumnRole(name, columns.target, "target: a number to predict; blank is unknown")
    if columns.split is not None:
        yield ColumnRole(name, columns.split, "split")
    for column in nodes.features.columns:
        width = f"{column.width:,} features" if column.width > 1 else "a feature"
        yield ColumnRole(
            name, column.name, _LEFT_OUT.get(column.kind, f"{width} ({_KINDS.get(column.kind, column.kind)})")
        )
    for dropped in columns.dropped:
        yield ColumnRole(name, dropped, "nothing: dropped with --drop")
