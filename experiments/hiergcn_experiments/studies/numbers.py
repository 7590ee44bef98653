"""Numeric targets: the automatic choice beside its floors, and whether its intervals hold.

The portfolio for numbers was designed by validation on splits 0 and 1 of these tasks. Splits are numbered from 2 here,
and generated graphs have other seeds than that of the design.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hiergcn import Graph, HierGCNError, Split
from hiergcn.datasets import load_dataset, planted_numbers
from hiergcn.research import Summary, fit, method_title
from hiergcn_experiments.experiment import Experiment, Measurement, Scope, Study
from hiergcn_experiments.page import Row, Section, Table, Text, Texts, packaged
from hiergcn_experiments.results import TaskResults, by_task
from hiergcn_experiments.store import Record

NAME = "numbers"
FLOORS = ("constant", "label-propagation", "harmonic", "mlp")
"""Methods that the answer must be better than."""
SPLITS = 20
FIRST_SPLIT = 2
KINDS = ("random", "blocked")
TIME_LIMIT = 20.0
COVERAGE = 0.9
CLOSE = 0.02
"""Largest difference of mean coverage from what was asked."""
_GENERATED = 100  # added to the number of a split for the seed of a generated graph
_TEXTS = Texts(packaged("studies/numbers.toml"))


@dataclass(frozen=True)
class NumbersTask:
    """A graph with numbers."""

    title: str
    unit: str
    graph: Callable[[int], Graph]
    """From the number of the split."""


def _dataset(name: str) -> Callable[[int], Graph]:
    return lambda _: load_dataset(name).graph


TASKS = {
    "planted": NumbersTask(
        "Planted communities, 1,000 nodes", "", lambda number: planted_numbers(1000, seed=_GENERATED + number)
    ),
    "us-counties": NumbersTask("US counties, unemployment", "points", _dataset("us-counties")),
    "angle": NumbersTask("Texas grid, voltage angle", "degrees", _dataset("activsg2000-angle")),
    "magnitude": NumbersTask("Texas grid, voltage magnitude", "p.u.", _dataset("activsg2000-magnitude")),
}


def numbers_experiments(scope: Scope) -> list[Experiment]:
    limit = float(TIME_LIMIT if scope.seconds is None else scope.seconds)
    found = tuple(
        Measurement(NAME, {"task": name, "kind": kind, "split": split, "time_limit": limit}, on_device=True)
        for split in range(FIRST_SPLIT, FIRST_SPLIT + (1 if scope.quick else SPLITS))
        for name in scope.some(TASKS)
        for kind in KINDS
    )
    return [Experiment(NAME, "Numeric targets", "numbers instead of classes, on four graphs", measurements=found)]


def numbers(task: str, kind: str, split: int, time_limit: float, device: str = "auto") -> dict[str, Any]:
    """Fit a split of a task by the automatic choice, with intervals; return its scores and those of its candidates."""
    graph = TASKS[task].graph(split)
    random = kind == "random"
    drawn = Split.holdout(graph.strata, 0.1, 0.8, split) if random else Split.blocked(graph, seed=split)
    try:
        result = fit(graph, drawn, seeds=[0], model="auto", time_limit=time_limit, coverage=COVERAGE, device=device)
    except (HierGCNError, MemoryError, RuntimeError) as error:
        return {"failure": f"{error!s:.300}"}
    candidates = {
        one.name: {name: summary.mean for name, summary in one.test.items()}
        for one in result.leaderboard or ()
        if one.test is not None
    }
    weights = {one.name: one.weight for one in result.leaderboard or () if one.weight}
    scores = result.metrics()
    kept = {name: scores[name] for name in scores if name.startswith("delivered_") or name == "prediction_intervals"}
    return kept | {"candidates": candidates, "weights": weights, "failure": None}


# The page


class _Cell(TaskResults):
    """The finished splits of one kind of a task."""

    def answer(self, metric: str) -> Summary:
        return self.summary(f"delivered_{metric}")

    def candidate(self, name: str, metric: str) -> Summary:
        return self.summary("candidates", name, metric)

    def interval(self, figure: str) -> Summary:
        return self.summary("prediction_intervals", figure)

    @property
    def best_floor(self) -> str:
        """The floor with the highest mean R² on test nodes, known only afterwards."""
        return max(FLOORS, key=lambda name: _mean(self.candidate(name, "r2")))

    @property
    def better(self) -> bool:
        """Whether the answer is better than every floor, by R²."""
        return _mean(self.answer("r2")) > _mean(self.candidate(self.best_floor, "r2"))

    @property
    def held(self) -> bool:
        """Whether the intervals cover what was promised."""
        return abs(_mean(self.interval("measured_coverage")) - COVERAGE) <= CLOSE

    @property
    def wins(self) -> str:
        """Splits on which the answer has a smaller squared error than the best floor on average."""
        floor = self.candidate(self.best_floor, "rmse").per_seed
        pairs = zip(self.answer("rmse").per_seed, floor, strict=True)
        count = sum(ours is not None and theirs is not None and ours < theirs for ours, theirs in pairs)
        return f"{count} of {len(self.runs)}"


def numbers_sections(records: Sequence[Record], _quick: bool = False) -> list[Section]:
    by_kind = {kind: by_task(records, TASKS, NAME, kind=kind) for kind in KINDS}
    cells = {
        f"{TASKS[task].title}, {kind}": _Cell(task, by_kind[kind][task].runs)
        for task in TASKS
        for kind in KINDS
        if task in by_kind[kind]
    }
    limit = " and ".join(sorted({f"{one.key['arguments']['time_limit']:g}" for one in records}))
    failed = sum(bool(one.result.get("failure")) for one in records)
    words: dict[str, Any] = {"coverage": COVERAGE, "limit": limit, "runs": len(records), "failed": failed}
    if not cells:
        return [_TEXTS.section("overview", **words)]
    held = [cell.held for title, cell in cells.items() if title.endswith(", random")]
    better = [cell.better for cell in cells.values()]
    rows = (
        ("tasks and kinds of split on which the answer is better than every floor", f"{sum(better)} of {len(better)}"),
        (f"random splits: mean coverage within {100 * CLOSE:g} points of 90 %", f"{sum(held)} of {len(held)}"),
    )

    scores: list[Row] = []
    intervals: list[Row] = []
    for title, cell in cells.items():
        unit, covered = TASKS[cell.task].unit, cell.interval("measured_coverage")
        nodes = cell.interval("calibration_nodes").values.astype(int)

        def text(r2: Summary, mae: Summary, strong: bool = False, unit: str = unit) -> Text:
            return Text(_three_digits(r2), (f"MAE {_mean(mae):.3g} {unit}".strip(),), strong=strong)

        answer = text(cell.answer("r2"), cell.answer("mae"), cell.better)
        floors = (text(cell.candidate(name, "r2"), cell.candidate(name, "mae")) for name in FLOORS)
        scores.append((Text(title, (f"{len(cell.runs)} splits",)), answer, *floors, cell.wins))
        shown = Text(f"{100 * _mean(covered):.1f} ± {100 * (covered.std or 0.0):.1f}", strong=cell.held)
        width = f"± {_mean(cell.interval('half_width')):.3g} {unit}".strip()
        intervals.append((title, shown, width, " to ".join(map(str, sorted({nodes.min(), nodes.max()})))))
    columns = ("task", "answer", *(method_title(name) for name in FLOORS), "splits better than the best floor")
    of_intervals = ("task", "coverage", "mean half width", "calibrating nodes")
    return [
        _TEXTS.section("overview", Table.from_rows(("", "value"), rows), **words),
        _TEXTS.section("scores", Table.from_rows(columns, scores), is_experiment=True),
        _TEXTS.section("intervals", Table.from_rows(of_intervals, intervals), is_experiment=True),
    ]


STUDY = Study(NAME, "Numeric targets", numbers_experiments, numbers_sections, (numbers,))


def _mean(summary: Summary) -> float:
    return float("-inf") if summary.mean is None else summary.mean


def _three_digits(summary: Summary) -> str:
    if summary.mean is None:
        return "–"
    return f"{summary.mean:.3f}" + ("" if summary.std is None else f" ± {summary.std:.3f}")
