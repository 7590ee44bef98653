"""Charts as SVG with real text: panels with axes, and figures of several panels with a legend.

In a page a panel is as wide as its column and keeps the size of its text; `Figure.svg` gives the same picture as a file
of fixed width. A panel is two SVG elements side by side: the names of its rows or heights, which have a fixed width,
and the plot, whose horizontal positions are shares of its width (see `axes`). Lines and bands stand in an element of
their own that is stretched.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from hiergcn.files import write_text
from hiergcn.reports import axes
from hiergcn.reports.axes import Axis, Shape, number
from hiergcn.reports.palette import INK, LINE, MUTED, light

LETTER = 6.7
"""Mean width of a letter in pixels, of the 12 pixels high text of charts."""
LINE_HEIGHT = 18
RIGHT = 16
"""Room to the right of a plot for half a tick's name."""
STRETCH = 1000
"""Width of the coordinates of lines and bands."""
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


class Entry(NamedTuple):
    """An entry of a legend."""

    name: str
    colour: str
    shape: Shape = "dot"


class Panel:
    """A plot with two axes. Marks are drawn in the order in which they are added, lines and bands below them."""

    def __init__(self, x: Axis, y: Axis, *, height: int = 220, title: str = "", grid: str = "xy") -> None:
        self.x, self.y, self.title = x, y, title
        head = LINE_HEIGHT * (bool(title) + bool(y.title))
        self.top, self.height = head + 6, height
        self.bottom = self.top + height
        self.total = self.bottom + (LINE_HEIGHT if x.names else 4) + (LINE_HEIGHT if x.title else 0)
        self.left = max((round(LETTER * len(name)) + 10 for name in y.names), default=0)
        self._grid = grid
        self._stretched: list[str] = []
        self._marks: list[str] = []

    def down(self, value: float) -> float:
        """Return the height of a value in pixels from the top."""
        return self.bottom - self.y.at(value) * self.height

    def line(
        self,
        x: Iterable[float],
        y: Iterable[float],
        colour: str,
        name: str = "",
        dash: str = "",
        *,
        width: float = 1.8,
        opacity: float = 1.0,
    ) -> None:
        """Add a line; pointing near it shows its name and values. A value that is not a number interrupts it."""
        points = [
            (STRETCH * self.x.at(a), self.down(b)) if a == a and b == b else None for a, b in zip(x, y, strict=True)
        ]
        if path := _path(points):
            look = f'fill="none" stroke="{colour}" stroke-width="{number(width)}" vector-effect="non-scaling-stroke"'
            look += "" if opacity == 1 else f' stroke-opacity="{number(opacity)}" stroke-linecap="round"'
            dashed = f' stroke-dasharray="{dash}"' if dash else ""
            named = f' data-name="{escape(name)}"' if name else ""
            self._stretched.append(f'<path d="{path}" {look} stroke-linejoin="round"{dashed}{named}/>')

    def band(
        self, x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str, opacity: float
    ) -> None:
        """Add a band between two lines."""
        there = [(STRETCH * self.x.at(a), self.down(b)) for a, b in zip(x, low, strict=True) if b == b]
        back = [(STRETCH * self.x.at(a), self.down(b)) for a, b in zip(x, high, strict=True) if b == b]
        if there:
            path = _path([*there, *reversed(back)]) + "Z"
            self._stretched.append(f'<path d="{path}" fill="{colour}" fill-opacity="{number(opacity)}"/>')

    def dots(
        self,
        x: Iterable[float],
        y: Iterable[float],
        colour: str,
        shape: Shape = "dot",
        size: float = 4.5,
        tips: Iterable[str] | None = None,
    ) -> None:
        points = [(a, b) for a, b in zip(x, y, strict=True)]
        for (a, b), tip in zip(points, tips if tips is not None else [""] * len(points), strict=True):
            if a == a and b == b:
                self._marks.append(axes.mark(self.x.at(a), self.down(b), colour, shape, size, tip))

    def across(self, low: float, high: float, y: float, colour: str = INK, width: float = 1.6) -> None:
        """Add a horizontal interval."""
        self._marks.append(axes.interval(self.x.at(low), self.x.at(high), self.down(y), colour, width))

    def up(self, x: float, low: float, high: float, colour: str = INK, width: float = 1.2, tip: str = "") -> None:
        """Add a vertical interval."""
        ends = self.down(low), self.down(high)
        self._marks.append(axes.upright(self.x.at(x), *ends, colour, width, tip=tip))

    def bar(
        self, x: tuple[float, float], y: float, thick: float, colour: str, *, opacity: float = 1.0, tip: str = ""
    ) -> None:
        """Add a horizontal bar, `thick` pixels high."""
        ends = self.x.at(x[0]), self.x.at(x[1])
        self._marks.append(axes.bar(*ends, self.down(y), thick, colour, opacity, tip))

    def column(
        self, x: tuple[float, float], y: tuple[float, float], colour: str, *, opacity: float = 1.0, tip: str = ""
    ) -> None:
        """Add a box from one value to another on both axes."""
        low, high = sorted((self.down(y[0]), self.down(y[1])))
        box = axes.bar(self.x.at(x[0]), self.x.at(x[1]), (low + high) / 2, high - low, colour, opacity, tip)
        self._marks.append(box)

    def rule(
        self, *, x: float | None = None, y: float | None = None, colour: str = INK, dash: str = "", tip: str = ""
    ) -> None:
        """Add a line over the whole plot at a value of one axis."""
        if x is not None:
            self._marks.append(axes.upright(self.x.at(x), self.top, self.bottom, colour, 1.4, dash, tip))
        if y is not None:
            ends = f'x1="0" x2="100%" y1="{number(self.down(y))}" y2="{number(self.down(y))}"'
            dashed = f' stroke-dasharray="{dash}"' if dash else ""
            self._marks.append(f'<line {ends} stroke="{colour}" stroke-width="1.4"{dashed}{axes.tip_attribute(tip)}/>')

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        anchor: str = "middle",
        dx: float = 0,
        dy: float = 4,
        colour: str = MUTED,
        strong: bool = False,
    ) -> None:
        """Add words near a point."""
        place = self.x.at(x), self.down(y) + dy
        self._marks.append(axes.text(*place, words, anchor=anchor, dx=dx, colour=colour, strong=strong))

    def names(self) -> str:
        """Return the names of the heights, right-aligned at `left`."""
        at = self.left - 8
        texts = (
            f'<text x="{at}" y="{number(self.down(tick) + 4)}" fill="{MUTED}" text-anchor="end">{escape(name)}</text>'
            for tick, name in zip(self.y.ticks, self.y.names, strict=True)
        )
        return "".join(texts)

    def plot(self) -> str:
        """Return grid, names of the horizontal axis, lines and axes."""
        parts = []
        if self.title:
            parts.append(axes.text(0, 13, self.title, anchor="start", dx=-self.left, colour=INK, strong=True))
        if self.y.title:
            up = self.top - 10
            parts.append(axes.text(0, up, self.y.title, anchor="start", dx=-self.left))
        if "y" in self._grid:
            for tick in self.y.ticks:
                y = number(self.down(tick))
                parts.append(f'<line x1="0" x2="100%" y1="{y}" y2="{y}" stroke="{LINE}"/>')
        for tick, name in zip(self.x.ticks, self.x.names, strict=True):
            if "x" in self._grid:
                parts.append(axes.upright(self.x.at(tick), self.top, self.bottom, LINE))
            parts.append(axes.text(self.x.at(tick), self.bottom + 16, name))
        if self.x.title:
            parts.append(axes.text(1, self.bottom + 16 + LINE_HEIGHT, self.x.title, anchor="end"))
        if self._stretched:
            box = f'viewBox="0 {self.top} {STRETCH} {self.height}" preserveAspectRatio="none"'
            place = f'y="{self.top}" width="100%" height="{self.height}"'
            parts.append(f"<svg {place} {box}>{''.join(self._stretched)}</svg>")
        return "".join([*parts, *self._marks])

    def html(self, description: str) -> Markup:
        """Return the panel for a page; screen readers read `description`."""
        size = f'height="{self.total}"'
        scales = " ".join(
            f'data-{name}="{axis.low:g} {axis.high:g} {int(axis.log)}"' for name, axis in (("x", self.x), ("y", self.y))
        )
        names = f'<svg width="{self.left}" {size}>{self.names()}</svg>'
        plot = f'<svg class="plot" {size} {scales} data-title="{escape(self.x.title)}">{self.plot()}</svg>'
        return Markup(  # noqa: S704  (every text was escaped)
            f'<div class="panel" role="img" aria-label="{escape(description)}">{names}{plot}</div>'
        )


@dataclass(frozen=True)
class Figure:
    """Panels in rows, with one legend."""

    panels: Sequence[Panel]
    legend: Sequence[Entry] = ()
    columns: int = 1

    def html(self, description: str) -> Markup:
        """Return the figure for a page: panels stand in as many columns as there is room for."""
        panels = Markup("").join(
            panel.html(f"{panel.title}: {description}" if panel.title else description) for panel in self.panels
        )
        style = f' style="--columns: {self.columns}"'
        return Markup("{}<div class='panels'{}>{}</div>").format(legend_html(self.legend), Markup(style), panels)  # noqa: S704

    def svg(self, width: int = 760) -> str:
        """Return the figure as a file in the colours of the light theme."""
        head, y = legend_svg(self.legend, width)
        parts = [head]
        each = (width - 24 * (self.columns - 1)) / self.columns
        for first in range(0, len(self.panels), self.columns):
            row = self.panels[first : first + self.columns]
            for place, panel in enumerate(row):
                x, wide = place * (each + 24), each - panel.left - RIGHT
                at = f'y="{y}" height="{panel.total}" overflow="visible"'
                parts.append(f'<svg x="{number(x)}" width="{panel.left}" {at}>{panel.names()}</svg>')
                plot = f'<svg x="{number(x + panel.left)}" width="{number(wide)}" {at}>{panel.plot()}</svg>'
                parts.append(plot)
            y += max(panel.total for panel in row) + 14
        return svg_file(parts, width, y)

    def save(self, path: Path, width: int = 760) -> Path:
        """Write the figure as an SVG file. The same figure gives the same bytes."""
        return write_text(path, self.svg(width))


def svg_file(parts: Sequence[str], width: float, height: float, margin: int = 12) -> str:
    """Return the text of an SVG file with a margin around its parts, in the colours of the light theme."""
    wide, high = width + 2 * margin, height + 2 * margin
    size = f'width="{number(wide)}" height="{number(high)}"'
    box = f'viewBox="{-margin} {-margin} {number(wide)} {number(high)}"'
    ground = f'<rect x="{-margin}" y="{-margin}" width="100%" height="100%" fill="var(--paper)"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} font-family="{FONT}" font-size="12">'
    return light("".join([head, ground, *parts, "</svg>\n"]))


def legend_html(entries: Sequence[Entry]) -> Markup:
    """Return a legend as a list; nothing if it has no entries."""
    if not entries:
        return Markup()
    items = Markup("").join(
        Markup('<li><svg width="18" height="12" aria-hidden="true">{}</svg>{}</li>').format(
            Markup(axes.swatch(one.colour, one.shape)),  # noqa: S704
            one.name,
        )
        for one in entries
    )
    return Markup('<ul class="legend">{}</ul>').format(items)


def legend_svg(entries: Sequence[Entry], width: int) -> tuple[str, int]:
    """Return the legend in as many lines as it needs, and the height below it."""
    x, y, parts = 0.0, 4, []
    for one in entries:
        wide = 24 + LETTER * len(one.name) + 18
        if x and x + wide > width:
            x, y = 0.0, y + LINE_HEIGHT
        parts.append(f'<svg x="{number(x)}" y="{y}" width="18" height="12">{axes.swatch(one.colour, one.shape)}</svg>')
        parts.append(f'<text x="{number(x + 24)}" y="{y + 10}" fill="{INK}">{escape(one.name)}</text>')
        x += wide
    return "".join(parts), y + (LINE_HEIGHT + 6 if entries else 0)


def _path(points: Sequence[tuple[float, float] | None]) -> str:
    """Return the path through the points; None begins a new piece."""
    words, start = [], True
    for point in points:
        if point is None:
            start = True
            continue
        words.append(f"{'M' if start else 'L'}{number(point[0])} {number(point[1])}")
        start = False
    return "".join(words)
