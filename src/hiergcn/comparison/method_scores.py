"""The result of a comparison: scores of methods over the same splits and seeds, their differences, and their files."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import pandas as pd

from hiergcn.errors import InputError
from hiergcn.evaluate.metrics import Summary, metrics_for, result_key
from hiergcn.evaluate.paired import TEST, PairedDifference, Scores
from hiergcn.files import naming, written_whole
from hiergcn.fragments import card, sentence
from hiergcn.graph.split import PUBLIC, SplitSpec, parse_splits, splits_text
from hiergcn.settings.registry import method_names, method_title
from hiergcn.settings.settings import Settings
from hiergcn.workers.machine import Peak

_SAVED_AS_IS = ("dataset", "against", "interrupted", "command", "environment")
COMPARISON, SCORES = "comparison.json", "scores.csv"
ENOUGH_PAIRS = 6
"""Fewest pairs with which p can fall below 0.05."""


@dataclass(frozen=True)
class Score:
    """One seed of one method on one split."""

    model: str
    split: int
    seed: int
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Every metric on test nodes, by its name; empty if the seed failed."""
    validation_accuracy: float | None = None
    best_epoch: int | None = None
    seconds: float | None = None
    failure: str | None = None

    @property
    def test_accuracy(self) -> float | None:
        return self.metrics.get("accuracy")

    def to_row(self) -> dict[str, Any]:
        """Return the row of `scores.csv`."""
        row = {name: value for name, value in vars(self).items() if name != "metrics"}
        return row | {result_key(name): self.metrics.get(name) for name in metrics_for("classes")}

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Self:
        metrics = {name: row.pop(result_key(name), None) for name in metrics_for("classes")}
        return cls(metrics={name: value for name, value in metrics.items() if value is not None}, **row)


@dataclass(frozen=True)
class MethodRun:
    """The scores of one method."""

    model: str
    settings: Settings
    scores: tuple[Score, ...]
    peak: Peak
    epoch_seconds: float | None
    """Mean seconds per epoch, validation included."""
    failure: str | None = None
    """Why the whole method failed."""

    @property
    def by_pair(self) -> Scores:
        return {(score.split, score.seed): score.test_accuracy for score in self.scores}

    @property
    def test_accuracy(self) -> Summary:
        return self.summary("accuracy")

    def summary(self, metric: str) -> Summary:
        """Return a metric on test nodes over all runs."""
        return Summary(tuple(score.metrics.get(metric) for score in self.scores))

    @property
    def failed(self) -> int:
        """Number of failed runs."""
        return sum(score.test_accuracy is None for score in self.scores)

    @property
    def seconds(self) -> float | None:
        """Mean seconds per seed."""
        known = [score.seconds for score in self.scores if score.seconds is not None]
        return math.fsum(known) / len(known) if known else None

    def to_dict(self) -> dict[str, Any]:
        summaries = {result_key(name): self.summary(name) for name in metrics_for("classes")}
        summaries["val_accuracy"] = Summary(tuple(score.validation_accuracy for score in self.scores))
        return {
            "model": self.model,
            **{name: {"mean": summary.mean, "std": summary.std} for name, summary in summaries.items()},
            "runs": len(self.scores),
            "failed_seeds": self.failed,
            "failure": self.failure,
            "seconds": {"seed": self.seconds, "epoch": self.epoch_seconds},
            "peak_memory_bytes": self.peak.resident,
            "peak_gpu_memory_bytes": self.peak.gpu,
            "selection": self.settings.train.selection_rule,
            "settings": self.settings.to_dict(),
        }


@dataclass(frozen=True, repr=False)
class Comparison:
    """The scores of every method, and their differences to one of them."""

    dataset: str
    splits: tuple[SplitSpec, ...]
    seeds: tuple[int, ...]
    against: str
    runs: tuple[MethodRun, ...]
    differences: tuple[PairedDifference, ...]
    interrupted: bool = False
    command: str | None = None
    """The command line that made it."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """Machine and versions."""
    about: str = ""
    """What the splits are, in words."""

    def __repr__(self) -> str:
        means = [(run.model, run.test_accuracy.mean) for run in self.runs]
        shown = ", ".join(f"{model} {'failed' if mean is None else f'{100 * mean:.1f} %'}" for model, mean in means)
        return f"Comparison({self.dataset!r}, {shown}; seeds={len(self.seeds)}, splits={len(self.splits)})"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: the table, and the meaning of its columns."""
        words = "".join(sentence(text) for text in self.explanations)
        return card(self.dataset, {}, self.to_frame().round(4).to_html(na_rep=""), words)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per method: test accuracy, seconds, and the paired difference with its interval and p."""
        rows = {}
        for run in self.runs:
            found = self.difference(run.model)
            about = {name: getattr(found, name, None) for name in ("mean", "low", "high", "p_holm")}
            accuracy = {"accuracy": run.test_accuracy.mean, "std": run.test_accuracy.std}
            rows[run.model] = accuracy | {
                "seconds": run.seconds,
                "difference": about["mean"],
                "low": about["low"],
                "high": about["high"],
                "p": about["p_holm"],
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")

    def difference(self, model: str) -> PairedDifference | None:
        return next((one for one in self.differences if one.model == model), None)

    @property
    def explanations(self) -> tuple[str, ...]:
        """What the columns of the table mean, in sentences."""
        several = self.splits != (PUBLIC,)
        pairs = "splits, each the mean of its seeds" if several else "seeds, for this split only"
        against = method_title(self.against) if self.against in method_names() else self.against
        corrected = f"; Holm's correction for {len(self.differences)} comparisons" if len(self.differences) > 1 else ""
        sentences = [
            "±: sample standard deviation over runs.",
            f"Difference from {against} in points: mean and interval (Student's t) over paired {pairs}.",
            f"p: {TEST}{corrected}.",
        ]
        fewest = min((one.units for one in self.differences), default=ENOUGH_PAIRS)
        if 1 < fewest < ENOUGH_PAIRS:
            lowest = f"{2.0 ** (1 - fewest):g}"
            sentences.append(f"With {fewest} pairs p cannot fall below {lowest}: take more seeds or splits.")
        if several:
            sentences.append("Random splits overlap, so intervals are somewhat too narrow and p somewhat too small.")
        return tuple(sentences)

    @property
    def about_memory(self) -> str:
        """What the column of the peak memory means."""
        on_gpu = any(run.peak.gpu for run in self.runs)
        where = "on the GPU" if on_gpu else "of the process, with Python and libraries, without coarsening"
        return f"Memory: peak {where}."

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _SAVED_AS_IS} | {
            "splits": splits_text(self.splits),
            "splits_about": self.about,
            "seeds": list(self.seeds),
            "test": TEST,
            "correction": "Holm",
            "models": [run.to_dict() for run in self.runs],
            "differences": [vars(one) for one in self.differences],
        }


class MethodStarted(NamedTuple):
    """A comparison begins a method."""

    model: str
    runs: int


class RunDone(NamedTuple):
    """A comparison has finished one seed on one split, or it failed."""

    model: str
    split: int
    seed: int
    failure: str | None


class MethodDone(NamedTuple):
    """A comparison has finished a method."""

    run: MethodRun


CompareEvent = MethodStarted | RunDone | MethodDone
OnCompareEvent = Callable[[CompareEvent], None]


def write_comparison(comparison: Comparison, folder: Path) -> None:
    """Write `comparison.json` with every setting and figure, and `scores.csv` with a row per model, split and seed."""
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
    rows = [score.to_row() for run in comparison.runs for score in run.scores]
    table = pd.DataFrame(rows, dtype=object)  # else a missing epoch would turn the others into floats
    with written_whole(folder / SCORES) as part:
        table.to_csv(part, index=False)
    with written_whole(folder / COMPARISON) as part:
        part.write_text(json.dumps(comparison.to_dict(), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def read_comparison(folder: Path) -> Comparison:
    """Read the comparison that `write_comparison` wrote."""
    try:
        saved = json.loads((folder / COMPARISON).read_text(encoding="utf-8"))
        return _from_dict(saved, pd.read_csv(folder / SCORES, dtype={"model": str}))
    except (KeyError, TypeError, ValueError, OSError) as damage:
        raise InputError(f"The comparison in {folder} is damaged ({damage}); run hiergcn compare again.") from None


def _from_dict(saved: dict[str, Any], scores: pd.DataFrame) -> Comparison:
    rows: list[dict[str, Any]] = scores.astype(object).where(scores.notna(), None).to_dict("records")  # type: ignore[assignment]
    runs = tuple(
        MethodRun(
            model=one["model"],
            settings=Settings.from_dict(one["settings"]),
            scores=tuple(Score.from_row(row) for row in rows if row["model"] == one["model"]),
            peak=Peak(one["peak_memory_bytes"], one["peak_gpu_memory_bytes"]),
            epoch_seconds=one["seconds"]["epoch"],
            failure=one["failure"],
        )
        for one in saved["models"]
    )
    for run, one in zip(runs, saved["models"], strict=True):
        if len(run.scores) != one["runs"]:
            raise ValueError(f"{SCORES} has {len(run.scores)} of {one['runs']} runs of {run.model}")
    return Comparison(
        **{name: saved[name] for name in _SAVED_AS_IS},
        splits=parse_splits(saved["splits"]),
        seeds=tuple(saved["seeds"]),
        runs=runs,
        differences=tuple(PairedDifference(**one) for one in saved["differences"]),
        about=saved["splits_about"],
    )
