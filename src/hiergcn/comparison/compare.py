"""Several methods over the same splits and seeds: running them, the result, and its files.

Each method runs in a process of its own, one after the other, so that its time and peak memory are its own. An engine
that spreads work over machines runs all methods at the same time, each seed by itself. The graph is coarsened before,
once for all methods: peak memory does not include coarsening.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hiergcn.choose.adapt import choose_settings
from hiergcn.coarsen import Hierarchy
from hiergcn.comparison.method_scores import (
    Comparison,
    MethodDone,
    MethodRun,
    MethodStarted,
    OnCompareEvent,
    RunDone,
    Score,
)
from hiergcn.errors import InputError
from hiergcn.evaluate.paired import compare_all
from hiergcn.graph import Graph, Split
from hiergcn.graph.split import PUBLIC, SplitSpec
from hiergcn.run.fit import DRAWN_SPLIT, AllSeedsFailedError, check_classes, fit, in_canonical_order, own_split
from hiergcn.settings.settings import Settings, settings_for
from hiergcn.train.events import FitEvent, SeedDone
from hiergcn.train.loop import SeedOutcome
from hiergcn.train.trainer import Trainer
from hiergcn.workers.machine import environment
from hiergcn.workers.memory import Peak
from hiergcn.workers.memory_plan import unit_request
from hiergcn.workers.pool import Engine, Reply, Request, Send, Work


def parse_methods(models: str, dataset: str | None, changes: Mapping[str, Any]) -> list[str]:
    """Return the names in a comma-separated list of NAME or NAME:PRESET; raise an `InputError` for unknown ones."""
    methods: list[str] = []
    for word in (part.strip() for part in models.split(",")):
        if not word:
            raise InputError(f"--models {models}: give names with commas between them, e.g. gcn,hgcn.")
        if word in methods:
            raise InputError(f"--models {models}: {word} is named twice; name each method once.")
        name, _, preset = word.partition(":")
        settings_for(name, preset or None, dataset).override(changes)
        methods.append(word)
    return methods


def describe_splits(splits: Sequence[SplitSpec], drawn: bool = False) -> str:
    """Describe the splits in words; `drawn` is true if the graph had no split of its own."""
    if tuple(splits) == (PUBLIC,):
        return f"one split, {DRAWN_SPLIT}" if drawn else "the graph's own split"
    whole = f"{len(splits)} random splits of the whole graph, not of its largest component"
    if splits[0].kind == "blocked":
        return (
            f"{len(splits)} blocked splits of the whole graph: in the half nearest to a random node 10 % of all nodes "
            "train and 10 % validate, the other half tests"
        )
    if splits[0].kind == "tenths":
        return f"{whole}: 10 % of each class train, 10 % validate, 80 % test"
    return f"{whole}: 20 nodes per class train, 500 validate, the rest test"


def compare(
    graph: Graph,
    split: Split | None,
    methods: Mapping[str, Settings] | Sequence[str],
    seeds: Sequence[int],
    *,
    dataset: str | None = None,
    changes: Mapping[str, Any] | None = None,
    splits: Sequence[SplitSpec] = (PUBLIC,),
    drawn: bool = False,
    against: str | None = None,
    device: str = "auto",
    on_event: OnCompareEvent | None = None,
    command: str | None = None,
    on_part: Callable[[Comparison], None] | None = None,
    engine: Engine | None = None,
) -> Comparison:
    """Run each method over the same splits and seeds. Ctrl-C keeps the methods that are finished, if there are any.

    Args:
        graph: with labels.
        split: that of the graph, or drawn from the labels, if None.
        methods: settings by the name to show; or names, as NAME or NAME:PRESET, whose settings are chosen as in `fit`.
        seeds: run on each split.
        dataset, device: as in `fit`.
        changes: settings by name that differ from the chosen ones, for all methods.
        splits: by default the graph's own.
        drawn: whether the split that is given was drawn from the labels.
        against: name of the method that the others are compared with; by default the first.
        on_event: gets every step: see `events`.
        command: the command line, kept with the result.
        on_part: gets the comparison so far after each method, before its event.
        engine: where the methods run; by default in processes of this machine.
    """
    check_classes(graph, "a comparison")
    graph, split = in_canonical_order(graph, split)
    emit, own = on_event or (lambda _: None), own_split(graph, split)
    against = against or next(iter(methods))
    if against not in methods:
        raise InputError(f"{against!r} is not among the models compared; give one of {', '.join(methods)}.")
    if len(own.test) == 0 and PUBLIC in splits:
        raise InputError(f"{graph.name}'s split has no test nodes to compare on; take random splits.")
    chosen = [spec.split(graph, own) for spec in splits]
    for one in chosen:
        one.check(graph)
    trainer = Trainer(graph, "cpu")  # coarsens once for all methods
    if not isinstance(methods, Mapping):
        methods = {name: _chosen(name, trainer, own, dataset, changes) for name in methods}
    runs: list[MethodRun] = []
    about = describe_splits(splits, drawn=drawn or (split is None and graph.split is None))

    def comparison(interrupted: bool) -> Comparison:
        done = {run.model: run.by_pair for run in runs}
        differences = compare_all(done, against) if against in done else ()
        of = (graph.name, tuple(splits), tuple(seeds), against)
        return Comparison(*of, tuple(runs), differences, interrupted, command, environment(), about)

    engine = engine or Engine()
    bench = _Bench(graph, chosen, dict(methods), {name: trainer.hierarchy(one) for name, one in methods.items()})
    try:
        for run in bench.run(engine, engine.device(device), seeds, emit):
            runs.append(run)
            if on_part:
                on_part(comparison(interrupted=len(runs) < len(methods)))
            emit(MethodDone(run))
    except KeyboardInterrupt:
        if not runs:
            raise
        return comparison(interrupted=True)
    return comparison(interrupted=False)


def _chosen(
    name: str, trainer: Trainer, split: Split, dataset: str | None, changes: Mapping[str, Any] | None
) -> Settings:
    model, _, preset = name.partition(":")
    recipe: dict[str, Any] = {"model": model, "preset": preset or None, "dataset": dataset}
    return choose_settings(trainer.graph, split, **recipe, changes=changes, coarsened=trainer.coarsened).settings


class _Unit(NamedTuple):
    """A method on one split, with some of the seeds."""

    model: str
    split: int
    seeds: tuple[int, ...]


class _Scored(NamedTuple):
    """The scores of a unit, and the training that they took."""

    scores: list[Score]
    seconds: float
    epochs: int


@dataclass(frozen=True)
class _Bench:
    """State that the methods of a comparison share."""

    graph: Graph
    splits: list[Split]
    methods: dict[str, Settings]
    hierarchies: dict[str, Hierarchy | None]

    def run(self, engine: Engine, device: str, seeds: Sequence[int], emit: OnCompareEvent) -> Iterator[MethodRun]:
        """Run every method and yield them in order."""
        if engine.spreads:
            yield from self._run(engine, list(self.methods), device, seeds, emit)
        else:
            for name in self.methods:
                yield from self._run(engine, [name], device, seeds, emit)

    def _run(
        self, engine: Engine, names: list[str], device: str, seeds: Sequence[int], emit: OnCompareEvent
    ) -> Iterator[MethodRun]:
        """Run methods in one pool; yield each when it and those before it are finished."""
        units = [unit for name in names for unit in self._units(name, seeds, engine.spreads and device == "cpu")]
        requests = {name: self._request(name, device) for name in names}
        done: dict[int, Reply] = {}
        told: set[RunDone] = set()
        for name in names:
            emit(MethodStarted(name, len(self.splits) * len(seeds)))
        with engine.pool(_scoring, self, device) as pool:
            for number, reply in pool.replies((unit, requests[unit.model]) for unit in units):
                for event in _finished(units[number], reply):
                    if event not in told:
                        told.add(event)
                        emit(event)
                if reply.kind != "message":
                    done[number] = reply
                while names and all(k in done for k, unit in enumerate(units) if unit.model == names[0]):
                    name = names.pop(0)
                    yield self._method(name, [(unit, done[k]) for k, unit in enumerate(units) if unit.model == name])

    def _units(self, name: str, seeds: Sequence[int], apart: bool) -> list[_Unit]:
        groups = [(seed,) for seed in seeds] if apart else [tuple(seeds)]  # a GPU trains seeds side by side
        return [_Unit(name, split, group) for split in range(len(self.splits)) for group in groups]

    def _request(self, name: str, device: str) -> Request:
        return unit_request(self.graph, self.methods[name], self.hierarchies[name], device)

    def _method(self, name: str, finished: list[tuple[_Unit, Reply]]) -> MethodRun:
        """Combine the units of a method."""
        parts = [_scored(unit, reply) for unit, reply in finished]
        scores = [score for part in parts for score in part.scores]
        failures = [reply.content for _, reply in finished if reply.kind != "result"]
        peak = Peak(
            *(max((one for one in known if one), default=None) for known in zip(*_peaks(finished), strict=True))
        )
        epochs = sum(part.epochs for part in parts)
        epoch_seconds = sum(part.seconds for part in parts) / epochs if epochs else None
        failure = failures[0] if len(failures) == len(finished) else None
        return MethodRun(name, self.methods[name], tuple(scores), peak, epoch_seconds, failure)


def _peaks(finished: list[tuple[_Unit, Reply]]) -> list[tuple[int | None, int | None]]:
    return [(reply.peak.resident, reply.peak.gpu) for _, reply in finished]


def _finished(unit: _Unit, reply: Reply) -> list[RunDone]:
    """Return the finished runs that a reply reports. A result repeats them, because messages may be late."""
    if reply.kind == "message":
        return [reply.content]
    return [RunDone(one.model, one.split, one.seed, one.failure) for one in _scored(unit, reply).scores]


def _scored(unit: _Unit, reply: Reply) -> _Scored:
    """Return the scores of a unit; if it gave no result, each seed has failed for that reason."""
    if reply.kind == "result":
        scored: _Scored = reply.content
        return scored
    return _Scored([Score(unit.model, unit.split, seed, failure=reply.content) for seed in unit.seeds], 0.0, 0)


def _scoring(bench: _Bench, device: str) -> Work:
    """Prepare a worker; return what runs a unit."""

    def run(send: Send, unit: _Unit) -> _Scored:
        def on_event(event: FitEvent) -> None:
            if isinstance(event, SeedDone):
                send(RunDone(unit.model, unit.split, event.outcome.seed, event.outcome.failure))

        settings, hierarchy = bench.methods[unit.model], bench.hierarchies[unit.model]
        split = bench.splits[unit.split]
        try:
            result = fit(
                bench.graph, split, settings, unit.seeds, device=device, hierarchy=hierarchy, on_event=on_event
            )
        except AllSeedsFailedError as error:
            return _Scored([_score(unit, one, {}) for one in error.outcomes], 0.0, 0)
        assert result.test is not None
        per_seed = [
            {name: value for name, summary in result.test.items() if (value := summary.per_seed[place]) is not None}
            for place in range(len(result.outcomes))
        ]
        scores = [_score(unit, one, metrics) for one, metrics in zip(result.outcomes, per_seed, strict=True)]
        return _Scored(scores, result.seconds["train"], len(result.history))

    return run


def _score(unit: _Unit, one: SeedOutcome, metrics: dict[str, float]) -> Score:
    seen = (one.validation_accuracy, one.best_epoch, one.seconds, one.failure)
    return Score(unit.model, unit.split, one.seed, metrics, *seen)
