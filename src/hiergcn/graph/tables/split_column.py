"""A split from a column of the nodes that says which part each of them belongs to."""

import numpy as np
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.split import PARTS, Split
from hiergcn.graph.tables.assemble import NodeTable
from hiergcn.graph.tables.delimited import Origin
from hiergcn.graph.tables.text_column import TextColumn

NAME = "split"
"""A column of this name is taken for one, unless the caller names another."""

WORDS = {"train": 0, "training": 0, "validation": 1, "val": 1, "valid": 1, "dev": 1, "test": 2}


def split_from_column(nodes: NodeTable, column: str, seed: int = 0) -> tuple[Split, list[str]]:
    """The split, and what is to be said about it. Nodes with a blank belong to no part.

    Test nodes may come without a label: they are predicted, and not counted. Where no node validates, a fifth of the
    training nodes of each class do.
    """
    assert nodes.split is not None
    part = _parts(nodes.split, nodes.origin, column)
    labels = np.full(part.size, -1) if nodes.labels is None else nodes.labels
    _check_labelled(part, labels, nodes.origin, column)
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
        notes.append(
            f"column {column!r} names no validation nodes: a fifth of the training nodes of each class became so"
        )
    return Split(train, validation, test), notes


def _parts(text: TextColumn, origin: Origin, column: str) -> NDArray[np.int64]:
    """The part of each node, as a place in PARTS; blank is -1."""
    places = np.array([WORDS.get(str(value).lower(), len(PARTS)) for value in text.values] + [-1], np.int64)
    parts = places[text.code]
    wrong = np.flatnonzero(parts == len(PARTS))
    if wrong.size:
        found = text.values[text.code[wrong[0]]]
        raise InputError(
            f"{origin}, row {origin.row(wrong[0])}, column {column!r:.80}: {found!r:.80} is no part of a split; write "
            f"train, validation, test or nothing, or drop the column (--drop, drop=[..])"
        )
    return parts


def _check_labelled(part: NDArray[np.int64], labels: NDArray[np.int64], origin: Origin, column: str) -> None:
    bare = np.flatnonzero(((part == 0) | (part == 1)) & (labels < 0))
    if bare.size:
        raise InputError(
            f"{origin}, row {origin.row(bare[0])}, column {column!r:.80}: the node is of {PARTS[part[bare[0]]]} and "
            f"has no label; give it one, or leave the split blank there"
        )
