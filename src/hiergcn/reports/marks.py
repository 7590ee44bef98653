"""SVG marks of a chart: dots, intervals, bars and rules, placed by share of the width.

Horizontal positions are shares of the width, from 0 to 1, and vertical ones are pixels. Text is text in the page's own
font. A mark with a `tip` shows it when it is pointed at. A `PlotColumn` is a column of a table whose cells are
plots with one axis, the ticks of which stand in the head of the table.
"""

from collections.abc import Iterable
from html import escape
from typing import Literal

from markupsafe import Markup

from hiergcn.reports.axes import Axis
from hiergcn.reports.palette import INK, LINE, MUTED, PAPER

Shape = Literal["dot", "ring", "diamond", "tick", "star", "line", "dashed", "band", "bar"]
"""Of a mark or of an entry of a legend; a legend alone has the last four."""


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
    path = f'<path d="{_outline(shape, size)}" fill="{colour}"{tail}/>'
    return f'<svg x="{share(x)}" y="{number(y)}" overflow="visible">{path}</svg>'


def _outline(shape: Shape, size: float) -> str:
    """Return the path of a diamond or a star around the origin."""
    if shape == "diamond":
        a = number(1.15 * size)
        return f"M0-{a}L{a} 0L0 {a}L-{a} 0Z"
    points = ((0, -1), (0.24, -0.32), (0.95, -0.31), (0.38, 0.12), (0.59, 0.81), (0, 0.4))
    mirrored = [*points, *((-x, y) for x, y in reversed(points[1:-1]))]
    return "M" + "L".join(f"{number(1.3 * size * x)} {number(1.3 * size * y)}" for x, y in mirrored) + "Z"


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
