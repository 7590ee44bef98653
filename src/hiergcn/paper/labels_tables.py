"""The page of the benchmark of labels: verdicts, learning curves and tables."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from hiergcn.evaluate.metrics import Summary
from hiergcn.paper import labels
from hiergcn.paper.label_strategies import ROUND, TASKS
from hiergcn.paper.labels import ASKED, CALIBRATING, PER_CLASS
from hiergcn.paper.labels_results import Curves, LabelsResults, cells
from hiergcn.paper.sections import Picture, Section
from hiergcn.paper.significance import points
from hiergcn.paper.store import Record
from hiergcn.paper.tables import Table, Text, spread, words
from hiergcn.report import axes
from hiergcn.report.axes import Axis
from hiergcn.report.palette import AMBER, BLUE, GREEN, OTHER, PINK, VERMILION
from hiergcn.report.panels import Entry, Figure, Panel

COLOURS = {"random": OTHER, "degree": PINK, "page-rank": GREEN, "k-means": AMBER, "suggest": BLUE, "rounds": VERMILION}
TITLES = {"page-rank": "PageRank", "rounds": f"suggest in rounds of {ROUND}"}
FEW = (2, 5)
"""Labels per class for which the labels saved are averaged."""
CLOSE = 0.02
"""Distance of a measured coverage from what was asked that is allowed."""


def labels_sections(records: Sequence[Record]) -> list[Section]:
    """Return the parts of the page."""
    found = LabelsResults(records)
    parts = [_overview(found)]
    if found.linear:
        parts += [_curves(found.linear, "linear"), _saved(found.linear, "linear")]
    if found.auto:
        parts += [_curves(found.auto, "auto"), _saved(found.auto, "auto")]
    parts += [part for part in (_coverage(found), _doubtful(found), _scale(found)) if part is not None]
    return [*parts, _runs(found)]


# Verdicts


def _overview(found: LabelsResults) -> Section:
    rows = []
    for curves, model in ((found.linear, "a linear model"), (found.auto, "the automatic choice")):
        if curves:
            rows += _verdicts_on_curves(curves, model)
    for model, title in (("linear", "linear model"), ("auto", "automatic choice")):
        for asked in ASKED:
            if sets := found.sets(model, CALIBRATING[0], asked):
                rows.append(_verdict_on_sets(sets, asked, title))
    for more in (0, 500):
        if doubts := found.doubts(more):
            precise = {task: _mean(one["precision"]["judged"] for one in each) for task, each in doubts.items()}
            above = {
                task: precise[task] - _mean(one["precision"]["confidence in the label"] for one in each)
                for task, each in doubts.items()
            }
            what = f"precision of doubtful labels, 20 per class{f' and {more} more' if more else ''}: 0.5 or more"
            said = ", ".join(f"{TASKS[task].title} {value:.2f} ({above[task]:+.2f})" for task, value in precise.items())
            holds = min(precise.values()) >= 0.5 and min(above.values()) > 0
            rows.append(_row(f"{what}, above confidence alone (difference)", said.replace("-", "−"), holds))
    if largest := max(found.scale, default=None):
        seconds = found.scale[largest]["suggest"]
        rows.append(
            _row(f"suggest on {largest:,} nodes after coarsening: under 120 s", f"{seconds:.0f} s", seconds < 120)
        )
    about = (
        "The rule of `suggest` was chosen on Cora, Amazon Photo and a smaller power grid (ACTIVSg2000), with the "
        "linear model and other draws; the other five graphs had no part in it. The judges of labels were chosen on "
        "other draws of the same graphs. Nothing was chosen for prediction sets after their score was fixed on Cora, "
        "Amazon Photo and ACTIVSg2000."
    )
    table = Table(("what it must show", "found", "verdict"), tuple(rows), wordy=True)
    return Section("overview", "Overview", about, [table], is_experiment=False)


def _verdicts_on_curves(curves: Mapping[str, Curves], model: str) -> list[tuple[Text, ...]]:
    places = cells(curves)
    better = sum((one.lead("suggest", "random", size).mean or 0.0) > 0 for one, size in places)
    saved = [value for one in curves.values() for size in FEW if (value := one.saved("suggest", size)) is not None]
    again = [(one, size) for one, size in cells(curves, (10, 20)) if one.mean("rounds", size) is not None]
    rounds = [one.lead("rounds", "suggest", size).mean or 0.0 for one, size in again]
    rows = [
        _row(
            f"{model}: suggest better than random in at least 25 of 28 cells",
            f"{better} of {len(places)}",
            better >= 25 if len(places) == 28 else None,
        )
    ]
    for other in ("degree", "page-rank", "k-means"):
        leads = [lead for one, size in places if (lead := one.lead("suggest", other, size).mean) is not None]
        if leads:
            ahead = (
                f"{sum(lead > 0 for lead in leads)} of {len(leads)} cells, {points(float(np.mean(leads)))} on average"
            )
            rows.append(words(f"{model}: suggest better than {TITLES.get(other, other)}", ahead, ""))
    if saved:
        share = float(np.mean(saved))
        rows.append(_row(f"{model}: at 2 and 5 labels per class, a quarter saved", f"{share:.0%}", share >= 0.25))
    if rounds:
        won = sum(lead > 0 for lead in rounds)
        said = f"{points(float(np.mean(rounds)))} on average, better in {won} of {len(rounds)} cells"
        rows.append(_row(f"{model}: rounds better again than suggest at once", said, float(np.mean(rounds)) > 0))
    return rows


def _verdict_on_sets(sets: Mapping[str, Mapping[str, Summary]], asked: float, model: str) -> tuple[Text, ...]:
    def holds(one: Mapping[str, Summary]) -> bool:
        covered, accuracy = one["covered"].mean or 0.0, one["accuracy"].mean or 0.0
        return abs(covered - asked) <= CLOSE or (covered > asked and accuracy > asked)

    kept = sum(holds(one) for one in sets.values())
    what = (
        f"{model}: coverage within 2 points of {asked:.0%} (above it if the predicted class alone is right more often)"
    )
    what += f", {CALIBRATING[0]} calibrating nodes"
    said = ", ".join(f"{TASKS[task].title} {points(one['covered'].mean, False)}" for task, one in sets.items())
    return _row(what, f"{kept} of {len(sets)}: {said}", kept == len(sets))


def _row(what: str, said: str, holds: bool | None) -> tuple[Text, ...]:
    verdict = "undecided" if holds is None else "holds" if holds else "does not hold"
    return Text(what), Text(said), Text(verdict, strong=True, mark=verdict.replace(" ", "-"))


# Which nodes to label


def _curves(curves: Mapping[str, Curves], model: str) -> Section:
    names = [name for name in COLOURS if any(one.mean(name, size) for one, size in cells(curves))]
    rows = []
    for one, size in cells(curves):
        lead = one.lead("suggest", "random", size)
        interval = (f"{points(lead.low)} to {points(lead.high)}",) if lead.low is not None else ()
        means = {name: mean for name in names if (mean := one.mean(name, size)) is not None}
        best = max(means, key=lambda name: means[name])
        rows.append(
            (
                Text(f"{TASKS[one.task].title}, {size} per class"),
                *(Text(spread(one.of(name, size)) if name in means else "–", strong=name == best) for name in names),
                Text(points(lead.mean), interval, mark="holds" if (lead.mean or 0.0) > 0 else "does-not-hold"),
            )
        )
    columns = ("labels", *(TITLES.get(name, name) for name in names), "suggest minus random")
    draws = max(len(one.draws) for one in curves.values())
    if model == "linear":
        title = "Which nodes to label, with a linear model"
        about = (
            "Nodes are chosen without any label, labelled, and a model is fitted; accuracy on all other nodes, in %. "
            "The model is a logistic regression on features averaged over eight steps; on power grids, the harmonic "
            "function. *k-means* takes the nodes nearest to the centres of a k-means on the averaged features. Mean "
            f"± sample standard deviation over {draws} draws."
        )
    else:
        title = "Which nodes to label, with the model that fit chooses"
        about = (
            "`fit(graph, model='auto')` on the chosen labels alone: a fifth of them validates, so the choice among "
            f"methods is made by few labels. Mean ± sample standard deviation over {draws} draws."
        )
    notes = ("In the last column: mean difference and its 95 % interval over draws.",)
    figure = Picture(f"curves-{model}", _figure(curves, names), "Accuracy by labels per class for each strategy.")
    return Section(f"labels-{model}", title, about, [figure, Table(columns, tuple(rows))], notes)


def _figure(curves: Mapping[str, Curves], names: Sequence[str]) -> Figure:
    panels = []
    for one in curves.values():
        lines = {
            name: {size: 100 * mean for size in (*PER_CLASS, 15) if (mean := one.mean(name, size)) is not None}
            for name in names
        }
        shown = [mean for name, line in lines.items() for mean in line.values() if name not in ("degree", "page-rank")]
        lowest = min(shown) - 0.15 * (max(shown) - min(shown))
        panel = Panel(_sizes(), axes.span([lowest, *shown], "accuracy, %"), title=TASKS[one.task].title, height=200)
        for name, line in lines.items():
            kept = {size: mean for size, mean in sorted(line.items()) if mean >= lowest}
            panel.line(kept, kept.values(), COLOURS[name], TITLES.get(name, name))
            tips = [f"{TITLES.get(name, name)}, {size} per class: {mean:.1f} %" for size, mean in kept.items()]
            panel.dots(kept, kept.values(), COLOURS[name], size=4, tips=tips)
        panels.append(panel)
    return Figure(panels, [Entry(TITLES.get(name, name), COLOURS[name]) for name in names], columns=2)


def _sizes() -> Axis:
    ticks = tuple(float(size) for size in PER_CLASS)
    return Axis(1.8, 22.5, ticks, tuple(map(str, PER_CLASS)), "labels per class", log=True)


def _saved(curves: Mapping[str, Curves], model: str) -> Section:
    rows = []
    for one in curves.values():
        found = [one.saved("suggest", size) for size in PER_CLASS[:3]]
        rows.append(words(TASKS[one.task].title, *("–" if share is None else f"{share:.0%}" for share in found)))
    means = []
    for size in PER_CLASS[:3]:
        known = [share for one in curves.values() if (share := one.saved("suggest", size)) is not None]
        means.append(f"{np.mean(known):.0%}" if known else "–")
    table = Table(("task", *(f"{size} per class" for size in PER_CLASS[:3])), (*rows, words("mean", *means)))
    about = (
        "How many random labels give the accuracy of the suggested ones, by the curve of random labels: 50 % means "
        "that half as many suggested labels do. – means that no number of random labels that was tried is enough."
    )
    title = "Labels saved" if model == "linear" else "Labels saved, with the model that fit chooses"
    return Section(f"saved-{model}", title, about, [table], is_experiment=False)


# Prediction sets, doubtful labels, large graphs


def _coverage(found: LabelsResults) -> Section | None:
    tables = []
    for model, title in (("linear", "Linear model"), ("auto", "Automatic choice")):
        rows = []
        for task in TASKS:
            row = [TASKS[task].title]
            for nodes in CALIBRATING:
                for asked in ASKED:
                    one = found.sets(model, nodes, asked).get(task)
                    row.append(f"{spread(one['covered'])}, {one['size'].mean:.2f}" if one else "–")
            accuracy = found.sets(model, CALIBRATING[0], ASKED[0]).get(task)
            if accuracy:
                rows.append(words(row[0], spread(accuracy["accuracy"]), *row[1:]))
        columns = [f"{asked:.0%}, {nodes} nodes" for nodes in CALIBRATING for asked in ASKED]
        if rows:
            tables.append(Table(("task", "accuracy", *columns), tuple(rows), caption=title))
    if not tables:
        return None
    about = (
        "5 training labels per class. Share of all other nodes whose set holds their class, in %, and classes in a "
        "set on average; mean ± sample standard deviation over splits. Columns: coverage asked for and number of "
        "calibrating nodes. No set is empty: where the predicted class alone is right more often than asked, "
        "coverage is higher."
    )
    return Section(labels.COVERAGE, "Coverage of prediction sets", about, tables)


def _doubtful(found: LabelsResults) -> Section | None:
    rows = []
    for more in (0, 500):
        for task, each in found.doubts(more).items():
            precise = {
                name: spread(Summary(tuple(one["precision"][name] for one in each))) for name in each[0]["precision"]
            }
            accurate = {
                name: points(_mean(one["accuracy"][name] for one in each), False) for name in each[0]["accuracy"]
            }
            counts = f"{each[0]['flipped']} of {each[0]['labels']} flipped"
            rows.append(
                (
                    Text(TASKS[task].title, (counts,)),
                    Text(precise["judged"], strong=True),
                    Text(precise["confidence in the label"]),
                    Text(precise["confidence"]),
                    *(Text(accurate[name]) for name in ("as given", "without the doubtful", "true labels")),
                )
            )
    if not rows:
        return None
    about = (
        "A tenth of the labels is flipped at random. Precision in %: how many of as many most doubtful labels were "
        "flipped; chance gives 10. *Confidence* ranks by a GCN that was trained with the flipped labels. The last "
        "columns are its accuracy with the labels as given, without the most doubtful ones (`--drop-doubtful`), and "
        "with the true labels. Mean ± sample standard deviation over draws."
    )
    columns = (
        *("labels", "judged by other labels", "confidence in the label", "confidence"),
        *("accuracy as given", "without the doubtful", "true labels"),
    )
    return Section(labels.DOUBTFUL, "Doubtful labels", about, [Table(columns, tuple(rows))])


def _scale(found: LabelsResults) -> Section | None:
    if not found.scale:
        return None
    rows = [
        words(f"{nodes:,}", f"{one['edges']:,}", f"{one['coarsen']:.1f}", f"{one['suggest']:.1f}")
        for nodes, one in sorted(found.scale.items())
    ]
    about = "A planted graph with 8 features; 100 nodes suggested. Seconds on the processor named below."
    table = Table(("nodes", "edges", "coarsening, s", "suggest, s"), tuple(rows))
    return Section(labels.SCALE, "Large graphs", about, [table])


def _runs(found: LabelsResults) -> Section:
    failures = [
        f"{one.key['arguments']['task']}, draw {one.key['arguments']['draw']}, {failure}"
        for one in found.of(labels.AUTO)
        for failure in one.result.get("failures", ())
    ]
    planned = Counter(job.name for part in labels.labels_experiments() for job in part.measurements)
    have = ", ".join(f"{name} {len(found.of(name))} of {count}" for name, count in planned.items())
    about = f"Runs done: {have}. {len(failures)} fits of the automatic choice failed."
    return Section("unfinished", "Missing and failed", about, (), failures, is_experiment=False)


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
