"""Matplotlib figures as SVG that lives inside a page: its colours, its text, no clash of names."""

import re
import warnings
from html import escape
from io import StringIO
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Colours stand for roles. In the page each becomes a CSS variable, so that a figure follows the light or dark theme.
INK = "#1b1e23"
MUTED = "#6b7280"
LINE = "#d7dbe0"
PAPER = "#fefefe"
FIRST = "#0072b2"  # blue and vermilion of Okabe and Ito: told apart by every kind of colour vision
SECOND = "#d55e00"
NAME_LENGTH = 22
ROLES = {INK: "ink", MUTED: "muted", LINE: "line", PAPER: "paper", FIRST: "first", SECOND: "second"}

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, selectable, in the page's own font
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


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches; no state is shared with pyplot."""
    return Figure(figsize=(width, height), layout="constrained")


def legend_above(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(labels), handlelength=1.6, columnspacing=1.6)


def short(name: str) -> str:
    """A name that fits beside a figure."""
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"


def inline_svg(figure: Figure, name: str, description: str) -> Markup:
    """The figure as an <svg> element. `name` is unique in the page; `description` says what the picture shows."""
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
    text = escape(description)
    svg = re.sub(
        r'<svg [^>]*?viewBox="([^"]*)"[^>]*>',
        rf'<svg viewBox="\1" role="img" aria-labelledby="{name}-title"><title id="{name}-title">TITLE</title>',
        svg,
        count=1,
    )
    return Markup(svg.replace("TITLE", text, 1))  # noqa: S704  (matplotlib escapes the texts it draws)
