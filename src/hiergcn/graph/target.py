"""What is predicted for each node: a class (`Classes`) or a number (`Numbers`).

Everything in which the two differ is a method here, or a table with an entry for each `kind`: metrics in
`evaluate.metrics`, the loss of a network in `model.method`. A target without values says what the outputs of a network
mean, for a task or a saved model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hiergcn.compiled.csr import read_only
from hiergcn.errors import InputError

TARGET = "value"
"""Name of numbers that have no other."""

LARGEST_TARGET = 1e150
"""Largest number to predict; its inverse is the smallest that the largest one of a graph may be."""

Kind = Literal["classes", "numbers"]


class Scale(NamedTuple):
    """Mean and standard deviation of the training values: models learn numbers in these units."""

    mean: float
    std: float

    def restored(self, outputs: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return a model's outputs in the unit of the user's numbers."""
        values: NDArray[np.float64] = outputs.astype(np.float64) * self.std + self.mean
        return values


@dataclass(frozen=True, eq=False)
class _Values:
    """What classes and numbers have in common."""

    values: NDArray[Any] | None = None
    """(n,) classes, as positions in their names, or numbers; -1 or NaN is unknown. None without labels."""

    @property
    def truth(self) -> NDArray[Any]:
        """(n,) the values, which must be given."""
        assert self.values is not None, "the graph has neither labels nor targets"
        return self.values

    def reordered(self, order: NDArray[np.int64]) -> Self:
        """Return the target of the same nodes, listed in another order."""
        return self if self.values is None else replace(self, values=self.values[order])


@dataclass(frozen=True, eq=False)
class Classes(_Values):
    """A class for each node."""

    names: tuple[str, ...] = ()
    """Of the classes: the outputs of a network."""

    kind: ClassVar[Kind] = "classes"
    scale: ClassVar[Scale | None] = None
    """Unit in which a network learns: none."""
    dtype: ClassVar[type[np.floating]] = np.float32
    """Of the outputs of an answer."""
    std: ClassVar[float] = 1.0
    """Size of differences between outputs that matter: 1 for probabilities, of numbers their deviation."""
    output_name: ClassVar[str] = "probabilities"

    @property
    def n_outputs(self) -> int:
        """Outputs of a network for each node: a score per class, or one number."""
        return len(self.names)

    @property
    def strata(self) -> NDArray[np.int64] | None:
        """(n,) the group of each node of which a split takes its share; -1 if its class is unknown."""
        return self.values

    def fields(self) -> dict[str, Any]:
        """Return the arguments of `Graph` that give this target."""
        return {"labels": self.values, "class_names": self.names}

    def facts(self) -> dict[str, object]:
        """Return what a line about a graph says of its target."""
        return {"classes": len(self.names)}

    def column(self) -> dict[str, NDArray[Any]]:
        """Return the truth as a column of `predictions.csv`."""
        return {"label": np.array([*self.names, ""], dtype=object)[self.truth]}

    def check_training(self, train: NDArray[np.int64], graph: str) -> None:
        """Refuse training nodes from which no model can learn; `graph` is its name."""
        present = np.unique(self.truth[self.truth >= 0])
        if present.size < 2:
            raise InputError(f"Every label of {graph} is {self.names[present[0]]!r}; give two classes.")
        absent = np.setdiff1d(present, self.truth[train])
        if absent.size:
            names = ", ".join(repr(self.names[k]) for k in absent[:5])
            more = f" and {absent.size - 5} more" if absent.size > 5 else ""
            raise InputError(f"No training node has class {names}{more}; move a node of each class into train.")

    def for_training(self, train: NDArray[np.int64]) -> "Classes":
        """Return the target without its values; of numbers, in the unit of those of the training nodes."""
        return Classes(None, self.names)

    def standardised(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return classes as they are, numbers in the unit of training."""
        return values

    def restored(self, outputs: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return a network's outputs: probabilities as they are, numbers in the user's unit."""
        return outputs

    def hard_predictions(self, outputs: NDArray[np.floating]) -> NDArray[Any]:
        """Return the class of each node by its probabilities, (n, classes), or its number, (n, 1); (n,)."""
        classes: NDArray[np.int64] = outputs.argmax(axis=1)
        return classes

    def node_scores(self, truth: NDArray[Any], outputs: NDArray[np.floating]) -> NDArray[Any]:
        """Return whether each node is right; of numbers, 1 less the squared error in units of the variance."""
        right: NDArray[np.bool_] = self.hard_predictions(outputs) == truth
        return right


@dataclass(frozen=True, eq=False)
class Numbers(_Values):
    """A number for each node. Methods are those of `Classes`."""

    name: str = TARGET
    """What the numbers are."""
    scale: Scale | None = None
    """Unit in which a network learns; None of a graph."""

    kind: ClassVar[Kind] = "numbers"
    n_outputs: ClassVar[int] = 1
    dtype: ClassVar[type[np.floating]] = np.float64
    output_name: ClassVar[str] = "numbers"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def std(self) -> float:
        return 1.0 if self.scale is None else self.scale.std

    @property
    def strata(self) -> NDArray[np.int64]:
        return np.where(np.isnan(self.truth), -1, 0)

    def fields(self) -> dict[str, Any]:
        return {"targets": self.values, "target_name": self.name}

    def facts(self) -> dict[str, object]:
        return {"target": self.name}

    def column(self) -> dict[str, NDArray[Any]]:
        return {"value": self.truth}

    def check_training(self, train: NDArray[np.int64], graph: str) -> None:
        if np.ptp(self.truth[train]) == 0:
            same = f"{self.truth[train[0]]:g}"
            raise InputError(f"Every training value of {graph} is {same}; give nodes with different values.")

    def for_training(self, train: NDArray[np.int64]) -> "Numbers":
        values = self.truth[train]
        return Numbers(None, self.name, Scale(float(values.mean()), float(values.std()) or 1.0))

    def standardised(self, values: NDArray[Any]) -> NDArray[Any]:
        assert self.scale is not None
        scaled: NDArray[np.float32] = ((values - self.scale.mean) / self.scale.std).astype(np.float32)
        return scaled

    def restored(self, outputs: NDArray[np.floating]) -> NDArray[np.floating]:
        assert self.scale is not None
        return self.scale.restored(outputs)

    def hard_predictions(self, outputs: NDArray[np.floating]) -> NDArray[Any]:
        return outputs[:, 0]

    def node_scores(self, truth: NDArray[Any], outputs: NDArray[np.floating]) -> NDArray[Any]:
        scores: NDArray[np.float64] = 1.0 - ((outputs[:, 0] - truth) / self.std) ** 2
        return scores


Target: TypeAlias = Classes | Numbers


def make_target(
    n: int, labels: Any = None, class_names: Sequence[Any] | None = (), targets: Any = None, name: str = TARGET
) -> Target:
    """Return the target of n nodes by their labels or numbers, which are checked; not both.

    Classes are named "0", "1", .. by default, and may have no labelled node.
    """
    if labels is not None:
        codes = np.asarray(labels)
        if codes.shape != (n,) or not np.issubdtype(codes.dtype, np.integer):
            given = f"The labels have shape {codes.shape} and type {codes.dtype}, but the graph has {n:,} nodes"
            raise InputError(f"{given}; give a whole number per node, -1 if it is unknown.")
        if n and codes.min() < -1:
            node = int(codes.argmin())
            raise InputError(f"Node {node} has label {codes[node]}; labels count from 0, and -1 means unknown.")
        if targets is not None:
            raise InputError("The graph has both labels and targets; leave out what is not to be predicted.")
        labels = read_only(codes.astype(np.int64, copy=False))
    if targets is not None:
        values = np.asarray(targets)
        if values.shape != (n,) or values.dtype.kind not in "buif":
            given = f"The targets have shape {values.shape} and type {values.dtype}, but the graph has {n:,} nodes"
            raise InputError(f"{given}; give a number per node, NaN if it is unknown.")
        values = values.astype(np.float64, copy=False)
        if np.isinf(values).any():
            node = int(np.isinf(values).argmax())
            raise InputError(f"The target of node {node} is infinite; give a number, or NaN if it is unknown.")
        largest = float(np.nanmax(np.abs(values), initial=0.0))
        if largest and not 1 / LARGEST_TARGET <= largest <= LARGEST_TARGET:
            node = int(np.nanargmax(np.abs(values)))
            raise InputError(
                f"The target of node {node} is {values[node]:g}, whose square no float holds; rescale them."
            )
        return Numbers(read_only(values), name)
    highest = -1 if labels is None else int(labels.max(initial=-1))
    names = tuple(map(str, class_names or range(highest + 1)))
    if len(names) <= highest:
        raise InputError(f"There are {len(names)} class names, but a label is {highest}; give {highest + 1} or more.")
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InputError(f"Class name {twice!r} is given twice; give every class its own name.")
    return Classes(labels, names)
