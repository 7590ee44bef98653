"""Several methods over the same splits and seeds: running them, the result, and its files.

Each method runs in a process of its own, one after the other, so that its time and peak memory are its own. An engine
that spreads work over machines runs all methods at the same time, each seed by itself. The graph is coarsened before,
once for all methods: peak memory does not include coarsening.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hiergcn.choose.adapt import choose_settings
from hiergcn.coarsening import Hierarchy
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
from hiergcn.run.fit import DRAWN_SPLIT, check_classes, fit, in_canonical_order, own_split
from hiergcn.settings.settings import Settings, settings_for
from hiergcn.train.events import FitEvent, SeedDone
from hiergcn.train.trainer import AllSeedsFailedError, Trainer
from hiergcn.workers.machine import Peak, environment
from hiergcn.workers.memory_plan import unit_request
from hiergcn.workers.pool import Engine, Send, Work


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
    trainer = Trainer(graph, "cpu")  # coarsens once for all methods
    if not isinstance(methods, Mapping):
        methods = {name: _settings(name, trainer, own, dataset, changes) for name in methods}
    hierarchies = {name: trainer.hierarchy(settings) for name, settings in methods.items()}
    bench = _Bench(graph, [spec.split(graph, own) for spec in splits], dict(methods), hierarchies)
    for divided in bench.splits:
        divided.check(graph)
    about = describe_splits(splits, drawn=drawn or (split is None and graph.split is None))
    runs: list[MethodRun] = []

    def comparison(interrupted: bool) -> Comparison:
        done = {run.model: run.by_pair for run in runs}
        differences = compare_all(done, against) if against in done else ()
        of = (graph.name, tuple(splits), tuple(seeds), against)
        return Comparison(*of, tuple(runs), differences, interrupted, command, environment(), about)

    engine = engine or Engine()
    together = [list(methods)] if engine.spreads else [[name] for name in methods]
    try:
        for names in together:
            for run in bench.run(names, engine, engine.device(device), seeds, emit):
                runs.append(run)
                if on_part:
                    on_part(comparison(interrupted=len(runs) < len(methods)))
                emit(MethodDone(run))
    except KeyboardInterrupt:
        if not runs:
            raise
        return comparison(interrupted=True)
    return comparison(interrupted=False)


def _settings(
    name: str, trainer: Trainer, split: Split, dataset: str | None, changes: Mapping[str, Any] | None
) -> Settings:
    """Return the settings of NAME or NAME:PRESET for the graph."""
    model, _, preset = name.partition(":")
    recipe: dict[str, Any] = {"model": model, "preset": preset or None, "dataset": dataset}
    return choose_settings(trainer.graph, split, **recipe, changes=changes, coarsened=trainer.coarsened).settings


class _Unit(NamedTuple):
    """A method on one split, with some of the seeds."""

    model: str
    split: int
    seeds: tuple[int, ...]


class _Done(NamedTuple):
    """The scores of a unit, and the training that they took."""

    scores: list[Score]
    seconds: float = 0.0
    epochs: int = 0
    peak: Peak = Peak(None, None)
    failure: str | None = None
    """Why the unit gave no result."""


@dataclass(frozen=True)
class _Bench:
    """State that the methods of a comparison share."""

    graph: Graph
    splits: list[Split]
    methods: dict[str, Settings]
    hierarchies: dict[str, Hierarchy | None]

    def run(
        self, names: list[str], engine: Engine, device: str, seeds: Sequence[int], emit: OnCompareEvent
    ) -> Iterator[MethodRun]:
        """Run methods in one pool; yield each when it and those before it are finished."""
        apart = engine.spreads and device == "cpu"  # a GPU trains seeds side by side
        groups = [(seed,) for seed in seeds] if apart else [tuple(seeds)]
        units = [_Unit(name, split, group) for name in names for split in range(len(self.splits)) for group in groups]
        requests = {n: unit_request(self.graph, self.methods[n], self.hierarchies[n], device) for n in names}
        done: dict[int, _Done] = {}
        told: set[RunDone] = set()
        for name in names:
            emit(MethodStarted(name, len(self.splits) * len(seeds)))
        with engine.pool(_scoring, self, device) as pool:
            for number, reply in pool.replies((unit, requests[unit.model]) for unit in units):
                unit = units[number]
                if reply.kind == "result":
                    done[number] = reply.content._replace(peak=reply.peak)
                elif reply.kind != "message":
                    scores = [Score(unit.model, unit.split, seed, failure=reply.content) for seed in unit.seeds]
                    done[number] = _Done(scores, peak=reply.peak, failure=reply.content)
                # a result repeats the runs that messages have reported, because those may be late
                events = [reply.content]
                if reply.kind != "message":
                    events = [RunDone(unit.model, unit.split, one.seed, one.failure) for one in done[number].scores]
                for event in events:
                    if event not in told:
                        told.add(event)
                        emit(event)
                while names and all(k in done for k, unit in enumerate(units) if unit.model == names[0]):
                    name, names = names[0], names[1:]
                    yield self._combined(name, [done[k] for k, unit in enumerate(units) if unit.model == name])

    def _combined(self, name: str, parts: list[_Done]) -> MethodRun:
        """Return the run of a method, made of its units."""
        residents = [part.peak.resident for part in parts if part.peak.resident is not None]
        gpus = [part.peak.gpu for part in parts if part.peak.gpu is not None]
        epochs = sum(part.epochs for part in parts)
        return MethodRun(
            model=name,
            settings=self.methods[name],
            scores=tuple(score for part in parts for score in part.scores),
            peak=Peak(max(residents, default=None), max(gpus, default=None)),
            epoch_seconds=sum(part.seconds for part in parts) / epochs if epochs else None,
            failure=parts[0].failure if all(part.failure for part in parts) else None,
        )


def _scoring(bench: _Bench, device: str) -> Work:
    """Prepare a worker; return what runs a unit."""

    def run(send: Send, unit: _Unit) -> _Done:
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
        return _Done(scores, seconds, epochs)

    return run
