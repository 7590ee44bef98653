"""Figures of a run, from plain values."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hiergcn.report import axes
from hiergcn.report.palette import FIRST, INK, MUTED, SECOND
from hiergcn.report.panels import Entry, Figure, Panel

DASH = "5 4"
MAX_POINTS = 300
"""Points of a curve; a longer one is thinned."""


def curves_figure(history: pd.DataFrame, selected_seed: int, best_epoch: int | None, loss_terms: int) -> Figure:
    """Draw loss and accuracy per epoch: the selected seed as lines, the 10th to 90th percentile of all as bands.

    The training loss is divided by `loss_terms`, the number of terms it sums: networks, times training nodes unless it
    is a mean over nodes.
    """
    frame = history.assign(train_loss=history["train_loss"] / loss_terms)
    panels = []
    for what, title, factor in (("loss", "Mean cross-entropy", 1.0), ("accuracy", "Accuracy, %", 100.0)):
        tables = {
            part: factor * frame.pivot(index="epoch", columns="seed", values=f"{part}_{what}")
            for part in ("train", "validation")
        }
        values = np.concatenate([table.to_numpy().ravel() for table in tables.values()])
        x = axes.span(frame["epoch"], "epoch", room=0.01)
        panel = Panel(
            x, axes.span(values, zero=what == "loss", most=100.5 if what == "accuracy" else None), title=title
        )
        for part, colour in (("train", FIRST), ("validation", SECOND)):
            _curve(panel, tables[part], selected_seed, colour, "training" if part == "train" else part)
        if best_epoch is not None:
            panel.rule(x=best_epoch, dash=DASH, tip=f"selected epoch {best_epoch}")
        panels.append(panel)
    legend = [Entry("training", FIRST, "line"), Entry("validation", SECOND, "line")]
    legend += [Entry("selected epoch", INK, "dashed")] if best_epoch is not None else []
    return Figure(panels, legend, columns=2)


def _curve(panel: Panel, table: pd.DataFrame, seed: int, colour: str, name: str) -> None:
    thin = table.iloc[:: -(-len(table) // MAX_POINTS)]
    epochs = thin.index.to_list()
    if table.shape[1] > 1:
        low, high = (thin.quantile(q, axis=1).to_list() for q in (0.1, 0.9))
        panel.band(epochs, low, high, colour, 0.18)
    if seed in table:
        panel.line(epochs, thin[seed].to_list(), colour, name)


def reliability_figure(calibration: Mapping[str, Any]) -> Figure:
    """Draw accuracy against confidence, before and after calibration; one panel if there was none."""
    drawn = {"before": ("Before calibration: ", SECOND), "after": ("After calibration: ", FIRST)}
    if calibration["temperature"] == 1:
        drawn = {"before": ("", FIRST)}
    panels = []
    for when, (title, colour) in drawn.items():
        bins = calibration["reliability"][when]
        title += f"ECE {100 * calibration[f'ece_{when}']:.1f} %"
        panel = Panel(_percent("mean confidence, %"), _percent("accuracy, %"), title=title, height=260)
        panel.line([0, 100], [0, 100], MUTED, dash=DASH)
        most = max(bins["nodes"], default=1)
        for confidence, accuracy, nodes in zip(bins["confidence"], bins["accuracy"], bins["nodes"], strict=True):
            x, y = 100 * confidence, 100 * accuracy
            tip = f"{nodes:,} nodes: confidence {x:.0f} %, {y:.0f} % correct"
            panel.up(x, x, y, colour, 1.4)
            panel.dots([x], [y], colour, size=3 + 7 * (nodes / most) ** 0.5, tips=[tip])
        panels.append(panel)
    return Figure(panels, columns=2)


def _percent(title: str) -> axes.Axis:
    ticks = (0.0, 25.0, 50.0, 75.0, 100.0)
    return axes.Axis(0, 102, ticks, tuple(f"{tick:.0f}" for tick in ticks), title)


def principal_components(probabilities: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Return the first two principal components of the log-probabilities, (n, 2)."""
    logits = np.log(np.maximum(probabilities.astype(np.float64), 1e-4))
    centred = logits - logits.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    main = vectors[:, ::-1][:, :2]
    main = main * np.where(main[np.abs(main).argmax(axis=0), np.arange(main.shape[1])] < 0, -1, 1)
    components: npt.NDArray[np.float64] = centred @ main
    return components
