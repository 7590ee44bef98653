"""Colours of every picture in the project: one for each role, class and method, in light and in dark.

A colour is a CSS variable of `templates/colours.css`, so that pictures inside a page follow its theme. `light` resolves
them for files. Hues are those of Okabe and Ito, which can be told apart with any colour vision, and four more of
similar lightness. Their yellow and black are left out: yellow is hard to see on white, black on a dark page.
"""

import re
from collections.abc import Sequence
from importlib.resources import files
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hiergcn.errors import InputError
from hiergcn.settings.registry import method_info, method_named_in

COLOURS = (files("hiergcn.reports") / "templates" / "colours.css").read_text(encoding="utf-8")
"""The style sheet that every page begins with."""
_LIGHT = dict(reversed(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", COLOURS)))  # the first of each name


INK, MUTED, LINE, PAPER = (f"var(--{name})" for name in ("ink", "muted", "line", "paper"))
_HUES = ("blue", "amber", "green", "pink", "sky", "vermilion", "olive", "wine", "violet", "brown", "grey")
*CLASS_COLOURS, OTHER = (f"var(--{name})" for name in _HUES)
BLUE, AMBER, GREEN, PINK, SKY, VERMILION, OLIVE, WINE, VIOLET, BROWN = CLASS_COLOURS
VALUE_COLOURS = [f"var(--value-{letter})" for letter in "abcdef"]
FIRST, SECOND = BLUE, VERMILION
"""Two series that belong to no class and no method."""


def method_colour(name: str) -> str:
    """Return the colour of a method; a preset or a variant may follow the name, as in `hgcn:paper`, `gcn+harmonic`.

    There are more methods than hues: GAT and label propagation share one, so do DGCN and the harmonic function, and
    Graph U-Net and GCNII, since they are never in one picture.
    """
    try:
        colour = method_info(method_named_in(name)).colour
    except InputError:
        return OTHER
    return f"var(--{colour})" if colour in _HUES else colour


def class_colours(counts: Sequence[int]) -> list[str]:
    """Return a colour for each class. If there are more classes than colours, the rarest share a grey."""
    frequent = np.argsort(-np.asarray(counts), kind="stable")[: len(CLASS_COLOURS)]
    colours = [OTHER] * len(counts)
    for colour, number in zip(CLASS_COLOURS, sorted(frequent.tolist()), strict=False):
        colours[number] = colour
    return colours


def value_ends(values: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Return the ends of ranges that hold about as many numbers each, one per colour."""
    ends: npt.NDArray[np.float64] = np.quantile(values, np.linspace(0, 1, len(VALUE_COLOURS) + 1))
    return ends


def value_names(ends: npt.NDArray[np.float64]) -> list[str]:
    return [f"{low:.3g} to {high:.3g}".replace("-", "−") for low, high in pairwise(ends)]


def light(text: str) -> str:
    """Replace the variables in a picture by the colours of the light theme, for a file."""
    return re.sub(r"var\(--([a-z-]+)\)", lambda name: _LIGHT[name[1]], text)
