"""A graph from a CSV file of edges and, where there is one, a CSV file of nodes.

Edges: a row per edge. The columns of its two ends are named by the caller, or have usual names (source and target,
from and to, ..), or are the first two. Nodes: a row per node with its id, perhaps a label (blank where unknown), and
features. Ids are compared as text, without blanks around it, so that 7 and 007 are two nodes; where all of them are
whole numbers they come back as such.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.columns import feature_matrix, numbers
from hiergcn.graph.edges import symmetric_adjacency
from hiergcn.graph.table import Layout, column_names, layout_of, read_table, row_of

ENDS = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("citing", "cited"))
WEIGHT = ("weight",)
ID = ("id", "node", "node_id", "nodeid")
LABEL = ("label", "class")


@dataclass(frozen=True, eq=False)
class _Text:
    """A column of ids or labels: the distinct values, and which of them each row has (-1: blank)."""

    code: NDArray[np.int64]
    values: "pd.Index[str]"

    @classmethod
    def of(cls, column: "pd.Series[Any]") -> "_Text":
        rough, raw = pd.factorize(column)
        refined, values = pd.factorize(pd.Index(raw, dtype=object).str.strip())  # few values, so stripping is quick
        refined = np.where(values[refined] == "", -1, refined) if len(values) else refined
        return cls(np.append(refined, -1)[rough], pd.Index(values, dtype=object))


@dataclass(frozen=True, eq=False)
class _Nodes:
    path: Path
    ids: "pd.Index[str]"
    features: NDArray[np.float64] | None
    labels: NDArray[np.int64] | None
    class_names: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Edges:
    path: Path
    header: bool
    ends: tuple[_Text, _Text]
    weight: NDArray[np.float64] | None
    notes: tuple[str, ...]

    def first_of(self, ids: "pd.Index[str]") -> tuple[int, str]:
        """The first row of the file that names one of the ids, and that id."""
        hits = []
        for end in self.ends:
            named = end.values.isin(ids)[end.code]
            if named.any():
                position = int(named.argmax())
                hits.append((row_of(position, header=self.header), str(end.values[end.code[position]])))
        return min(hits)


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
    listed = _read_edges(layout_of(edges, delimiter), source, target, weight, known)
    ids, notes = _all_ids(listed, known)
    ends = [ids.get_indexer(end.values)[end.code] for end in listed.ends]
    adjacency = symmetric_adjacency(ends[0], ends[1], listed.weight, len(ids))
    labels = None if known is None else known.labels
    if labels is not None:
        labels = np.concatenate([labels, np.full(len(ids) - labels.size, -1)])
    return {
        "adjacency": adjacency,
        "features": None if known is None else known.features,
        "labels": labels,
        "ids": _natural(ids),
        "class_names": () if known is None else known.class_names,
        "name": Path(edges).stem,
        "notes": (*(known.notes if known else ()), *listed.notes, *notes, *_notes_on_edges(ends, adjacency.nnz)),
    }


def _read_nodes(layout: Layout, id_name: str | None, label_name: str | None) -> _Nodes:
    columns = column_names(layout)
    if layout.looks_like_data and not (id_name or label_name):
        raise InputError(f"{layout.path}, row 1: numbers where the names of the columns must be; add a line of names")
    id_column = _pick(layout.path, columns, id_name, ID) or columns[0]
    label_column = _pick(layout.path, columns, label_name, LABEL)
    if id_column == label_column:
        raise InputError(f"{layout.path}: column {id_column!r} is the id and cannot be the label as well")
    text = {id_column} if label_column is None else {id_column, label_column}
    table = read_table(layout, columns, header=True, text=text)
    ids = _checked_ids(_Text.of(table[id_column]), layout.path, id_column)
    rest = [name for name in columns if name not in (id_column, label_column, "")]
    features, notes = feature_matrix(table[rest], layout.path)
    if "" in columns and id_column != "":
        notes.append("a column without a name was left out")
    labels, names = (None, ()) if label_column is None else _labels(_Text.of(table[label_column]))
    return _Nodes(layout.path, ids, features, labels, names, tuple(notes))


def _read_edges(
    layout: Layout, source: str | None, target: str | None, weight: str | None, nodes: _Nodes | None
) -> _Edges:
    path = layout.path
    if len(layout.first) < 2:
        raise InputError(f"{path}, row 1: one column where an edge needs two ends; name the delimiter if it is unusual")
    first = [field.strip() for field in layout.first]
    is_edge = layout.looks_like_data or (nodes is not None and bool(nodes.ids.isin(first[:2]).sum() == 2))
    header = not is_edge or any(name in first for name in (source, target, weight) if name)
    columns = column_names(layout, header=header)
    usual = next((pair for pair in ENDS if set(pair) <= {name.lower() for name in columns}), None)
    named = [_pick(path, columns, name, usual[k : k + 1] if usual else ()) for k, name in enumerate((source, target))]
    left = sorted((name for name in columns if name not in named), key=lambda name: name == "")  # unnamed ones last
    ends = [name if name is not None else left.pop(0) for name in named]
    if ends[0] == ends[1]:
        raise InputError(f"column {ends[0]!r} of {path} cannot be both ends of an edge: name two columns")
    weight_column = _pick(path, columns, weight, WEIGHT)
    table = read_table(layout, columns, header=header, text=set(ends))
    texts = [_checked_end(_Text.of(table[name]), path, name, header) for name in ends]
    weights = None if weight_column is None else _checked_weight(table[weight_column], path, header)
    unused = [name for name in columns if name not in (*ends, weight_column)]
    notes = [f"column {name!r} of the edges was not used" for name in unused]
    if header and not usual and not (source or target):
        notes.append(f"the first row of {path.name} was taken for the names of its columns: {', '.join(columns)}")
    return _Edges(path, header, (texts[0], texts[1]), weights, tuple(notes))


def _pick(path: Path, columns: Sequence[str], wanted: str | None, usual: Sequence[str]) -> str | None:
    """The column the caller names, which must be there, or one that has a usual name."""
    if wanted is None:
        return next((name for word in usual for name in columns if name.lower() == word), None)
    if wanted not in columns:
        near = difflib.get_close_matches(wanted, columns, n=1)
        meant = f", did you mean {near[0]!r}?" if near else ";"
        shown = ", ".join(repr(name) for name in columns[:10]) + (", .." if len(columns) > 10 else "")
        raise InputError(f"{path} has no column {wanted!r}{meant} its columns are {shown}")
    return wanted


def _checked_ids(text: _Text, path: Path, column: str) -> "pd.Index[str]":
    blank = np.flatnonzero(text.code < 0)
    if blank.size:
        row = row_of(int(blank[0]), header=True)
        raise InputError(f"{path}, row {row}, column {column!r}: the id is blank; give every node an id")
    if text.code.size == 0:
        raise InputError(f"{path} has no rows: give a row per node")
    again = np.flatnonzero(pd.Index(text.code).duplicated())
    if again.size:
        value = text.values[text.code[again[0]]]
        row = row_of(int(again[0]), header=True)
        raise InputError(f"{path}, row {row}, column {column!r}: id {value!r:.80} is there already; list a node once")
    return text.values[text.code]


def _checked_end(text: _Text, path: Path, column: str, header: bool) -> _Text:
    blank = np.flatnonzero(text.code < 0)
    if blank.size:
        row = row_of(int(blank[0]), header=header)
        raise InputError(f"{path}, row {row}, column {column!r}: the id is blank; an edge needs two ends")
    return text


def _checked_weight(column: "pd.Series[Any]", path: Path, header: bool) -> NDArray[np.float64]:
    values = numbers(column, path, header=header)
    wrong = np.flatnonzero((values < 0) | np.isinf(values))
    if wrong.size:
        row = row_of(int(wrong[0]), header=header)
        found = values[wrong[0]]
        raise InputError(
            f"{path}, row {row}, column {str(column.name)!r}: weight {found} must be finite and not negative"
        )
    return values


def _labels(text: _Text) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Numbers of the classes in the order of their names (numbers by value), and the names."""
    present = text.values[np.unique(text.code[text.code >= 0])]
    names = _in_order(present)
    return np.append(names.get_indexer(text.values), -1)[text.code], tuple(names)


def _all_ids(edges: _Edges, nodes: _Nodes | None) -> tuple["pd.Index[str]", list[str]]:
    """The ids of the file of nodes in its order; those that only edges name come after them, ordered."""
    named = edges.ends[0].values.union(edges.ends[1].values, sort=False)
    if nodes is None:
        if named.empty:
            raise InputError(f"{edges.path} has no rows: give a row per edge, or a file of nodes")
        return _in_order(named), []
    extra = named[~named.isin(nodes.ids)]
    if extra.empty:
        return nodes.ids, []
    if nodes.features is not None:
        row, value = edges.first_of(extra)
        raise InputError(
            f"{edges.path}, row {row}: id {value!r:.80} is not in {nodes.path}, so it has no features; add it there or "
            f"take the edge out ({len(extra):,} such ids)"
        )
    note = f"ids that only the edges name, now nodes without a label: {len(extra):,}"
    return nodes.ids.append(_in_order(extra)), [note]


def _in_order(texts: "pd.Index[str]") -> "pd.Index[str]":
    """Whole numbers by value, other texts as a dictionary has them."""
    return texts[np.argsort(_natural(texts), kind="stable")]


def _natural(texts: "pd.Index[str]") -> NDArray[Any]:
    """Whole numbers where every text is one as it is usually written, else the texts."""
    array = texts.to_numpy(object)
    try:
        whole = array.astype(np.int64)
    except (ValueError, OverflowError):
        return array
    return whole if (whole.astype(str).astype(object) == array).all() else array


def _notes_on_edges(ends: list[NDArray[Any]], entries: int) -> list[str]:
    loops = int(np.count_nonzero(ends[0] == ends[1]))
    again = ends[0].size - loops - entries // 2
    notes = [f"self-loops dropped: {loops:,}"] if loops else []
    if again:
        notes.append(f"rows that repeat an edge, in the same or the other direction, or have weight 0: {again:,}")
    return notes
