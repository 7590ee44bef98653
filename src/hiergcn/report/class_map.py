"""A map of the nodes by what the model thinks of them: near each other where their probabilities are alike."""

from collections.abc import Sequence

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from hiergcn.report.svg import INK, STYLE, new_figure, short

MOST_POINTS = 6000
NAMED = 10


def coordinates(probabilities: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """(n, 2): the two directions in which the logarithms of the probabilities vary most."""
    logits = np.log(np.maximum(probabilities.astype(np.float64), 1e-4))
    centred = logits - logits.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1][:, :2]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1, 1)
    found: npt.NDArray[np.float64] = centred @ axes
    return found


def map_figure(probabilities: npt.NDArray[np.floating], names: Sequence[str], colours: Sequence[str]) -> Figure:
    """Each node in the colour of its predicted class; the names stand at the middle of their nodes."""
    step = -(-len(probabilities) // MOST_POINTS)
    rows = probabilities[::step]
    place, predicted = coordinates(rows), rows.argmax(axis=1)
    with matplotlib.rc_context(STYLE | {"axes.grid": False}):
        figure = new_figure(7.2, 4.8)
        axes = figure.subplots()
        shades = np.array(colours)[predicted]
        axes.scatter(place[:, 0], place[:, 1], s=9, c=list(shades), alpha=0.75, linewidth=0, rasterized=True)
        counts = np.bincount(predicted, minlength=len(names))
        for number in np.argsort(-counts, kind="stable")[:NAMED]:
            if counts[number] == 0:
                continue
            x, y = np.median(place[predicted == number], axis=0)
            axes.text(x, y, short(names[number]), ha="center", va="center", fontsize=9, weight="bold", color=INK)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        return figure
