"""The picture of a search for settings: what mattered, and how the best came about."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from hiergcn.files import written_whole
from hiergcn.report.svg import FIRST, INK, MUTED, SECOND, STYLE, new_figure
from hiergcn.run.tune import FEWEST_FOR_IMPORTANCE, Tuning


def write_tuning_figure(tuning: Tuning, folder: Path) -> tuple[Path, Path]:
    """`tuning.svg` and `tuning.png` in the folder."""
    figure = tuning_figure(tuning)
    paths = (folder / "tuning.svg", folder / "tuning.png")
    with matplotlib.rc_context({"svg.hashsalt": "tuning", "svg.fonttype": "none"}):
        for path, metadata in zip(paths, ({"Date": None}, {"Software": None}), strict=True):
            with written_whole(path) as part:
                figure.savefig(part, format=path.suffix[1:], dpi=200, facecolor="white", metadata=metadata)
    return paths


def tuning_figure(tuning: Tuning) -> Figure:
    """Left the share of each setting in the accuracy, right the accuracy of each trial and the best so far."""
    with matplotlib.rc_context(STYLE):
        figure = new_figure(9.0, 3.6)
        left, right = figure.subplots(1, 2)
        left.set_title("What mattered: share in the validation accuracy")
        if tuning.importance:
            names, shares = list(tuning.importance), [100 * share for share in tuning.importance.values()]
            left.barh(names, shares, color=FIRST, alpha=0.7)
            left.invert_yaxis()
            left.set_xlabel("%")
        else:
            left.axis("off")
            few = f"{FEWEST_FOR_IMPORTANCE} trials of different accuracy\nare needed to tell"
            left.text(0.5, 0.5, few, ha="center", va="center", color=MUTED, transform=left.transAxes)
        done = [(trial.number, trial.accuracy) for trial in tuning.trials if trial.accuracy is not None]
        numbers, accuracy = np.array([number for number, _ in done]), 100 * np.array([value for _, value in done])
        right.plot(numbers, accuracy, "o", markersize=3.5, color=FIRST, label="trial")
        right.step(numbers, np.maximum.accumulate(accuracy), where="post", color=SECOND, label="best so far")
        right.plot(
            tuning.best.number, 100 * (tuning.best.accuracy or 0.0), "o", color=INK, fillstyle="none", label="chosen"
        )
        right.set_title("Validation accuracy, %")
        right.set_xlabel("trial")
        right.legend()
    return figure
