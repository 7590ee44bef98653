"""The automatic choice: its tasks, what a fit gives on one split of a task, and the page.

The choice was designed on split 0 of most of these tasks. Splits are numbered from 1 here, and generated graphs have
other seeds than those of the design. Earlier runs on these splits led to changes of the portfolio, which the page
says. The public splits served the design from the start, so they are reported apart.

A candidate that has no result on a split, because it was not tried, was stopped or failed, counts there with the
accuracy of the automatic choice. So it neither gains nor loses, and the two are compared where the candidate ran.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from time import perf_counter
from typing import Any

import numpy as np

from hiergcn import Graph, HierGCNError, Split
from hiergcn.datasets import Dataset, load_dataset, planted_graph
from hiergcn.research import Run, Summary, candidate_title, fit, method_title
from hiergcn_experiments.experiment import Experiment, Measurement, Scope, Study
from hiergcn_experiments.page import Columns, Row, Section, Table, Text, Texts, mean, mean_and_std, packaged, points
from hiergcn_experiments.results import TaskResults, by_task
from hiergcn_experiments.store import Record

NAME, RECIPES_NAME = "choosing", "choosing-recipes"
SPLITS = (1, 2, 3, 4, 5)
SEEDS = (0, 1, 2)
PUBLIC = ("cora", "citeseer", "pubmed")
PUBLIC_RUNS = (1, 2, 3, 4)
PUBLIC_SEEDS = 5
"""Seeds of a run on a public split: 0 to 4 in the first run, 5 to 9 in the second, and so on."""
TIME_LIMIT = 120.0
NAMED = ("label-propagation", "mlp", "gcn", "hgcn-plus")
"""Methods that are also fitted by name, with as many seeds as the automatic choice."""
SIMPLE = NAMED[:3]
RECIPES = ("grand", "hgcn-plus")
"""Methods with a recipe for each citation network."""
CLOSE = 0.01
"""An accuracy this far below another one still counts as level with it."""
_VALIDATION = 500
_GENERATED = 100  # the first seed of generated graphs
_ERRORS = ("ece_before", "ece_after")
_TEXTS = Texts(packaged("studies/choosing.toml"))


# The tasks


@dataclass(frozen=True)
class ChoosingTask:
    """A graph and a way to split it."""

    title: str
    labels: str
    """What trains and validates, as people read it."""
    draw: Callable[[int], tuple[Graph, Split]]
    """From the number of the split."""
    public: bool = False

    @property
    def splits(self) -> tuple[int, ...]:
        return PUBLIC_RUNS if self.public else SPLITS

    def seeds(self, split: int) -> Sequence[int]:
        return range((split - 1) * PUBLIC_SEEDS, split * PUBLIC_SEEDS) if self.public else SEEDS


def community_graph(seed: int, n: int = 300, classes: int = 3, inside: float = 0.1, outside: float = 0.005) -> Graph:
    """Generate communities that edges show and features hardly do: 8 columns with noise of standard deviation 4.

    Args:
        inside: probability of an edge between two nodes of a community.
        outside: the same of two nodes of different communities.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    likely = np.where(labels[:, None] == labels, inside, outside)
    source, target = np.nonzero(np.triu(rng.random((n, n)) < likely, 1))
    features = np.eye(classes, 8)[labels] + 4.0 * rng.normal(size=(n, 8))
    return Graph.from_edges(source, target, n=n, features=features, labels=labels, name=f"communities-{n}")


def _communities(number: int) -> tuple[Graph, Split]:
    """20 labels per class, of which a fifth validates."""
    graph = community_graph(_GENERATED + number)
    known = graph.truth
    drawn = Split.random(known, 20, 0, None, number)
    given = np.full_like(known, -1)
    given[drawn.train] = known[drawn.train]
    divided = Split.holdout(given, 0.2, 0.0, number)
    return graph, Split(divided.train, divided.validation, drawn.test)


def _many_classes(number: int) -> tuple[Graph, Split]:
    seed = _GENERATED + number
    graph = planted_graph(6000, classes=150, depth=1, degree=10, homophily=0.8, features=32, noise=1.5, seed=seed)
    return graph, Split.random(graph.truth, 10, _VALIDATION, None, number)


def _on(dataset: str, title: str, labels: int | str) -> ChoosingTask:
    """Return the task of a dataset, with so many labels per class or split in a named way."""

    def draw(number: int) -> tuple[Graph, Split]:
        data = load_dataset(dataset)
        if isinstance(labels, str):
            return data.graph, _SPLITS[labels][1](data, number)
        return data.graph, Split.random(data.graph.truth, labels, _VALIDATION, None, number)

    about = _SPLITS[labels][0] if isinstance(labels, str) else f"{labels} per class, {_VALIDATION} validate"
    return ChoosingTask(title, about, draw, labels == "public")


_SPLITS: dict[str, tuple[str, Callable[[Dataset, int], Split]]] = {
    "masks": ("published splits, about half", lambda data, number: data.splits[number]),
    "tenths": ("10 %, 10 % validate", lambda data, number: Split.holdout(data.graph.truth, 0.1, 0.8, number)),
    "public": (f"20 per class, {_VALIDATION} validate", lambda data, _: data.split),
}
TASKS = {
    "cora-5": _on("cora", "Cora", 5),
    "cora-20": _on("cora", "Cora", 20),
    "citeseer-5": _on("citeseer", "Citeseer", 5),
    "citeseer-20": _on("citeseer", "Citeseer", 20),
    "pubmed-5": _on("pubmed", "Pubmed", 5),
    "pubmed-20": _on("pubmed", "Pubmed", 20),
    "photo": _on("amazon-photo", "Amazon Photo", 20),
    "cs": _on("coauthor-cs", "Coauthor CS", 20),
    "chameleon": _on("chameleon", "Chameleon", "masks"),
    "minesweeper": _on("minesweeper", "Minesweeper", "masks"),
    "helsinki": _on("helsinki", "Helsinki streets", "tenths"),
    "pegase-eccentricity": _on("pegase-eccentricity", "Power grid, accessibility", "tenths"),
    "pegase-zones": _on("pegase", "Power grid, zones", 5),
    "communities": ChoosingTask("300 nodes in 3 communities", "16 per class, 4 per class validate", _communities),
    "classes-150": ChoosingTask("150 classes", f"10 per class, {_VALIDATION} validate", _many_classes),
    **{f"{name}-public": _on(name, f"{name.capitalize()}, public split", "public") for name in PUBLIC},
}


def choosing_experiments(scope: Scope) -> list[Experiment]:
    """Return the experiment. The first split of every task comes first: a run that ends early has some of each."""
    tasks, found = scope.some(TASKS), []
    limit = float(TIME_LIMIT if scope.seconds is None else scope.seconds)
    for split in SPLITS[: 1 if scope.quick else None]:
        for name in (name for name in tasks if split in TASKS[name].splits):
            about = {"task": name, "split": split, "time_limit": limit}
            kinds = (NAME, RECIPES_NAME) if TASKS[name].public else (NAME,)
            found += [Measurement(kind, about, on_device=True) for kind in kinds]
    return [Experiment(NAME, "The automatic choice", "the automatic choice on 15 tasks", measurements=tuple(found))]


# What is measured


def choosing(task: str, split: int, time_limit: float, device: str = "auto") -> dict[str, Any]:
    """Fit a split of a task by the automatic choice, and by the methods of `NAMED`."""
    return _choice(task, split, time_limit, device, NAMED)


def choosing_recipes(task: str, split: int, time_limit: float, device: str = "auto") -> dict[str, Any]:
    """Fit a citation network by the automatic choice among its recipes, and by the recipes of `RECIPES`."""
    return _choice(task, split, time_limit, device, RECIPES, dataset=task.removesuffix("-public"))


def _choice(
    task: str, split: int, time_limit: float, device: str, named: Sequence[str], dataset: str | None = None
) -> dict[str, Any]:
    def fitted(model: str, **more: Any) -> tuple[dict[str, Any], Run | None]:
        """Return the figures of the delivered answer, or the reason why there is none."""
        began = perf_counter()
        try:
            result = fit(graph, drawn, seeds=seeds, model=model, dataset=dataset, device=device, **more)
        except (HierGCNError, MemoryError, RuntimeError) as error:
            return {"failure": f"{error!s:.300}"}, None
        seconds, scores = perf_counter() - began, result.metrics()
        figures = {
            "failure": None,
            "test_accuracy": scores["delivered_accuracy"] or 0.0,
            "validation_accuracy": scores["delivered_val_accuracy"],
            **{name: scores["calibration"][name] for name in _ERRORS},
            "temperature": result.answers.temperature.value,
            "seconds": seconds,
        }
        return figures, result

    try:
        graph, drawn = TASKS[task].draw(split)
    except HierGCNError as error:
        return {"failure": f"{error!s:.300}"}
    seeds = TASKS[task].seeds(split)
    figures, result = fitted("auto", time_limit=time_limit)
    if result is None:
        return figures
    candidates = [
        {name: getattr(one, name) for name in ("name", "seeds", "seconds", "weight", "left_out")}
        | {part: scores.accuracy.mean if (scores := getattr(one, part)) else None for part in ("validation", "test")}
        for one in result.leaderboard or ()
    ]
    by_name = {name: fitted(name)[0] for name in named}
    return figures | {"verdict": result.verdict, "candidates": candidates, "named": by_name}


# Results


@dataclass(frozen=True, eq=False)
class TaskResult(TaskResults):
    """The finished splits of a task, see `choosing`."""

    @property
    def text(self) -> Text:
        return Text(TASKS[self.task].title, (TASKS[self.task].labels,))

    @property
    def auto(self) -> Summary:
        """Test accuracy of the automatic choice on each split."""
        return self.summary("test_accuracy")

    @cached_property
    def accuracy(self) -> float:
        """Mean over splits of the automatic choice."""
        return self.mean("test_accuracy")

    @property
    def errors(self) -> str:
        """The calibration error, before and after temperature scaling."""
        return " → ".join(points(self.mean(at), False) for at in _ERRORS)

    @cached_property
    def single(self) -> dict[str, dict[int, float]]:
        """Test accuracy of each candidate by split. A method that was fitted by name counts with all its seeds."""
        found: dict[str, dict[int, float]] = {}
        for split, one in self.runs.items():
            of_candidates = {each["name"]: each["test"] for each in one["candidates"]}
            by_name = {name: each["test_accuracy"] for name, each in one["named"].items() if not each["failure"]}
            for name, accuracy in (of_candidates | by_name).items():
                if accuracy is not None:
                    found.setdefault(name, {})[split] = accuracy
        return found

    def candidate(self, name: str) -> Summary:
        """Return the accuracies of a candidate on the splits where it finished."""
        return Summary(tuple(self.single.get(name, {}).values()))

    def counted(self, name: str) -> float:
        """Return the mean accuracy of a candidate; without a result it counts as the automatic choice."""
        accuracies = self.single.get(name, {})
        return mean(accuracies.get(split, one["test_accuracy"]) for split, one in self.runs.items())

    @cached_property
    def best_of_each_split(self) -> float:
        """Mean over splits of the highest accuracy of any candidate on that split."""
        return mean(max(one[split] for one in self.single.values() if split in one) for split in self.runs)

    @cached_property
    def best_on_average(self) -> str:
        return max(self.single, key=self.counted)

    @property
    def lead(self) -> float:
        """The automatic choice minus the best candidate on average."""
        return self.accuracy - self.counted(self.best_on_average)

    def lead_over(self, name: str) -> float | None:
        """Return the automatic choice minus a candidate, on the splits where that finished."""
        leads = [self.runs[split]["test_accuracy"] - accuracy for split, accuracy in self.single.get(name, {}).items()]
        return mean(leads) if leads else None

    @property
    def least_simple(self) -> float:
        """The smallest of the leads over simple methods."""
        return min((lead for name in SIMPLE if (lead := self.lead_over(name)) is not None), default=0.0)

    @property
    def weights(self) -> list[dict[str, float]]:
        """The weights of the candidates in each answer."""
        return [{each["name"]: each["weight"] for each in one["candidates"]} for one in self.runs.values()]


def results_by_task(records: Iterable[Record], name: str = NAME) -> dict[str, TaskResult]:
    """Return the results by task, in the order of `TASKS`."""
    return {task: TaskResult(task, found.runs) for task, found in by_task(records, TASKS, name).items()}


# The page


def choosing_sections(records: Sequence[Record], _quick: bool = False) -> list[Section]:
    results, recipes = results_by_task(records), results_by_task(records, RECIPES_NAME)
    drawn = [one for one in results.values() if not TASKS[one.task].public]
    found = [_overview(records, drawn)]
    if drawn:
        found += [_accuracy(drawn), _verdicts(drawn), _candidates(drawn), _chosen(drawn)]
        rows: list[Row] = [(one.text, *(points(one.mean(at), False) for at in _ERRORS)) for one in drawn]
        rows.append(("mean", *(points(mean(one.mean(at) for one in drawn), False) for at in _ERRORS)))
        found.append(_TEXTS.section("calibration", Table.from_rows(("task", "before", "after"), rows)))
    if recipes or len(drawn) < len(results):
        found.append(_public_splits(results, recipes))
    return [*found, _unfinished(records)]


STUDY = Study(NAME, "The automatic choice", choosing_experiments, choosing_sections, (choosing, choosing_recipes))


def _overview(records: Sequence[Record], tasks: Sequence[TaskResult]) -> Section:
    limits = sorted({one.key["arguments"]["time_limit"] for one in records if one.key["name"] == NAME})
    words: dict[str, Any] = {
        "seconds": " and ".join(f"{limit:g}" for limit in limits) or "–",
        "seeds": len(SEEDS),
        "last": SPLITS[-1],
    }
    if not tasks:
        return _TEXTS.section("overview", **words)

    def count(holds: Callable[[TaskResult], bool]) -> str:
        return f"{sum(map(holds, tasks))} of {len(tasks)}"

    runs = sum(len(one.runs) for one in tasks)
    counted = {
        name: mean(one.counted(name) for one in tasks)
        for name in _candidate_names(tasks)
        if sum(len(one.single.get(name, ())) for one in tasks) >= runs / 2
    }
    best = max(counted, key=lambda name: counted[name])
    after = mean(one.accuracy - one.best_of_each_split for one in tasks)
    errors = " → ".join(points(mean(one.mean(at) for one in tasks), False) for at in _ERRORS)
    single = f"the same of the best single candidate that finished on half of the splits, {candidate_title(best)}"
    rows = (
        ("mean accuracy over the tasks", points(mean(one.accuracy for one in tasks), False)),
        (single, points(counted[best], False)),
        ("tasks within 1.0 point of the task's best candidate, or above it", count(lambda one: one.lead >= -CLOSE)),
        ("tasks above the task's best candidate", count(lambda one: one.lead > 0)),
        ("tasks at most 1.0 point below label propagation, MLP and GCN", count(lambda one: one.least_simple >= -CLOSE)),
        ("mean difference to the best candidate of each split, known only afterwards", points(after)),
        ("expected calibration error, before and after temperature scaling", errors),
    )
    return _TEXTS.section("overview", Table.from_rows(("", "value"), rows), **words)


def _accuracy(tasks: Sequence[TaskResult]) -> Section:
    rows: list[Row] = []
    for one in tasks:
        best, planned = one.best_on_average, len(TASKS[one.task].splits)
        counts = () if len(one.runs) == planned else (f"{len(one.runs)} of {planned} splits",)
        rows.append(
            (
                Text(one.text.main, (*one.text.below, *counts)),
                Text(mean_and_std(one.auto), strong=one.lead >= 0),
                Text(points(one.counted(best), False), (candidate_title(best),)),
                points(one.best_of_each_split, False),
                *(mean_and_std(one.candidate(name)) for name in NAMED),
            )
        )
    means = [
        mean(one.accuracy for one in tasks),
        mean(one.counted(one.best_on_average) for one in tasks),
        mean(one.best_of_each_split for one in tasks),
        *(mean(one.counted(name) for one in tasks) for name in NAMED),
    ]
    rows.append(("mean", *(points(value, False) for value in means)))
    columns = ("task", "automatic", "best candidate on average", "best of each split", *map(method_title, NAMED))
    return _TEXTS.section("accuracy", Table.from_rows(columns, rows), named=len(NAMED), seeds=len(SEEDS))


def _verdicts(tasks: Sequence[TaskResult]) -> Section:
    def yes(value: float) -> Text:
        return Text("yes" if value >= -CLOSE else "no", strong=value < -CLOSE)

    def to(name: str, one: TaskResult) -> str:
        return points(one.lead_over(name))

    def behind(one: TaskResult) -> str:
        simple = [single for name, single in one.single.items() if name in SIMPLE]
        worse = (
            any(single[split] - figures["test_accuracy"] > CLOSE for single in simple if split in single)
            for split, figures in one.runs.items()
        )
        return f"{sum(worse)} of {len(one.runs)}"

    columns: Columns[TaskResult] = {
        "task": lambda one: one.text,
        "to the best on average": lambda one: points(one.lead),
        "within 1.0": lambda one: yes(one.lead),
        **{f"to {method_title(name)}": partial(to, name) for name in SIMPLE},
        "at most 1.0 below these": lambda one: yes(one.least_simple),
        "splits more than 1.0 below one of these": behind,
    }
    return _TEXTS.section("verdicts", Table.from_items(tasks, columns))


def _candidates(tasks: Sequence[TaskResult]) -> Section:
    auto = mean(one.accuracy for one in tasks)
    kinds = {"stopped": "stopped", "it failed": "failed", "no time": "no time", "time was": "no time"}
    rows: list[Row] = [("automatic choice", "all", "", points(auto, False), "", "", points(auto, False), "")]
    for name in sorted(_candidate_names(tasks), key=lambda name: -mean(one.counted(name) for one in tasks)):
        there = [one for one in tasks if one.single.get(name)]
        single = mean(float(one.candidate(name).values.mean()) for one in there)
        lead = mean(one.lead_over(name) or 0.0 for one in there)
        counted = mean(one.counted(name) for one in tasks)
        reasons: Counter[str] = Counter()  # why it has no result on some splits
        for one in tasks:
            for figures in (each for split, each in one.runs.items() if split not in one.single.get(name, {})):
                left_out = next((each["left_out"] for each in figures["candidates"] if each["name"] == name), "") or ""
                reasons[next((kind for begin, kind in kinds.items() if left_out.startswith(begin)), "not tried")] += 1
        rows.append(
            (
                candidate_title(name),
                f"{sum(len(one.single[name]) for one in there)} on {len(there)} tasks",
                ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()),
                *(points(single, False), points(single + lead, False), points(lead)),
                *(points(counted, False), points(auto - counted)),
            )
        )
    columns = (
        *("candidate", "splits finished", "others", "mean there", "automatic there", "difference"),
        *("mean over all tasks", "difference"),
    )
    return _TEXTS.section("candidates", Table.from_rows(columns, rows))


def _chosen(tasks: Sequence[TaskResult]) -> Section:
    def largest(one: TaskResult) -> str:
        first = Counter(max(weights, key=lambda name: weights[name]) for weights in one.weights)
        return ", ".join(f"{candidate_title(name)} {count}" for name, count in first.most_common())

    columns: Columns[TaskResult] = {
        "task": lambda one: one.text,
        "largest weight": largest,
        "methods in the answer": lambda one: f"{mean(sum(w > 0 for w in each.values()) for each in one.weights):.1f}",
        "seconds, mean": lambda one: f"{one.mean('seconds'):.0f}",
        "longest": lambda one: f"{one.summary('seconds').values.max():.0f}",
    }
    return _TEXTS.section("chosen", Table.from_items(tasks, columns))


def _public_splits(auto: Mapping[str, TaskResult], recipes: Mapping[str, TaskResult]) -> Section:
    rows: list[Row] = []
    for name in (name for name, task in TASKS.items() if task.public and (name in auto or name in recipes)):
        chosen, named = auto.get(name), recipes.get(name)
        cells = ["not run"] * 3
        if chosen:
            cells = [mean_and_std(chosen.auto), chosen.errors, f"{chosen.mean('seconds'):.0f}"]
        if named:
            shares = {
                one: mean(each.get(one, 0.0) for each in named.weights)
                for one in dict.fromkeys(one for each in named.weights for one in each)
            }
            most = sorted((one for one in shares if shares[one] >= 0.05), key=lambda one: -shares[one])
            cells += [mean_and_std(named.auto), ", ".join(f"{method_title(one)} {shares[one]:.0%}" for one in most)]
            cells += [mean_and_std(named.summary("named", method, "test_accuracy")) for method in RECIPES]
            cells.append(named.errors)
        else:
            cells += ["not run"] * (3 + len(RECIPES))
        rows.append((TASKS[name].title, *cells))
    columns = (
        *("split", "automatic", "its calibration error", "seconds"),
        *("recipes", "weights", *(f"{method_title(method)}, recipe" for method in RECIPES), "calibration error"),
    )
    return _TEXTS.section("public", Table.from_rows(columns, rows), seeds=PUBLIC_SEEDS)


def _unfinished(records: Sequence[Record]) -> Section:
    """List failed and missing runs."""

    def run(key: Mapping[str, Any]) -> tuple[str, str, int]:
        return key["name"], key["arguments"]["task"], key["arguments"]["split"]

    have = {run(one.key) for one in records}
    planned = [run(job.key()) for one in choosing_experiments(Scope()) for job in one.measurements]
    missing = Counter(f"{name} {task}" for name, task, split in planned if (name, task, split) not in have)
    failed = [one for one in records if one.result.get("failure")]
    notes = [f"{' '.join(map(str, run(one.key)))}: {one.result['failure']}" for one in failed]
    order = [f"{kind} {task}" for kind in (NAME, RECIPES_NAME) for task in TASKS]
    listed = ", ".join(f"{what} ({missing[what]})" for what in order if missing[what])
    notes += [f"Missing: {listed}."] if missing else []
    counts: dict[str, Any] = {"planned": len(planned), "failed": len(failed), "missing": missing.total()}
    return _TEXTS.section("unfinished", notes=notes, **counts)


def _candidate_names(tasks: Iterable[TaskResult]) -> list[str]:
    return list(dict.fromkeys(name for one in tasks for name in one.single))
