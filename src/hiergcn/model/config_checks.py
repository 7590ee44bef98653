"""Checks that the settings of several methods share. Each raises an `InputError` that names the setting."""

import math
from typing import Any

from hiergcn.errors import InputError
from hiergcn.model.features import SCALINGS


def check_whole(config: Any, **least: int) -> None:
    """Check that each named setting is a whole number of at least the given value."""
    for name, low in least.items():
        value = getattr(config, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise InputError(f"{name} is {value!r}; give a whole number of at least {low}.")


def check_rates(config: Any, *names: str) -> None:
    """Check that each named setting is a dropout rate."""
    for name in names:
        value = getattr(config, name)
        if not 0.0 <= value < 1.0:
            raise InputError(f"{name} is {value!r}; give a rate from 0 up to, but not including, 1.")


def check_scaling(config: Any) -> None:
    """Check that the setting `scaling` is known."""
    if config.scaling not in SCALINGS:
        raise InputError(f"scaling is {config.scaling!r}; give one of {', '.join(SCALINGS)}.")


def check_positive(config: Any, *names: str) -> None:
    """Check that each named setting is a finite number above 0."""
    for name in names:
        value = getattr(config, name)
        if not 0.0 < value < math.inf:
            raise InputError(f"{name} is {value!r}; give a number above 0.")


def check_share(config: Any, *names: str) -> None:
    """Check that each named setting is a share, from 0 to 1."""
    for name in names:
        value = getattr(config, name)
        if not 0.0 <= value <= 1.0:
            raise InputError(f"{name} is {value!r}; give a number from 0 to 1.")


def check_true_share(config: Any, *names: str) -> None:
    """Check that each named setting is a share, neither 0 nor 1."""
    for name in names:
        value = getattr(config, name)
        if not 0.0 < value < 1.0:
            raise InputError(f"{name} is {value!r}; give a number between 0 and 1.")
