"""A file of further labels, joined to the nodes of a graph by their ids.

`hiergcn suggest` writes such a file with an empty column of labels. A row whose label is blank or means unknown says
nothing. A label that differs from the one that a node has replaces it, so that a wrong label can be corrected; a note
says so.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.graph import Graph
from hiergcn.graph.split import Split
from hiergcn.graph.tables.column_roles import LABEL, CsvOptions, NodeColumns, shown_names
from hiergcn.graph.tables.delimited import Layout, layout_of, read_table
from hiergcn.graph.tables.label_columns import is_unknown, read_targets

SHOWN = 3  # changed labels in a note


def with_further_labels(graph: Graph, path: str | Path, unknown: Sequence[str] | None = None) -> Graph:
    """Return the graph with the labels of a CSV file, and a note on them; classes that are new come last.

    If the graph has numbers to predict, the labels are numbers.
    """
    layout = layout_of(path, None)
    columns = NodeColumns.choose(layout, layout.names, CsvOptions())
    if columns.label is None:
        there = f"its columns are {shown_names(layout.names)}"
        raise InputError(
            f"{layout} has no column named {' or '.join(LABEL)}; name the column of the labels so ({there})."
        )
    table = read_table(layout, layout.names, text=columns.text)
    ids, labels = (table[name].fillna("").str.strip() for name in (columns.id, columns.label))
    if graph.targets is not None:
        return _with_further_targets(graph, graph.targets, ids, labels, layout, columns)
    labels = labels.mask(labels.map(lambda label: is_unknown(label, unknown)), "")
    filled = np.flatnonzero(labels != "")
    if not filled.size:
        raise InputError(f"{layout}, column {columns.label!r}: every label is blank; fill in the class of some nodes.")
    node = _nodes(graph, ids, filled, layout, columns.id)
    _check_repeated(node, labels.iloc[filled].to_numpy(), filled, layout, columns.id)
    known = list(graph.class_names) if graph.labelled.size else []
    names = [*known, *sorted(set(labels.iloc[filled]) - set(known))]
    before = np.full(graph.n_nodes, -1) if graph.labels is None or not known else graph.labels
    after = before.copy()
    after[node] = pd.Index(names).get_indexer(pd.Index(labels.iloc[filled]))
    notes = _notes(graph, layout, names, known, before, after)
    return replace(graph, labels=after, class_names=tuple(names), notes=(*graph.notes, *notes))


def with_more_training(split: Split, before: Graph, after: Graph) -> Split:
    """Return the split with the nodes that got their first label in training."""
    used = np.concatenate([split.train, split.validation, split.test, split.calibration])
    added = np.setdiff1d(after.labelled, np.union1d(used, before.labelled))
    return replace(split, train=np.concatenate([split.train, added]))


def _with_further_targets(
    graph: Graph,
    targets: NDArray[np.float64],
    ids: "pd.Series[str]",
    labels: "pd.Series[str]",
    layout: Layout,
    columns: NodeColumns,
) -> Graph:
    values = read_targets(labels, layout)
    filled = np.flatnonzero(~np.isnan(values))
    if not filled.size:
        raise InputError(f"{layout}, column {columns.label!r}: every value is blank; fill in those of some nodes.")
    node = _nodes(graph, ids, filled, layout, columns.id)
    _check_repeated(node, values[filled], filled, layout, columns.id)
    after, file = targets.copy(), layout.path.name
    after[node] = values[filled]
    notes = [f"values that {file} adds: {np.count_nonzero(np.isnan(targets) & ~np.isnan(after)):,}"]
    changed = int(np.count_nonzero(~np.isnan(targets) & (targets != after)))
    notes += [f"values that {file} changes: {changed:,}"] if changed else []
    return replace(graph, targets=after, notes=(*graph.notes, *notes))


def _nodes(
    graph: Graph, ids: "pd.Series[str]", filled: NDArray[np.int64], layout: Layout, column: str
) -> NDArray[np.int64]:
    """Return the number of the node that each filled row names."""
    found: NDArray[np.int64] = pd.Index(graph.ids.astype(str)).get_indexer(pd.Index(ids.iloc[filled]))
    absent = np.flatnonzero(found < 0)
    if absent.size:
        row = filled[absent[0]]
        wrong = f"id {ids.iloc[row]!r:.80} is not a node of the graph" if ids.iloc[row] else "the id is blank"
        remedy = f"give the id of a node, such as {str(graph.ids[0])!r:.60}"
        more = f" ({absent.size:,} such rows)" if absent.size > 1 else ""
        raise InputError(f"{layout.at(row, column)}: {wrong}; {remedy}{more}.")
    return found


def _check_repeated(
    node: NDArray[np.int64], labels: NDArray[Any], filled: NDArray[np.int64], layout: Layout, column: str
) -> None:
    """Refuse a node that has two labels in the file."""
    table = pd.DataFrame({"node": node, "label": labels})
    differs = table.groupby("node")["label"].transform("nunique") > 1
    again = np.flatnonzero(differs & table.duplicated("node"))
    if again.size:
        where = layout.at(filled[again[0]], column)
        raise InputError(f"{where}: an earlier row gives this node another label; keep one of them.")


def _notes(
    graph: Graph,
    layout: Layout,
    names: list[str],
    known: list[str],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
) -> list[str]:
    file = layout.path.name
    notes = [f"labels that {file} adds: {np.count_nonzero((before < 0) & (after >= 0)):,}"]
    changed = np.flatnonzero((before >= 0) & (before != after))
    if changed.size:
        shown = (
            f"{graph.ids[k]!s:.40} from {names[before[k]]!r:.40} to {names[after[k]]!r:.40}" for k in changed[:SHOWN]
        )
        more = f" and {changed.size - SHOWN:,} more" if changed.size > SHOWN else ""
        notes.append(f"labels that {file} changes: {', '.join(shown)}{more}")
    if known and len(names) > len(known):
        notes.append(f"classes that only {file} has: {shown_names(names[len(known) :])}")
    return notes
