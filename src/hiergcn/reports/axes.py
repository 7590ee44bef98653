"""Axes of charts: ranges of values with round ticks."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """A range of values, its ticks and their names."""

    low: float
    high: float
    ticks: tuple[float, ...]
    names: tuple[str, ...]
    title: str = ""
    log: bool = False

    def at(self, value: float) -> float:
        """Return the position of a value on the axis, from 0 for the lowest to 1 for the highest."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = (math.log(max(end, 1e-300)) for end in (value, low, high))
        return (value - low) / (high - low)


def span(
    values: Iterable[float],
    title: str = "",
    *,
    zero: bool = False,
    most: float | None = None,
    room: float = 0.06,
    round_ends: bool = False,
) -> Axis:
    """Return an axis that holds all values with a little room on both sides, or from zero, or up to `most`.

    With `round_ends` it begins and ends at a tick.
    """
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    margin = room * (high - low) or max(abs(high), 1.0) * 0.05
    low, high = (0.0 if zero else low - margin), high + margin
    rough = ((high if most is None else min(high, most)) - low) / (4 if round_ends else 6)
    power = 10.0 ** math.floor(math.log10(rough))  # a round distance that gives at most 4 or 6 ticks
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= rough * (1 - 1e-9))
    if round_ends:
        low, high = step * math.floor(low / step), step * math.ceil(high / step)
    high = high if most is None else min(high, most)
    ticks = [step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    return Axis(low, high, tuple(ticks), tuple(_name(tick, step) for tick in ticks), title)


def whole_numbers(values: Sequence[int], title: str = "", most: int = 8) -> Axis:
    """Return an axis with a tick at whole numbers, half a step wider than the values."""
    low, high = min(values), max(values)
    step = max(1, math.ceil((high - low) / most))
    ticks = tuple(float(tick) for tick in range(low, high + 1, step))
    margin = 0.5 * step if len(ticks) < 2 * most else 0.0
    return Axis(low - margin, high + margin, ticks, tuple(f"{tick:,.0f}" for tick in ticks), title)


def powers(values: Iterable[float], title: str = "", room: float = 0.06) -> Axis:
    """Return a logarithmic axis with ticks at powers of ten, or between them if there are fewer than three."""
    positive = [value for value in values if value > 0 and math.isfinite(value)] or [1.0, 10.0]
    low, high = math.log10(min(positive)), math.log10(max(positive))
    wide = max(high - low, 0.3)
    low, high = low - room * wide, high + room * wide
    decades = range(math.floor(low), math.ceil(high) + 1)
    digits = (1,) if high - low > 2.5 else (1, 3) if high - low > 1.2 else (1, 2, 5)
    ticks = [digit * 10.0**decade for decade in decades for digit in digits]
    ticks = [tick for tick in ticks if low - 1e-9 <= math.log10(tick) <= high + 1e-9]
    return Axis(10**low, 10**high, tuple(ticks), tuple(map(_short, ticks)), title, log=True)


def rows(names: Sequence[str]) -> Axis:
    """Return an axis of names at 0, 1, ..., the first at its high end, which is the top."""
    return Axis(len(names) - 0.5, -0.5, tuple(map(float, range(len(names)))), tuple(names))


def _name(tick: float, step: float) -> str:
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{abs(tick):,.{digits}f}" if abs(tick) < step / 2 else f"{tick:,.{digits}f}".replace("-", "−")


def _short(value: float) -> str:
    """Format a tick of a logarithmic axis: 0.001, 10, 5 k, 2 M."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if value >= size:
            return f"{value / (1e3 if unit == ' k' else size):g}{unit}"
    return f"{value:g}" if value >= 1e-4 else f"{value:.0e}".replace("e-0", "e-")
