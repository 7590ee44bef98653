"""The benchmark of numeric targets: the automatic choice beside its floors, and whether its intervals hold.

The portfolio for numbers was designed by validation on splits 0 and 1 of these tasks. Splits are numbered from 2 here,
and generated graphs have other seeds than that of the design.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hiergcn.datasets import load_dataset, planted_numbers
from hiergcn.errors import HierGCNError
from hiergcn.evaluate.metrics import Summary
from hiergcn.graph import Graph, Split
from hiergcn.report.leaderboard import MEASURES
from hiergcn.run.fit import fit
from hiergcn.settings.registry import method_title
from hiergcn_experiments.experiment import Experiment, Measurement, named_tasks
from hiergcn_experiments.sections import Section
from hiergcn_experiments.store import Record, latest_by
from hiergcn_experiments.tables import Row, Table, Text

NAME = "numbers"
FLOORS = MEASURES["r2"].simple
"""Methods that the answer must be better than."""
SPLITS = 20
FIRST_SPLIT = 2
KINDS = ("random", "blocked")
TIME_LIMIT = 20.0
COVERAGE = 0.9
CLOSE = 0.02
"""Largest difference of mean coverage from what was asked."""
_GENERATED = 100  # added to the number of a split for the seed of a generated graph


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


def numbers_experiment(
    time_limit: float = TIME_LIMIT, tasks: Iterable[str] = (), splits: int | None = None
) -> Experiment:
    """Return the benchmark; only some tasks if they are named, and only the first `splits` of each."""
    found = tuple(
        Measurement(NAME, {"task": name, "kind": kind, "split": split, "time_limit": float(time_limit)}, on_device=True)
        for split in range(FIRST_SPLIT, FIRST_SPLIT + (splits or SPLITS))
        for name in named_tasks(tasks, TASKS)
        for kind in KINDS
    )
    return Experiment(NAME, "Numeric targets", "numbers instead of classes, on four graphs", measurements=found)


def numbers(task: str, kind: str, split: int, time_limit: float, device: str = "auto") -> dict[str, Any]:
    """Fit a split of a task by the automatic choice, with intervals; return its scores and those of its candidates."""
    graph = TASKS[task].graph(split)
    assert graph.strata is not None
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


def numbers_records(records: Iterable[Record]) -> list[Record]:
    """Return the records of this benchmark; of several on one split the latest."""
    return latest_by(_place, (one for one in records if one.key.get("name") == NAME))


def numbers_sections(records: Sequence[Record]) -> list[Section]:
    done = [one for one in records if not one.result.get("failure")]
    cells = [_Cell(task, kind, done) for task in TASKS for kind in KINDS]
    cells = [cell for cell in cells if cell.results]
    sections = [_overview(records, cells)]
    if cells:
        sections += [_scores(cells), _intervals(cells)]
    return sections


class _Cell:
    """The finished splits of one kind of a task."""

    def __init__(self, task: str, kind: str, records: Sequence[Record]) -> None:
        self.task, self.kind = task, kind
        here = (one for one in records if _place(one)[:2] == (task, kind))
        self.results = [one.result for one in sorted(here, key=_place)]

    @property
    def title(self) -> str:
        return f"{TASKS[self.task].title}, {self.kind}"

    def answer(self, metric: str) -> Summary:
        return Summary(tuple(one[f"delivered_{metric}"] for one in self.results))

    def of(self, name: str, metric: str) -> Summary:
        return Summary(tuple(one["candidates"].get(name, {}).get(metric) for one in self.results))

    def interval(self, figure: str) -> Summary:
        return Summary(tuple(one["prediction_intervals"][figure] for one in self.results))

    @property
    def best_floor(self) -> str:
        """The floor with the highest mean R² on test nodes, known only afterwards."""
        return max(FLOORS, key=lambda name: _mean(self.of(name, "r2")))

    @property
    def wins(self) -> int:
        """Splits on which the answer has a smaller squared error than the best floor on average."""
        floor = self.of(self.best_floor, "rmse").per_seed
        pairs = zip(self.answer("rmse").per_seed, floor, strict=True)
        return sum(ours is not None and theirs is not None and ours < theirs for ours, theirs in pairs)


def _overview(records: Sequence[Record], cells: Sequence[_Cell]) -> Section:
    limit = " and ".join(sorted({f"{one.key['arguments']['time_limit']:g}" for one in records}))
    about = (
        f"`fit(graph, split, model='auto', coverage={COVERAGE:g}, time_limit={limit})` with one seed. Random splits: "
        "10 % of the nodes train, 10 % validate, of which half calibrate the intervals, 80 % test. Blocked splits: the "
        "test half of the graph is the one farther from the rest. Splits 0 and 1 served the design of the portfolio "
        f"and are not here. {len(records)} runs, of which {sum(bool(one.result.get('failure')) for one in records)} "
        "failed."
    )
    if not cells:
        return Section("overview", "Overview", about, is_experiment=False)
    better = sum(_mean(cell.answer("r2")) > _mean(cell.of(cell.best_floor, "r2")) for cell in cells)
    random = [cell for cell in cells if cell.kind == "random"]
    held = sum(abs(_mean(cell.interval("measured_coverage")) - COVERAGE) <= CLOSE for cell in random)
    rows = (
        ("tasks and kinds of split on which the answer is better than every floor", f"{better} of {len(cells)}"),
        (f"random splits: mean coverage within {100 * CLOSE:g} points of 90 %", f"{held} of {len(random)}"),
    )
    return Section("overview", "Overview", about, [Table.of(("", "value"), rows)], is_experiment=False)


def _scores(cells: Sequence[_Cell]) -> Section:
    rows: list[Row] = []
    for cell in cells:
        best, unit = cell.best_floor, TASKS[cell.task].unit
        error = f"MAE {_mean(cell.answer('mae')):.3g} {unit}".strip()
        better = _mean(cell.answer("r2")) > _mean(cell.of(best, "r2"))
        rows.append(
            (
                Text(cell.title, (f"{len(cell.results)} splits",)),
                Text(_spread(cell.answer("r2")), (error,), strong=better),
                *(
                    Text(_spread(cell.of(name, "r2")), (f"MAE {_mean(cell.of(name, 'mae')):.3g} {unit}".strip(),))
                    for name in FLOORS
                ),
                f"{cell.wins} of {len(cell.results)}",
            )
        )
    columns = ("task", "answer", *(method_title(name) for name in FLOORS), "splits better than the best floor")
    about = (
        "R² on test nodes, mean ± sample standard deviation over splits, and the mean absolute error. R² is 1 for "
        "perfect predictions and 0 for the mean of the test nodes."
    )
    return Section("scores", "Scores", about, [Table.of(columns, rows)])


def _intervals(cells: Sequence[_Cell]) -> Section:
    rows: list[Row] = []
    for cell in cells:
        width, unit = _mean(cell.interval("half_width")), TASKS[cell.task].unit
        nodes = {one["prediction_intervals"]["calibration_nodes"] for one in cell.results}
        covered = cell.interval("measured_coverage")
        held = abs(_mean(covered) - COVERAGE) <= CLOSE
        shown = f"{100 * _mean(covered):.1f} ± {100 * (covered.std or 0.0):.1f}"
        rows.append(
            (
                cell.title,
                Text(shown, strong=held),
                f"± {width:.3g} {unit}".strip(),
                " to ".join(str(count) for count in sorted({min(nodes), max(nodes)})),
            )
        )
    about = (
        "Intervals of 90 %: the share of test nodes whose interval holds the true value, in %, mean ± sample standard "
        "deviation over splits. The promise needs test nodes like those that calibrate. Random splits have them; on "
        "blocked splits test nodes lie elsewhere, and nothing is promised."
    )
    columns = ("task", "coverage", "mean half width", "calibrating nodes")
    return Section("intervals", "Intervals", about, [Table.of(columns, rows)])


def _place(record: Record) -> tuple[str, str, int]:
    about = record.key["arguments"]
    return about["task"], about["kind"], about["split"]


def _mean(summary: Summary) -> float:
    return float("-inf") if summary.mean is None else summary.mean


def _spread(summary: Summary) -> str:
    if summary.mean is None:
        return "–"
    return f"{summary.mean:.3f}" + ("" if summary.std is None else f" ± {summary.std:.3f}")
