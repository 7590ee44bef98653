"""The choices in coarsening, each with the reason for its default."""

from dataclasses import dataclass
from typing import Literal

from hiergcn.coarsen.strategy import Strategy, find_strategy
from hiergcn.errors import InputError


@dataclass(frozen=True)
class CoarsenConfig:
    """How nodes are grouped. The defaults are the paper's text; `CoarsenConfig.reference()` is the authors' code."""

    strategy: str | Strategy = "hgcn"
    """`hgcn` (the paper's equivalence and similarity grouping), `random`, `heavy-edge`, `two-hop`, a registered name,
    or a function (see `Strategy`)."""

    similarity: Literal["node_weight", "degree"] = "node_weight"
    """D in the similarity A_jk / sqrt(D_j D_k): the node weight, as in the text, or the weighted degree, self-loop
    included.

    Reference: the authors' code divides by the degree (and reads the edge weight at a wrong index, which is not
    repeated here)."""

    equivalence_limit: int | None = None
    """The most nodes that equivalence grouping puts into one hyper-node: None for whole classes, 2 for the pairs that
    the text speaks of, 1 to leave equivalence grouping out."""

    max_node_weight: int | None = None
    """A pair whose node weights sum to more is not matched; equivalence grouping is not bound by it. None for no bound.

    Reference: 50 in the authors' code."""

    isolated: Literal["alone", "merge"] = "alone"
    """Nodes without neighbours: each stays alone (having no neighbours is not sharing them), or all are one
    equivalence class.

    Reference: merged in the authors' code."""

    loops_are_neighbours: bool = False
    """Whether a node with a self-loop, as hyper-nodes have, is its own neighbour in the comparison and count of
    neighbours.

    Reference: it is in the authors' code."""

    seed: int = 0
    """Of the strategies that draw at random; `hgcn` does not."""

    def __post_init__(self) -> None:
        find_strategy(self.strategy)
        if not isinstance(self.strategy, str) and not callable(self.strategy):
            raise InputError(f"strategy must be a name or a function, not {self.strategy!r}.")
        if self.similarity not in ("node_weight", "degree"):
            raise InputError(f"similarity must be 'node_weight' or 'degree', not {self.similarity!r}.")
        if self.isolated not in ("alone", "merge"):
            raise InputError(f"isolated must be 'alone' or 'merge', not {self.isolated!r}.")
        if not isinstance(self.loops_are_neighbours, bool):
            raise InputError(f"loops_are_neighbours must be true or false, not {self.loops_are_neighbours!r}.")
        _check_count("equivalence_limit", self.equivalence_limit, optional=True)
        _check_count("max_node_weight", self.max_node_weight, optional=True)
        _check_count("seed", self.seed, least=0)

    @classmethod
    def reference(cls) -> "CoarsenConfig":
        """The choices of the authors' code."""
        return cls(similarity="degree", max_node_weight=50, isolated="merge", loops_are_neighbours=True)


def _check_count(field: str, value: object, *, least: int = 1, optional: bool = False) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        also = " or None" if optional else ""
        raise InputError(f"{field} must be a whole number of at least {least}{also}, not {value!r}.")
