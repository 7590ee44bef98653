"""Labels that take turns: with few labels, each one validates once and trains otherwise.

A validation part of a few nodes says little about which method is best, and its labels are missing in training. So the
training and validation labels are divided into parts. Each part validates the networks that the others train, and the
mean of all networks predicts (bagging; AutoGluon does the same).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hiergcn.coarsen.diffusion import folds
from hiergcn.graph import Split

TURNS = 4


def turns(split: Split, labels: NDArray[np.int64], count: int = TURNS) -> tuple[Split, ...]:
    """Return `count` splits in which each training and validation label validates once.

    A class with a single label trains in all of them.
    """
    nodes, turn = turn_of(split, labels, count)
    return tuple(replace(split, train=nodes[turn != k], validation=nodes[turn == k]) for k in range(count))


def turn_of(
    split: Split, labels: NDArray[np.int64], count: int = TURNS, order: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the training and validation nodes, and in which turn each validates, or -1 for never.

    Turns are those of the nodes as they are listed in `order`, by default as they are.
    """
    nodes = np.union1d(split.train, split.validation)
    if order is not None:
        nodes = order[np.isin(order, nodes)]
    classes = labels[nodes]
    return nodes, np.where(np.bincount(classes)[classes] > 1, folds(classes, count), -1)
