"""What `hiergcn check` reports about files: their layout, the roles of their columns, and everything odd."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from hiergcn.graph.graph import Graph
from hiergcn.graph.tables.column_roles import shown_names
from hiergcn.graph.tables.csv_files import CsvGraph
from hiergcn.graph.tables.label_columns import DOUBTFUL, Labels, is_unknown
from hiergcn.graph.tables.table_files import TableFile
from hiergcn.graph.tables.text_files import TextFile

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "blanks"}
SHOWN = 5  # examples in a sentence


class Finding(NamedTuple):
    """An irregularity in the files, how often it occurs, and how it is handled."""

    what: str
    done: str
    number: int


def understood(read: CsvGraph) -> list[str]:
    """Describe the layout of the files and the kind of graph, a sentence each."""
    lines, unnamed = [], []
    for file in (read.edges.origin, *([] if read.nodes is None else [read.nodes.origin])):
        name = file.path.name
        if isinstance(file, TableFile):
            lines.append(f"{name}: {file.kind}")
        elif isinstance(file, TextFile):
            packed = "" if file.compression is None else f", {file.compression}"
            comments = f", {file.comments:,} comment lines" if file.comments else ""
            delimiter = DELIMITERS.get(file.delimiter, repr(file.delimiter))
            lines.append(f"{name}: {delimiter} between columns, {file.encoding}{packed}{comments}")
            if not file.header and file.commented_names:
                unnamed.append(f"{name} has the names of its columns in a comment: {', '.join(file.names)}")
            elif not file.header:
                unnamed.append(f"{name} has no line of column names: its columns are called 1, 2, ..")
    ids, weight = read.graph.ids, read.edges.columns.weight
    kind = "whole numbers" if ids.dtype.kind == "i" else "text"
    keys, n = read.pairs, read.graph.n_nodes
    both = np.isin(keys % n * n + keys // n, keys).mean() if keys.size else 0.0
    share = f"{100 * both:.0f} % are listed both ways"
    direction = f"edges are taken in both directions, whichever end is named first ({share})"
    return [
        *lines,
        *unnamed,
        f"ids are {kind}, from {ids[0]!s:.40} to {ids[-1]!s:.40}",
        "edges have no weights: each counts 1" if weight is None else f"edges are weighted by column {weight!r}",
        "every edge is listed both ways: the graph is undirected" if both == 1 else direction,
    ]


def column_roles(read: CsvGraph) -> list[tuple[str, str, str]]:
    """Return every column of the files: file, column, and what it becomes."""
    name, edges = read.edges.origin.path.name, read.edges.columns
    roles = [(edges.ends[0], "one end of an edge"), (edges.ends[1], "the other end"), (edges.weight, "weight")]
    roles += [(column, f"nothing; a weight with --weight {shlex.quote(column)}") for column in read.edges.unused]
    listed = [(name, column, role) for column, role in roles if column is not None]
    if read.nodes is None:
        return listed
    name, nodes = read.nodes.origin.path.name, read.nodes.columns
    roles = [(nodes.id, "id"), (nodes.label, "label; blank is unknown")]
    roles += [(nodes.target, "target: a number to predict; blank is unknown"), (nodes.split, "split")]
    for column in read.nodes.features.columns:
        size = f"{column.width:,} features" if column.width > 1 else "a feature"
        roles.append((column.name, column.becomes.format(size=size, kind=column.kind)))
    roles += [(dropped, "nothing: dropped with --drop") for dropped in nodes.dropped]
    return listed + [(name, column, role) for column, role in roles if column is not None]


def findings(read: CsvGraph) -> list[Finding]:
    """Return all irregularities that a fit can handle; others raised an `InputError` before."""
    graph, nodes, weight = read.graph, read.nodes, read.edges.weight
    found: list[Finding] = []

    def add(what: str, names: int | Sequence[str], done: str) -> None:
        """Add a finding that occurs, with examples if there are names."""
        count, shown = (names, "") if isinstance(names, int) else (len(names), f" {shown_names(names, SHOWN, 40)}")
        found.extend([Finding(f"{what}{shown}", done, count)] if count else [])

    source, target = read.positions
    loops, no_weight = int(np.count_nonzero(source == target)), weight is not None and weight == 0
    add("self-loops", loops, "dropped")
    again = source.size - loops - read.pairs.size
    add("edges listed again in the same direction", again, "counted once" if weight is None else "weights added up")
    add("edges of weight 0", int(np.count_nonzero(no_weight)), "no edge")
    alone = int(np.count_nonzero(np.diff(graph.adjacency.indptr) == 0))
    add("nodes without an edge", alone, "kept; predicted from their own features alone")
    if nodes is None:
        return found
    listed, columns = len(nodes.ids), nodes.features.columns
    blank = "nodes without a label" + ("" if nodes.features.matrix is None else "; all features missing")
    add("ids that only the edges name", graph.n_nodes - listed, blank)
    absent = np.setdiff1d(np.arange(listed), np.concatenate(read.positions)).size
    add("ids that only the nodes name", absent, "nodes without an edge")
    alike = _alike([str(name) for name in graph.ids]) if graph.ids.dtype.kind != "i" else []
    add("ids that differ by case or blanks only, such as", alike, "different nodes")
    add("empty columns:", [column.name for column in columns if column.kind == "empty"], "left out")
    ids = [column.name for column in columns if column.kind == "id"]
    add("columns that look like ids, since hardly any word occurs twice:", ids, "left out")
    filled = [column for column in columns if column.kind != "empty"]
    constant = [column.name for column in filled if column.constant]
    add("columns with one value only:", constant, "kept, though they carry no information")
    for column in filled:
        add(f"missing values in column {column.name!r:.60}", column.missing, column.instead_of_missing)
    if nodes.features.matrix is None:
        add("nodes without features", listed, "features made from the edges")
    unknown = graph.n_nodes - graph.labelled.size
    if graph.targets is not None:
        add("nodes without a value", unknown, "predicted")
    if not isinstance(nodes.target, Labels):
        return found
    for word, count in nodes.target.unknown_words:
        add(f"labels {word!r:.40}", count, "unknown; --unknown names other words for that")
    add("nodes without a label", unknown, "predicted")
    single = [name for name, count in label_counts(graph) if count == 1]
    add("classes with one label:", single, "used for training; none is left to validate the class")
    add("classes that differ by case or blanks only:", _alike(list(graph.class_names)), "different classes")
    doubtful = [name for name in graph.class_names if name.casefold() in DOUBTFUL or is_unknown(name)]
    add("classes named like a missing label:", doubtful, "classes; --unknown makes them unknown")
    return found


def label_counts(graph: Graph) -> list[tuple[str, int]]:
    """Return each class and its number of labels, the largest first."""
    if graph.labels is None:
        return []
    sizes = np.bincount(graph.labels[graph.labelled], minlength=graph.n_classes)
    return [(graph.class_names[k], int(sizes[k])) for k in np.argsort(-sizes, kind="stable")]


def _alike(names: list[str]) -> list[str]:
    """Return names that are the same apart from case and blanks."""
    plain = pd.Series(names, dtype=object).str.casefold().str.replace(r"\s+", "", regex=True)
    return [names[k] for k in np.flatnonzero(plain.duplicated(keep=False))]
