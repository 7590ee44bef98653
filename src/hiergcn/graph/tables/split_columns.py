"""Splits that the data name: in a column or attribute of the nodes, or in masks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.split import PARTS, Split
from hiergcn.graph.tables.delimited import Origin
from hiergcn.graph.tables.text_columns import TextColumn, canonical_order

SPLIT = "split"
SPLIT_WORDS = {"train": 0, "training": 0, "validation": 1, "val": 1, "valid": 1, "dev": 1, "test": 2}


def split_from_column(
    text: TextColumn, labels: NDArray[np.int64] | None, ids: NDArray[Any], origin: Origin, column: str
) -> tuple[Split, list[str]]:
    """Return the split that a column names, and notes on it. Nodes with a blank belong to no part."""
    part = _parts(text, origin, column)
    labels = np.full(part.size, -1) if labels is None else labels
    bare = np.flatnonzero(((part == 0) | (part == 1)) & (labels < 0))
    if bare.size:
        where, name = origin.at(bare[0], column), PARTS[part[bare[0]]]
        raise InputError(f"{where}: a node for {name} has no label; give it one, or leave its split blank.")
    return split_from_parts(part, labels, ids, f"column {column!r}")


def split_from_parts(
    part: NDArray[np.int64], labels: NDArray[np.int64], ids: NDArray[Any], named_by: str, seed: int = 0
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
        drawn = Split.holdout(training, test=0.0, seed=seed, order=canonical_order(ids))
        train, validation = drawn.train, drawn.validation
        notes.append(f"{named_by} names no validation nodes: a fifth of each class's training nodes became so")
    return Split(train, validation, test), notes


def part_names(split: Split, n: int) -> NDArray[Any]:
    """Return the part of each of n nodes; None if it is in none."""
    names = np.full(n, None, dtype=object)
    for part in PARTS:
        names[getattr(split, part)] = part
    return names


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
