"""Checks that the settings of several methods share. Each raises an `InputError` that names the setting."""

import math
from collections.abc import Callable
from typing import Any, Literal

from hiergcn.errors import InputError

Scaling = Literal["row", "l2", "binary", "standard", "none"]
SCALINGS: tuple[Scaling, ...] = ("row", "l2", "binary", "standard", "none")


def check_whole(config: Any, **least: int) -> None:
    """Check that each named setting is a whole number of at least the given value."""
    for name, low in least.items():
        value = getattr(config, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise InputError(f"{name} is {value!r}; give a whole number of at least {low}.")


def check_scaling(config: Any) -> None:
    """Check that the setting `scaling` is known."""
    _check(config, ("scaling",), lambda value: value in SCALINGS, f"one of {', '.join(SCALINGS)}")


def check_choices(config: Any, **choices: tuple[str, ...]) -> None:
    """Check that each named setting is one of its choices."""
    for name, allowed in choices.items():
        _check(config, (name,), allowed.__contains__, f"{', '.join(allowed[:-1])} or {allowed[-1]}")


def check_rates(config: Any, *names: str) -> None:
    """Check that each named setting is a dropout rate."""
    _check(config, names, lambda value: 0.0 <= value < 1.0, "a rate from 0 up to, but not including, 1")


def check_positive(config: Any, *names: str) -> None:
    """Check that each named setting is a finite number above 0."""
    _check(config, names, lambda value: 0.0 < value < math.inf, "a number above 0")


def check_share(config: Any, *names: str) -> None:
    """Check that each named setting is a share, from 0 to 1."""
    _check(config, names, lambda value: 0.0 <= value <= 1.0, "a number from 0 to 1")


def check_true_share(config: Any, *names: str) -> None:
    """Check that each named setting is a share, neither 0 nor 1."""
    _check(config, names, lambda value: 0.0 < value < 1.0, "a number between 0 and 1")


def _check(config: Any, names: tuple[str, ...], valid: Callable[[Any], bool], wanted: str) -> None:
    for name in names:
        if not valid(getattr(config, name)):
            raise InputError(f"{name} is {getattr(config, name)!r}; give {wanted}.")
