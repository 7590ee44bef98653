"""Axes and SVG marks of a chart: dots, intervals, bars and rules, placed by share of the width.

An axis turns values into shares of its length and has round ticks. Horizontal positions are shares of the width, from 0
to 1, and vertical ones are pixels. Text is text in the page's own font. A mark with a `tip` shows it when it is pointed
at. A `PlotColumn` is a column of a table whose cells are plots with one axis, the ticks of which stand in the head of
the table.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from markupsafe import Markup

from hiergcn.reports.palette import INK, LINE, MUTED, PAPER

Shape = Literal["dot", "ring", "diamond", "tick", "star", "line", "dashed", "band", "bar"]
"""Of a mark or of an entry of a legend; a legend alone has the last four."""


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
        if self.log:
            value, low, high = (math.log(max(one, 1e-300)) for one in (value, self.low, self.high))
        else:
            low, high = self.low, self.high
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
    found = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(found), max(found)
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
    found = [value for value in values if value > 0 and math.isfinite(value)] or [1.0, 10.0]
    low, high = math.log10(min(found)), math.log10(max(found))
    wide = max(high - low, 0.3)
    low, high = low - room * wide, high + room * wide
    decades = range(math.floor(low), math.ceil(high) + 1)
    digits = (1,) if high - low > 2.5 else (1, 3) if high - low > 1.2 else (1, 2, 5)
    ticks = [digit * 10.0**decade for decade in decades for digit in digits]
    ticks = [tick for tick in ticks if low - 1e-9 <= math.log10(tick) <= high + 1e-9]
    return Axis(10**low, 10**high, tuple(ticks), tuple(map(_short, ticks)), title, log=True)


def rows(names: Sequence[str]) -> Axis:
    """Return an axis of names at 0, 1, ..., the first at its high end, which is the top."""
    ticks = tuple(float(place) for place in range(len(names)))
    return Axis(len(names) - 0.5, -0.5, ticks, tuple(names), "")


def _name(tick: float, step: float) -> str:
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{abs(tick):,.{digits}f}" if abs(tick) < step / 2 else f"{tick:,.{digits}f}".replace("-", "−")


def _short(value: float) -> str:
    """Format a tick of a logarithmic axis: 0.001, 10, 5 k, 2 M."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if value >= size:
            return f"{value / (1e3 if unit == ' k' else size):g}{unit}"
    return f"{value:g}" if value >= 1e-4 else f"{value:.0e}".replace("e-0", "e-")


def number(value: float) -> str:
    """Format a coordinate in as few letters as are needed."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def share(value: float) -> str:
    """Format a share of the width."""
    return f"{number(100 * value)}%"


def tip_attribute(tip: str) -> str:
    return f' data-tip="{escape(tip)}"' if tip else ""


def mark(x: float, y: float, colour: str, shape: Shape = "dot", size: float = 4.5, tip: str = "") -> str:
    """Return a mark; `size` is half its height. A ring is a dot that is open."""
    tail = tip_attribute(tip)
    if shape in ("dot", "ring"):
        fill = f'fill="{colour}"' if shape == "dot" else f'fill="{PAPER}" stroke="{colour}" stroke-width="1.6"'
        return f'<circle cx="{share(x)}" cy="{number(y)}" r="{number(size)}" {fill}{tail}/>'
    if shape == "tick":
        ends = f'x1="{share(x)}" x2="{share(x)}" y1="{number(y - size)}" y2="{number(y + size)}"'
        return f'<line {ends} stroke="{colour}" stroke-width="2.2"{tail}/>'
    if shape == "diamond":
        a = number(1.15 * size)
        outline = f"M0-{a}L{a} 0L0 {a}L-{a} 0Z"
    else:
        half = ((0, -1), (0.24, -0.32), (0.95, -0.31), (0.38, 0.12), (0.59, 0.81), (0, 0.4))
        points = [*half, *((-right, down) for right, down in reversed(half[1:-1]))]
        outline = "M" + "L".join(f"{number(1.3 * size * a)} {number(1.3 * size * b)}" for a, b in points) + "Z"
    path = f'<path d="{outline}" fill="{colour}"{tail}/>'
    return f'<svg x="{share(x)}" y="{number(y)}" overflow="visible">{path}</svg>'


def interval(low: float, high: float, y: float, colour: str = INK, width: float = 1.6) -> str:
    """Return a horizontal line between two shares of the width."""
    ends = f'x1="{share(low)}" x2="{share(high)}" y1="{number(y)}" y2="{number(y)}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{number(width)}" stroke-linecap="round"/>'


def upright(x: float, low: float, high: float, colour: str, width: float = 1.0, dash: str = "", tip: str = "") -> str:
    """Return a vertical line between two heights."""
    ends = f'x1="{share(x)}" x2="{share(x)}" y1="{number(low)}" y2="{number(high)}"'
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line {ends} stroke="{colour}" stroke-width="{number(width)}"{dashed}{tip_attribute(tip)}/>'


def bar(low: float, high: float, y: float, height: float, colour: str, opacity: float = 1.0, tip: str = "") -> str:
    """Return a bar from one share of the width to another; `y` is its middle."""
    low, high = min(low, high), max(low, high)
    box = f'x="{share(low)}" width="{share(high - low)}" y="{number(y - height / 2)}" height="{number(height)}"'
    look = f'fill="{colour}"' + ("" if opacity == 1 else f' fill-opacity="{number(opacity)}"')
    return f'<rect {box} {look} rx="1.5"{tip_attribute(tip)}/>'


def text(
    x: float, y: float, words: str, *, anchor: str = "middle", dx: float = 0, colour: str = MUTED, strong: bool = False
) -> str:
    """Return words on a line at height `y`, `dx` pixels to the right of a share of the width."""
    look = f'fill="{colour}" text-anchor="{anchor}"' + (' font-weight="600"' if strong else "")
    shift = f' dx="{number(dx)}"' if dx else ""
    return f'<text x="{share(x)}" y="{number(y)}"{shift} {look}>{escape(words)}</text>'


def swatch(colour: str, shape: Shape) -> str:
    """Return the sign of a legend's entry, 18 pixels wide and 12 high."""
    if shape in ("line", "dashed"):
        dash = ' stroke-dasharray="4 3"' if shape == "dashed" else ""
        return f'<line x1="0" x2="18" y1="6" y2="6" stroke="{colour}" stroke-width="2"{dash}/>'
    if shape in ("band", "bar"):
        faint = ' fill-opacity="0.25"' if shape == "band" else ""
        return f'<rect width="18" height="10" y="1" rx="1.5" fill="{colour}"{faint}/>'
    return mark(0.5, 6, colour, shape, 4.5)


HEIGHT = 24
MIDDLE = HEIGHT / 2
BEYOND = 24
"""The lines of the ticks are so much longer on both sides, to fill a higher row; the cell cuts them."""


class PlotColumn:
    """The plots of one column of a table."""

    def __init__(self, axis: Axis) -> None:
        self.axis = axis

    def head(self) -> Markup:
        names = zip(self.axis.ticks, self.axis.names, strict=True)
        return _cell(text(self.axis.at(tick), HEIGHT - 6, name) for tick, name in names)

    def cell(self, *drawn: str) -> Markup:
        """Return the marks of one row over the lines of the ticks. The table's other columns hold the values."""
        lines = [upright(self.axis.at(tick), -BEYOND, HEIGHT + BEYOND, LINE) for tick in self.axis.ticks]
        return _cell([*lines, *drawn])

    def mark(self, value: float, colour: str, shape: Shape = "dot", size: float = 5, tip: str = "") -> str:
        return mark(self.axis.at(value), MIDDLE, colour, shape, size, tip)

    def interval(self, low: float, high: float, colour: str, width: float = 1.6) -> str:
        left, right = (min(max(self.axis.at(value), 0.0), 1.0) for value in (low, high))
        return interval(left, right, MIDDLE, colour, width)

    def zero(self) -> str:
        return upright(self.axis.at(0.0), -BEYOND, HEIGHT + BEYOND, INK)

    def bar(self, value: float, colour: str, tip: str = "") -> str:
        """Return a bar from the start of the axis."""
        return bar(0.0, self.axis.at(value), MIDDLE, 12, colour, tip=tip)


def _cell(drawn: Iterable[str]) -> Markup:
    return Markup(f'<svg class="cell" height="{HEIGHT}" aria-hidden="true">{"".join(drawn)}</svg>')  # noqa: S704
