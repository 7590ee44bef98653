"""The path from a graph to a result: split, settings, hierarchy, training, evaluation, baselines."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import HierGCNError, InputError
from hiergcn.evaluate.calibration import fit_temperature
from hiergcn.evaluate.metrics import evaluate_model, evaluate_part, evaluate_test
from hiergcn.explain.votes import MOST_EDGES, Votes, votes
from hiergcn.graph import Graph, Split
from hiergcn.graph.tables.feature_columns import STRUCTURAL
from hiergcn.run.adapt import ChosenSettings, choose_settings
from hiergcn.run.events import BaselineStarted, Coarsened, MemoryPlanned, OnFitEvent, SeedDone, SettingsChosen
from hiergcn.run.memory_plan import available_memory, require_memory
from hiergcn.run.result import Baseline, BestSeed, RunResult, SeedResults
from hiergcn.run.settings import Settings, published
from hiergcn.run.trainer import Trainer
from hiergcn.train.selection import HISTORY

BASELINES = ("label-propagation", "mlp", "gcn")
"""Simpler methods to compare with: label propagation uses the edges alone, the perceptron the features alone, and GCN
both without a hierarchy."""
BASELINE_SEEDS = 3
"""Most seeds of a baseline."""
DRAWN_SPLIT = "drawn: of each class a fifth for validation and a fifth, if it has five labels, for test (seed 0)"
"""Description of `draw_split`'s default."""

_WITHOUT_SEEDS = ("label-propagation",)  # every seed gives the same


class AllSeedsFailedError(HierGCNError):
    """No seed gave a model."""


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
    on_event: OnFitEvent | None = None,
) -> RunResult:
    """Train a model for each seed, evaluate them all, and return everything that a run folder holds.

    Ctrl-C ends the run early with the seeds that are finished; it is raised again if there are none.

    Args:
        graph: with some labels; gets structural features if it has none.
        split: drawn from the labels if None, see `draw_split`.
        settings: used as they are; if None, they are chosen by the next four arguments, see `choose_settings`.
        seeds: one model each; the best on validation is kept.
        model: name of a method.
        preset: name of a recipe.
        dataset: name of the dataset that the graph is; it selects recipes and the published accuracy.
        changes: settings by name that differ from the chosen ones.
        baselines: names of simpler methods to train on the same split, such as `BASELINES`.
        hierarchy: used instead of coarsening the graph.
        device: `auto`, `cpu` or `cuda`.
        workers: processes that share the seeds on a CPU if these would take long. A script that asks for more than
            one must be importable: put its work under `if __name__ == "__main__"`.
        on_event: called with each step, see `events`.
    """
    emit = on_event or (lambda _: None)
    trainer = Trainer(graph, device, hierarchy)
    graph = trainer.graph

    split = split or draw_split(graph)
    split.check(graph)
    chosen = _chosen(trainer, split, settings, changes, model=model, preset=preset, dataset=dataset)
    settings = chosen.settings
    seeds = _checked_seeds(seeds, graph, settings)
    emit(SettingsChosen(split, chosen))

    hierarchy = trainer.hierarchy(settings)  # the graph is coarsened here, unless it was to choose the settings
    if hierarchy is not None:
        emit(Coarsened(hierarchy, trainer.coarsen_seconds))
    emit(MemoryPlanned(trainer.plan(settings).on_device, available_memory(trainer.device)))

    trained = _train(trainer, split, settings, seeds, emit, workers)
    result = _evaluated(trained, trainer, split, chosen, dataset)
    if not baselines or trained.interrupted:
        return result
    try:
        others = [name for name in baselines if name != settings.method]
        found = tuple(_baseline(name, trainer, split, seeds, dataset, emit) for name in others)
    except KeyboardInterrupt:
        return replace(result, notes=(*result.notes, "The comparison with simpler methods was stopped."))
    return replace(result, baselines=found)


def draw_split(graph: Graph, validation: float = 0.2, test: float = 0.2, seed: int = 0) -> Split:
    """Draw a share of the labels of each class for validation and, if it has enough, for test; see `Split.holdout`."""
    if graph.labels is None:
        raise InputError(f"{graph.name} has no labels to learn from; give the class of some nodes.")
    return Split.holdout(graph.labels, validation, test, seed)


def _chosen(
    trainer: Trainer, split: Split, settings: Settings | None, changes: Mapping[str, Any] | None, **names: Any
) -> ChosenSettings:
    if settings is None:
        return choose_settings(trainer.graph, split, changes=changes, coarsened=trainer.coarsened, **names)
    if names["model"] or names["preset"]:
        raise InputError("Both settings and the name of a model or preset are given; leave one of them out.")
    return ChosenSettings(settings.override(changes or {}))


def _checked_seeds(seeds: Sequence[int], graph: Graph, settings: Settings) -> tuple[int, ...]:
    if len(seeds) == 0:
        raise InputError("There are no seeds to run; give at least one.")
    require_memory(  # before anything is made for each seed
        len(seeds) * (4 * graph.n_nodes + 8 * len(HISTORY) * settings.train.epochs),
        what=f"{len(seeds):,} seeds of {graph.n_nodes:,} predictions each",
        remedy="give fewer seeds",
    )
    if len(set(seeds)) != len(seeds):
        raise InputError("A seed is given twice; give each seed once.")
    return tuple(int(seed) for seed in seeds)


def _train(
    trainer: Trainer, split: Split, settings: Settings, seeds: Sequence[int], emit: OnFitEvent, workers: int = 1
) -> SeedResults:
    """Train every seed; raise an error if none gives a model."""
    trainer.prepared(settings)
    results = SeedResults()
    began = time.perf_counter()
    try:
        for outcome in trainer.train(settings, [(split, seed) for seed in seeds], emit, workers):
            results.add(outcome)
            emit(SeedDone(outcome))
    except KeyboardInterrupt:
        if results.best is None:
            raise
        results.interrupted = True
    results.train_seconds = time.perf_counter() - began
    if results.best is None:
        why = results.outcomes[0].failure
        raise AllSeedsFailedError(f"Every seed failed, the first one because it {why}; try a lower learning_rate.")
    return results


def _evaluated(
    trained: SeedResults, trainer: Trainer, split: Split, chosen: ChosenSettings, dataset: str | None
) -> RunResult:
    """Evaluate every seed, and calibrate and take apart the model of the best."""
    graph, settings, best = trainer.graph, chosen.settings, trained.best
    assert best is not None
    assert graph.labels is not None
    temperature = fit_temperature(best.probabilities[split.validation], graph.labels[split.validation])
    hierarchy, history = trainer.hierarchy(settings), trained.history()
    notes = []
    if hierarchy is not None and hierarchy.depth < settings.model.levels:
        notes.append(
            f"The graph can be coarsened {hierarchy.depth} times, not the {settings.model.levels} that were asked for; "
            f"the network has {2 * hierarchy.depth + 1} layers."
        )
    return RunResult(
        settings=settings,
        graph=graph,
        split=split,
        hierarchy=hierarchy,
        outcomes=tuple(trained.outcomes),
        validation=evaluate_part(graph, split.validation, trained.predicted, trained.seeds),
        test=evaluate_test(graph, split, trained.predicted, trained.seeds),
        kept=evaluate_model(graph, split, best.probabilities, temperature),
        selected_seed=best.seed,
        probabilities=best.probabilities,
        weights=best.weights,
        history=history,
        seconds={
            "coarsen": trainer.coarsen_seconds,
            "train": trained.train_seconds,
            "epoch": trained.train_seconds / max(len(history), 1),
        },
        device=str(trainer.device),
        notes=(*notes, *chosen.advice, *graph.notes),
        interrupted=trained.interrupted,
        claim=published(settings.method, dataset) if dataset else None,
        reasons=chosen.reasons,
        votes=_votes(trainer, settings, best),
    )


def _votes(trainer: Trainer, settings: Settings, best: BestSeed) -> Votes | None:
    """Return the votes for each prediction of the best seed; None if there are too many to keep."""
    if trainer.graph.adjacency.nnz > 2 * MOST_EDGES:
        return None
    model, features = trainer.restored(settings, best.weights)
    return votes(model, features, best.probabilities.argmax(axis=1))


def _baseline(
    name: str, trainer: Trainer, split: Split, seeds: Sequence[int], dataset: str | None, emit: OnFitEvent
) -> Baseline:
    """Train a simpler method with settings of its own; a failure must not lose the run that it is compared with."""
    emit(BaselineStarted(name))
    graph = trainer.graph
    if name == "mlp" and any(column.kind == STRUCTURAL for column in graph.columns):
        return Baseline(name, left_out="has nothing to learn from: the nodes have no features")
    seeds = seeds[: 1 if name in _WITHOUT_SEEDS else BASELINE_SEEDS]
    try:
        settings = choose_settings(graph, split, model=name, dataset=dataset, coarsened=trainer.coarsened).settings
        trainer.plan(settings)  # refuses what does not fit into memory
        trained = _train(trainer, split, settings, seeds, lambda _: None)
    except (HierGCNError, MemoryError, RuntimeError) as error:
        return Baseline(name, left_out=f"failed ({error!s:.200})")
    if trained.interrupted:
        raise KeyboardInterrupt
    return Baseline(
        name,
        len(seeds),
        evaluate_part(graph, split.validation, trained.predicted, trained.seeds),
        evaluate_test(graph, split, trained.predicted, trained.seeds),
        trained.train_seconds,
    )
