"""Splits: which nodes train a model, which select it (validation) and which evaluate it (test).

A fourth part calibrates prediction sets, if these are wanted: it neither trains nor selects.
"""

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiergcn.compiled.csr import read_only
from hiergcn.errors import InputError
from hiergcn.graph.neighbourhoods import breadth_first
from hiergcn.graph.order import numbers_by_id

if TYPE_CHECKING:
    from hiergcn.graph.graph import Graph

PER_CLASS = 20
"""Training nodes of each class in a random split, unless others are asked for."""
FOLDS = 5
"""Parts of the training nodes, each of which is judged by, or gets values from, the labels of the others."""
PARTS = ("train", "validation", "test")
ALL_PARTS = (*PARTS, "calibration")


@dataclass(frozen=True, eq=False)
class Split:
    """Sets of nodes, as ascending int64 indices that have no node in common."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]
    calibration: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Empty unless prediction sets are wanted, see `with_calibration`."""

    def __post_init__(self) -> None:
        for part in ALL_PARTS:
            nodes = np.asarray(getattr(self, part))
            if nodes.size == 0:
                nodes = np.empty(0, np.int64)
            elif nodes.ndim != 1 or not np.issubdtype(nodes.dtype, np.integer):
                given = f"{nodes.ndim} axes of {nodes.dtype}"
                raise InputError(f"The {part} part must be a list of node numbers, but has {given}.")
            nodes = np.sort(nodes.astype(np.int64))
            if nodes.size and nodes[0] < 0:
                raise InputError(f"The {part} part names node {nodes[0]}; nodes count from 0.")
            twice = np.flatnonzero(nodes[1:] == nodes[:-1])
            if twice.size:
                raise InputError(f"The {part} part names node {nodes[twice[0]]} twice; give every node once.")
            object.__setattr__(self, part, read_only(nodes))
        for part, other in combinations(ALL_PARTS, 2):
            shared = np.intersect1d(getattr(self, part), getattr(self, other), assume_unique=True)
            if shared.size:
                raise InputError(f"Node {shared[0]} is in {part} and in {other}; take it out of one of them.")

    def __repr__(self) -> str:
        more = f", calibration={self.calibration.size}" if self.calibration.size else ""
        return f"Split(train={self.train.size}, validation={self.validation.size}, test={self.test.size}{more})"

    @classmethod
    def from_masks(cls, train: ArrayLike, validation: ArrayLike, test: ArrayLike) -> "Split":
        """Return a split from three boolean arrays with a value per node."""
        masks = [np.asarray(mask) for mask in (train, validation, test)]
        for part, mask in zip(PARTS, masks, strict=True):
            if mask.dtype != np.bool_ or mask.ndim != 1 or mask.size != masks[0].size:
                raise InputError(f"The {part} mask must be a list of true and false, one per node.")
        return cls(*(np.flatnonzero(mask) for mask in masks))

    @classmethod
    def random(
        cls,
        labels: ArrayLike,
        per_class: int = PER_CLASS,
        validation: int = 500,
        test: int | None = None,
        seed: int = 0,
    ) -> "Split":
        """Draw `per_class` training nodes per class, then `validation` and `test` nodes (None: all) from the rest.

        Only labelled nodes are drawn. The same labels and seed give the same split on every machine.
        """
        known = np.asarray(labels)
        if min(per_class, validation, test or 0) < 0 or per_class == 0:
            raise InputError("A split needs at least 1 training node per class, and no negative number of nodes.")
        shuffled = split_generator(seed).permutation(np.flatnonzero(known >= 0))
        if shuffled.size == 0:
            raise InputError("No node has a label; a split is drawn from labelled nodes.")
        train = first_of_each_class(shuffled, known, per_class)
        rest = shuffled[~np.isin(shuffled, train, assume_unique=True)]
        needed = validation + (test or 0)
        if needed > rest.size:
            raise InputError(
                f"{shuffled.size:,} nodes have a label and {train.size:,} of them train, so {rest.size:,} remain, but "
                f"validation and test need {needed:,}; ask for fewer."
            )
        return cls(train, rest[:validation], rest[validation : None if test is None else needed])

    @classmethod
    def holdout(
        cls,
        labels: ArrayLike,
        validation: float = 0.2,
        test: float = 0.2,
        seed: int = 0,
        order: NDArray[np.int64] | None = None,
    ) -> "Split":
        """Divide the labelled nodes of each class: a share for validation, a share for test, the rest trains.

        A class keeps at least one training node. It gives at least one node to validation if it has two, and to test
        only whole shares (from five nodes on by default), so that few labels are not spent on a test set. The nodes are
        drawn as if they were listed in `order`, by default as they are.
        """
        known = np.asarray(labels)
        listed = np.arange(known.size) if order is None else order
        return _divided(split_generator(seed).permutation(listed[known[listed] >= 0]), known, validation, test)

    @classmethod
    def by_id(
        cls,
        labels: ArrayLike,
        ids: NDArray[Any],
        validation: float = 0.2,
        test: float = 0.2,
        seed: int = 0,
        tested: ArrayLike = (),
    ) -> "Split":
        """Divide as many nodes of each class as `holdout` does, by their ids, so that further labels move few nodes.

        The seed and its id give each node a number, whatever the other nodes are: in each class those with the lowest
        test and those with the highest validate. Nodes that were `tested` before, with fewer labels, test again.
        """
        known = np.asarray(labels)
        labelled = np.flatnonzero(known >= 0)
        order = np.lexsort((numbers_by_id(ids[labelled], seed), ~np.isin(labelled, tested)))
        return _divided(labelled[order], known, validation, test, tests_first=True)

    @classmethod
    def blocked(
        cls, graph: "Graph", train: float = 0.1, validation: float = 0.1, test: float = 0.5, gap: int = 0, seed: int = 0
    ) -> "Split":
        """Draw training and validation nodes from one part of the graph; the part farthest from it tests.

        The labelled nodes are sorted by hops from a node drawn by the seed; other components follow, one after the
        other. The last ones test, and the others give the training and validation nodes at random. A random split asks
        a model to fill gaps between known labels; this one asks what it has learned that holds elsewhere.

        Parts are shares of the labelled nodes; test nodes are those farthest away, and have at least `gap` hops to all
        training and validation nodes; nearer ones are left out. The seed draws the first node and the others.
        """
        if min(train, validation, test) < 0 or train + validation + test > 1 or gap < 0:
            raise InputError("Train, validation and test must be shares that sum to at most 1, and gap at least 0.")
        rng = split_generator(seed)
        order, level = _labelled_by_hops(graph, rng)
        n_near = order.size - round(test * order.size)
        near, far = order[:n_near], order[n_near:]
        if near.size:
            far = far[level[far] >= level[near[-1]] + gap]
        n_train = min(round(train * order.size), n_near)
        drawn = rng.permutation(near)[: n_train + round(validation * order.size)]
        return cls(drawn[:n_train], drawn[n_train:], far)

    def apart(self, graph: "Graph", seed: int = 0) -> "Split":
        """Return the split in which validation nodes lie in another part of the graph than training nodes.

        Training and validation nodes are put together and divided anew, as many to each as before. Those with the
        fewest hops to a node drawn by the seed train, and so does the nearest of each class; the others validate.
        Selection by them asks what holds elsewhere, which validation nodes among the training nodes do not tell.
        """
        order, _ = _labelled_by_hops(graph, split_generator(seed))
        near = order[np.isin(order, np.concatenate([self.train, self.validation]))]
        _, first = np.unique(graph.strata[near], return_index=True)
        ranked = near[np.concatenate([np.sort(first), np.setdiff1d(np.arange(near.size), first)])]
        return Split(ranked[: self.train.size], ranked[self.train.size :], self.test, self.calibration)

    def with_calibration(self, labels: ArrayLike, fewest: int, seed: int = 0) -> "Split":
        """Return the split with a part that calibrates: half of the validation nodes, drawn at random.

        If a third of each class's training nodes are more, it is these; each class keeps one. The split stays as it is
        if the part would have fewer nodes than `fewest`, so that few labels are not spent in vain, or if it has one.
        """
        rng, known = split_generator(seed), np.asarray(labels)
        validation, train = rng.permutation(self.validation), rng.permutation(self.train)
        half = validation[: validation.size // 2]
        classes = [train[known[train] == k] for k in np.unique(known[train])]
        third = np.concatenate([nodes[: nodes.size // 3] for nodes in classes]) if classes else train
        taken = half if half.size >= third.size else third
        if self.calibration.size or taken.size < max(fewest, 1):
            return self
        return Split(np.setdiff1d(self.train, taken), np.setdiff1d(self.validation, taken), self.test, taken)

    def reordered(self, order: NDArray[np.int64]) -> "Split":
        """Return the split of the same nodes, listed in another order."""
        number = np.empty_like(order)
        number[order] = np.arange(order.size)
        return Split(*(number[getattr(self, part)] for part in ALL_PARTS))

    def check_nodes(self, n: int, graph: str) -> None:
        """Refuse a split of more than the n nodes of the graph of that name."""
        for part in ALL_PARTS:
            nodes = getattr(self, part)
            if nodes.size and nodes[-1] >= n:
                raise InputError(f"The {part} part names node {nodes[-1]}, but {graph} has {n:,} nodes.")

    def check(self, graph: "Graph") -> None:
        """Refuse a split with which no model of `graph` can be trained and selected."""
        labels = graph.strata
        if not graph.labelled.size:
            raise InputError(f"{graph.name} has no labels; give the class or the number of some nodes.")
        self.check_nodes(graph.n_nodes, graph.name)
        for part in ALL_PARTS:
            nodes = getattr(self, part)
            unknown = nodes[labels[nodes] < 0]
            if unknown.size:
                raise InputError(f"The {part} part names node {graph.ids[unknown[0]]} without a label; take it out.")
        for part in ("train", "validation"):
            if getattr(self, part).size == 0:
                raise InputError(f"The {part} part of the split is empty; give it some labelled nodes.")
        graph.target.check_training(self.train, graph.name)


def _divided(
    nodes: NDArray[np.int64], labels: NDArray[Any], validation: float, test: float, tests_first: bool = False
) -> Split:
    """Divide nodes in their order, class by class: the last ones test, the ones before validate; or the first test."""
    if not (0 <= validation < 1 and 0 <= test < 1 and validation + test < 1):
        raise InputError(f"Validation {validation} and test {test} must be shares that leave some nodes to train.")
    parts = [np.split(np.empty(0, np.int64), [0, 0])]  # test, training and validation nodes of each class
    for k in np.unique(labels[nodes]):
        members = nodes[labels[nodes] == k]
        tested = int(test * members.size)
        validated = min(max(round(validation * members.size), 1), members.size - 1 - tested) if validation else 0
        ordered = members if tests_first else np.roll(members, tested)
        parts.append(np.split(ordered, [tested, members.size - validated]))
    tests, train, validates = map(np.concatenate, zip(*parts, strict=True))
    return Split(train, validates, tests)


def _labelled_by_hops(graph: "Graph", rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the labelled nodes by hops from a node that is drawn, and the level of every node."""
    if not graph.labelled.size:
        raise InputError(f"{graph.name} has no labels to draw a split from.")
    order, level = breadth_first(graph.adjacency, rng.permutation(graph.n_nodes))
    return order[graph.strata[order] >= 0], level


def stratified_folds(labels: NDArray[Any], count: int = FOLDS) -> NDArray[np.int64]:
    """Return the fold of each labelled node, always the same; classes, or large and small numbers, are spread."""
    order = np.lexsort((np.random.default_rng(0).random(len(labels)), labels))
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.arange(len(labels)) % count
    return fold


def split_generator(seed: int) -> np.random.Generator:
    """Return a stream that differs from the one that `planted_graph` draws from with the same seed."""
    return np.random.default_rng((seed, 2019))


def first_of_each_class(nodes: NDArray[np.int64], labels: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Return the first `count` nodes of each class."""
    classes, sizes = np.unique(labels[nodes], return_counts=True)
    if sizes.min() < count:
        raise InputError(
            f"Class {classes[sizes.argmin()]} has {sizes.min()} labelled nodes, too few for {count} per class; "
            f"give at most {sizes.min()} per class or leave the class out."
        )
    return np.concatenate([nodes[labels[nodes] == k][:count] for k in classes])
