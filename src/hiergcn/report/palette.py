"""Colours of classes, the same in figures and in the explorer."""

from collections.abc import Sequence

import numpy as np

# Okabe and Ito's colours, told apart by every kind of colour vision, and four of like lightness; their yellow and black
# are left out, which would be lost on white and on a dark page.
CLASS_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"),
    *("#a89f00", "#882255", "#6a5acd", "#7a5230"),
)
OTHER = "#8a8f98"


def class_colours(counts: Sequence[int]) -> list[str]:
    """A colour for each class. Where there are more classes than colours, the rarest share a grey."""
    frequent = np.argsort(-np.asarray(counts), kind="stable")[: len(CLASS_COLOURS)]
    colours = [OTHER] * len(counts)
    for colour, number in zip(CLASS_COLOURS, sorted(frequent.tolist()), strict=False):
        colours[number] = colour
    return colours
