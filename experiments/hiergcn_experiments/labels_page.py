"""The page of the benchmark of labels: learning curves, labels saved, coverage, precision, and verdicts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hiergcn.evaluate.metrics import Summary
from hiergcn.evaluate.paired import PairedDifference, paired_difference
from hiergcn.report import axes
from hiergcn.report.axes import Axis
from hiergcn.report.palette import AMBER, BLUE, GREEN, OTHER, PINK, VERMILION
from hiergcn.report.panels import Entry, Figure, Panel
from hiergcn_experiments.labels import (
    ASKED,
    AUTO,
    CALIBRATING,
    COVERAGE,
    DOUBTFUL,
    LINEAR,
    NAME,
    PER_CLASS,
    ROUND,
    SCALE,
    SPLITS,
    TASKS,
    TIME_LIMIT,
    labels_experiments,
)
from hiergcn_experiments.sections import Picture, Section
from hiergcn_experiments.significance import points
from hiergcn_experiments.store import Record, latest_by
from hiergcn_experiments.tables import Row, Table, Text, spread

COLOURS = {"random": OTHER, "degree": PINK, "page-rank": GREEN, "k-means": AMBER, "suggest": BLUE, "rounds": VERMILION}
TITLES = {"page-rank": "PageRank", "rounds": f"suggest in rounds of {ROUND}"}
MODELS = {"linear": "a linear model", "auto": "the automatic choice"}
FEW = (2, 5)
"""Labels per class for which the labels saved are averaged."""
CLOSE = 0.02
"""Distance of a measured coverage from what was asked that is allowed."""

Figures = Mapping[str, Any]


def labels_records(records: Iterable[Record]) -> list[Record]:
    """Return the records of this benchmark; of several of one measurement the latest."""
    return latest_by(_place, (one for one in records if str(one.key.get("name", "")).startswith(f"{NAME}-")))


def _place(record: Record) -> tuple[Any, ...]:
    about = record.key["arguments"].items()
    return record.key["name"], *sorted(one for one in about if one[0] not in ("time_limit", "per_class"))


def labels_sections(records: Sequence[Record]) -> list[Section]:
    curves = {
        model: found for model, name in (("linear", LINEAR), ("auto", AUTO)) if (found := curves_of(records, name))
    }
    parts = [_overview(records, curves)]
    for model, found in curves.items():
        parts += [_curves(found, model), _saved(found, model)]
    parts += [part for part in (_coverage(records), _doubtful(records), _scale(records)) if part is not None]
    return [*parts, _runs(records)]


# Results


@dataclass(frozen=True, eq=False)
class Curves:
    """Accuracies of every strategy on one task, by labels per class and draw."""

    task: str
    draws: Mapping[int, Figures]
    """By draw: accuracies by strategy, then by labels per class."""

    def of(self, strategy: str, per_class: int) -> Summary:
        """Return the accuracies of the draws; a fit that failed is None."""
        return Summary(tuple(draw.get(strategy, {}).get(str(per_class)) for draw in self.draws.values()))

    def mean(self, strategy: str, per_class: int) -> float | None:
        return self.of(strategy, per_class).mean

    def lead(self, strategy: str, over: str, per_class: int) -> PairedDifference:
        """Return the difference of two strategies, paired by draw."""
        ours, theirs = (
            {(draw, 0): one.get(name, {}).get(str(per_class)) for draw, one in self.draws.items()}
            for name in (strategy, over)
        )
        return paired_difference(strategy, ours, over, theirs)

    def saved(self, strategy: str, per_class: int) -> float | None:
        """Return the share of labels that a strategy saves beside random nodes of the same accuracy.

        The accuracy of random nodes is interpolated over the logarithm of their number. None if so many random nodes
        as were tried are not enough.
        """
        wanted = self.mean(strategy, per_class)
        sizes = sorted(int(size) for size in next(iter(self.draws.values()), {}).get("random", {}))
        known = [(size, mean) for size in sizes if (mean := self.mean("random", size)) is not None]
        if wanted is None or not known:
            return None
        climbing = np.maximum.accumulate([mean for _, mean in known])
        if wanted > climbing[-1]:
            return None
        places = np.log([size for size, _ in known])
        needed = float(np.exp(np.interp(wanted, climbing + 1e-12 * np.arange(len(climbing)), places)))
        return 1.0 - per_class / needed


def curves_of(records: Iterable[Record], name: str) -> dict[str, Curves]:
    """Return the learning curves of each task that has any."""
    found = {
        task: {about["draw"]: result["accuracy"] for about, result in each} for task, each in _by_task(records, name)
    }
    return {task: Curves(task, dict(sorted(draws.items()))) for task, draws in found.items()}


def sets_of(records: Iterable[Record], model: str, nodes: int, asked: float) -> dict[str, dict[str, Summary]]:
    """Return coverage, mean size and accuracy of the splits of each task."""
    found = {}
    for task, each in _by_task(records, COVERAGE, model=model):
        rows = [
            row | {"accuracy": result["accuracy"]}
            for _, result in each
            for row in result["sets"]
            if (row["nodes"], row["asked"]) == (nodes, asked)
        ]
        found[task] = {name: Summary(tuple(row[name] for row in rows)) for name in ("covered", "size", "accuracy")}
    return found


def devices_of(records: Iterable[Record], task: str, model: str) -> str:
    """Return what trained the models of the prediction sets: GPU, CPU, or both with the number of splits."""
    about = {"task": task, "model": model}
    ours = [one for one in records if one.key["name"] == COVERAGE and about.items() <= one.key["arguments"].items()]
    count = Counter("GPU" if one.made["device"] == "cuda" else "CPU" for one in ours)
    return ", ".join(name if len(count) == 1 else f"{name} {number}" for name, number in sorted(count.items()))


def _by_task(records: Iterable[Record], name: str, **about: Any) -> list[tuple[str, list[tuple[Figures, Figures]]]]:
    """Return arguments and results of a part of the benchmark, by task in the order of the tasks."""
    found: dict[str, list[tuple[Figures, Figures]]] = {task: [] for task in TASKS}
    for one in records:
        given = one.key["arguments"]
        if one.key["name"] == name and about.items() <= given.items():
            found[given["task"]].append((given, one.result))
    return [(task, each) for task, each in found.items() if each]


def _cells(curves: Mapping[str, Curves], sizes: Sequence[int] = PER_CLASS) -> list[tuple[Curves, int]]:
    """Return every task with every number of labels that it has results for."""
    return [(one, size) for one in curves.values() for size in sizes if one.mean("random", size) is not None]


# Verdicts


def _overview(records: Sequence[Record], curves: Mapping[str, Mapping[str, Curves]]) -> Section:
    rows = [row for model, found in curves.items() for row in _verdicts_on_curves(found, MODELS[model])]
    found = [(sets_of(records, model, CALIBRATING[0], asked), asked, model) for model in MODELS for asked in ASKED]
    rows += [_verdict_on_sets(sets, asked, MODELS[model]) for sets, asked, model in found if sets]
    doubts = [(_by_task(records, DOUBTFUL, more=more), more) for more in (0, 500)]
    rows += [_verdict_on_doubts(each, more) for each, more in doubts if each]
    if scale := [(one.key["arguments"]["nodes"], one.result["suggest"]) for one in records if one.key["name"] == SCALE]:
        nodes, seconds = max(scale)
        rows.append(
            _row(f"suggest on {nodes:,} nodes after coarsening: under 120 s", f"{seconds:.0f} s", seconds < 120)
        )
    about = (
        "The rule of `suggest` was chosen on Cora, Amazon Photo and a smaller power grid (ACTIVSg2000), with the "
        "linear model and other draws; the other five graphs had no part in it. The judges of labels were chosen on "
        "other draws of the same graphs. Nothing was chosen for prediction sets after their score was fixed on Cora, "
        "Amazon Photo and ACTIVSg2000."
    )
    table = Table.of(("what it must show", "found", "verdict"), rows, wordy=True)
    return Section("overview", "Overview", about, [table], is_experiment=False)


def _verdicts_on_curves(curves: Mapping[str, Curves], model: str) -> list[Row]:
    places = _cells(curves)
    better = sum((one.lead("suggest", "random", size).mean or 0.0) > 0 for one, size in places)
    decided = better >= 25 if len(places) == 28 else None
    claim = f"{model}: suggest better than random in at least 25 of 28 cells"
    rows = [_row(claim, f"{better} of {len(places)}", decided)]
    for other in ("degree", "page-rank", "k-means"):
        leads = [lead for one, size in places if (lead := one.lead("suggest", other, size).mean) is not None]
        if leads:
            said = f"{sum(lead > 0 for lead in leads)} of {len(leads)} cells, {points(_mean(leads))} on average"
            rows.append((f"{model}: suggest better than {TITLES.get(other, other)}", said, ""))
    saved = [value for one in curves.values() for size in FEW if (value := one.saved("suggest", size)) is not None]
    if saved:
        share = _mean(saved)
        rows.append(_row(f"{model}: at 2 and 5 labels per class, a quarter saved", f"{share:.0%}", share >= 0.25))
    again = [(one, size) for one, size in _cells(curves, (10, 20)) if one.mean("rounds", size) is not None]
    if again:
        rounds = [one.lead("rounds", "suggest", size).mean or 0.0 for one, size in again]
        won = sum(lead > 0 for lead in rounds)
        said = f"{points(_mean(rounds))} on average, better in {won} of {len(rounds)} cells"
        rows.append(_row(f"{model}: rounds better again than suggest at once", said, _mean(rounds) > 0))
    return rows


def _verdict_on_sets(sets: Mapping[str, Mapping[str, Summary]], asked: float, model: str) -> Row:
    def holds(one: Mapping[str, Summary]) -> bool:
        covered, accuracy = one["covered"].mean or 0.0, one["accuracy"].mean or 0.0
        return abs(covered - asked) <= CLOSE or (covered > asked and accuracy > asked)

    sets = {task: one for task, one in sets.items() if len(one["covered"].per_seed) >= SPLITS}
    kept = sum(holds(one) for one in sets.values())
    decided = kept == len(sets) if len(sets) == len(TASKS) or kept < len(sets) else None
    what = (
        f"{model}: coverage within 2 points of {asked:.0%} (above it if the predicted class alone is right more often)"
    )
    said = ", ".join(f"{TASKS[task].title} {points(one['covered'].mean, False)}" for task, one in sets.items())
    what += f", {CALIBRATING[0]} calibrating nodes"
    return _row(what, f"{kept} of {len(sets)}: {said}", decided)


def _verdict_on_doubts(doubts: Iterable[tuple[str, list[tuple[Figures, Figures]]]], more: int) -> Row:
    said, hold = [], True
    for task, each in doubts:
        ours, alone = (
            _mean(one["precision"][name] for _, one in each) for name in ("judged", "confidence in the label")
        )
        said.append(f"{TASKS[task].title} {ours:.2f} ({ours - alone:+.2f})".replace("-", "−"))
        hold = hold and ours >= 0.5 and ours > alone
    what = f"precision of doubtful labels, 20 per class{f' and {more} more' if more else ''}: 0.5 or more"
    return _row(f"{what}, above confidence alone (difference)", ", ".join(said), hold)


def _row(what: str, said: str, holds: bool | None) -> Row:
    verdict = "undecided" if holds is None else "holds" if holds else "does not hold"
    return what, said, Text(verdict, strong=True, mark=verdict.replace(" ", "-"))


# Which nodes to label


def _curves(curves: Mapping[str, Curves], model: str) -> Section:
    names = [name for name in COLOURS if any(one.mean(name, size) for one, size in _cells(curves))]
    rows: list[Row] = []
    for one, size in _cells(curves):
        lead = one.lead("suggest", "random", size)
        interval = (f"{points(lead.low)} to {points(lead.high)}",) if lead.low is not None else ()
        means = {name: mean for name in names if (mean := one.mean(name, size)) is not None}
        best = max(means, key=lambda name: means[name])
        rows.append(
            (
                f"{TASKS[one.task].title}, {size} per class",
                *(Text(spread(one.of(name, size)) if name in means else "–", strong=name == best) for name in names),
                Text(points(lead.mean), interval, mark="holds" if (lead.mean or 0.0) > 0 else "does-not-hold"),
            )
        )
    columns = ("labels", *(TITLES.get(name, name) for name in names), "suggest minus random")
    counts = sorted({len(one.draws) for one in curves.values()})
    draws = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    if model == "linear":
        title = "Which nodes to label, with a linear model"
        about = (
            "Nodes are chosen without any label, labelled, and a model is fitted; accuracy on all other nodes, in %. "
            "The model is a logistic regression on features averaged over eight steps; on power grids, the harmonic "
            "function. *k-means* takes the nodes nearest to the centres of a k-means on the averaged features. Mean "
            f"± sample standard deviation over {draws} draws. The charts leave out points far below the others; the "
            "table has them."
        )
    else:
        title = "Which nodes to label, with the model that fit chooses"
        about = (
            "`fit(graph, model='auto')` on the chosen labels alone: a fifth of them validates, so the choice among "
            f"methods is made by few labels. Mean ± sample standard deviation over {draws} draws."
        )
    notes = ("In the last column: mean difference and its 95 % interval over draws.",)
    figure = Picture(f"curves-{model}", _figure(curves, names), "Accuracy by labels per class for each strategy.")
    return Section(f"labels-{model}", title, about, [figure, Table.of(columns, rows)], notes)


def _figure(curves: Mapping[str, Curves], names: Sequence[str]) -> Figure:
    ticks = tuple(float(size) for size in PER_CLASS)
    sizes = Axis(1.8, 22.5, ticks, tuple(map(str, PER_CLASS)), "labels per class", log=True)
    panels = []
    for one in curves.values():
        lines = {
            name: {size: 100 * mean for size in (*PER_CLASS, 15) if (mean := one.mean(name, size)) is not None}
            for name in names
        }
        shown = [mean for name, line in lines.items() for mean in line.values() if name not in ("degree", "page-rank")]
        lowest = min(shown) - 0.15 * (max(shown) - min(shown))
        panel = Panel(sizes, axes.span([lowest, *shown], "accuracy, %"), title=TASKS[one.task].title, height=200)
        for name, line in lines.items():
            kept = {size: mean for size, mean in sorted(line.items()) if mean >= lowest}
            panel.line(kept, kept.values(), COLOURS[name], TITLES.get(name, name))
            tips = [f"{TITLES.get(name, name)}, {size} per class: {mean:.1f} %" for size, mean in kept.items()]
            panel.dots(kept, kept.values(), COLOURS[name], size=4, tips=tips)
        panels.append(panel)
    return Figure(panels, [Entry(TITLES.get(name, name), COLOURS[name]) for name in names], columns=2)


def _saved(curves: Mapping[str, Curves], model: str) -> Section:
    sizes = PER_CLASS[:3]
    shares = {TASKS[one.task].title: [one.saved("suggest", size) for size in sizes] for one in curves.values()}
    known = ([share for share in column if share is not None] for column in zip(*shares.values(), strict=True))
    shares["mean"] = [_mean(column) if column else None for column in known]
    rows = [(name, *("–" if one is None else f"{one:.0%}" for one in each)) for name, each in shares.items()]
    about = (
        "How many random labels give the accuracy of the suggested ones, by the curve of random labels: 50 % means "
        "that half as many suggested labels do. – means that no number of random labels that was tried is enough."
    )
    title = "Labels saved" if model == "linear" else "Labels saved, with the model that fit chooses"
    table = Table.of(("task", *(f"{size} per class" for size in sizes)), rows)
    return Section(f"saved-{model}", title, about, [table], is_experiment=False)


# Prediction sets, doubtful labels, large graphs


def _coverage(records: Sequence[Record]) -> Section | None:
    asked = [(nodes, share) for nodes in CALIBRATING for share in ASKED]
    tables = []
    for model, title in MODELS.items():
        found = [sets_of(records, model, *one) for one in asked]
        rows = [
            (
                TASKS[task].title,
                spread(first["accuracy"]),
                *(f"{spread(one[task]['covered'])}, {one[task]['size'].mean:.2f}" for one in found),
                str(len(first["covered"].per_seed)),
                *([devices_of(records, task, model)] if model == "auto" else []),
            )
            for task, first in found[0].items()
        ]
        if rows:
            columns = ["task", "accuracy", *(f"{share:.0%}, {nodes} nodes" for nodes, share in asked), "splits"]
            columns += ["device"] if model == "auto" else []
            tables.append(Table.of(columns, rows, f"With {title}:"))
    if not tables:
        return None
    about = (
        "5 training labels per class. Share of all other nodes whose set holds their class, in %, and classes in a "
        "set on average; mean ± sample standard deviation over splits. Columns: coverage asked for and number of "
        "calibrating nodes. No set is empty: where the predicted class alone is right more often than asked, "
        f"coverage is higher. The automatic choice has {TIME_LIMIT:g} s: by the clock on a GPU; on a CPU by the prices "
        "of epochs, which leave time for little more than the simple methods."
    )
    return Section(COVERAGE, "Coverage of prediction sets", about, tables)


def _doubtful(records: Sequence[Record]) -> Section | None:
    rows: list[Row] = []
    for more in (0, 500):
        for task, each in _by_task(records, DOUBTFUL, more=more):
            figures = [one for _, one in each]
            first, precise = figures[0], {}
            for name in first["precision"]:
                precise[name] = spread(Summary(tuple(one["precision"][name] for one in figures)))
            accurate = (
                points(_mean(one["accuracy"][name] for one in figures), False)
                for name in ("as given", "without the doubtful", "true labels")
            )
            rows.append(
                (
                    Text(TASKS[task].title, (f"{first['flipped']} of {first['labels']} flipped",)),
                    Text(precise["judged"], strong=True),
                    precise["confidence in the label"],
                    precise["confidence"],
                    *accurate,
                    str(len(figures)),
                )
            )
    if not rows:
        return None
    about = (
        "A tenth of the labels is flipped at random. Precision in %: how many of as many most doubtful labels were "
        "flipped; chance gives 10. *Confidence* ranks by a GCN that was trained with the flipped labels. The next "
        "columns are its accuracy with the labels as given, without the most doubtful ones (`--drop-doubtful`), and "
        "with the true labels. Mean ± sample standard deviation over draws."
    )
    columns = (
        *("labels", "judged by other labels", "confidence in the label", "confidence"),
        *("accuracy as given", "without the doubtful", "true labels", "draws"),
    )
    return Section(DOUBTFUL, "Doubtful labels", about, [Table.of(columns, rows)])


def _scale(records: Iterable[Record]) -> Section | None:
    found = sorted((one.key["arguments"]["nodes"], one.result) for one in records if one.key["name"] == SCALE)
    if not found:
        return None
    rows = [
        (f"{nodes:,}", f"{one['edges']:,}", f"{one['coarsen']:.1f}", f"{one['suggest']:.1f}") for nodes, one in found
    ]
    about = "A planted graph with 8 features; 100 nodes suggested. Seconds on the processor named below."
    table = Table.of(("nodes", "edges", "coarsening, s", "suggest, s"), rows)
    return Section(SCALE, "Large graphs", about, [table])


def _runs(records: Sequence[Record]) -> Section:
    failures = [
        f"{one.key['arguments']['task']}, draw {one.key['arguments']['draw']}, {failure}"
        for one in records
        if one.key["name"] == AUTO
        for failure in one.result.get("failures", ())
    ]
    planned = Counter(job.name for part in labels_experiments() for job in part.measurements)
    done = Counter(one.key["name"] for one in records)
    have = ", ".join(f"{name} {done[name]} of {count}" for name, count in planned.items())
    about = f"Runs done: {have}. {len(failures)} fits of the automatic choice failed."
    return Section("unfinished", "Missing and failed", about, (), failures, is_experiment=False)


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
