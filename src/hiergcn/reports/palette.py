"""Colours of every picture in the project: one for each role, class and method, in light and in dark.

A colour is a CSS variable, so that pictures inside a page follow its theme. `light` resolves them for files. Hues are
those of Okabe and Ito, which can be told apart with any colour vision, and four more of similar lightness. Their yellow
and black are left out: yellow is hard to see on white, black on a dark page.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hiergcn.errors import InputError
from hiergcn.settings.registry import method_info, method_named_in

_ROLES = {  # in light, in dark
    "ink": ("#1b1e23", "#e8eaed"),
    "muted": ("#5f6772", "#a3abb5"),
    "line": ("#d7dbe0", "#3a4048"),
    "paper": ("#ffffff", "#15181c"),
    "shade": ("#f4f6f8", "#1e2227"),
    "edge": ("#b4bbc5", "#4d5662"),
    "accent": ("#0068a3", "#56b4e9"),
    "bad": ("#b84e00", "#f0a05a"),
    "warn": ("#8a4b00", "#ffce8a"),
    "warn-shade": ("#fff4e5", "#35280f"),
}
_HUES = {
    "blue": ("#0072b2", "#2e93d9"),
    "amber": ("#e69f00", "#f0b23c"),
    "green": ("#009e73", "#1fbf90"),
    "pink": ("#cc79a7", "#dc8fba"),
    "sky": ("#56b4e9", "#86cdf7"),
    "vermilion": ("#d55e00", "#f07a2c"),
    "olive": ("#a89f00", "#c4bb2c"),
    "wine": ("#882255", "#c65a8d"),
    "violet": ("#6a5acd", "#9a8ff0"),
    "brown": ("#7a5230", "#b58a63"),
    "grey": ("#8a8f98", "#9aa1ab"),
}
_VALUES = {  # of numbers, from low to high
    "value-a": ("#cfe1f2", "#24405c"),
    "value-b": ("#9ac8e0", "#2f5f8a"),
    "value-c": ("#5fa6d1", "#3f82b8"),
    "value-d": ("#2e7ebc", "#63a5d8"),
    "value-e": ("#0f5aa3", "#98c8ee"),
    "value-f": ("#08306b", "#d4e9fb"),
}
_ALL = _ROLES | _HUES | _VALUES


def _variable(name: str) -> str:
    return f"var(--{name})"


INK, MUTED, LINE, PAPER, EDGE = map(_variable, ("ink", "muted", "line", "paper", "edge"))
*CLASS_COLOURS, OTHER = map(_variable, _HUES)
BLUE, AMBER, GREEN, PINK, SKY, VERMILION, OLIVE, WINE, VIOLET, BROWN = CLASS_COLOURS
VALUE_COLOURS = [_variable(name) for name in _VALUES]
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
    return _variable(colour) if colour in _HUES else colour


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


def css_variables() -> str:
    """Return the colours as CSS, light and dark; print is light."""
    light, dark = (" ".join(f"--{name}: {pair[k]};" for name, pair in _ALL.items()) for k in (0, 1))
    return f":root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def light(text: str) -> str:
    """Replace the variables in a picture by the colours of the light theme, for a file."""
    return re.sub(r"var\(--([a-z-]+)\)", lambda name: _ALL[name[1]][0], text)
