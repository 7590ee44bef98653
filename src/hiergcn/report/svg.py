"""Colours and style of all figures, and figures as files or as SVG inside a page."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hiergcn.files import written_whole

# Each colour has a role. In the page it becomes a CSS variable, so figures follow the light or dark theme.
INK = "#1b1e23"
MUTED = "#6b7280"
LINE = "#d7dbe0"
PAPER = "#fefefe"
FIRST = "#0072b2"  # blue and vermilion from the colour-blind-safe palette of Okabe and Ito
SECOND = "#d55e00"
ROLES = {INK: "ink", MUTED: "muted", LINE: "line", PAPER: "paper", FIRST: "first", SECOND: "second"}

# Okabe and Ito's colours and four of similar lightness. Their yellow and black are left out: yellow is hard to see on
# white, black on a dark page.
CLASS_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"),
    *("#a89f00", "#882255", "#6a5acd", "#7a5230"),
)
OTHER = "#8a8f98"
NAME_LENGTH = 22

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small and selectable
    "text.parse_math": False,  # a class may be named $x$
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.labelcolor": INK,
}


def class_colours(counts: Sequence[int]) -> list[str]:
    """Return a colour for each class. If there are more classes than colours, the rarest share a grey."""
    frequent = np.argsort(-np.asarray(counts), kind="stable")[: len(CLASS_COLOURS)]
    colours = [OTHER] * len(counts)
    for colour, number in zip(CLASS_COLOURS, sorted(frequent.tolist()), strict=False):
        colours[number] = colour
    return colours


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, without pyplot's global state."""
    return Figure(figsize=(width, height), layout="constrained")


@contextmanager
def new_axes(
    width: float, height: float, columns: int = 1, *, sharey: bool = False, grid: bool = True
) -> Iterator[tuple[Figure, Any]]:
    """Yield a figure of this size in inches in our style, and its axes; an array of them if there are more columns."""
    with matplotlib.rc_context(STYLE | {"axes.grid": grid}):
        figure = new_figure(width, height)
        yield figure, figure.subplots(1, columns, sharey=sharey)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows of a horizontal chart, the first one at the top."""
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def legend_above(figure: Figure, axes: Axes) -> None:
    """Put the legend of `axes` above the figure, in one row."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(labels), handlelength=1.6, columnspacing=1.6)


def short(name: str) -> str:
    """Shorten a name so that it fits beside a figure."""
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"


def save_figure(figure: Figure, folder: Path, name: str, formats: Sequence[str] = ("svg", "png")) -> tuple[Path, ...]:
    """Write `name.svg` and `name.png` into `folder`. The same figure gives the same bytes."""
    paths = tuple(folder / f"{name}.{kind}" for kind in formats)
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        for path, kind in zip(paths, formats, strict=True):
            dated = "Date" if kind == "svg" else "Software"
            with written_whole(path) as part:
                figure.savefig(part, format=kind, dpi=200, facecolor="white", metadata={dated: None})
    return paths


def inline_svg(figure: Figure, name: str, description: str) -> Markup:
    """Return the figure as an <svg> element. `name` must be unique in the page; screen readers read `description`."""
    buffer = StringIO()
    with warnings.catch_warnings(), matplotlib.rc_context({"svg.hashsalt": name}):
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the page's fonts have more letters
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    for colour, role in ROLES.items():
        svg = svg.replace(colour, f"var(--{role})")
    svg = re.sub(r"font: (\d+)(\.\d+)?px [^;\"]*", r"font-size: \1\2px", svg)
    svg = re.sub(
        r'<svg [^>]*?viewBox="([^"]*)"[^>]*>',
        rf'<svg viewBox="\1" role="img" aria-labelledby="{name}-title"><title id="{name}-title">TITLE</title>',
        svg,
        count=1,
    )
    return Markup(svg.replace("TITLE", escape(description), 1))  # noqa: S704  (matplotlib escapes the texts it draws)
