"""Which nodes train a model, which select it and which judge it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiergcn.errors import InputError
from hiergcn.graph.checks import read_only
from hiergcn.graph.graph import Graph

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Split:
    """Three sets of nodes, as ascending int64 indices that have no node in common."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]

    def __post_init__(self) -> None:
        for part in PARTS:
            object.__setattr__(self, part, _checked_part(getattr(self, part), part))
        for one, other in (("train", "validation"), ("train", "test"), ("validation", "test")):
            shared = np.intersect1d(getattr(self, one), getattr(self, other), assume_unique=True)
            if shared.size:
                raise InputError(
                    f"node {shared[0]} is in {one} and in {other}: a node belongs to one part of the split"
                )

    def __repr__(self) -> str:
        return f"Split(train={self.train.size}, validation={self.validation.size}, test={self.test.size})"

    @classmethod
    def from_masks(cls, train: ArrayLike, validation: ArrayLike, test: ArrayLike) -> "Split":
        """A split from three boolean arrays with a value per node."""
        masks = [np.asarray(mask) for mask in (train, validation, test)]
        for part, mask in zip(PARTS, masks, strict=True):
            if mask.dtype != np.bool_ or mask.ndim != 1 or mask.size != masks[0].size:
                raise InputError(f"the {part} mask must be a list of true and false, one per node")
        return cls(*(np.flatnonzero(mask) for mask in masks))

    @classmethod
    def random(
        cls,
        labels: ArrayLike,
        per_class: int = 20,
        validation: int = 500,
        test: int | None = None,
        seed: int = 0,
    ) -> "Split":
        """`per_class` training nodes of each class, then `validation` nodes and `test` nodes (None: all) of the rest.

        Drawn from the labelled nodes alone; the same labels and seed give the same split on every machine.
        """
        known = np.asarray(labels)
        if min(per_class, validation, 0 if test is None else test) < 0 or per_class == 0:
            raise InputError("a split needs at least 1 training node per class, and no negative number of nodes")
        labelled = np.flatnonzero(known >= 0)
        classes, sizes = np.unique(known[labelled], return_counts=True)
        if classes.size == 0:
            raise InputError("no node has a label: a split is drawn from labelled nodes")
        if sizes.min() < per_class:
            raise InputError(
                f"class {classes[sizes.argmin()]} has {sizes.min()} labelled nodes, too few for {per_class} training "
                f"nodes per class: ask for at most {sizes.min()} per class or leave the class out"
            )
        shuffled = _generator(seed).permutation(labelled)
        by_class = shuffled[np.argsort(known[shuffled], kind="stable")]
        first = np.repeat(np.cumsum(sizes) - sizes, sizes)
        chosen = np.arange(by_class.size) - first < per_class  # the first nodes of each class in shuffled order
        train = by_class[chosen]
        rest = shuffled[~np.isin(shuffled, train, assume_unique=True)]
        wanted = validation + (0 if test is None else test)
        if wanted > rest.size:
            raise InputError(
                f"{labelled.size:,} nodes have a label and {train.size:,} of them train, so {rest.size:,} remain for "
                f"the {wanted:,} asked for validation and test: ask for fewer"
            )
        end = None if test is None else wanted
        return cls(train, rest[:validation], rest[validation:end])

    @classmethod
    def holdout(cls, labels: ArrayLike, validation: float = 0.2, test: float = 0.2, seed: int = 0) -> "Split":
        """All labelled nodes, divided class by class: a part for validation, a part for test, the rest trains.

        A class keeps at least one node to train; it gives one to validation from two nodes on, and to test only whole
        shares (from five nodes on by default), so that a person with few labels spends none of them on a test set.
        """
        if not (0 <= validation < 1 and 0 <= test < 1 and validation + test < 1):
            raise InputError(f"validation {validation} and test {test} must be shares that leave some nodes to train")
        known = np.asarray(labels)
        shuffled = _generator(seed).permutation(np.flatnonzero(known >= 0))
        parts: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        for k in np.unique(known[shuffled]):
            nodes = shuffled[known[shuffled] == k]
            tested = int(test * nodes.size)
            validated = min(max(round(validation * nodes.size), 1), nodes.size - 1 - tested) if validation else 0
            for part, chosen in zip(
                parts, np.split(nodes, [nodes.size - tested - validated, nodes.size - tested]), strict=True
            ):
                part.append(chosen)
        return cls(*(np.concatenate([np.empty(0, np.int64), *part]) for part in parts))

    def check(self, graph: Graph) -> None:
        """Refuse a split that a model of `graph` cannot be trained and selected with."""
        labels = graph.labels
        if labels is None or not (labels >= 0).any():
            raise InputError(f"{graph.name} has no labels: a model needs some to learn from")
        for part in PARTS:
            nodes = getattr(self, part)
            if nodes.size and nodes[-1] >= graph.n_nodes:
                raise InputError(f"{part} names node {nodes[-1]} but {graph.name} has {graph.n_nodes:,} nodes")
            unknown = nodes[labels[nodes] < 0]
            if unknown.size:
                raise InputError(f"{part} names node {graph.ids[unknown[0]]}, whose label is unknown: take it out")
        self._check_classes(graph, labels)

    def _check_classes(self, graph: Graph, labels: NDArray[Any]) -> None:
        present = np.unique(labels[labels >= 0])
        if present.size < 2:
            raise InputError(
                f"every label of {graph.name} is {graph.class_names[present[0]]!r}: give two classes or more"
            )
        for part in ("train", "validation"):
            if getattr(self, part).size == 0:
                raise InputError(f"the {part} part of the split is empty: give it some labelled nodes")
        missing = np.setdiff1d(present, labels[self.train])
        if missing.size:
            names = ", ".join(repr(graph.class_names[k]) for k in missing[:5])
            more = f" and {missing.size - 5} more" if missing.size > 5 else ""
            raise InputError(f"no training node has class {names}{more}: move a node of each class into train")


def _generator(seed: int) -> np.random.Generator:
    """A stream of its own: a graph planted with the same seed must not be divided by the permutation that made it."""
    return np.random.default_rng((seed, 2019))


def _checked_part(nodes: Any, part: str) -> NDArray[np.int64]:
    array = np.asarray(nodes)
    if array.size == 0:
        return read_only(np.empty(0, np.int64))
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"{part} must be a list of node numbers: got {array.ndim} axes of {array.dtype}")
    array = np.sort(array.astype(np.int64))
    if array[0] < 0:
        raise InputError(f"{part} names node {array[0]}: nodes count from 0")
    twice = np.flatnonzero(array[1:] == array[:-1])
    if twice.size:
        raise InputError(f"{part} names node {array[twice[0]]} twice: give every node once")
    return read_only(array)
