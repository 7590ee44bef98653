"""The splits that experiments run on, by name, so that a result can say which one it is about."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split


@dataclass(frozen=True)
class SplitSpec:
    """A way to divide a dataset's labels. The same spec gives the same split on every machine."""

    kind: Literal["public", "few", "random"] = "public"
    """`public`: the dataset's own. `few`: some of its training nodes. `random`: drawn from all labelled nodes."""
    number: int = 0
    """Which draw."""
    per_class: int = 0
    """Of `few`: training nodes that each class keeps."""
    small_validation: bool = False
    """Of `few`: validation too keeps only so many nodes of each class, instead of all 500."""

    @property
    def name(self) -> str:
        if self.kind == "public":
            return "public"
        if self.kind == "random":
            return f"random-{self.number}"
        return f"few-{self.per_class}-draw-{self.number}{'-small' if self.small_validation else ''}"

    def of(self, graph: Graph, own: Split) -> Split:
        """The split itself; `own` is the one that the dataset comes with."""
        assert graph.labels is not None
        if self.kind == "public":
            return own
        if self.kind == "random":
            return Split.random(graph.labels, seed=self.number)  # 20 a class train, 500 validate, the rest test
        rng = np.random.default_rng((self.number, 2019))
        train = _some_of_each_class(own.train, graph.labels, self.per_class, rng)
        validation = own.validation
        if self.small_validation:
            validation = _some_of_each_class(validation, graph.labels, self.per_class, rng)
        return Split(train, validation, own.test)


PUBLIC = SplitSpec()


def few_labels(per_class: int, draws: int, *, small_validation: bool) -> tuple[SplitSpec, ...]:
    """`draws` choices of `per_class` training nodes of each class.

    The draws of one number are nested: the 5 nodes of a class are among its 10. The differences between
    numbers of labels are then not those between nodes.
    """
    return tuple(SplitSpec("few", draw, per_class, small_validation) for draw in range(draws))


def random_splits(count: int) -> tuple[SplitSpec, ...]:
    return tuple(SplitSpec("random", number) for number in range(count))


def _some_of_each_class(nodes: np.ndarray, labels: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """The first `count` nodes of each class in an order that does not hang on `count`."""
    shuffled = rng.permutation(nodes)
    chosen = []
    for one in np.unique(labels[nodes]):
        members = shuffled[labels[shuffled] == one]
        if members.size < count:
            raise InputError(f"class {one} has {members.size} nodes to draw {count} from")
        chosen.append(members[:count])
    return np.concatenate(chosen)
