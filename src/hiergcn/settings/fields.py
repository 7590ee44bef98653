"""What a setting is: a field of a dataclass that says which values it takes and what it means.

    @dataclass(frozen=True)
    class GCNConfig(InputConfig):
        hidden: Count = setting(16, "Width of the hidden layers.")

The dataclass refuses wrong values. `settings_of` lists its fields for the shell, for help and for completion.
"""

import math
import types
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

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


def setting(default: Any, about: str) -> Any:
    """Return a field of a dataclass of settings, with its default and its meaning."""
    return field(default=default, metadata={"about": about})


class Setting(NamedTuple):
    """A field of a dataclass of settings."""

    name: str
    kind: Any
    """int, float, str, bool, a Literal, one of these with `Limits`, or one of these or None."""
    default: Any
    about: str
    group: str = ""
    """model, train or coarsen."""

    @property
    def plain_kind(self) -> Any:
        """The kind without its limits and without None."""
        kind = next(part for part in _alternatives(self.kind) if part is not types.NoneType)
        return get_args(kind)[0] if get_origin(kind) is Annotated else kind

    @property
    def is_optional(self) -> bool:
        """Whether it may be None."""
        return types.NoneType in _alternatives(self.kind)

    @property
    def limits(self) -> Limits:
        """The values that it takes."""
        kind = next(part for part in _alternatives(self.kind) if part is not types.NoneType)
        if get_origin(kind) is Annotated:
            limits: Limits = kind.__metadata__[0]
        elif get_origin(kind) is Literal:
            *others, last = choices = get_args(kind)
            limits = Limits(choices.__contains__, f"{', '.join(map(str, others))} or {last}")
        else:
            words = {bool: "true or false", int: "a whole number", float: "a number", str: "a name"}[kind]
            limits = Limits((lambda value: isinstance(value, bool)) if kind is bool else lambda _: True, words)
        return limits

    @property
    def values(self) -> str:
        """The values that it takes, in words."""
        return self.limits.words + (", or none" if self.is_optional else "")

    def check(self, value: Any) -> None:
        """Refuse a value that it does not take."""
        if not (value is None and self.is_optional) and not self.limits.allow(value):
            raise InputError(f"{self.name} is {value!r}; give {self.values}.")

    def parsed(self, given: Any) -> Any:
        """Return a value of the right type; text is parsed, so that `--set hidden=64` works. Refuse other values."""
        if not isinstance(given, str):
            value = given
        elif self.is_optional and given.lower() in ("none", "null"):
            value = None
        else:
            value = self._read(given)
        self.check(value)
        return value

    def _read(self, text: str) -> Any:
        kind = self.plain_kind
        if kind is bool:
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
                text.lower(), text
            )
        if kind not in (int, float):
            return text
        try:
            return kind(text)
        except ValueError:
            word = "a whole number" if kind is int else "a number"
            raise InputError(f"{self.name} is {text!r}; give {word}.") from None


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


class CheckedConfig:
    """Base of dataclasses of settings: raises an `InputError` that names the setting with a wrong value."""

    removed: ClassVar[dict[str, Any]] = {}
    """Settings of older runs, with the value that changes nothing."""

    def __post_init__(self) -> None:
        own: Any = type(self)
        for name, known in settings_of(own).items():
            known.check(getattr(self, name))


@cache
def settings_of(config: type[Any]) -> dict[str, Setting]:
    """Return the fields of a dataclass of settings, by name. A field with another default keeps its base's meaning."""
    kinds, meanings = get_type_hints(config, include_extras=True), dict[str, str]()
    for base in reversed(config.__mro__):
        own = getattr(base, "__dataclass_fields__", {})
        meanings |= {name: one.metadata["about"] for name, one in own.items() if one.metadata}
    return {
        one.name: Setting(one.name, kinds[one.name], one.default, meanings.get(one.name, "")) for one in fields(config)
    }


@dataclass(frozen=True)
class MethodConfig(CheckedConfig):
    """Base of the settings of a method, and what is known of the method without importing torch."""

    uses_hierarchy: ClassVar[bool] = False
    closed_form: ClassVar[bool] = False
    """Whether the first step learns everything, without gradients. Then no training setting has an effect."""
    predicts_numbers: ClassVar[bool] = False
    """Whether its models also learn numbers: built for one class, they return one column, and `Labelled.loss` of it is
    their objective."""
    label_only: ClassVar[bool] = False
    """Whether a model is its training labels alone. On another graph it learns again from those that it finds there."""
