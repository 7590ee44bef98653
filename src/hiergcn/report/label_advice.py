"""The part of a run's page about labels: prediction sets, labels to doubt, nodes to label next."""

from typing import Any

import pandas as pd

from hiergcn.evaluate.metrics import describe_sets
from hiergcn.report import axes
from hiergcn.report.cells import PlotColumn
from hiergcn.report.palette import FIRST
from hiergcn.run.folder import LoadedRun

SHOWN_SIZES = 8
"""Sizes of prediction sets that have a row of their own."""
SHOWN_ROWS = 10
"""Doubtful labels and suggestions on the page; the files have more."""


def label_advice(run: LoadedRun) -> dict[str, Any]:
    """Return the values of the template `labels.html`."""
    sets = run.metrics.get("prediction_sets")
    return {
        "sets": describe_sets(sets) if sets else None,
        "set_sizes": size_rows(sets["sizes"]) if sets else (),
        "doubtful": _first_rows(run.doubtful),
        "suggestions": _first_rows(run.suggestions),
    }


def _first_rows(table: pd.DataFrame | None) -> list[dict[Any, str]]:
    return [] if table is None else table.head(SHOWN_ROWS).to_dict("records")


def size_rows(sizes: list[int]) -> list[dict[str, Any]]:
    """Return a row for each size of prediction sets that occurs: name, nodes, share and bar; large sizes together."""
    rows = {str(size): nodes for size, nodes in enumerate(sizes[:SHOWN_SIZES], start=1)}
    rows[f"more than {SHOWN_SIZES}"] = sum(sizes[SHOWN_SIZES:])
    shares = {size: nodes / sum(sizes) for size, nodes in rows.items() if nodes}
    column = PlotColumn(axes.span([100 * share for share in shares.values()], zero=True, most=100))
    return [
        {
            "size": size,
            "nodes": rows[size],
            "share": share,
            "plot": column.cell(column.bar(100 * share, FIRST, f"{rows[size]:,} nodes")),
        }
        for size, share in shares.items()
    ]
