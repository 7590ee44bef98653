"""What is to be predicted, by the same rules for every format: labels or numeric targets, and the split of the nodes.

A label or target is unknown if it is blank, missing (None, NaN) or one of the words for it, `UNKNOWN`; the caller can
give other words. -1 is an unknown label, but a target like any other number.

A file of further labels is joined to the nodes of a graph by their ids. `hiergcn suggest` writes such a file with an
empty column of labels. A row whose label is unknown says nothing. A label that differs from the one that a node has
replaces it, so that a wrong label can be corrected; a note says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.order import canonical_order, natural_order
from hiergcn.graph.split import PARTS, Split
from hiergcn.graph.tables.column_roles import LABEL, CsvOptions, NodeColumns, shown_names
from hiergcn.graph.tables.feature_columns import floats
from hiergcn.graph.tables.text_columns import MISSING, Origin, coded_texts
from hiergcn.graph.tables.text_files import TextFile, as_frame
from hiergcn.graph.target import Classes, Numbers

if TYPE_CHECKING:
    from hiergcn.graph.graph import Graph

UNKNOWN = ("unknown", "unlabelled", "unlabeled", "-1", "-1.0")
"""Words for an unknown label, in upper or lower case, in addition to those for a missing feature."""
DOUBTFUL = ("none", "missing", "n.a.", "na", "nan", "null", "nil", "tbd", "undefined", "unspecified", "-", "--", "#n/a")
"""Classes, in any case, that a user may have meant as unknown; `hiergcn check` points them out."""
FEWEST_NUMBERS = 10
"""Distinct numbers above which labels may be meant as numbers to predict."""
FEW_LABELS = 5
"""Labels per distinct number, on average, above which they count as classes."""
GAPS = 3
"""Whole numbers that cover a range this many times as large as their count are not class codes."""
SPLIT_WORDS = {"train": 0, "training": 0, "validation": 1, "val": 1, "valid": 1, "dev": 1, "test": 2}


@dataclass(frozen=True, eq=False)
class Labels(Classes):
    """Classes as they are read, in natural order."""

    unknown_words: tuple[tuple[str, int], ...] = ()
    """Words that were read as unknown, and how many labels each."""

    @property
    def notes(self) -> list[str]:
        if not self.unknown_words:
            return []
        count = sum(times for _, times in self.unknown_words)
        words = ", ".join(f"{word!r:.40}" for word, _ in self.unknown_words)
        return [f"labels read as unknown, because they are {words}: {count:,} (--unknown, unknown=[..] to change this)"]


def read_labels(column: "pd.Series[Any]", unknown: Sequence[str] | None = None, classes: Sequence[str] = ()) -> Labels:
    """Return the labels in a column of any values.

    Args:
        column: a value for each node.
        unknown: words that mean unknown, instead of the usual ones.
        classes: names that are classes in any case.
    """
    code, texts = coded_texts(column)
    counts = np.bincount(code[code >= 0], minlength=len(texts))
    words = [is_unknown(text, unknown) and text not in classes for text in texts]
    meant = tuple((texts[k], int(count)) for k, count in enumerate(counts) if words[k] and count)
    names = natural_order(texts[~np.asarray(words, bool) & (counts > 0)])
    return Labels(np.append(names.get_indexer(texts), -1)[code].astype(np.int64), tuple(names), meant)


def read_target(
    column: Callable[[str], "pd.Series[Any]"],
    roles: NodeColumns,
    ids: NDArray[Any],
    origin: Origin,
    unknown: Sequence[str] | None,
    classes: Sequence[str] = (),
) -> tuple[Labels | Numbers | None, Split | None, list[str]]:
    """Return what is to be predicted and the split of a table of nodes, whose columns are got by name, and notes."""
    target: Labels | Numbers | None = None
    notes: list[str] = []
    if roles.label is not None:
        target = read_labels(column(roles.label), unknown, classes)
        notes += target.notes
    elif roles.target is not None:
        target = Numbers(read_targets(column(roles.target), origin, unknown), roles.target)
    if roles.split is None:
        return target, None, notes
    if target is None:
        return None, None, [f"column {roles.split!r} was not used, because there are no labels"]
    assert target.strata is not None
    split, more = split_from_column(column(roles.split), target.strata, ids, origin, roles.split)
    return target, split, [*notes, *more]


def is_unknown(word: str, unknown: Sequence[str] | None = None) -> bool:
    """Return whether a label means that the class is unknown."""
    if unknown is not None:
        return word in unknown
    return word in MISSING or word.casefold() in UNKNOWN


def label_texts(labels: NDArray[np.int64], class_names: tuple[str, ...]) -> NDArray[Any]:
    """Return the class name of each node; None if its label is unknown."""
    return np.array([*class_names, None], dtype=object)[labels]


def read_targets(column: "pd.Series[Any]", origin: Origin, unknown: Sequence[str] | None = None) -> NDArray[np.float64]:
    """Return the number in each row, NaN if it is unknown."""

    def means_unknown(entry: object) -> bool:  # -1 is a number
        word = entry.strip() if isinstance(entry, str) else None
        is_word = word is not None and is_unknown(word, unknown) and pd.isna(pd.to_numeric(word, errors="coerce"))
        return word == "" or is_word

    if not pd.api.types.is_numeric_dtype(column):
        column = column.astype(object).mask(column.map(means_unknown).astype(bool), None)
    values = np.asarray(floats(column), np.float64)
    wrong = np.flatnonzero((np.isnan(values) & column.notna().to_numpy()) | np.isinf(values))
    if wrong.size:
        where, entry = origin.at(wrong[0], column.name), str(column.iloc[wrong[0]])
        raise InputError(f"{where}: {entry!r:.60} in the column of the target; give a number, or leave it blank.")
    return values


def look_like_numbers(labels: Classes) -> bool:
    """Return whether labels may be meant as numbers to predict: many different ones, each at few nodes.

    They are fractions, or whole numbers that are no codes 1, 2, 3, .. of classes.
    """
    names, given = labels.names, int(np.count_nonzero(labels.truth >= 0))
    if len(names) < FEWEST_NUMBERS or given >= FEW_LABELS * len(names):
        return False
    values = pd.to_numeric(pd.Series(names), errors="coerce").to_numpy(np.float64)
    if not np.isfinite(values).all():
        return False
    fractions = bool((values != np.floor(values)).any())
    return fractions or float(np.ptp(values)) + 1 > GAPS * len(names)


def split_from_column(
    column: "pd.Series[Any]", labels: NDArray[np.int64], ids: NDArray[Any], origin: Origin, name: str
) -> tuple[Split, list[str]]:
    """Return the split that a column names, and notes on it. Nodes with a blank belong to no part."""
    code, texts = coded_texts(column)
    part = np.array([*(SPLIT_WORDS.get(str(text).lower(), len(PARTS)) for text in texts), -1], np.int64)[code]
    wrong = np.flatnonzero(part == len(PARTS))
    if wrong.size:
        word = texts[code[wrong[0]]]
        raise InputError(
            f"{origin.at(wrong[0], name)}: {word!r:.80} is not a part of a split; write train, validation, test or "
            f"nothing, or drop the column (--drop, drop=[..])."
        )
    bare = np.flatnonzero(((part == 0) | (part == 1)) & (labels < 0))
    if bare.size:
        where = f"{origin.at(bare[0], name)}: a node for {PARTS[part[bare[0]]]}"
        raise InputError(f"{where} has no label; give it one, or leave its split blank.")
    return split_from_parts(part, labels, ids, f"column {name!r}")


def split_from_parts(
    part: NDArray[np.int64], labels: NDArray[np.int64], ids: NDArray[Any], named_by: str
) -> tuple[Split, list[str]]:
    """Return the split of nodes whose parts are indices of PARTS, -1 for none, and notes on it.

    Test nodes may have no label: they are predicted, and not counted. If no node is for validation, a fifth of each
    class's training nodes become so.
    """
    notes = [f"the split is that of {named_by}"]
    waiting = (part == 2) & (labels < 0)
    if waiting.any():
        notes.append(f"test nodes without a label, which are predicted and not counted: {int(waiting.sum()):,}")
    idle = int(np.count_nonzero((part < 0) & (labels >= 0)))
    if idle:
        notes.append(f"labels that are not used, because {named_by} is blank there: {idle:,}")
    train, validation, test = (np.flatnonzero((part == place) & ~waiting) for place in range(len(PARTS)))
    if train.size and not validation.size:
        training = np.where(part == 0, labels, -1)
        drawn = Split.holdout(training, test=0.0, seed=0, order=canonical_order(ids))
        train, validation = drawn.train, drawn.validation
        notes.append(f"{named_by} names no validation nodes: a fifth of each class's training nodes became so")
    return Split(train, validation, test), notes


def part_names(split: Split, n: int) -> NDArray[Any]:
    """Return the part of each of n nodes; None if it is in none."""
    names = np.full(n, None, dtype=object)
    for part in PARTS:
        names[getattr(split, part)] = part
    return names


def with_further_labels(graph: "Graph", path: str | Path, unknown: Sequence[str] | None = None) -> "Graph":
    """Return the graph with the labels of a CSV file, and a note on them; classes that are new come last.

    If the graph has numbers to predict, the labels are numbers.
    """
    source = TextFile.from_path(path)
    roles, file = NodeColumns.choose(source, source.names, CsvOptions()), source.path.name
    if roles.label is None:
        there = f"its columns are {shown_names(source.names)}"
        raise InputError(
            f"{source} has no column named {' or '.join(LABEL)}; name the column of the labels so ({there})."
        )
    table = as_frame(source.read(source.names, roles.text)[0], roles.text)
    ids, labels = table[roles.id].fillna("").str.strip(), table[roles.label]
    names: list[str] = []
    values: NDArray[Any]
    before: NDArray[Any]
    is_known: Callable[[NDArray[Any]], NDArray[np.bool_]]
    target = graph.target
    if isinstance(target, Numbers):
        word, values, before = "value", read_targets(labels, source), target.truth
        is_known, remedy = (lambda values: ~np.isnan(values)), "fill in those of some nodes"
    else:
        word, given = "label", read_labels(labels, unknown)
        names = list(target.names) if graph.labelled.size else []
        before = target.truth if names else np.full(graph.n_nodes, -1)
        names += sorted(set(given.names) - set(names))
        values = np.array([*map(names.index, given.names), -1])[given.truth]
        is_known, remedy = (lambda values: values >= 0), "fill in the class of some nodes"
    filled = np.flatnonzero(is_known(values))
    if not filled.size:
        raise InputError(f"{source}, column {roles.label!r}: every {word} is blank; {remedy}.")
    values = values[filled]
    node: NDArray[np.int64] = pd.Index(graph.ids.astype(str)).get_indexer(pd.Index(ids.iloc[filled]))
    absent = np.flatnonzero(node < 0)
    if absent.size:
        row = filled[absent[0]]
        wrong = f"id {ids.iloc[row]!r:.80} is not a node of the graph" if ids.iloc[row] else "the id is blank"
        remedy = f"give the id of a node, such as {str(graph.ids[0])!r:.60}"
        more = f" ({absent.size:,} such rows)" if absent.size > 1 else ""
        raise InputError(f"{source.at(row, roles.id)}: {wrong}; {remedy}{more}.")
    same_node = pd.Series(values).groupby(node)
    again = np.flatnonzero((same_node.transform("nunique") > 1) & (same_node.cumcount() > 0))
    if again.size:
        where = source.at(filled[again[0]], roles.id)
        raise InputError(f"{where}: an earlier row gives this node another label; keep one of them.")
    after = before.copy()
    after[node] = values
    notes = [f"{word}s that {file} adds: {np.count_nonzero(is_known(after) & ~is_known(before)):,}"]
    changed = np.flatnonzero(is_known(before) & (before != after))
    if changed.size:
        was, now = (names[side[changed[0]]] if names else float(side[changed[0]]) for side in (before, after))
        shown = f"{graph.ids[changed[0]]!s:.40} from {was!r:.40} to {now!r:.40}"
        notes.append(f"{word}s that {file} changes: {changed.size:,}, such as {shown}")
    if isinstance(target, Numbers):
        return replace(graph, targets=after, notes=(*graph.notes, *notes))
    if graph.labelled.size and len(names) > len(target.names):
        notes.append(f"classes that only {file} has: {shown_names(names[len(target.names) :])}")
    return replace(graph, labels=after, class_names=tuple(names), notes=(*graph.notes, *notes))


def with_more_training(split: Split, before: "Graph", after: "Graph") -> Split:
    """Return the split with the nodes that got their first label in training."""
    used = np.concatenate([split.train, split.validation, split.test, split.calibration])
    added = np.setdiff1d(after.labelled, np.union1d(used, before.labelled))
    return replace(split, train=np.concatenate([split.train, added]))
