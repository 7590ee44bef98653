"""Types of settings. Each says which values a setting takes, and `CheckedConfig` refuses others."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_args, get_origin, get_type_hints

from hiergcn.errors import InputError


class Limits(NamedTuple):
    """A test of a value, and the values that pass it in words."""

    allow: Callable[[Any], bool]
    words: str


def at_least(low: int) -> Limits:
    """Return the limits of whole numbers of at least `low`."""

    def allow(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= low

    return Limits(allow, f"a whole number of at least {low}")


Whole = Annotated[int, at_least(0)]
Count = Annotated[int, at_least(1)]
Rate = Annotated[float, Limits(lambda value: 0.0 <= value < 1.0, "a rate from 0 up to, but not including, 1")]
Share = Annotated[float, Limits(lambda value: 0.0 <= value <= 1.0, "a number from 0 to 1")]
TrueShare = Annotated[float, Limits(lambda value: 0.0 < value < 1.0, "a number between 0 and 1")]
Positive = Annotated[float, Limits(lambda value: 0.0 < value < math.inf, "a number above 0")]
NonNegative = Annotated[float, Limits(lambda value: 0.0 <= value < math.inf, "a number of at least 0")]
Scaling = Literal["row", "l2", "binary", "standard", "none"]  # of features; explained in `features`
SCALING_MEANING = (
    "Scaling of the features: rows that sum to 1 (row) or have length 1 (l2), 1 for non-zeros (binary), columns of "
    "mean 0 and deviation 1 (standard), or none."
)
SCALINGS: tuple[Scaling, ...] = get_args(Scaling)


class CheckedConfig:
    """Base of dataclasses of settings: raises an `InputError` that names the setting with a wrong value."""

    def __post_init__(self) -> None:
        own: Any = type(self)
        for name, limits in _limits(own).items():
            value = getattr(self, name)
            if not limits.allow(value):
                raise InputError(f"{name} is {value!r}; give {limits.words}.")


@dataclass(frozen=True)
class InputConfig(CheckedConfig):
    """Settings that every method with features has."""

    removed: ClassVar[dict[str, Any]] = {"fade": 0.0, "column_dropout": 0.0}
    """Settings of older runs, with the value that changes nothing."""
    harmonic: bool = field(default=False, kw_only=True)
    """Add the training labels, diffused over the graph to convergence, as columns."""
    sharp: bool = field(default=False, kw_only=True)
    """Diffuse harmonic columns so that borders between classes move to bottlenecks of the graph."""
    degrees: bool = field(default=False, kw_only=True)
    """Take a node's degree, its neighbours' and its clustering coefficient as the only features."""
    hop_counts: bool = field(default=False, kw_only=True)
    """Add the logarithm of the number of nodes within 1, 2, 4, ..., 64 hops as columns."""
    hop_means: bool = field(default=False, kw_only=True)
    """Add the mean features of the nodes within 1, 2, 4, ..., 32 hops as columns."""
    nearness: bool = field(default=False, kw_only=True)
    """Add a perceptron over the hops to the nearest training label of each class."""
    nearness_shares: bool = field(default=False, kw_only=True)
    """Let that perceptron see the shares of the classes among the training labels around a node, too."""
    nearness_weight: TrueShare = field(default=0.5, kw_only=True)
    """Weight of that perceptron in the mean with the network."""


@cache
def _limits(config: type[Any]) -> dict[str, Limits]:
    found = {}
    for name, kind in get_type_hints(config, include_extras=True).items():
        if get_origin(kind) is Annotated:
            (found[name],) = kind.__metadata__
        elif get_origin(kind) is Literal:
            *others, last = choices = get_args(kind)
            found[name] = Limits(choices.__contains__, f"{', '.join(others)} or {last}")
    return found
