"""Columns with a role: ids, labels, splits, ends of edges and weights. Every other column of the nodes is a feature.

A column has the role that the caller gives it, or that its name usually has, or that its place suggests.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.split import PARTS, Split
from hiergcn.graph.tables.delimited import Origin
from hiergcn.graph.tables.feature_columns import FeatureColumn

ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("fromnodeid", "tonodeid"),
    ("u", "v"),
    ("citing", "cited"),
)
WEIGHT = ("weight",)
ID = ("id", "node", "node_id", "nodeid")
LABEL = ("label", "class")
SPLIT = "split"
SPLIT_WORDS = {"train": 0, "training": 0, "validation": 1, "val": 1, "valid": 1, "dev": 1, "test": 2}
SHOWN = 10  # columns in a sentence


@dataclass(frozen=True)
class CsvOptions:
    """What the caller says about files or frames; None is found out from them."""

    id: str | None = None
    label: str | None = None
    split: str | None = None
    drop: tuple[str, ...] = ()
    """Columns of the nodes to leave out."""
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    delimiter: str | None = None
    known: tuple[FeatureColumn, ...] | None = None
    """Columns of another file of nodes, by which these are encoded; labels and splits are not read then."""


@dataclass(frozen=True)
class NodeColumns:
    """The roles of the columns of the nodes; columns without one are features."""

    id: str
    label: str | None
    split: str | None = None
    dropped: tuple[str, ...] = ()

    @classmethod
    def choose(cls, origin: Origin, columns: Sequence[str], options: CsvOptions) -> "NodeColumns":
        """Return the roles, by the names given or by usual names."""
        for name in options.drop:
            _pick(origin, columns, name)
        left = [name for name in columns if name not in options.drop]
        if not left:
            raise InputError(f"{origin}: every column is dropped; keep at least the column of the ids.")
        id_column = _pick(origin, left, options.id, ID) or left[0]
        label_column = _pick(origin, left, options.label, LABEL)
        split_column = _pick(origin, left, options.split)
        if id_column == label_column:
            raise InputError(f"{origin}: column {id_column!r} is the id and cannot be the label, too; name another.")
        if split_column in (id_column, label_column) and split_column is not None:
            raise InputError(f"{origin}: column {split_column!r} cannot be split and id or label; name another.")
        return cls(id_column, label_column, split_column, options.drop)

    @property
    def text(self) -> set[str]:
        """The columns that are kept as written."""
        return {name for name in (self.id, self.label, self.split) if name is not None}


@dataclass(frozen=True)
class EdgeColumns:
    """The roles of the columns of the edges; columns without one are not used."""

    ends: tuple[str, str]
    weight: str | None
    usual: bool
    """Whether the ends have usual names."""

    @classmethod
    def choose(cls, origin: Origin, columns: Sequence[str], options: CsvOptions) -> "EdgeColumns":
        """Return the roles, by the names given, by usual names, or by the first two places."""
        if len(columns) < 2:
            raise InputError(f"{origin}: one column, but an edge has two ends; give a column for each.")
        usual = usual_ends(columns)
        given = (options.source, options.target)
        named = [_pick(origin, columns, name, (usual or ())[k : k + 1]) for k, name in enumerate(given)]
        left = sorted((name for name in columns if name not in named), key=lambda name: name == "")  # unnamed ones last
        ends = [name if name is not None else left.pop(0) for name in named]
        if ends[0] == ends[1]:
            raise InputError(f"{origin}: column {ends[0]!r} cannot be both ends of an edge; name two columns.")
        return cls((ends[0], ends[1]), _pick(origin, columns, options.weight, WEIGHT), usual is not None)


def usual_ends(columns: Sequence[str]) -> tuple[str, str] | None:
    """Return the usual names of the ends of an edge that are among the columns."""
    return next((pair for pair in ENDS if set(pair) <= {name.lower() for name in columns}), None)


def shown_names(names: Sequence[str], most: int = SHOWN, width: int = 80) -> str:
    """Return the first of the names, for a sentence."""
    return ", ".join(f"{name!r:.{width}}" for name in names[:most]) + (", .." if len(names) > most else "")


def _pick(origin: Origin, columns: Sequence[str], wanted: str | None, usual: Sequence[str] = ()) -> str | None:
    """Return the column that the caller names, which must exist, or one that has a usual name."""
    if wanted is None:
        return next((name for word in usual for name in columns if name.lower() == word), None)
    if wanted not in columns:
        near = difflib.get_close_matches(wanted, columns, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else "."
        raise InputError(f"{origin} has no column {wanted!r}{meant} Its columns are {shown_names(columns)}.")
    return wanted


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of ids or labels: the distinct values, and which of them each row has (-1: blank)."""

    code: NDArray[np.int64]
    values: "pd.Index[str]"

    @classmethod
    def of(cls, column: "pd.Series[Any]") -> "TextColumn":
        """Encode a column of text; blanks around values do not count."""
        if isinstance(column.dtype, pd.CategoricalDtype):
            rough, raw = column.cat.codes.to_numpy(np.int64), column.cat.categories
        else:
            rough, raw = pd.factorize(column)
        written = pd.Index(raw, dtype=object)
        if not _has_blanks(written):
            return cls(rough.astype(np.int64, copy=False), written)
        refined, values = pd.factorize(written.str.strip())
        refined = np.where(values[refined] == "", -1, refined) if len(values) else refined
        return cls(np.append(refined, -1)[rough], pd.Index(values, dtype=object))


def _has_blanks(values: "pd.Index[str]") -> bool:
    """Return whether a value is empty or has a blank in it; one search through all of them, since few have."""
    joined = "\0".join(values)
    empty = joined.startswith("\0") or joined.endswith("\0") or "\0\0" in joined
    return empty or re.search(r"\s|^$", joined) is not None


def as_text(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return a column of any values as text; missing ones stay missing, and whole numbers held as 3.0 become "3"."""
    if pd.api.types.is_float_dtype(column):
        known = column.dropna()
        if np.isfinite(known).all() and (known == np.floor(known)).all() and (known.abs() < 2**53).all():
            column = column.astype("Int64")
    code, values = pd.factorize(column)  # -1 if missing; each value is turned into text once
    texts = np.array([*map(str, values), None], dtype=object)
    return pd.Series(texts[code], index=column.index, name=column.name)


def natural_order(texts: "pd.Index[str]") -> "pd.Index[str]":
    """Sort whole numbers by value, other texts by the alphabet."""
    return texts[np.argsort(natural_values(texts), kind="stable")]


def natural_values(texts: "pd.Index[str]") -> NDArray[Any]:
    """Return whole numbers if every text is one in its usual form, else the texts."""
    array = texts.to_numpy(object)
    try:
        whole = array.astype(np.int64)
    except (ValueError, OverflowError):
        return array
    return whole if (whole.astype(str).astype(object) == array).all() else array


def class_labels(text: TextColumn) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return a number for each row, -1 if blank, and the names of the classes in natural order."""
    names = natural_order(text.values[np.unique(text.code[text.code >= 0])])
    return np.append(names.get_indexer(text.values), -1)[text.code], tuple(names)


def labels_of(values: Any, n: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the numbers and names of the classes of n Python values; None, NaN, "" and the number -1 are unknown."""
    column = pd.Series(values).reset_index(drop=True)
    if len(column) != n:
        raise InputError(f"There are {len(column):,} labels for {n:,} nodes; give one each, None if unknown.")
    texts = as_text(column)
    if pd.api.types.is_numeric_dtype(column):
        texts = texts.where(texts != "-1", None)
    return class_labels(TextColumn.of(texts))


def label_texts(labels: NDArray[np.int64], class_names: tuple[str, ...]) -> NDArray[Any]:
    """Return the class name of each node; None if its label is unknown."""
    return np.array([*class_names, None], dtype=object)[labels]


def split_from_column(
    text: TextColumn, labels: NDArray[np.int64] | None, origin: Origin, column: str, seed: int = 0
) -> tuple[Split, list[str]]:
    """Return the split that a column names, and notes on it. Nodes with a blank belong to no part.

    Test nodes may have no label: they are predicted, and not counted. If the column names no validation nodes, a fifth
    of each class's training nodes become so.
    """
    part = _parts(text, origin, column)
    labels = np.full(part.size, -1) if labels is None else labels
    bare = np.flatnonzero(((part == 0) | (part == 1)) & (labels < 0))
    if bare.size:
        where, name = origin.at(bare[0], column), PARTS[part[bare[0]]]
        raise InputError(f"{where}: a node for {name} has no label; give it one, or leave its split blank.")
    notes = [f"the split is that of column {column!r}"]
    waiting = (part == 2) & (labels < 0)
    if waiting.any():
        notes.append(f"test nodes without a label, which are predicted and not counted: {int(waiting.sum()):,}")
    idle = int(np.count_nonzero((part < 0) & (labels >= 0)))
    if idle:
        notes.append(f"labels that are not used, because column {column!r} is blank there: {idle:,}")
    train, validation, test = (np.flatnonzero((part == place) & ~waiting) for place in range(len(PARTS)))
    if train.size and not validation.size:
        drawn = Split.holdout(np.where(part == 0, labels, -1), test=0.0, seed=seed)
        train, validation = drawn.train, drawn.validation
        notes.append(f"column {column!r} names no validation nodes: a fifth of each class's training nodes became so")
    return Split(train, validation, test), notes


def _parts(text: TextColumn, origin: Origin, column: str) -> NDArray[np.int64]:
    """Return the part of each node, as an index of PARTS; blank is -1."""
    places = np.array([SPLIT_WORDS.get(str(value).lower(), len(PARTS)) for value in text.values] + [-1], np.int64)
    parts = places[text.code]
    wrong = np.flatnonzero(parts == len(PARTS))
    if wrong.size:
        found = text.values[text.code[wrong[0]]]
        raise InputError(
            f"{origin.at(wrong[0], column)}: {found!r:.80} is no part of a split; write train, validation, test or "
            f"nothing, or drop the column (--drop, drop=[..])."
        )
    return parts
