"""Charts as SVG with real text: marks on axes, cells of tables, panels, and figures of several panels with a legend.

Horizontal positions are shares of the width, so that a plot is as wide as its column and keeps the size of its text;
vertical ones are pixels. `Figure.svg` gives the same picture as a file of fixed width. A panel is two SVG elements side
by side: the names of its rows or heights, which have a fixed width, and the plot. Lines and bands stand in an element
of their own that is stretched. A mark with a `tip` shows it when it is pointed at.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal, NamedTuple

from markupsafe import Markup

from hiergcn.files import write_text
from hiergcn.reports.axes import Axis
from hiergcn.reports.palette import INK, LINE, MUTED, PAPER, light

LETTER = 6.7
"""Mean width of a letter in pixels, of the 12 pixels high text of charts."""
LINE_HEIGHT = 18
RIGHT = 16
"""Room to the right of a plot for half a tick's name."""
STRETCH = 1000
"""Width of the coordinates of lines and bands."""
CELL_HEIGHT = 24
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
STAR = ((0, -1), (0.24, -0.32), (0.95, -0.31), (0.38, 0.12), (0.59, 0.81), (0, 0.4))
"""Its right half, from the top to the bottom."""

Shape = Literal["dot", "ring", "diamond", "tick", "star", "line", "dashed", "band", "bar"]
"""Of a mark or of an entry of a legend; a legend alone has the last four."""


def number(value: float) -> str:
    """Format a coordinate in as few letters as are needed."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def share(value: float) -> str:
    """Format a share of the width."""
    return f"{number(100 * value)}%"


def attributes(**values: str | float | None) -> str:
    """Return attributes of an SVG element without those that are None or empty; nothing is escaped."""
    return "".join(
        f' {name.replace("_", "-")}="{value if isinstance(value, str) else number(value)}"'
        for name, value in values.items()
        if value is not None and value != ""
    )


def line(
    x: tuple[str, str], y: tuple[float, float], colour: str, width: float | None, **more: str | float | None
) -> str:
    """Return a straight line."""
    return f"<line{attributes(x1=x[0], x2=x[1], y1=y[0], y2=y[1], stroke=colour, stroke_width=width, **more)}/>"


def mark(x: float, y: float, colour: str, shape: Shape = "dot", size: float = 4.5, tip: str = "") -> str:
    """Return a mark at a share of the width; `size` is half its height. A ring is a dot that is open."""
    tail, at, half = attributes(data_tip=escape(tip)), share(x), number(1.15 * size)
    if shape in ("dot", "ring"):
        fill = attributes(fill=colour) if shape == "dot" else attributes(fill=PAPER, stroke=colour, stroke_width=1.6)
        return f"<circle{attributes(cx=at, cy=y, r=size)}{fill}{tail}/>"
    if shape == "tick":
        return line((at, at), (y - size, y + size), colour, 2.2, data_tip=escape(tip))
    if shape == "diamond":
        outline = f"M0-{half}L{half} 0L0 {half}L-{half} 0Z"
    else:
        points = [*STAR, *((-right, down) for right, down in reversed(STAR[1:-1]))]
        outline = "M" + "L".join(f"{number(1.3 * size * a)} {number(1.3 * size * b)}" for a, b in points) + "Z"
    return f'<svg x="{at}" y="{number(y)}" overflow="visible"><path d="{outline}" fill="{colour}"{tail}/></svg>'


def text(
    x: float, y: float, words: str, *, anchor: str = "middle", dx: float = 0, colour: str = MUTED, strong: bool = False
) -> str:
    """Return words on a line at height `y`, `dx` pixels to the right of a share of the width."""
    look = attributes(dx=dx or None, fill=colour, text_anchor=anchor, font_weight="600" if strong else "")
    return f'<text x="{share(x)}" y="{number(y)}"{look}>{escape(words)}</text>'


class Marks:
    """SVG marks at values of two axes, in the order in which they are added.

    Args:
        x: from left to right.
        y: from `bottom` to `top`, in pixels from the upper edge.
    """

    def __init__(self, x: Axis, y: Axis, top: float, bottom: float) -> None:
        self.x, self.y, self.top, self.bottom = x, y, top, bottom
        self.marks: list[str] = []

    def down(self, value: float) -> float:
        """Return the height of a value in pixels from the top."""
        return self.bottom - self.y.at(value) * (self.bottom - self.top)

    def dots(
        self,
        x: Iterable[float],
        y: Iterable[float],
        colour: str,
        shape: Shape = "dot",
        size: float = 4.5,
        tips: Iterable[str] | None = None,
    ) -> None:
        """Add marks; one at a value that is not a number is left out."""
        points = list(zip(x, y, strict=True))
        for (a, b), tip in zip(points, tips if tips is not None else [""] * len(points), strict=True):
            if a == a and b == b:
                self.marks.append(mark(self.x.at(a), self.down(b), colour, shape, size, tip))

    def across(self, low: float, high: float, y: float, colour: str = INK, width: float = 1.6) -> None:
        """Add a horizontal interval."""
        ends, height = (share(self.x.at(low)), share(self.x.at(high))), self.down(y)
        self.marks.append(line(ends, (height, height), colour, width, stroke_linecap="round"))

    def up(self, x: float, low: float, high: float, colour: str = INK, width: float = 1.2, tip: str = "") -> None:
        """Add a vertical interval."""
        at = share(self.x.at(x))
        self.marks.append(line((at, at), (self.down(low), self.down(high)), colour, width, data_tip=escape(tip)))

    def rule(
        self, *, x: float | None = None, y: float | None = None, colour: str = INK, dash: str = "", tip: str = ""
    ) -> None:
        """Add a line over the whole plot at a value of one axis."""
        at, down = ("0", "100%"), (self.top, self.bottom)
        if x is not None:
            at = share(self.x.at(x)), share(self.x.at(x))
        if y is not None:
            down = self.down(y), self.down(y)
        self.marks.append(line(at, down, colour, 1.4, stroke_dasharray=dash, data_tip=escape(tip)))

    def bar(
        self, x: tuple[float, float], y: float, thick: float, colour: str, *, opacity: float = 1.0, tip: str = ""
    ) -> None:
        """Add a horizontal bar, `thick` pixels high."""
        low, high = sorted(map(self.x.at, x))
        box = attributes(x=share(low), width=share(high - low), y=self.down(y) - thick / 2, height=thick, fill=colour)
        look = attributes(fill_opacity=opacity if opacity < 1 else None, rx="1.5", data_tip=escape(tip))
        self.marks.append(f"<rect{box}{look}/>")

    def text(self, x: float, y: float, words: str, *, dy: float = 4, **look: Any) -> None:
        """Add words near a point, see `text`."""
        self.marks.append(text(self.x.at(x), self.down(y) + dy, words, **look))


class Cell(Marks):
    """A plot in a cell of a table; the names of its ticks stand in the head. Heights are pixels above the middle."""

    def __init__(self, x: Axis) -> None:
        super().__init__(x, Axis(-CELL_HEIGHT / 2, CELL_HEIGHT / 2, (), ()), 0, CELL_HEIGHT)
        for tick in x.ticks:
            self.upright(tick, LINE)

    def upright(self, x: float, colour: str) -> None:
        """Add a line that fills a higher row, too; the cell cuts it."""
        self.up(x, 1.5 * CELL_HEIGHT, -1.5 * CELL_HEIGHT, colour, 1.0)

    def dot(self, value: float, colour: str, shape: Shape = "dot", size: float = 5, tip: str = "") -> None:
        self.dots([value], [0], colour, shape, size, [tip])

    def html(self) -> Markup:
        return cell_svg(self.marks)

    @staticmethod
    def head(x: Axis) -> Markup:
        """Return the names of the ticks, for the head of the table."""
        return cell_svg(text(x.at(tick), CELL_HEIGHT - 6, name) for tick, name in zip(x.ticks, x.names, strict=True))


def cell_svg(marks: Iterable[str]) -> Markup:
    return Markup(f'<svg class="cell" height="{CELL_HEIGHT}" aria-hidden="true">{"".join(marks)}</svg>')  # noqa: S704


class Panel(Marks):
    """A plot with two axes and their names. Lines and bands are below all marks."""

    def __init__(self, x: Axis, y: Axis, *, height: int = 220, title: str = "", grid: str = "xy") -> None:
        top = LINE_HEIGHT * (bool(title) + bool(y.title)) + 6
        super().__init__(x, y, top, top + height)
        self.title, self.height, self.grid = title, height, grid
        self.total = top + height + (LINE_HEIGHT if x.names else 4) + (LINE_HEIGHT if x.title else 0)
        self.left = max((round(LETTER * len(name)) + 10 for name in y.names), default=0)
        self._stretched: list[str] = []

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
        faint = "" if opacity == 1 else attributes(stroke_opacity=opacity, stroke_linecap="round")
        look = attributes(fill="none", stroke=colour, stroke_width=width, vector_effect="non-scaling-stroke")
        more = attributes(stroke_linejoin="round", stroke_dasharray=dash, data_name=escape(name))
        if path := self._path(zip(x, y, strict=True)):
            self._stretched.append(f'<path d="{path}"{look}{faint}{more}/>')

    def band(
        self, x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str, opacity: float
    ) -> None:
        """Add a band between two lines."""
        around = zip([*x, *reversed(x)], [*low, *reversed(high)], strict=True)
        if path := self._path((a, b) for a, b in around if b == b):
            self._stretched.append(f'<path d="{path}Z" fill="{colour}" fill-opacity="{number(opacity)}"/>')

    def _path(self, points: Iterable[tuple[float, float]]) -> str:
        """Return the path through some points; one that is not a number interrupts it."""
        words, letter = [], "M"
        for a, b in points:
            known = a == a and b == b
            if known:
                words.append(f"{letter}{number(STRETCH * self.x.at(a))} {number(self.down(b))}")
            letter = "L" if known else "M"
        return "".join(words)

    def names(self) -> str:
        """Return the names of the heights, right-aligned at `left`."""
        at, look = self.left - 8, f'fill="{MUTED}" text-anchor="end"'
        heights = (number(self.down(tick) + 4) for tick in self.y.ticks)
        pairs = zip(heights, self.y.names, strict=True)
        return "".join(f'<text x="{at}" y="{height}" {look}>{escape(name)}</text>' for height, name in pairs)

    def plot(self) -> str:
        """Return grid, names of the horizontal axis, lines and axes."""
        parts = []
        if self.title:
            parts.append(text(0, 13, self.title, anchor="start", dx=-self.left, colour=INK, strong=True))
        if self.y.title:
            parts.append(text(0, self.top - 10, self.y.title, anchor="start", dx=-self.left))
        heights = map(self.down, self.y.ticks if "y" in self.grid else ())
        parts += [line(("0", "100%"), (height, height), LINE, None) for height in heights]
        for at, name in zip(map(self.x.at, self.x.ticks), self.x.names, strict=True):
            if "x" in self.grid:
                parts.append(line((share(at), share(at)), (self.top, self.bottom), LINE, 1))
            parts.append(text(at, self.bottom + 16, name))
        if self.x.title:
            parts.append(text(1, self.bottom + 16 + LINE_HEIGHT, self.x.title, anchor="end"))
        if self._stretched:
            box = f'viewBox="0 {self.top} {STRETCH} {self.height}" preserveAspectRatio="none"'
            size = f'y="{self.top}" width="100%" height="{self.height}"'
            parts.append(f"<svg {size} {box}>{''.join(self._stretched)}</svg>")
        return "".join([*parts, *self.marks])

    def html(self, description: str) -> Markup:
        """Return the panel for a page; screen readers read `description`."""
        x, y = (f"{axis.low:g} {axis.high:g} {int(axis.log)}" for axis in (self.x, self.y))
        names = f'<svg width="{self.left}" height="{self.total}">{self.names()}</svg>'
        about = f'data-x="{x}" data-y="{y}" data-title="{escape(self.x.title)}"'
        plot = f'<svg class="plot" height="{self.total}" {about}>{self.plot()}</svg>'
        return Markup(  # noqa: S704  (every text was escaped)
            f'<div class="panel" role="img" aria-label="{escape(description)}">{names}{plot}</div>'
        )


@dataclass(frozen=True)
class Figure:
    """Panels in rows, with one legend."""

    panels: Sequence[Panel]
    legend: Sequence["Entry"] = ()
    columns: int = 1

    def html(self, description: str) -> Markup:
        """Return the figure for a page: panels stand in as many columns as there is room for."""
        panels = Markup("").join(
            panel.html(f"{panel.title}: {description}" if panel.title else description) for panel in self.panels
        )
        block = Markup("{}<div class='panels' style=\"--columns: {}\">{}</div>")
        return block.format(legend_html(self.legend), self.columns, panels)

    def svg(self, width: int = 760) -> str:
        """Return the figure as a file in the colours of the light theme."""
        head, y = legend_svg(self.legend, width)
        parts = [head]
        each = (width - 24 * (self.columns - 1)) / self.columns
        for first in range(0, len(self.panels), self.columns):
            row = self.panels[first : first + self.columns]
            for k, panel in enumerate(row):
                x, at = k * (each + 24), f'y="{y}" height="{panel.total}" overflow="visible"'
                parts.append(f'<svg x="{number(x)}" width="{panel.left}" {at}>{panel.names()}</svg>')
                size = f'x="{number(x + panel.left)}" width="{number(each - panel.left - RIGHT)}"'
                parts.append(f"<svg {size} {at}>{panel.plot()}</svg>")
            y += max(panel.total for panel in row) + 14
        return svg_file(parts, width, y)

    def save(self, path: Path, width: int = 760) -> Path:
        """Write the figure as an SVG file. The same figure gives the same bytes."""
        return write_text(path, self.svg(width))


def svg_file(parts: Sequence[str], width: float, height: float, margin: int = 12) -> str:
    """Return the text of an SVG file with a margin around its parts, in the colours of the light theme."""
    wide, high = number(width + 2 * margin), number(height + 2 * margin)
    size = f'width="{wide}" height="{high}" viewBox="{-margin} {-margin} {wide} {high}"'
    ground = f'<rect x="{-margin}" y="{-margin}" width="100%" height="100%" fill="{PAPER}"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" font-size="12">'
    return light("".join([head, ground, *parts, "</svg>\n"]))


class Entry(NamedTuple):
    """An entry of a legend."""

    name: str
    colour: str
    shape: Shape = "dot"

    def sign(self) -> str:
        """Return its sign, 18 pixels wide and 12 high."""
        if self.shape in ("line", "dashed"):
            return line(("0", "18"), (6, 6), self.colour, 2, stroke_dasharray="4 3" if self.shape == "dashed" else "")
        if self.shape in ("band", "bar"):
            look = attributes(fill=self.colour, fill_opacity=0.25 if self.shape == "band" else None)
            return f'<rect width="18" height="10" y="1" rx="1.5"{look}/>'
        return mark(0.5, 6, self.colour, self.shape)


def legend_html(entries: Sequence[Entry]) -> Markup:
    """Return a legend as a list; nothing if it has no entries."""
    item = Markup('<li><svg width="18" height="12" aria-hidden="true">{}</svg>{}</li>')
    items = Markup("").join(item.format(Markup(entry.sign()), entry.name) for entry in entries)  # noqa: S704
    return Markup('<ul class="legend">{}</ul>').format(items) if entries else items


def legend_svg(entries: Sequence[Entry], width: int) -> tuple[str, int]:
    """Return the legend in as many lines as it needs, and the height below it."""
    x, y, parts = 0.0, 4, []
    for entry in entries:
        wide = 24 + LETTER * len(entry.name) + 18
        if x and x + wide > width:
            x, y = 0.0, y + LINE_HEIGHT
        parts.append(f'<svg x="{number(x)}" y="{y}" width="18" height="12">{entry.sign()}</svg>')
        parts.append(f'<text x="{number(x + 24)}" y="{y + 10}" fill="{INK}">{escape(entry.name)}</text>')
        x += wide
    return "".join(parts), y + (LINE_HEIGHT + 6 if entries else 0)
