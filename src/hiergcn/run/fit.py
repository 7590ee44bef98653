"""The path from a graph to a result: split, settings, hierarchy, training, evaluation, baselines.

If no method is named, `auto.choose` takes the place of settings to training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hiergcn.advise.doubtful import MOST_NODES
from hiergcn.advise.label_check import doubtful_labels, judge_labels, without_doubtful
from hiergcn.advise.suggest import page_suggestions
from hiergcn.choose.adapt import choose_settings, is_automatic
from hiergcn.choose.auto import Automatic, choose
from hiergcn.choose.candidate import Trained
from hiergcn.coarsen import CoarsenConfig, Hierarchy
from hiergcn.errors import HierGCNError, InputError
from hiergcn.evaluate.conformal import check_coverage, fewest_nodes
from hiergcn.evaluate.metrics import evaluate_part, evaluate_test
from hiergcn.evaluate.report import evaluate
from hiergcn.explain.votes import MOST_EDGES, Votes, votes
from hiergcn.graph import Graph, Split
from hiergcn.graph.order import canonical_order
from hiergcn.model.registry import method_class
from hiergcn.run.predict import Member
from hiergcn.run.result import Candidate, Leaderboard, RunResult
from hiergcn.settings.settings import ChosenSettings, Settings, published
from hiergcn.train.checkpoint import EVERY, Checkpoint, digest
from hiergcn.train.events import BaselineStarted, Coarsened, MemoryPlanned, OnFitEvent, SettingsChosen, SplitChosen
from hiergcn.train.seeds import AllSeedsFailedError as AllSeedsFailedError
from hiergcn.train.seeds import SeedResults, train_seeds, turns
from hiergcn.train.selection import HISTORY
from hiergcn.train.trainer import BATCH_LEVELS, Trainer
from hiergcn.version import __version__
from hiergcn.workers.machine import one_thread
from hiergcn.workers.memory import available_memory, require_memory
from hiergcn.workers.memory_plan import needed_on
from hiergcn.workers.pool import Engine

BASELINES = ("label-propagation", "mlp", "gcn")
"""Simpler methods to compare with: label propagation uses the edges alone, the perceptron the features alone, and GCN
both without a hierarchy."""
NUMBER_BASELINES = ("constant", "harmonic", *BASELINES)
"""The same for numbers, with the mean and harmonic interpolation as floors."""
BASELINE_SEEDS = 3
"""Most seeds of a baseline."""
DRAWN_SPLIT = "drawn with seed 0: a fifth of each class for validation, and a fifth for test if it has five labels"
"""Description of `draw_split`'s default."""
DRAWN_NUMBERS = "drawn with seed 0: a fifth of the known values for validation and a fifth for test"
"""The same for numbers."""

MOST_EPOCHS = 1000  # of a candidate of the automatic choice


@one_thread()
def fit(
    graph: Graph,
    split: Split | None = None,
    settings: Settings | None = None,
    seeds: Sequence[int] = (0,),
    *,
    model: str | None = None,
    preset: str | None = None,
    dataset: str | None = None,
    changes: Mapping[str, Any] | None = None,
    baselines: Sequence[str] = (),
    hierarchy: Hierarchy | None = None,
    device: str = "auto",
    workers: int = 1,
    engine: Engine | None = None,
    checkpoint: Checkpoint | None = None,
    time_limit: float | None = None,
    by_clock: bool = True,
    coverage: float | None = None,
    advise: bool = False,
    drop_doubtful: int = 0,
    on_event: OnFitEvent | None = None,
) -> RunResult:
    """Train models for a graph, evaluate them, and return everything that a run folder holds.

    Without settings, model, preset and dataset, or with the model `auto`, the method is chosen too: see `auto`. The
    answer is the mean of all seeds and of all methods that were chosen. Ctrl-C ends the run early with what is
    finished; it is raised again if nothing is.

    Args:
        graph: with some labels; gets structural features if it has none.
        split: that of the graph if None; drawn from the labels if it has none, see `draw_split`.
        settings: used as they are; if None, they are chosen by the next four arguments, see `choose_settings`.
        seeds: one model each; the answer is their mean.
        model: name of a method, or `auto`.
        preset: name of a recipe.
        dataset: name of the dataset that the graph is; it selects recipes and the published accuracy.
        changes: settings by name that differ from the chosen ones.
        baselines: names of simpler methods to train on the same split, such as `BASELINES`.
        hierarchy: used instead of coarsening the graph.
        device: `auto`, `cpu` or `cuda`.
        workers: processes that share the seeds on a CPU if these would take long. The candidates of the automatic
            choice train side by side in them, on a GPU too, so the more there are, the more is tried in time.
        engine: trains every seed on other machines, see `open_engine`.
        checkpoint: from which a killed run goes on, to the same bits; see `checkpoint_of`.
        time_limit: seconds of the automatic choice; by default `budget.default_limit`.
        by_clock: whether the clock ends the automatic choice too; without it, only prices do on a CPU, see `budget`.
        coverage: probability with which a node's prediction set holds its class, or an interval its number, such as
            0.9. Some labels then neither train nor validate, see `Split.with_calibration`. None makes no sets.
        advise: also find labels to doubt and nodes to label next, unless the graph is very large.
        drop_doubtful: number of labels, the most doubtful ones, that neither train nor validate.
        on_event: called with each step, see `events`.
    """
    emit = on_event or (lambda _: None)
    check_graph(graph)
    order = canonical_order(graph.ids)
    graph, split = in_canonical_order(graph, split)
    trainer = Trainer(graph, device, hierarchy and hierarchy.reordered(order), engine, checkpoint)

    split = own_split(graph, split)
    if coverage is not None and graph.strata is not None:
        check_coverage(coverage)
        split = split.with_calibration(graph.strata, fewest_nodes(coverage))
    split.check(graph)
    advise = advise and graph.n_nodes <= MOST_NODES and graph.labels is not None
    if drop_doubtful and graph.targets is not None:
        raise InputError("Only labels of classes can be doubted, and these are numbers; leave out --drop-doubtful.")
    doubts = judge_labels(graph, split) if advise or drop_doubtful else None
    if drop_doubtful:
        split = without_doubtful(graph, split, doubts, drop_doubtful)
    if settings is None and is_automatic(model, preset, dataset):
        _check_seeds(seeds, graph, MOST_EPOCHS)
        emit(SplitChosen(split))
        seeds = [int(seed) for seed in seeds]
        found = choose(trainer, split, seeds, emit, changes, time_limit, workers, dataset, by_clock)
        result = _automatic_result(found, trainer, split)
    else:
        chosen = _chosen(trainer, split, settings, changes, model=model, preset=preset, dataset=dataset)
        result = _fit_method(trainer, split, chosen, seeds, dataset, baselines, emit, workers)
    if coverage is not None:
        report = result.report.with_coverage(result.graph, result.split, result.probabilities, coverage)
        result = replace(result, report=report)
    if doubts is not None:
        given = doubts.in_place_of(result.predicted)
        votes_for_given = _votes(trainer, _trained_on(split, result), result.members[0], given)
        about = (result.predicted, result.hierarchy, votes_for_given)
        result = replace(result, doubtful=doubtful_labels(result.graph, result.split, doubts, *about))
    if advise:
        confidence = result.delivered.temperature.scale(result.probabilities).max(axis=1)
        result = replace(result, suggestions=page_suggestions(result.graph, confidence))
    return result if order is None else result.reordered(np.argsort(order))


def checkpoint_of(graph: Graph, folder: Path, every: float = EVERY) -> Checkpoint:
    """Return the checkpoint of runs on a graph, written to a folder at an interval of seconds."""
    arrays = [graph.adjacency.indptr, graph.adjacency.indices, graph.adjacency.data, graph.labels, graph.targets]
    features = graph.features
    if features is not None:
        arrays += [features] if isinstance(features, np.ndarray) else [features.indptr, features.indices, features.data]
    run = {"graph": digest(*arrays), "version of torch": torch.__version__, "version of hiergcn": __version__}
    return Checkpoint(folder, run, every)


def _fit_method(
    trainer: Trainer,
    split: Split,
    chosen: ChosenSettings,
    seeds: Sequence[int],
    dataset: str | None,
    baselines: Sequence[str],
    emit: OnFitEvent,
    workers: int,
) -> RunResult:
    """Train one method, and simpler ones to compare with."""
    settings = chosen.settings
    _check_seeds(seeds, trainer.graph, settings.train.epochs)
    emit(SettingsChosen(split, chosen))

    hierarchy = trainer.hierarchy(settings)  # the graph is coarsened here, unless it was to choose the settings
    if hierarchy is not None:
        emit(Coarsened(hierarchy, trainer.coarsen_seconds))
    if not trainer.sees_whole(settings):
        settings = settings.override({"batch_validation": True})  # the run says how its predictions were made
    planned = needed_on(trainer.device, trainer.plan(settings))
    emit(MemoryPlanned(planned, available_memory(trainer.device)))

    trained = train_seeds(trainer, [split], settings, [int(seed) for seed in seeds], emit, workers)
    share = 1.0 / len(trained.weights)
    members = [Member(settings, seed, weights, share) for seed, (weights,) in trained.weights.items()]
    result = _evaluated(members, trained, trainer, [split], trained.mean(), trained.probabilities)
    result = replace(
        result,
        notes=(*_depth_note(hierarchy, settings), *chosen.advice, *result.notes),
        claim=published(settings.method, dataset) if dataset else None,
        reasons=chosen.reasons,
    )
    if not baselines or trained.interrupted:
        return result
    try:
        others = [name for name in baselines if name != settings.method]
        compared = tuple(_baseline(name, trainer, split, seeds, dataset, emit) for name in others)
    except KeyboardInterrupt:
        return replace(result, notes=(*result.notes, "The comparison with simpler methods was stopped."))
    return replace(result, baselines=compared)


def check_graph(graph: object) -> None:
    """Refuse a table, such as scikit-learn's estimators take, in place of a graph."""
    if not isinstance(graph, Graph):
        raise InputError(
            f"A graph is needed here, not a {type(graph).__name__}: its edges help to classify its nodes. "
            "Make one with Graph.from_csv or Graph.from_pandas, or from a table with Graph.from_table(X, y)."
        )


def check_classes(graph: Graph, what: str) -> None:
    """Refuse a graph with numeric targets; only classes are supported."""
    if graph.targets is not None:
        raise InputError(
            f"{graph.name} has numbers to predict, and {what} takes classes only; see `hiergcn fit` instead."
        )


def in_canonical_order(graph: Graph, split: Split | None) -> tuple[Graph, Split | None]:
    """Return the graph with its nodes in the order of their ids, in which `fit` works, and its split."""
    check_graph(graph)
    order = canonical_order(graph.ids)
    return (graph, split) if order is None else (graph.reordered(order), split and split.reordered(order))


def own_split(graph: Graph, split: Split | None = None, *, test: float = 0.2, seed: int = 0) -> Split:
    """Return the split that is given, or that the data name, or one drawn from the labels."""
    return split or graph.split or draw_split(graph, test=test, seed=seed)


def draw_split(graph: Graph, validation: float = 0.2, test: float = 0.2, seed: int = 0) -> Split:
    """Draw a share of the labels of each class for validation and, if it has enough, for test; see `Split.by_id`."""
    if graph.strata is None:
        raise InputError(f"{graph.name} has no labels to learn from; give the class or the number of some nodes.")
    return Split.by_id(graph.strata, graph.ids, validation, test, seed)


def drawn_split(graph: Graph) -> str:
    """Describe the split that `draw_split` draws."""
    return DRAWN_SPLIT if graph.targets is None else DRAWN_NUMBERS


def baselines_for(graph: Graph) -> tuple[str, ...]:
    """Return the simpler methods to compare with."""
    return BASELINES if graph.targets is None else NUMBER_BASELINES


def _chosen(
    trainer: Trainer, split: Split, settings: Settings | None, changes: Mapping[str, Any] | None, **names: Any
) -> ChosenSettings:
    if settings is None:
        return choose_settings(trainer.graph, split, changes=changes, coarsened=trainer.coarsened, **names)
    if names["model"] or names["preset"]:
        raise InputError("Both settings and the name of a model or preset are given; leave one of them out.")
    return ChosenSettings(settings.override(changes or {}))


def _check_seeds(seeds: Sequence[int], graph: Graph, epochs: int) -> None:
    if len(seeds) == 0:
        raise InputError("There are no seeds to run; give at least one.")
    require_memory(  # before anything is made for each seed
        len(seeds) * (4 * graph.n_nodes * graph.n_outputs + 8 * len(HISTORY) * epochs),
        what=f"{len(seeds):,} seeds of {graph.n_nodes:,} predictions each",
        remedy="give fewer seeds",
    )
    if len(set(seeds)) != len(seeds):
        raise InputError("A seed is given twice; give each seed once.")


def _automatic_result(found: Automatic, trainer: Trainer, split: Split) -> RunResult:
    """Return the result of the automatic choice: the weighted mean of the chosen candidates, and the leaderboard."""
    first = found.chosen[0]
    count = len(found.turns)
    members = [
        Member(
            one.settings,
            seed,
            weights[turn],
            one.weight / len(one.results.weights) / count,
            turn if count > 1 else None,
            one.temperature.value,
        )
        for one in found.chosen
        for turn in range(count)
        for seed, weights in one.results.weights.items()
        if one.settings is not None
    ]
    probabilities = _weighted([(one.weight, one.outputs()) for one in found.chosen])
    each = {  # what one seed of each chosen candidate gives; one without that seed counts with its mean
        seed: _weighted([(one.weight, one.outputs(seed)) for one in found.chosen])
        for seed in first.results.probabilities
    }
    result = _evaluated(members, first.results, trainer, found.turns, probabilities, each)
    leaderboard = [_candidate(one, trainer.graph, found.validation, split) for one in found.candidates]
    leaderboard.sort(key=lambda one: -(one.validation.main.mean or 0.0) if one.validation else np.inf)
    return replace(
        result,
        split=split,
        turns=count,
        notes=(*_turns_note(found), *result.notes),
        hierarchy=result.hierarchy or trainer.coarsened(BATCH_LEVELS, CoarsenConfig()),  # to look at the graph
        leaderboard=Leaderboard(leaderboard),
        verdict=found.verdict,
        interrupted=found.interrupted,
        seconds=result.seconds | {"train": sum(one.results.seconds for one in found.candidates)},
    )


def _turns_note(found: Automatic) -> list[str]:
    if len(found.turns) == 1:
        return []
    folds = len(found.turns)
    judged = "training and validation labels are each predicted by networks that did not train on them"
    return [f"With few labels, validation is {folds}-fold cross-validation: {judged}."]


def _weighted(parts: Sequence[tuple[float, np.ndarray]]) -> np.ndarray:
    mean: np.ndarray = sum(array.dtype.type(weight) * array for weight, array in parts)
    return mean


def _candidate(one: Trained, graph: Graph, validation: np.ndarray, split: Split) -> Candidate:
    if not one.is_done:
        return Candidate(one.entry.name, one.entry.method, left_out=one.left_out)
    mean = {0: one.outputs()}
    return Candidate(
        one.entry.name,
        one.entry.method,
        len(one.results.probabilities),
        evaluate_part(graph, validation, mean, [0]),
        evaluate_test(graph, split, mean, [0]),
        one.results.seconds,
        weight=one.weight,
    )


def _evaluated(
    members: Sequence[Member],
    trained: SeedResults,
    trainer: Trainer,
    turns: Sequence[Split],
    probabilities: np.ndarray,
    each: Mapping[int, np.ndarray],
) -> RunResult:
    """Evaluate an answer.

    Args:
        members: its networks, those of the method with the largest weight first.
        trained: of that method.
        turns: the split, or those in which labels took turns.
        probabilities: of the answer, (n, classes), or its numbers, (n, 1).
        each: the same of each seed.
    """
    graph = trainer.graph
    validation = np.sort(np.concatenate([turn.validation for turn in turns]))
    split = replace(turns[0], train=np.setdiff1d(turns[0].train, validation), validation=validation)  # that is scored
    first = next(one for one in members if one.seed == trained.best)
    members = [first, *(one for one in members if one is not first)]
    depths = [one for member in members if (one := trainer.hierarchy(member.settings)) is not None]
    history = trained.history()
    return RunResult(
        graph=graph,
        split=turns[0],
        hierarchy=max(depths, key=lambda one: one.depth, default=None),
        members=tuple(members),
        outcomes=tuple(trained.outcomes),
        validation=evaluate_part(graph, split.validation, each, trained.seeds),
        test=evaluate_test(graph, split, each, trained.seeds),
        report=evaluate(graph, split, probabilities),
        probabilities=probabilities,
        history=history,
        seconds={
            "coarsen": trainer.coarsen_seconds,
            "train": trained.seconds,
            "epoch": trained.seconds / max(len(history), 1),
        },
        device=trainer.trains_on,
        notes=(*_single_labels(graph), *graph.notes),
        interrupted=trained.interrupted,
        votes=_votes(trainer, turns[first.turn or 0], first, probabilities.argmax(axis=1)),
    )


def _depth_note(hierarchy: Hierarchy | None, settings: Settings) -> tuple[str, ...]:
    if hierarchy is None or hierarchy.depth >= settings.model.levels:
        return ()
    levels, layers = settings.model.levels, 2 * hierarchy.depth + 1
    found = f"The graph can be coarsened {hierarchy.depth} times, not the {levels} that were asked for"
    return (f"{found}; the network has {layers} layers.",)


def _single_labels(graph: Graph) -> list[str]:
    """Return a note on classes with one label, which validation and test cannot judge."""
    if graph.labels is None:
        return []
    single = np.flatnonzero(np.bincount(graph.labels[graph.labelled], minlength=graph.n_classes) == 1)
    if not single.size:
        return []
    names = ", ".join(f"{graph.class_names[k]!r:.40}" for k in single[:5]) + (", .." if single.size > 5 else "")
    return [f"classes with one label, which trains and leaves none to validate the class: {names}"]


def _trained_on(split: Split, result: RunResult) -> Split:
    """Return the split of the first member: that of its turn, if labels took turns."""
    turn = result.members[0].turn
    return split if turn is None else turns(split, result.graph.truth, result.turns)[turn]


def _votes(trainer: Trainer, split: Split, first: Member, classes: np.ndarray) -> Votes | None:
    """Return the votes for a class of each node by the first member; None for numbers, or if there are too many."""
    if trainer.graph.adjacency.nnz > 2 * MOST_EDGES or trainer.graph.targets is not None:
        return None
    model, features = trainer.restored(first.settings, split, first.weights)
    return votes(model, features, classes)


def _baseline(
    name: str, trainer: Trainer, split: Split, seeds: Sequence[int], dataset: str | None, emit: OnFitEvent
) -> Candidate:
    """Train a simpler method with settings of its own; a failure must not lose the run that it is compared with."""
    emit(BaselineStarted(name))
    graph = trainer.graph
    if name == "mlp" and not graph.has_own_features:
        return Candidate(name, name, left_out="has nothing to learn from: the nodes have no features")
    seeds = seeds[: 1 if method_class(name).relearns else BASELINE_SEEDS]  # labels alone give the same for every seed
    try:
        settings = choose_settings(graph, split, model=name, dataset=dataset, coarsened=trainer.coarsened).settings
        trainer.plan(settings)  # refuses what does not fit into memory
        trained = train_seeds(trainer, [split], settings, seeds, lambda _: None)
    except (HierGCNError, MemoryError, RuntimeError) as error:
        return Candidate(name, name, left_out=f"failed ({error!s:.200})")
    if trained.interrupted:
        raise KeyboardInterrupt
    outputs = trained.probabilities
    return Candidate(
        name,
        name,
        len(seeds),
        evaluate_part(graph, split.validation, outputs, trained.seeds),
        evaluate_test(graph, split, outputs, trained.seeds),
        trained.seconds,
    )
