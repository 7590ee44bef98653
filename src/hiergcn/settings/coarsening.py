"""Settings of coarsening, and the names of the grouping strategies."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from hiergcn.errors import InputError
from hiergcn.settings.fields import CheckedConfig, Count, Whole, setting

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import scipy.sparse as sp


class Strategy(Protocol):
    """One way to group the nodes of a level into hyper-nodes.

    Any function with this signature is one: give it as `CoarsenConfig(strategy=function)`, or name it with
    `register_strategy`.
    """

    def __call__(
        self,
        adjacency: "sp.csr_array",  # (n, n), canonical and symmetric
        node_weight: "npt.NDArray[np.int64]",  # (n,), original nodes in each node
        config: "CoarsenConfig",
        rng: "np.random.Generator",
        /,
    ) -> "npt.NDArray[Any]":
        """Return a label of 0..n-1 for each node, (n,): nodes with the same label become one hyper-node.

        The labels themselves do not matter: hyper-nodes are numbered afterwards, by smallest member.
        """


S = TypeVar("S", bound=Strategy)

_STRATEGIES: dict[str, Strategy] = {}
_HOME = "hiergcn.coarsening"  # registers ours when it is imported, which settings alone do not need


def register_strategy(name: str) -> Callable[[S], S]:
    """Decorate a strategy to register it as `CoarsenConfig(strategy=name)`, in saved hierarchies too."""

    def register(strategy: S) -> S:
        if _STRATEGIES.setdefault(name, strategy) is not strategy:
            raise InputError(f"A grouping strategy named {name!r} exists already; choose another name.")
        return strategy

    return register


def registered_strategies() -> list[Strategy]:
    """Return the strategies that were registered so far."""
    return list(_STRATEGIES.values())


def strategy_names() -> tuple[str, ...]:
    """Return the names of the registered strategies, in alphabetical order."""
    import_module(_HOME)
    return tuple(sorted(_STRATEGIES))


def find_strategy(strategy: str | Strategy) -> Strategy:
    """Return the strategy itself if it is given by name."""
    if not isinstance(strategy, str):
        return strategy
    if strategy not in strategy_names():
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
class CoarsenConfig(CheckedConfig):
    """How nodes are grouped. The defaults follow the paper's text; `CoarsenConfig.reference()` the authors' code."""

    strategy: str | Callable[..., Any] = setting(
        "hgcn",
        "`hgcn` (the paper's equivalence and similarity grouping), `random`, `heavy-edge`, `two-hop`, a registered "
        "name, or a function (see `Strategy`).",
    )
    similarity: Literal["node_weight", "degree"] = setting(
        "node_weight",
        "D in the similarity A_jk / sqrt(D_j D_k): the node weight, as in the text, or the weighted degree, self-loop "
        "included. Reference: the authors' code divides by the degree (and reads the edge weight at a wrong index, "
        "which we do not repeat).",
    )
    equivalence_limit: Count | None = setting(
        None,
        "The most nodes that equivalence grouping puts into one hyper-node: None for whole classes, 2 for the pairs of "
        "the paper's text, 1 for no equivalence grouping.",
    )
    max_node_weight: Count | None = setting(
        None,
        "A pair whose node weights sum to more is not matched; equivalence grouping has no such limit. None for no "
        "limit. Reference: 50 in the authors' code.",
    )
    isolated: Literal["alone", "merge"] = setting(
        "alone",
        "Nodes without neighbours: each stays alone, since it shares no neighbours, or all are one equivalence class. "
        "Reference: merged in the authors' code.",
    )
    loops_are_neighbours: bool = setting(
        False,
        "Whether a node with a self-loop, as hyper-nodes have, is its own neighbour when neighbours are compared and "
        "counted. Reference: it is in the authors' code.",
    )
    seed: Whole = setting(0, "Seed of the strategies that draw at random; `hgcn` does not.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.strategy, str) and not callable(self.strategy):
            raise InputError(f"The strategy must be a name or a function, not {self.strategy!r}.")
        if isinstance(self.strategy, str) and self.strategy != "hgcn":
            find_strategy(self.strategy)

    @classmethod
    def reference(cls) -> "CoarsenConfig":
        """Return the choices of the authors' code."""
        return cls(similarity="degree", max_node_weight=50, isolated="merge", loops_are_neighbours=True)
