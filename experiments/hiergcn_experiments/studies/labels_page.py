"""The page of spending labels well: learning curves, labels saved, coverage, precision, and verdicts."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hiergcn.research import Axis, Entry, Figure, PairedDifference, Panel, Summary, axes, paired_difference, palette
from hiergcn_experiments.display import curve
from hiergcn_experiments.experiment import Scope, Study
from hiergcn_experiments.page import (
    Columns,
    Picture,
    Row,
    Section,
    Table,
    Text,
    Texts,
    mean,
    mean_and_std,
    packaged,
    points,
    verdict,
)
from hiergcn_experiments.results import TaskResults, by_task
from hiergcn_experiments.store import Record
from hiergcn_experiments.studies import labels as study

COLOURS = {
    "random": palette.OTHER,
    "degree": palette.PINK,
    "page-rank": palette.GREEN,
    "k-means": palette.AMBER,
    "suggest": palette.BLUE,
    "rounds": palette.VERMILION,
}
TITLES = {name: name for name in COLOURS}
TITLES |= {"page-rank": "PageRank", "rounds": f"suggest in rounds of {study.ROUND}"}
MODELS = {"linear": "a linear model", "auto": "the automatic choice"}
FEW = (2, 5)
"""Labels per class for which the labels saved are averaged."""
CLOSE = 0.02
"""Distance of a measured coverage from what was asked that is allowed."""
_TEXTS = Texts(packaged("studies/labels.toml"))


class Curves(TaskResults):
    """Accuracies of every strategy on one task, by draw, strategy and labels per class; a fit that failed is None."""

    @property
    def title(self) -> str:
        return study.TASKS[self.task].title

    def accuracy(self, strategy: str, per_class: int) -> Summary:
        return self.summary("accuracy", strategy, str(per_class))

    def lead(self, strategy: str, over: str, per_class: int) -> PairedDifference:
        """Return the difference of two strategies, paired by draw."""
        ours, theirs = (
            {(draw, 0): value for draw, value in zip(self.runs, self.accuracy(name, per_class).per_seed, strict=True)}
            for name in (strategy, over)
        )
        return paired_difference(strategy, ours, over, theirs)

    def saved(self, strategy: str, per_class: int) -> float | None:
        """Return the share of labels that a strategy saves beside random nodes of the same accuracy.

        The accuracy of random nodes is interpolated over the logarithm of their number. None if so many random nodes
        as were tried are not enough.
        """
        wanted = self.accuracy(strategy, per_class).mean
        sizes = sorted(map(int, next(iter(self.runs.values()))["accuracy"].get("random", {})))
        known = [(size, value) for size in sizes if (value := self.accuracy("random", size).mean) is not None]
        if wanted is None or not known:
            return None
        climbing = np.maximum.accumulate([value for _, value in known])
        if wanted > climbing[-1]:
            return None
        logarithms = np.log([size for size, _ in known])
        needed = float(np.exp(np.interp(wanted, climbing + 1e-12 * np.arange(len(climbing)), logarithms)))
        return 1.0 - per_class / needed


def curves_of_tasks(records: Iterable[Record], name: str) -> list[Curves]:
    """Return the learning curves of each task that has any."""
    return [Curves(task, found.runs) for task, found in by_task(records, study.TASKS, name).items()]


def sets_by_task(records: Iterable[Record], model: str, nodes: int, asked: float) -> dict[str, TaskResults]:
    """Return coverage, mean size and accuracy of the splits of each task."""
    found = {}
    for task, each in by_task(records, study.TASKS, study.COVERAGE, model=model).items():
        runs = {
            split: row | {"accuracy": one["accuracy"]}
            for split, one in each.runs.items()
            for row in one["sets"]
            if (row["nodes"], row["asked"]) == (nodes, asked)
        }
        found[task] = TaskResults(task, runs, each.made)
    return found


def _cells(curves: Iterable[Curves], sizes: Sequence[int] = study.PER_CLASS) -> list[tuple[Curves, int]]:
    """Return every task with every number of labels that it has results for."""
    return [(one, size) for one in curves for size in sizes if one.accuracy("random", size).mean is not None]


def labels_sections(records: Sequence[Record], _quick: bool = False) -> list[Section]:
    every = {"linear": curves_of_tasks(records, study.LINEAR), "auto": curves_of_tasks(records, study.AUTO)}
    curves = {model: found for model, found in every.items() if found}
    parts: list[Section | None] = [_overview(records, curves)]
    for model, found in curves.items():
        parts += [_curves(found, model), _saved(found, model)]
    parts += [_coverage(records), _doubtful(records), _scale(records), _runs(records)]
    return [part for part in parts if part is not None]


STUDY = Study(
    study.NAME,
    "Spending labels well",
    study.labels_experiments,
    labels_sections,
    (study.labels_linear, study.labels_auto, study.labels_coverage, study.labels_doubtful, study.labels_scale),
)


# Verdicts


def _overview(records: Sequence[Record], curves: Mapping[str, Sequence[Curves]]) -> Section:
    rows = [row for model, found in curves.items() for row in _verdicts_on_curves(found, MODELS[model])]
    for model, title in MODELS.items():
        sets = ((sets_by_task(records, model, study.CALIBRATING[0], asked), asked) for asked in study.ASKED)
        rows += [_verdict_on_sets(found, asked, title) for found, asked in sets if found]
    for more in (0, 500):
        said, holds = [], True
        for task, found in by_task(records, study.TASKS, study.DOUBTFUL, more=more).items():
            ours, alone = (found.mean("precision", name) for name in ("judged", "confidence in the label"))
            said.append(f"{study.TASKS[task].title} {ours:.2f} ({ours - alone:+.2f})".replace("-", "−"))
            holds = holds and ours >= 0.5 and ours > alone
        claim = f"precision of doubtful labels, 20 per class{f' and {more} more' if more else ''}: 0.5 or more"
        if said:
            rows.append((f"{claim}, above confidence alone (difference)", ", ".join(said), verdict(holds)))
    if scale := _sizes(records):
        nodes, figures = scale[-1]
        claim = f"suggest on {nodes:,} nodes after coarsening: under 120 s"
        rows.append((claim, f"{figures['suggest']:.0f} s", verdict(figures["suggest"] < 120)))
    return _TEXTS.section("overview", Table.from_rows(("what it must show", "found", "verdict"), rows, wordy=True))


def _verdicts_on_curves(curves: Sequence[Curves], model: str) -> list[Row]:
    cells = _cells(curves)
    better = sum((one.lead("suggest", "random", size).mean or 0.0) > 0 for one, size in cells)
    claim = f"{model}: suggest better than random in at least 25 of 28 cells"
    rows: list[Row] = [(claim, f"{better} of {len(cells)}", verdict(better >= 25 if len(cells) == 28 else None))]
    for other in ("degree", "page-rank", "k-means"):
        leads = [lead for one, size in cells if (lead := one.lead("suggest", other, size).mean) is not None]
        if leads:
            said = f"{sum(lead > 0 for lead in leads)} of {len(leads)} cells, {points(mean(leads))} on average"
            rows.append((f"{model}: suggest better than {TITLES[other]}", said, ""))
    saved = [value for one in curves for size in FEW if (value := one.saved("suggest", size)) is not None]
    if saved:
        claim = f"{model}: at 2 and 5 labels per class, a quarter saved"
        rows.append((claim, f"{mean(saved):.0%}", verdict(mean(saved) >= 0.25)))
    again = [(one, size) for one, size in _cells(curves, (10, 20)) if one.accuracy("rounds", size).mean is not None]
    if again:
        rounds = [one.lead("rounds", "suggest", size).mean or 0.0 for one, size in again]
        said = f"{points(mean(rounds))} on average, better in {sum(lead > 0 for lead in rounds)} of {len(rounds)} cells"
        rows.append((f"{model}: rounds better again than suggest at once", said, verdict(mean(rounds) > 0)))
    return rows


def _verdict_on_sets(sets: Mapping[str, TaskResults], asked: float, model: str) -> Row:
    sets = {task: one for task, one in sets.items() if len(one.runs) >= study.SPLITS}
    covered = {task: one.mean("covered") for task, one in sets.items()}
    kept = sum(
        abs(share - asked) <= CLOSE or (share > asked and sets[task].mean("accuracy") > asked)
        for task, share in covered.items()
    )
    decided = kept == len(sets) if len(sets) == len(study.TASKS) or kept < len(sets) else None
    claim = (
        f"{model}: coverage within 2 points of {asked:.0%} (above it if the predicted class alone is right more often)"
        f", {study.CALIBRATING[0]} calibrating nodes"
    )
    said = ", ".join(f"{study.TASKS[task].title} {points(share, False)}" for task, share in covered.items())
    return claim, f"{kept} of {len(sets)}: {said}", verdict(decided)


# Which nodes to label


def _curves(curves: Sequence[Curves], model: str) -> Section:
    names = [name for name in COLOURS if any(one.accuracy(name, size).mean for one, size in _cells(curves))]
    rows: list[Row] = []
    for one, size in _cells(curves):
        lead, accuracies = one.lead("suggest", "random", size), {name: one.accuracy(name, size) for name in names}
        interval = (f"{points(lead.low)} to {points(lead.high)}",) if lead.low is not None else ()
        best = max(names, key=lambda name: accuracies[name].mean or 0.0)
        rows.append(
            (
                f"{one.title}, {size} per class",
                *(Text(mean_and_std(accuracies[name]), strong=name == best) for name in names),
                Text(points(lead.mean), interval, mark="holds" if (lead.mean or 0.0) > 0 else "does-not-hold"),
            )
        )
    table = Table.from_rows(("labels", *(TITLES[name] for name in names), "suggest minus random"), rows)
    counts = sorted({len(one.runs) for one in curves})
    draws = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    shown = Picture(f"curves-{model}", _figure(curves, names), "Accuracy by labels per class for each strategy.")
    return _TEXTS.section(f"labels-{model}", shown, table, key=f"curves-{model}", is_experiment=True, draws=draws)


def _figure(curves: Iterable[Curves], names: Sequence[str]) -> Figure:
    ticks = tuple(float(size) for size in study.PER_CLASS)
    sizes = Axis(1.8, 22.5, ticks, tuple(map(str, study.PER_CLASS)), "labels per class", log=True)
    panels = []
    for one in curves:
        means = {
            name: {size: one.accuracy(name, size).mean for size in sorted((*study.PER_CLASS, 15))} for name in names
        }
        lines = {
            name: {size: 100 * value for size, value in line.items() if value is not None}
            for name, line in means.items()
        }
        shown = [end for name, line in lines.items() for end in line.values() if name not in ("degree", "page-rank")]
        lowest = min(shown) - 0.15 * (max(shown) - min(shown))
        panel = Panel(sizes, axes.span([lowest, *shown], "accuracy, %"), title=one.title, height=200)
        for name, line in lines.items():
            kept: dict[float, float] = {size: value for size, value in line.items() if value >= lowest}
            curve(panel, kept, COLOURS[name], TITLES[name], f"{TITLES[name]}, {{x}} per class: {{y:.1f}} %")
        panels.append(panel)
    return Figure(panels, [Entry(TITLES[name], COLOURS[name]) for name in names], columns=2)


def _saved(curves: Sequence[Curves], model: str) -> Section:
    sizes = study.PER_CLASS[:3]
    shares = {one.title: [one.saved("suggest", size) for size in sizes] for one in curves}
    shares["mean"] = [Summary(tuple(column)).mean for column in zip(*shares.values(), strict=True)]
    rows = [(name, *("–" if one is None else f"{one:.0%}" for one in each)) for name, each in shares.items()]
    return _TEXTS.section(f"saved-{model}", Table.from_rows(("task", *(f"{size} per class" for size in sizes)), rows))


# Prediction sets, doubtful labels, large graphs


def _coverage(records: Sequence[Record]) -> Section | None:
    asked, tables = [(nodes, share) for nodes in study.CALIBRATING for share in study.ASKED], []
    for model, title in MODELS.items():
        found = [sets_by_task(records, model, *one) for one in asked]
        rows = []
        for task, first in found[0].items():
            count = Counter("GPU" if one["device"] == "cuda" else "CPU" for one in first.made)
            devices = ", ".join(name if len(count) == 1 else f"{name} {k}" for name, k in sorted(count.items()))
            shown = (f"{mean_and_std(one[task].summary('covered'))}, {one[task].mean('size'):.2f}" for one in found)
            last = [str(len(first.runs)), *([devices] if model == "auto" else [])]
            rows.append((study.TASKS[task].title, mean_and_std(first.summary("accuracy")), *shown, *last))
        if rows:
            columns = ["task", "accuracy", *(f"{share:.0%}, {nodes} nodes" for nodes, share in asked), "splits"]
            columns += ["device"] if model == "auto" else []
            tables.append(Table.from_rows(columns, rows, f"With {title}:"))
    return _TEXTS.section(study.COVERAGE, *tables, is_experiment=True, limit=study.TIME_LIMIT) if tables else None


def _doubtful(records: Sequence[Record]) -> Section | None:
    tasks = [one for more in (0, 500) for one in by_task(records, study.TASKS, study.DOUBTFUL, more=more).values()]

    def labels(one: TaskResults) -> Text:
        first = next(iter(one.runs.values()))
        return Text(study.TASKS[one.task].title, (f"{first['flipped']} of {first['labels']} flipped",))

    def precision(name: str) -> Callable[[TaskResults], Text]:
        return lambda one: Text(mean_and_std(one.summary("precision", name)), strong=name == "judged")

    def accuracy(name: str) -> Callable[[TaskResults], str]:
        return lambda one: points(one.mean("accuracy", name), False)

    columns: Columns[TaskResults] = {
        "labels": labels,
        "judged by other labels": precision("judged"),
        "confidence in the label": precision("confidence in the label"),
        "confidence": precision("confidence"),
        "accuracy as given": accuracy("as given"),
        "without the doubtful": accuracy("without the doubtful"),
        "true labels": accuracy("true labels"),
        "draws": lambda one: str(len(one.runs)),
    }
    return _TEXTS.section(study.DOUBTFUL, Table.from_items(tasks, columns), is_experiment=True) if tasks else None


def _sizes(records: Iterable[Record]) -> list[tuple[int, dict[str, Any]]]:
    """Return the figures of `suggest` on large graphs by nodes."""
    found = [(one.key["arguments"]["nodes"], one.result) for one in records if one.key["name"] == study.SCALE]
    return sorted(found, key=lambda one: one[0])


def _scale(records: Iterable[Record]) -> Section | None:
    found = _sizes(records)
    columns: Columns[tuple[int, dict[str, Any]]] = {
        "nodes": lambda one: f"{one[0]:,}",
        "edges": lambda one: f"{one[1]['edges']:,}",
        "coarsening, s": lambda one: f"{one[1]['coarsen']:.1f}",
        "suggest, s": lambda one: f"{one[1]['suggest']:.1f}",
    }
    return _TEXTS.section(study.SCALE, Table.from_items(found, columns), is_experiment=True) if found else None


def _runs(records: Sequence[Record]) -> Section:
    failures = [
        f"{one.key['arguments']['task']}, draw {one.key['arguments']['draw']}, {failure}"
        for one in records
        if one.key["name"] == study.AUTO
        for failure in one.result.get("failures", ())
    ]
    planned = Counter(job.name for part in study.labels_experiments(Scope()) for job in part.measurements)
    done = Counter(one.key["name"] for one in records)
    have = ", ".join(f"{name} {done[name]} of {count}" for name, count in planned.items())
    return _TEXTS.section("unfinished", notes=failures, have=have, failed=len(failures))
