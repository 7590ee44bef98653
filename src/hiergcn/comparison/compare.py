"""Several methods over the same splits and seeds: running them, the result, and its files.

Each method runs in a process of its own, one after the other, so that its time and peak memory are its own. An engine
that spreads work over machines runs all methods at the same time, each seed by itself. The graph is coarsened before,
once for all methods: peak memory does not include coarsening.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from hiergcn.choose.adapt import choose_settings
from hiergcn.coarsening import Hierarchy
from hiergcn.comparison.splits import PUBLIC, SplitSpec, describe_splits, parse_splits, splits_text
from hiergcn.errors import InputError
from hiergcn.evaluate.metrics import Summary, metrics_for, result_key
from hiergcn.evaluate.paired import TEST, PairedDifference, Scores, compare_all
from hiergcn.files import naming, written_whole
from hiergcn.fragments import card, sentence
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import classes_in_order, fit, resolve_split
from hiergcn.settings.registry import method_names, method_title
from hiergcn.settings.settings import Settings
from hiergcn.train.events import FitEvent, SeedDone
from hiergcn.train.trainer import AllSeedsFailedError, Trainer
from hiergcn.workers.machine import Peak, environment
from hiergcn.workers.memory_plan import unit_request
from hiergcn.workers.pool import Engine, Reply, Send, Work, do_job

_SAVED_AS_IS = ("dataset", "against", "interrupted", "command", "environment")
COMPARISON, SCORES, PAGE = "comparison.json", "scores.csv", "comparison.html"
ENOUGH_PAIRS = 6
"""Fewest pairs with which p can fall below 0.05."""


@dataclass(frozen=True)
class Score:
    """One seed of one method on one split: a row of `scores.csv`."""

    model: str
    split: int
    seed: int
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Every metric on test nodes, by its name; empty if the seed failed."""
    validation_accuracy: float | None = None
    best_epoch: int | None = None
    seconds: float | None = None
    failure: str | None = None


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
        return {(score.split, score.seed): score.metrics.get("accuracy") for score in self.scores}

    @property
    def test_accuracy(self) -> Summary:
        return self.summary("accuracy")

    def summary(self, metric: str) -> Summary:
        """Return a metric on test nodes over all runs."""
        return Summary(tuple(score.metrics.get(metric) for score in self.scores))

    @property
    def failed(self) -> int:
        """Number of failed runs."""
        return self.test_accuracy.per_seed.count(None)

    @property
    def seconds(self) -> float | None:
        """Mean seconds per seed."""
        return Summary(tuple(score.seconds for score in self.scores)).mean

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


def title(model: str) -> str:
    """Return a method's name as people read it; a preset follows in brackets."""
    name, _, preset = model.partition(":")
    if name not in method_names():
        return model
    return method_title(name) + (f" ({preset})" if preset else "")


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
        columns = {"difference": "mean", "low": "low", "high": "high", "p": "p_holm"}
        rows = {}
        for run in self.runs:
            rows[run.model] = {
                "accuracy": run.test_accuracy.mean,
                "std": run.test_accuracy.std,
                "seconds": run.seconds,
                **{name: getattr(self.difference(run.model), part, None) for name, part in columns.items()},
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")

    def difference(self, model: str) -> PairedDifference | None:
        return next((pair for pair in self.differences if pair.model == model), None)

    @property
    def explanations(self) -> tuple[str, ...]:
        """What the columns of the table mean, in sentences."""
        several = self.splits != (PUBLIC,)
        pairs = "splits, each the mean of its seeds" if several else "seeds, for this split only"
        corrected = f"; Holm's correction for {len(self.differences)} comparisons" if len(self.differences) > 1 else ""
        sentences = [
            "±: sample standard deviation over runs.",
            f"Difference from {title(self.against)} in points: mean and interval (Student's t) over paired {pairs}.",
            f"p: {TEST}{corrected}.",
        ]
        fewest = min((pair.units for pair in self.differences), default=ENOUGH_PAIRS)
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
            "differences": [vars(pair) for pair in self.differences],
        }


class MethodStarted(NamedTuple):
    """A comparison begins a method, or several at the same time: their names with commas between them."""

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
    so_far: Comparison


CompareEvent = MethodStarted | RunDone | MethodDone


def compare(
    graph: Graph,
    split: Split | None,
    methods: Mapping[str, Settings] | Sequence[str],
    seeds: Sequence[int],
    *,
    dataset: str | None = None,
    changes: Mapping[str, Any] | None = None,
    splits: Sequence[SplitSpec] = (PUBLIC,),
    against: str | None = None,
    device: str = "auto",
    on_event: Callable[[CompareEvent], None] | None = None,
    command: str | None = None,
    engine: Engine | None = None,
) -> Comparison:
    """Run each method over the same splits and seeds. Ctrl-C keeps the methods that are finished, if there are any.

    Args, beside those of `hiergcn.compare`:
        methods: settings by the name to show; or names, as NAME or NAME:PRESET, whose settings are chosen as in `fit`.
        changes: settings by name that differ from the chosen ones, for all methods.
        splits: by default the graph's own.
        command: the command line, kept with the result.
        engine: where the methods run; by default in processes of this machine.
    """
    drawn = split is None and graph.split is None
    graph, split = classes_in_order(graph, split, "a comparison")
    public = resolve_split(graph, split)
    against = against or next(iter(methods))
    if against not in methods:
        raise InputError(f"{against!r} is not among the models compared; give one of {', '.join(methods)}.")
    if len(public.test) == 0 and PUBLIC in splits:
        raise InputError(f"{graph.name}'s split has no test nodes to compare on; take random splits.")
    trainer = Trainer(graph, "cpu")  # coarsens once for all methods
    if not isinstance(methods, Mapping):
        more: dict[str, Any] = {"dataset": dataset, "changes": changes, "coarsen": trainer.coarsen}
        named = {name: name.partition(":") for name in methods}  # NAME or NAME:PRESET
        methods = {
            name: choose_settings(trainer.graph, public, model=model, preset=preset or None, **more).settings
            for name, (model, _, preset) in named.items()
        }
    hierarchies = {name: trainer.hierarchy(settings) for name, settings in methods.items()}
    bench = _Bench(graph, [spec.split(graph, public) for spec in splits], methods, hierarchies)
    for divided in bench.splits:
        divided.check(graph)
    about, machine = describe_splits(splits, drawn), environment()
    so_far = Comparison(graph.name, tuple(splits), tuple(seeds), against, (), (), True, command, machine, about)
    emit, engine = on_event or (lambda _: None), engine or Engine()
    try:
        for names in [list(methods)] if engine.spreads else [[name] for name in methods]:
            for run in _method_runs(bench, names, engine, engine.device(device), seeds, emit):
                runs = (*so_far.runs, run)
                done = {run.model: run.by_pair for run in runs}
                pairs = compare_all(done, against) if against in done else ()
                so_far = replace(so_far, runs=runs, differences=pairs, interrupted=len(runs) < len(methods))
                emit(MethodDone(run, so_far))
    except KeyboardInterrupt:
        if not so_far.runs:
            raise
    return so_far


class _Bench(NamedTuple):
    """What the methods of a comparison share."""

    graph: Graph
    splits: list[Split]
    methods: Mapping[str, Settings]
    hierarchies: Mapping[str, Hierarchy | None]


class _Unit(NamedTuple):
    """A method on one split, with some of the seeds."""

    model: str
    split: int
    seeds: tuple[int, ...]


_Result = tuple[list[Score], float, int]
"""The scores of a unit, and the seconds and epochs of training that they took."""


def _method_runs(
    bench: _Bench, names: list[str], engine: Engine, device: str, seeds: Sequence[int], emit: Callable[..., None]
) -> Iterator[MethodRun]:
    """Run methods in one pool; yield each when it and those before it are finished."""
    apart = engine.spreads and device == "cpu"  # a GPU trains seeds side by side
    groups = [(seed,) for seed in seeds] if apart else [tuple(seeds)]
    units = [_Unit(name, split, group) for name in names for split in range(len(bench.splits)) for group in groups]
    requests = {n: unit_request(bench.graph, bench.methods[n], bench.hierarchies[n], device) for n in names}
    told: set[RunDone] = set()

    def tell(event: RunDone) -> None:
        if event not in told:  # results repeat what messages have said, because those may be late
            told.add(event)
            emit(event)

    emit(MethodStarted(", ".join(names), len(names) * len(bench.splits) * len(seeds)))
    with engine.pool(_scoring, bench, device) as pool:
        jobs = ((unit, requests[unit.model]) for unit in units)
        replies = zip(units, pool.results(jobs, tell, lambda _, why: Reply("death", f"{why}.")), strict=True)
        for name in names:
            parts: list[tuple[_Result, Reply]] = []
            for unit, reply in islice(replies, len(units) // len(names)):
                failed = [Score(name, unit.split, seed, failure=str(reply.content)) for seed in unit.seeds]
                result = reply.content if reply.kind == "result" else (failed, 0.0, 0)
                parts.append((result, reply))
                for score in result[0]:
                    tell(RunDone(name, unit.split, score.seed, score.failure))
            scores, seconds, epochs = (list(column) for column in zip(*(result for result, _ in parts), strict=True))
            failures = [str(reply.content) for _, reply in parts if reply.kind != "result"]
            yield MethodRun(
                model=name,
                settings=bench.methods[name],
                scores=tuple(chain.from_iterable(scores)),
                peak=Peak(
                    max((reply.peak.resident for _, reply in parts if reply.peak.resident is not None), default=None),
                    max((reply.peak.gpu for _, reply in parts if reply.peak.gpu is not None), default=None),
                ),
                epoch_seconds=sum(seconds) / sum(epochs) if any(epochs) else None,
                failure=failures[0] if len(failures) == len(parts) else None,
            )


def _scoring(bench: _Bench, device: str) -> Work:
    """Prepare a worker; return what runs a unit: its result or its failure."""

    def scores_of(send: Send, unit: _Unit) -> _Result:
        def on_event(event: FitEvent) -> None:
            if isinstance(event, SeedDone):
                send(RunDone(unit.model, unit.split, event.outcome.seed, event.outcome.failure))

        more: dict[str, Any] = {"hierarchy": bench.hierarchies[unit.model], "device": device, "on_event": on_event}
        seconds, epochs, metrics = 0.0, 0, {}
        try:
            result = fit(bench.graph, bench.splits[unit.split], bench.methods[unit.model], unit.seeds, **more)
        except AllSeedsFailedError as error:
            outcomes = error.outcomes
        else:
            assert result.test is not None
            outcomes, metrics = result.outcomes, {name: summary.per_seed for name, summary in result.test.items()}
            seconds, epochs = result.seconds["train"], len(result.history)
        scores = []
        for number, outcome in enumerate(outcomes):
            known = {name: value for name, values in metrics.items() if (value := values[number]) is not None}
            seen = (outcome.validation_accuracy, outcome.best_epoch, outcome.seconds, outcome.failure)
            scores.append(Score(unit.model, unit.split, outcome.seed, known, *seen))
        return scores, seconds, epochs

    return lambda send, unit: do_job(lambda: scores_of(send, unit))


def write_comparison(comparison: Comparison, folder: Path) -> None:
    """Write `comparison.json` with every setting and figure, and `scores.csv` with a row per model, split and seed."""
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
    columns = metrics_for("classes")
    rows = []
    for score in (score for run in comparison.runs for score in run.scores):
        row = {name: value for name, value in vars(score).items() if name != "metrics"}
        rows.append(row | {result_key(name): score.metrics.get(name) for name in columns})
    table = pd.DataFrame(rows, dtype=object)  # else a missing epoch would turn the others into floats
    with written_whole(folder / SCORES) as part:
        table.to_csv(part, index=False)
    with written_whole(folder / COMPARISON) as part:
        part.write_text(json.dumps(comparison.to_dict(), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def read_comparison(folder: Path) -> Comparison:
    """Read the comparison that `write_comparison` wrote."""
    try:
        saved = json.loads((folder / COMPARISON).read_text(encoding="utf-8"))
        table = pd.read_csv(folder / SCORES, dtype={"model": str})
        scores: dict[str, list[Score]] = {about["model"]: [] for about in saved["models"]}
        for row in table.astype(object).where(table.notna(), None).to_dict("records"):
            metrics = {name: row.get(result_key(name)) for name in metrics_for("classes")}
            known = {name: value for name, value in metrics.items() if value is not None}
            about = {part.name: row[part.name] for part in fields(Score) if part.name != "metrics"}
            scores[row["model"]].append(Score(metrics=known, **about))
        for about in saved["models"]:
            if len(scores[about["model"]]) != about["runs"]:
                raise ValueError(f"{SCORES} has not the {about['runs']} runs of {about['model']}")
        return Comparison(
            **{name: saved[name] for name in _SAVED_AS_IS},
            splits=parse_splits(saved["splits"]),
            seeds=tuple(saved["seeds"]),
            runs=tuple(
                MethodRun(
                    model=about["model"],
                    settings=Settings.from_dict(about["settings"]),
                    scores=tuple(scores[about["model"]]),
                    peak=Peak(about["peak_memory_bytes"], about["peak_gpu_memory_bytes"]),
                    epoch_seconds=about["seconds"]["epoch"],
                    failure=about["failure"],
                )
                for about in saved["models"]
            ),
            differences=tuple(PairedDifference(**difference) for difference in saved["differences"]),
            about=saved["splits_about"],
        )
    except (KeyError, TypeError, ValueError, OSError) as damage:
        raise InputError(f"The comparison in {folder} is damaged ({damage}); run hiergcn compare again.") from None
