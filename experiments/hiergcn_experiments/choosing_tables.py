"""The page of the automatic choice: its accuracy beside that of every single candidate."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hiergcn.choose.portfolio import PORTFOLIO
from hiergcn.evaluate.metrics import Summary
from hiergcn.settings.registry import method_title
from hiergcn_experiments.choosing import NAME, NAMED, PUBLIC_SEEDS, RECIPES, RECIPES_NAME, SEEDS, SPLITS, TASKS
from hiergcn_experiments.choosing_results import SIMPLE, TaskResult, place_of, results_by_task
from hiergcn_experiments.sections import Section
from hiergcn_experiments.significance import points
from hiergcn_experiments.store import Record
from hiergcn_experiments.tables import Row, Table, Text, spread

CLOSE = 0.01
"""An accuracy this far below another one still counts as level with it."""
_TITLES = {entry.name: entry.title for entry in PORTFOLIO}


def choosing_sections(records: Sequence[Record]) -> list[Section]:
    done = [one for one in records if not one.result.get("failure")]
    results = results_by_task(one for one in done if one.key["name"] == NAME)
    recipes = results_by_task(one for one in done if one.key["name"] == RECIPES_NAME)
    drawn = [one for one in results.values() if not TASKS[one.name].public]
    public = [one for one in results.values() if TASKS[one.name].public]
    found = [_overview(records, drawn)]
    if drawn:
        found += [_accuracy(drawn), _verdicts(drawn), _candidates(drawn), _chosen(drawn), _calibration(drawn)]
    if public or recipes:
        found.append(_public({one.name: one for one in public}, recipes))
    return [*found, _unfinished(records)]


# The parts of the page


def _overview(records: Sequence[Record], tasks: Sequence[TaskResult]) -> Section:
    limits = sorted({one.key["arguments"]["time_limit"] for one in records if one.key["name"] == NAME})
    seconds = " and ".join(f"{limit:g}" for limit in limits) or "–"
    about = (
        f"`fit(graph, split, seeds=range({len(SEEDS)}), model='auto')` with a time limit of {seconds} s, on splits 1 "
        f"to {SPLITS[-1]}. Candidates and rules were designed on split 0 of these graphs. After earlier runs "
        "of this benchmark and of that on large diameters, on these very splits, one candidate was replaced, two with "
        "nearness of labels were added and others were reordered, or skipped on graphs where labels alone lead: the "
        "figures are somewhat optimistic. MLP on degrees, and how few validation nodes are weighed, came later, from "
        "other graphs. All figures are test accuracies in %; within a run, test labels are read once, after the choice."
    )
    if not tasks:
        return Section("overview", "Overview", about, is_experiment=False)
    close = sum(one.lead >= -CLOSE for one in tasks)
    above = sum(min(one.leads_over_simple().values(), default=0.0) >= -CLOSE for one in tasks)
    better = sum(one.lead > 0 for one in tasks)
    each = _over(tasks, lambda one: one.accuracy - one.best_of_each_split)
    runs = sum(len(one.splits) for one in tasks)
    often = [
        name for name in _candidate_names(tasks) if sum(len(one.single.get(name, ())) for one in tasks) >= runs / 2
    ]
    best = max(often, key=lambda name: _over(tasks, lambda one: one.counted(name)))
    rows = (
        ("mean accuracy over the tasks", points(_over(tasks, lambda one: one.accuracy), False)),
        (
            f"the same of the best single candidate that finished on half of the splits, {_title(best)}",
            points(_over(tasks, lambda one: one.counted(best)), False),
        ),
        ("tasks within 1.0 point of the task's best candidate, or above it", f"{close} of {len(tasks)}"),
        ("tasks above the task's best candidate", f"{better} of {len(tasks)}"),
        ("tasks at most 1.0 point below label propagation, MLP and GCN", f"{above} of {len(tasks)}"),
        ("mean difference to the best candidate of each split, known only afterwards", points(each)),
        (
            "expected calibration error, before and after temperature scaling",
            " → ".join(points(_over(tasks, lambda one, at=at: one.mean(at)), False) for at in _ERRORS),
        ),
    )
    return Section("overview", "Overview", about, [Table.of(("", "value"), rows)], is_experiment=False)


def _accuracy(tasks: Sequence[TaskResult]) -> Section:
    rows: list[Row] = []
    for one in tasks:
        best = one.best_on_average
        count = f"{len(one.splits)} of {len(TASKS[one.name].splits)} splits"
        counts = () if len(one.splits) == len(TASKS[one.name].splits) else (count,)
        rows.append(
            (
                Text(one.title, (TASKS[one.name].labels, *counts)),
                Text(spread(one.auto), strong=one.lead >= 0),
                Text(points(one.counted(best), False), (_title(best),)),
                points(one.best_of_each_split, False),
                *(spread(one.of(name)) if one.single.get(name) else "–" for name in NAMED),
            )
        )
    means = [
        _over(tasks, lambda one: one.accuracy),
        _over(tasks, lambda one: one.counted(one.best_on_average)),
        _over(tasks, lambda one: one.best_of_each_split),
        *(_over(tasks, lambda one, name=name: one.counted(name)) for name in NAMED),
    ]
    rows.append(("mean", *(points(mean, False) for mean in means)))
    columns = ("task", "automatic", "best candidate on average", "best of each split", *map(method_title, NAMED))
    about = (
        "Mean ± sample standard deviation over splits. *Best candidate on average* is the single candidate with the "
        "highest mean test accuracy on the task, *best of each split* picks one by test accuracy on every split; both "
        "are known only afterwards."
    )
    seeds = (
        f"The methods of the last {len(NAMED)} columns were fitted by name with {len(SEEDS)} seeds each. Other "
        f"candidates have {len(SEEDS)} seeds if they are in the answer and the time was enough, else one: the mean of "
        "several seeds is often better by half a point."
    )
    absent = "A candidate without a result on a split counts there with the accuracy of the automatic choice."
    return Section("accuracy", "Accuracy", about, [Table.of(columns, rows)], (seeds, absent), is_experiment=False)


def _verdicts(tasks: Sequence[TaskResult]) -> Section:
    rows: list[Row] = []
    for one in tasks:
        lead, leads = one.lead, one.leads_over_simple()
        simple = [own for name, own in one.single.items() if name in SIMPLE]
        behind = sum(
            any(own[split] - figures["test_accuracy"] > CLOSE for own in simple if split in own)
            for split, figures in one.splits.items()
        )
        rows.append(
            (
                Text(one.title, (TASKS[one.name].labels,)),
                points(lead),
                _yes(lead >= -CLOSE),
                *(points(leads.get(name)) for name in SIMPLE),
                _yes(min(leads.values(), default=0.0) >= -CLOSE),
                f"{behind} of {len(one.splits)}",
            )
        )
    columns = (
        *("task", "to the best on average", "within 1.0"),
        *(f"to {method_title(name)}" for name in SIMPLE),
        *("at most 1.0 below these", "splits more than 1.0 below one of these"),
    )
    about = "Differences of the automatic choice, in points; positive if it is ahead."
    return Section("verdicts", "Is it ever behind?", about, [Table.of(columns, rows)], is_experiment=False)


def _candidates(tasks: Sequence[TaskResult]) -> Section:
    auto = _over(tasks, lambda one: one.accuracy)
    whole = ("automatic choice", "all", "", points(auto, False), "", "", points(auto, False), "")
    named = sorted(_candidate_names(tasks), key=lambda name: -_over(tasks, lambda one: one.counted(name)))
    rows = [whole, *(_candidate_row(tasks, name, auto) for name in named)]
    columns = (
        *("candidate", "splits finished", "others", "mean there", "automatic there", "difference"),
        *("mean over all tasks", "difference"),
    )
    about = (
        "Means over tasks, each task being the mean of its splits. *Mean there* and *automatic there* compare on the "
        "splits where the candidate finished. In *mean over all tasks* a split without a result of the candidate "
        "counts with the accuracy of the automatic choice. This favours a candidate that was stopped or left out "
        "because it was behind, and may disfavour one for which no time was left."
    )
    return Section("candidates", "Every candidate", about, [Table.of(columns, rows)], is_experiment=False)


def _candidate_row(tasks: Sequence[TaskResult], name: str, auto: float) -> Row:
    """Return a candidate's figures; `auto` is the mean accuracy of the automatic choice over all tasks."""
    there = [one for one in tasks if one.single.get(name)]
    own = _over(there, lambda one: float(one.of(name).values.mean()))
    lead = _over(there, lambda one: one.lead_over(name))
    counted = _over(tasks, lambda one: one.counted(name))
    ran = sum(len(one.single[name]) for one in there)
    return (
        _title(name),
        f"{ran} on {len(there)} tasks",
        ", ".join(f"{count} {reason}" for reason, count in _reasons(tasks, name).most_common()),
        *(points(own, False), points(own + lead, False), points(lead)),
        *(points(counted, False), points(auto - counted)),
    )


def _reasons(tasks: Sequence[TaskResult], name: str) -> Counter[str]:
    """Count why a candidate has no result on some splits."""
    found: Counter[str] = Counter()
    for one in tasks:
        for split, figures in one.splits.items():
            if split not in one.single.get(name, {}):
                left_out = next((each["left_out"] for each in figures["candidates"] if each["name"] == name), None)
                found[_kind(left_out)] += 1
    return found


def _kind(left_out: str | None) -> str:
    kinds = {"stopped": "stopped", "it failed": "failed", "no time": "no time", "time was": "no time"}
    return next((kind for begin, kind in kinds.items() if (left_out or "").startswith(begin)), "not tried")


def _chosen(tasks: Sequence[TaskResult]) -> Section:
    rows: list[Row] = []
    for one in tasks:
        first: Counter[str] = Counter()
        sizes, seconds = [], [figures["seconds"] for figures in one.splits.values()]
        for figures in one.splits.values():
            weights = {each["name"]: each["weight"] for each in figures["candidates"] if each["weight"] > 0}
            first[max(weights, key=lambda name: weights[name])] += 1
            sizes.append(len(weights))
        rows.append(
            (
                Text(one.title, (TASKS[one.name].labels,)),
                ", ".join(f"{_title(name)} {count}" for name, count in first.most_common()),
                f"{np.mean(sizes):.1f}",
                f"{np.mean(seconds):.0f}",
                f"{max(seconds):.0f}",
            )
        )
    about = "The method with the largest weight by number of splits, and the number of methods in the answer."
    columns = ("task", "largest weight", "methods in the answer", "seconds, mean", "longest")
    notes = ("Seconds of the whole fit; several fits shared the machine.",)
    return Section("chosen", "What was chosen", about, [Table.of(columns, rows)], notes, is_experiment=False)


_ERRORS = ("ece_before", "ece_after")


def _calibration(tasks: Sequence[TaskResult]) -> Section:
    rows: list[Row] = [
        (Text(one.title, (TASKS[one.name].labels,)), *(points(one.mean(at), False) for at in _ERRORS)) for one in tasks
    ]
    means = (points(_over(tasks, lambda one, at=at: one.mean(at)), False) for at in _ERRORS)
    about = "Expected calibration error in %, on test nodes, before and after temperature scaling on validation nodes."
    table = Table.of(("task", "before", "after"), (*rows, ("mean", *means)))
    return Section("calibration", "Calibration", about, [table], is_experiment=False)


def _public(auto: Mapping[str, TaskResult], recipes: Mapping[str, TaskResult]) -> Section:
    rows: list[Row] = []
    for name in (name for name in TASKS if name in auto or name in recipes):
        chosen, named = auto.get(name), recipes.get(name)
        cells = [spread(chosen.auto), _change(chosen), f"{chosen.mean('seconds'):.0f}"] if chosen else ["not run"] * 3
        if named:
            best = ", ".join(f"{method_title(name)} {share:.0%}" for name, share in _mean_weights(named).items())
            each = [spread(_recipe(named, method)) for method in RECIPES]
            cells += [spread(named.auto), best, *each, _change(named)]
        else:
            cells += ["not run"] * (3 + len(RECIPES))
        rows.append((TASKS[name].title, *cells))
    about = (
        f"Runs with {PUBLIC_SEEDS} seeds each: mean ± sample standard deviation over runs. *Automatic* chooses with "
        "settings for the graph. *Recipes* is `hiergcn fit DATASET --model auto`, which chooses among methods with the "
        "recipes for that dataset; beside it stand its largest mean weights and two recipes fitted alone. Each answer "
        "is the mean of its seeds. These splits served to design the choice."
    )
    columns = (
        *("split", "automatic", "its calibration error", "seconds"),
        *("recipes", "weights", *(f"{method_title(method)}, recipe" for method in RECIPES), "calibration error"),
    )
    clock = "A mean of about the time limit means that the clock ended the choice: many fits shared the GPU."
    return Section("public", "Public splits", about, [Table.of(columns, rows)], (clock,), is_experiment=False)


def _change(one: TaskResult) -> str:
    return " → ".join(points(one.mean(at), False) for at in _ERRORS)


def _recipe(one: TaskResult, method: str) -> Summary:
    return Summary(tuple(figures["named"][method].get("test_accuracy") for figures in one.splits.values()))


def _mean_weights(one: TaskResult) -> dict[str, float]:
    """Return the mean weight of each candidate in the answers, largest first, but those below 5 %."""
    weights = [{each["name"]: each["weight"] for each in figures["candidates"]} for figures in one.splits.values()]
    names = {name for each in weights for name in each}
    mean = {name: float(np.mean([each.get(name, 0.0) for each in weights])) for name in names}
    return {name: mean[name] for name in sorted(mean, key=lambda name: -mean[name]) if mean[name] >= 0.05}


def _unfinished(records: Sequence[Record]) -> Section:
    """List failed and missing runs."""
    have = {place_of(one) for one in records}
    failed = [one for one in records if one.result.get("failure")]
    planned = [(NAME, task, split) for task, about in TASKS.items() for split in about.splits]
    planned += [(RECIPES_NAME, task, split) for task, about in TASKS.items() if about.public for split in about.splits]
    missing = [place for place in planned if place not in have]
    about = f"Of {len(planned)} runs, {len(failed)} failed and {len(missing)} are missing."
    notes = [f"{' '.join(map(str, place_of(one)))}: {one.result['failure']}" for one in failed]
    by_task = Counter(f"{name} {task}" for name, task, _ in missing)
    notes += [f"Missing: {', '.join(f'{what} ({count})' for what, count in by_task.items())}."] if by_task else []
    return Section("unfinished", "Runs", about, (), notes, is_experiment=False)


# Small helpers


def _candidate_names(tasks: Iterable[TaskResult]) -> list[str]:
    return list(dict.fromkeys(name for one in tasks for name in one.single))


def _over(tasks: Iterable[TaskResult], figure: Any) -> float:
    """Return the mean of a figure over tasks."""
    return float(np.mean([figure(one) for one in tasks]))


def _yes(holds: bool) -> Text:
    return Text("yes" if holds else "no", strong=not holds)


def _title(name: str) -> str:
    return _TITLES.get(name, name)
