"""`comparison.html`: the page of `hiergcn compare`, with the look of a run's page, made from its folder alone."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from hiergcn.errors import InputError
from hiergcn.evaluate.paired import PairedDifference
from hiergcn.files import written_whole
from hiergcn.report.comparison import comparison_figure
from hiergcn.report.svg import inline_svg
from hiergcn.report.template import rendered
from hiergcn.run.comparison import Comparison, MethodRun, Score
from hiergcn.run.process import Peak
from hiergcn.run.settings import Settings
from hiergcn.run.split_plan import SplitPlan


def write_comparison_page(folder: Path) -> Path:
    """Make the page from `comparison.json` and `scores.csv`."""
    try:
        recorded = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
        comparison = _comparison(recorded, pd.read_csv(folder / "scores.csv", dtype={"model": str}))
    except (KeyError, TypeError, ValueError, OSError) as damage:
        raise InputError(f"The comparison in {folder} is damaged ({damage}); run hiergcn compare again.") from None
    target = folder / "comparison.html"
    with written_whole(target) as part:
        part.write_text(_page(comparison, recorded), encoding="utf-8")
    return target


def _comparison(recorded: dict[str, Any], scores: pd.DataFrame) -> Comparison:
    """The value that was written."""
    rows: list[dict[str, Any]] = scores.astype(object).where(scores.notna(), None).to_dict("records")  # type: ignore[assignment]
    runs = tuple(
        MethodRun(
            model["model"],
            Settings.from_dict(model["settings"]),
            tuple(Score(**row) for row in rows if row["model"] == model["model"]),
            Peak(model["peak_memory_bytes"], model["peak_gpu_memory_bytes"]),
            model["seconds"]["epoch"],
            model["failure"],
        )
        for model in recorded["models"]
    )
    differences = tuple(PairedDifference(**one) for one in recorded["differences"])
    plan, seeds = SplitPlan.parse(recorded["splits"]), tuple(recorded["seeds"])
    return Comparison(recorded["dataset"], plan, seeds, recorded["against"], runs, differences, recorded["interrupted"])


def _page(comparison: Comparison, recorded: dict[str, Any]) -> str:
    rows: list[dict[str, Any]] = [
        {
            "run": run,
            "mean": run.test_accuracy.mean,
            "std": run.test_accuracy.std,
            "peak": run.peak.gpu or run.peak.resident,
            "difference": comparison.difference(run.model),
        }
        for run in comparison.runs
    ]
    done = [row for row in rows if row["mean"] is not None]
    best = max(done, key=lambda row: row["mean"], default=None)
    words = "; ".join(f"{row['run'].model} {100 * row['mean']:.1f} %" for row in done)
    return rendered(
        "comparison.html",
        comparison=comparison,
        recorded=recorded,
        machine=recorded["environment"],
        rows=rows,
        best=best,
        fewest=min((one.units for one in comparison.differences), default=None),
        chart=inline_svg(comparison_figure(comparison), "chart", f"Mean test accuracy of each method: {words}."),
    )
