"""Which splits methods are compared on.

Random ones are drawn from all labelled nodes, 20 a class to train, 500 to validate, the rest to test; the graph stays
whole (Shchur et al. keep its largest connected component, which gives other, slightly higher figures).
"""

from dataclasses import dataclass
from typing import Self

from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split

PER_CLASS, VALIDATION = 20, 500


@dataclass(frozen=True)
class SplitPlan:
    """Which splits to compare on: the one that the graph comes with, or `count` random ones."""

    count: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """`public`, or `random:N`."""
        kind, colon, number = text.partition(":")
        if text == "public":
            return cls()
        if kind == "random" and colon and number.isdecimal() and int(number) > 0:
            return cls(int(number))
        raise InputError(f"splits is {text!r}; give public, or random:N for N random splits.")

    def splits(self, graph: Graph, own: Split) -> list[Split]:
        """The splits in order; the seed of a random one is its number."""
        if self.count is None:
            return [own]
        if graph.labels is None:
            raise InputError(f"{graph.name} has no labels to draw random splits from.")
        return [Split.random(graph.labels, PER_CLASS, VALIDATION, seed=number) for number in range(self.count)]

    @property
    def about(self) -> str:
        if self.count is None:
            return "the split that the graph comes with"
        return (
            f"{self.count} random splits of the whole graph, not of its largest component: "
            f"{PER_CLASS} a class train, {VALIDATION} validate, the rest test"
        )

    def __str__(self) -> str:
        return "public" if self.count is None else f"random:{self.count}"
