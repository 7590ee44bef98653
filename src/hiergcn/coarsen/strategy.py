"""What a grouping strategy is, and the names under which strategies are known."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiergcn.errors import InputError

if TYPE_CHECKING:
    from hiergcn.coarsen.config import CoarsenConfig


class Strategy(Protocol):
    """One way to group the nodes of a level into hyper-nodes.

    Any function with this signature is one: give it as `CoarsenConfig(strategy=function)`, or name it with
    `register_strategy`.
    """

    def __call__(
        self,
        adjacency: sp.csr_array,  # (n, n), canonical and symmetric
        node_weight: npt.NDArray[np.int64],  # (n,), original nodes in each node
        config: "CoarsenConfig",
        rng: np.random.Generator,
        /,
    ) -> npt.NDArray[Any]:
        """A label of 0..n-1 for each node, (n,): nodes with the same label become one hyper-node.

        Which labels are used does not matter: hyper-nodes are numbered afterwards, by smallest member.
        """


S = TypeVar("S", bound=Strategy)

_STRATEGIES: dict[str, Strategy] = {}


def register_strategy(name: str) -> Callable[[S], S]:
    """A decorator that makes a strategy known as `CoarsenConfig(strategy=name)`, in saved hierarchies too."""

    def register(strategy: S) -> S:
        if _STRATEGIES.setdefault(name, strategy) is not strategy:
            raise InputError(f"A grouping strategy named {name!r} exists already; choose another name.")
        return strategy

    return register


def strategy_names() -> tuple[str, ...]:
    """The names of the registered strategies, in alphabetical order."""
    return tuple(sorted(_STRATEGIES))


def find_strategy(strategy: str | Strategy) -> Strategy:
    """The strategy itself, from its name where it is given by name."""
    if not isinstance(strategy, str):
        return strategy
    if strategy not in _STRATEGIES:
        raise InputError(f"There is no grouping strategy {strategy!r}; choose one of {', '.join(strategy_names())}.")
    return _STRATEGIES[strategy]


def strategy_name(strategy: str | Strategy) -> str:
    """The name to write down: as registered, else the function's own."""
    if isinstance(strategy, str):
        return strategy
    for name, known in _STRATEGIES.items():
        if known is strategy:
            return name
    return str(getattr(strategy, "__name__", type(strategy).__name__))
