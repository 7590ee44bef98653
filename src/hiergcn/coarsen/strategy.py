"""Grouping strategies: what one is, the names under which they are registered, and the configuration of coarsening."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiergcn.compiled.csr import Int64s
from hiergcn.errors import InputError


class Strategy(Protocol):
    """One way to group the nodes of a level into hyper-nodes.

    Any function with this signature is one: give it as `CoarsenConfig(strategy=function)`, or name it with
    `register_strategy`.
    """

    def __call__(
        self,
        adjacency: sp.csr_array,  # (n, n), canonical and symmetric
        node_weight: Int64s,  # (n,), original nodes in each node
        config: "CoarsenConfig",
        rng: np.random.Generator,
        /,
    ) -> npt.NDArray[Any]:
        """Return a label of 0..n-1 for each node, (n,): nodes with the same label become one hyper-node.

        The labels themselves do not matter: hyper-nodes are numbered afterwards, by smallest member.
        """


S = TypeVar("S", bound=Strategy)

_STRATEGIES: dict[str, Strategy] = {}


def register_strategy(name: str) -> Callable[[S], S]:
    """Decorate a strategy to register it as `CoarsenConfig(strategy=name)`, in saved hierarchies too."""

    def register(strategy: S) -> S:
        if _STRATEGIES.setdefault(name, strategy) is not strategy:
            raise InputError(f"A grouping strategy named {name!r} exists already; choose another name.")
        return strategy

    return register


def strategy_names() -> tuple[str, ...]:
    """Return the names of the registered strategies, in alphabetical order."""
    return tuple(sorted(_STRATEGIES))


def find_strategy(strategy: str | Strategy) -> Strategy:
    """Return the strategy itself if it is given by name."""
    if not isinstance(strategy, str):
        return strategy
    if strategy not in _STRATEGIES:
        raise InputError(f"There is no grouping strategy {strategy!r}; choose one of {', '.join(strategy_names())}.")
    return _STRATEGIES[strategy]


def strategy_name(strategy: str | Strategy) -> str:
    """Return the name to save: as registered, else the function's own."""
    if isinstance(strategy, str):
        return strategy
    for name, known in _STRATEGIES.items():
        if known is strategy:
            return name
    return str(getattr(strategy, "__name__", type(strategy).__name__))


@dataclass(frozen=True)
class CoarsenConfig:
    """How nodes are grouped. The defaults follow the paper's text; `CoarsenConfig.reference()` the authors' code."""

    strategy: str | Strategy = "hgcn"
    """`hgcn` (the paper's equivalence and similarity grouping), `random`, `heavy-edge`, `two-hop`, a registered name,
    or a function (see `Strategy`)."""

    similarity: Literal["node_weight", "degree"] = "node_weight"
    """D in the similarity A_jk / sqrt(D_j D_k): the node weight, as in the text, or the weighted degree, self-loop
    included.

    Reference: the authors' code divides by the degree (and reads the edge weight at a wrong index, which we do not
    repeat)."""

    equivalence_limit: int | None = None
    """The most nodes that equivalence grouping puts into one hyper-node: None for whole classes, 2 for the pairs of
    the paper's text, 1 for no equivalence grouping."""

    max_node_weight: int | None = None
    """A pair whose node weights sum to more is not matched; equivalence grouping has no such limit. None for no limit.

    Reference: 50 in the authors' code."""

    isolated: Literal["alone", "merge"] = "alone"
    """Nodes without neighbours: each stays alone, since it shares no neighbours, or all are one equivalence class.

    Reference: merged in the authors' code."""

    loops_are_neighbours: bool = False
    """Whether a node with a self-loop, as hyper-nodes have, is its own neighbour when neighbours are compared and
    counted.

    Reference: it is in the authors' code."""

    seed: int = 0
    """Seed of the strategies that draw at random; `hgcn` does not."""

    def __post_init__(self) -> None:
        find_strategy(self.strategy)
        if not isinstance(self.strategy, str) and not callable(self.strategy):
            raise InputError(f"The strategy must be a name or a function, not {self.strategy!r}.")
        if self.similarity not in ("node_weight", "degree"):
            raise InputError(f"The similarity must be 'node_weight' or 'degree', not {self.similarity!r}.")
        if self.isolated not in ("alone", "merge"):
            raise InputError(f"The setting isolated must be 'alone' or 'merge', not {self.isolated!r}.")
        if not isinstance(self.loops_are_neighbours, bool):
            raise InputError(f"Setting loops_are_neighbours must be true or false, not {self.loops_are_neighbours}.")
        _check_count("equivalence_limit", self.equivalence_limit, optional=True)
        _check_count("max_node_weight", self.max_node_weight, optional=True)
        _check_count("seed", self.seed, least=0)

    @classmethod
    def reference(cls) -> "CoarsenConfig":
        """Return the choices of the authors' code."""
        return cls(similarity="degree", max_node_weight=50, isolated="merge", loops_are_neighbours=True)


def _check_count(field: str, value: object, *, least: int = 1, optional: bool = False) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        also = " or None" if optional else ""
        raise InputError(f"The setting {field} must be a whole number of at least {least}{also}, not {value!r}.")
