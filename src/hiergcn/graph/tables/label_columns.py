"""Labels: the class of each node, by the same rules for every format.

A label is unknown if it is blank, missing (None, NaN) or one of the words for it, `UNKNOWN`; -1 is among them. The
caller can give other words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.tables.delimited import MISSING
from hiergcn.graph.tables.text_columns import TextColumn, natural_order

UNKNOWN = ("unknown", "unlabelled", "unlabeled", "-1", "-1.0")
"""Words for an unknown label in any case, beside those for a missing feature, which count as they are written."""
DOUBTFUL = ("none", "missing", "n.a.", "na", "nan", "null", "nil", "tbd", "undefined", "unspecified", "-", "--", "#n/a")
"""Classes, in any case, that a user may have meant as unknown; `hiergcn check` points them out."""


@dataclass(frozen=True, eq=False)
class Labels:
    """The class of each node and the names of the classes."""

    numbers: NDArray[np.int64]
    """(n,), -1 if unknown."""
    class_names: tuple[str, ...]
    """In natural order."""
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
    text = TextColumn.of(column)
    counts = np.bincount(text.code[text.code >= 0], minlength=len(text.values))
    words = [is_unknown(value, unknown) and value not in classes for value in text.values]
    found = tuple((text.values[k], int(count)) for k, count in enumerate(counts) if words[k] and count)
    names = natural_order(text.values[~np.asarray(words, bool) & (counts > 0)])
    return Labels(np.append(names.get_indexer(text.values), -1)[text.code].astype(np.int64), tuple(names), found)


def labels_of(values: Any, n: int, unknown: Sequence[str] | None = None, classes: Sequence[str] = ()) -> Labels:
    """Return the labels of n Python values."""
    column = pd.Series(values).reset_index(drop=True)
    if len(column) != n:
        raise InputError(f"There are {len(column):,} labels for {n:,} nodes; give one each, None if unknown.")
    return read_labels(column, unknown, classes)


def is_unknown(word: str, unknown: Sequence[str] | None = None) -> bool:
    """Return whether a label means that the class is unknown."""
    if unknown is not None:
        return word in unknown
    return word in MISSING or word.casefold() in UNKNOWN


def label_texts(labels: NDArray[np.int64], class_names: tuple[str, ...]) -> NDArray[Any]:
    """Return the class name of each node; None if its label is unknown."""
    return np.array([*class_names, None], dtype=object)[labels]
