"""The path from a graph to a result: split, settings, hierarchy, training, evaluation, baselines.

If no method is named, `choose.search.Automatic` takes the place of settings and training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from hiergcn.advise.doubtful import MOST_NODES, Doubts, doubtful_labels, judge_labels, without_doubtful
from hiergcn.advise.suggest import DEPTH, page_suggestions
from hiergcn.choose.adapt import choose_settings
from hiergcn.coarsening import CoarsenConfig, Hierarchy
from hiergcn.errors import HierGCNError, InputError
from hiergcn.evaluate.calibration import check_coverage, fewest_nodes
from hiergcn.evaluate.metrics import evaluate, evaluate_part, evaluate_test, result_key
from hiergcn.explanation.votes import MOST_EDGES, votes
from hiergcn.graph import Graph, Split
from hiergcn.graph.adjacency import reached_from
from hiergcn.graph.order import canonical_order, check_seed
from hiergcn.graph.split import ALL_PARTS
from hiergcn.reports.leaderboard import Row
from hiergcn.run.run import DOUBTFUL, SUGGESTIONS, Member, Run
from hiergcn.settings.registry import config_class
from hiergcn.settings.settings import AUTO, ChosenSettings, Settings, is_automatic, published
from hiergcn.train.checkpoint import EVERY, Checkpoint, data_digests, digest, graph_arrays
from hiergcn.train.events import BaselineStarted, Coarsened, MemoryPlanned, OnFitEvent, SettingsChosen, SplitChosen
from hiergcn.train.loop import HISTORY
from hiergcn.train.trainer import BATCH_LEVELS, SeedResults, Trainer, train_seeds
from hiergcn.version import __version__
from hiergcn.workers.machine import available_memory, plain_torch, require_memory
from hiergcn.workers.memory_plan import needed_on
from hiergcn.workers.pool import Engine

if TYPE_CHECKING:  # imported if no method is named
    from hiergcn.choose.search import Automatic, CandidateState

_SIMPLE = ("label-propagation", "mlp", "gcn")
BASELINES = {"classes": _SIMPLE, "numbers": ("constant", "harmonic", *_SIMPLE)}
"""Simpler methods to compare with, by the kind of target: label propagation uses the edges alone, the perceptron the
features alone, and GCN both without a hierarchy; the mean and harmonic interpolation are floors for numbers."""
BASELINE_SEEDS = 3  # at most
DRAWN_SPLIT = {
    "classes": "drawn with seed 0: a fifth of each class for validation, and a fifth for test if it has five labels",
    "numbers": "drawn with seed 0: a fifth of the known values for validation and a fifth for test",
}
"""Description of the split that `resolve_split` draws, by the kind of target."""
MOST_EPOCHS = 1000  # of a candidate of the automatic choice


@plain_torch()
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
) -> Run:
    """Train models for a graph, evaluate them, and return everything that a run folder holds.

    Without settings, model, preset and dataset, or with the model `auto`, the method is chosen too: see `Automatic`.
    The answer is the mean of all seeds and of all methods that were chosen. Ctrl-C ends the run early with what is
    finished; it is raised again if nothing is.

    Args, beside those of `hiergcn.fit`:
        graph: with some labels; gets structural features if it has none.
        split: that of the graph if None; drawn from the labels if it has none, see `resolve_split`.
        settings: used as they are; if None, they are chosen by model, preset, dataset and changes.
        dataset: name of the dataset that the graph is; it selects recipes and the published accuracy.
        changes: settings by name that differ from the chosen ones.
        baselines: names of simpler methods to train on the same split, such as `BASELINES`.
        hierarchy: used instead of coarsening the graph.
        workers: processes that share the seeds on a CPU if these would take long. The candidates of the automatic
            choice train side by side in them, on a GPU too, so the more there are, the more is tried in time.
        engine: trains every seed on other machines, see `open_engine`.
        checkpoint: from which a killed run goes on, to the same bits; see `checkpoint_of`.
        by_clock: whether the clock ends the automatic choice too; without it, only prices do on a CPU, see `budget`.
        coverage: some labels then neither train nor validate, see `Split.with_calibration`.
        drop_doubtful: number of labels, the most doubtful ones, that neither train nor validate.
        on_event: called with each step, see `events`.
    """
    emit = on_event or (lambda _: None)
    check_graph(graph)
    if time_limit is not None and not (isinstance(time_limit, Real) and 0 <= time_limit < np.inf):
        raise InputError(f"Time limit is {time_limit!r}; give a number of seconds, such as 60.")
    order = canonical_order(graph.ids)  # in which all work is done, so that the order of rows has no effect
    if order is not None:
        graph, split = graph.reordered(order), split and split.reordered(order)
        hierarchy = hierarchy and hierarchy.reordered(order)
    trainer = Trainer(graph, device, hierarchy, engine, checkpoint)

    split = resolve_split(graph, split)
    if coverage is not None:
        check_coverage(coverage)
        split = split.with_calibration(graph.strata, fewest_nodes(coverage))
    split.check(graph)
    advise = advise and graph.n_nodes <= MOST_NODES and graph.labels is not None
    if drop_doubtful and graph.target.kind == "numbers":
        raise InputError("Only labels of classes can be doubted, and these are numbers; leave out --drop-doubtful.")
    doubts = judge_labels(graph, split) if advise or drop_doubtful else None
    if drop_doubtful:
        split = without_doubtful(graph, split, doubts, drop_doubtful)

    if settings is None and is_automatic(model, preset, dataset):
        from hiergcn.choose.search import Automatic

        _check_seeds(seeds, graph, MOST_EPOCHS)
        emit(SplitChosen(split))
        seeds = [int(seed) for seed in seeds]
        automatic = Automatic(trainer, split, seeds, emit, changes, time_limit, workers, dataset, by_clock)
        answer = _answer_of_choice(automatic.run(), trainer, split)
    else:
        if settings is None:
            names = {"model": model, "preset": preset, "dataset": dataset}
            chosen = choose_settings(trainer.graph, split, changes=changes, coarsen=trainer.coarsen, **names)  # type: ignore[arg-type]
        elif model or preset:
            raise InputError("Both settings and the name of a model or preset are given; leave one of them out.")
        else:
            chosen = ChosenSettings(settings.override(changes or {}))
        answer = _answer_of_method(trainer, split, chosen, seeds, dataset, baselines, emit, workers)
    return _evaluated(answer, trainer, split, coverage, doubts, advise, order)


def checkpoint_of(graph: Graph, folder: Path, every: float = EVERY) -> Checkpoint:
    """Return the checkpoint of runs on a graph, written to a folder at an interval of seconds."""
    of_graph = digest(*graph_arrays(graph), graph.labels, graph.targets)
    run = {"graph": of_graph, "version of torch": torch.__version__, "version of hiergcn": __version__}
    return Checkpoint(folder, run, every)


@dataclass(eq=False)
class _Answer:
    """What was trained, before it is evaluated."""

    members: list[Member]  # those of the method with the largest weight first
    trained: SeedResults  # of that method
    folds: Sequence[Split]  # the split, or those of cross-validation
    outputs: NDArray[Any]  # probabilities, (n, classes), or numbers, (n, 1)
    by_seed: Mapping[int, NDArray[Any]]
    notes: list[str]
    interrupted: bool
    about: dict[str, Any]  # values of `metrics.json` that only a named method has, or only the automatic choice
    seconds: float  # of training
    reasons: Mapping[str, str] = field(default_factory=dict)
    hierarchy: Hierarchy | None = None  # to look at the graph by, if no member has one


def _answer_of_method(
    trainer: Trainer,
    split: Split,
    chosen: ChosenSettings,
    seeds: Sequence[int],
    dataset: str | None,
    baselines: Sequence[str],
    emit: OnFitEvent,
    workers: int,
) -> _Answer:
    """Train one method, and simpler ones to compare with."""
    settings = chosen.settings
    _check_seeds(seeds, trainer.graph, settings.train.epochs)
    emit(SettingsChosen(split, chosen))

    hierarchy = trainer.hierarchy(settings)  # the graph is coarsened here, unless it was to choose the settings
    notes = list(chosen.advice)
    if hierarchy is not None:
        emit(Coarsened(hierarchy, trainer.coarsen_seconds))
        if hierarchy.depth < settings.model.levels:
            asked = f"{hierarchy.depth} times, not the {settings.model.levels} that were asked for"
            layers = f"the network has {2 * hierarchy.depth + 1} layers"
            notes.insert(0, f"The graph can be coarsened {asked}; {layers}.")
    if not trainer.sees_whole(settings):
        settings = settings.override({"batch_validation": True})  # the run says how its predictions were made
    planned = needed_on(trainer.device, trainer.plan(settings))
    emit(MemoryPlanned(planned, available_memory(trainer.device)))

    trained = train_seeds(trainer, [split], settings, [int(seed) for seed in seeds], emit, workers)
    share = 1.0 / len(trained.weights)
    members = [Member(settings, seed, weights, share) for seed, (weights,) in trained.weights.items()]
    stopped, compared = [], None
    if baselines and not trained.interrupted:
        try:
            rows = [_baseline(n, trainer, split, seeds, dataset, emit) for n in baselines if n != settings.method]
            compared = [row.to_dict() for row in rows]
        except KeyboardInterrupt:
            stopped = ["The comparison with simpler methods was stopped."]
    return _Answer(
        members,
        trained,
        [split],
        trained.mean(),
        trained.probabilities,
        [*notes, *_single_labels(trainer.graph), *trainer.graph.notes, *stopped],
        trained.interrupted,
        {"baselines": compared, "claim": published(settings.method, dataset) if dataset else None},
        trained.seconds,
        chosen.reasons,
    )


def _baseline(
    name: str, trainer: Trainer, split: Split, seeds: Sequence[int], dataset: str | None, emit: OnFitEvent
) -> Row:
    """Train a simpler method with settings of its own; a failure must not lose the run that it is compared with."""
    emit(BaselineStarted(name))
    graph = trainer.graph
    if name == "mlp" and not graph.has_own_features:
        return Row(name, name, left_out="has nothing to learn from: the nodes have no features")
    seeds = seeds[: 1 if config_class(name).label_only else BASELINE_SEEDS]  # labels alone give the same for every seed
    try:
        settings = choose_settings(graph, split, model=name, dataset=dataset, coarsen=trainer.coarsen).settings
        trainer.plan(settings)  # refuses what does not fit into memory
        trained = train_seeds(trainer, [split], settings, seeds, lambda _: None)
    except (HierGCNError, MemoryError, RuntimeError) as error:
        return Row(name, name, left_out=f"failed ({error!s:.200})")
    if trained.interrupted:
        raise KeyboardInterrupt
    validation = evaluate_part(graph, split.validation, trained.probabilities, trained.seeds)
    test = evaluate_test(graph, split, trained.probabilities, trained.seeds)
    return Row(name, name, len(seeds), validation, test, trained.seconds)


def _answer_of_choice(automatic: "Automatic", trainer: Trainer, split: Split) -> _Answer:
    """Return the weighted mean of the chosen candidates, with the leaderboard."""
    graph, chosen, folds = trainer.graph, automatic.chosen, len(automatic.folds)
    members = [
        Member(
            candidate.settings,
            seed,
            weights[fold],
            candidate.weight / len(candidate.results.weights) / folds,
            fold if folds > 1 else None,
            candidate.temperature.value,
        )
        for candidate in chosen
        for fold in range(folds)
        for seed, weights in candidate.results.weights.items()
        if candidate.settings is not None
    ]

    def mean(seed: int | None = None) -> NDArray[Any]:
        """Return the answer of one seed; a candidate without it counts with the mean of its seeds."""
        parts = [(candidate.weight, candidate.outputs(seed)) for candidate in chosen]
        weighted: NDArray[Any] = sum(array.dtype.type(weight) * array for weight, array in parts)
        return weighted

    rows = [_row(candidate, graph, automatic.validation, split) for candidate in automatic.candidates]
    rows.sort(key=lambda row: -(row.validation.main.mean or 0.0) if row.validation else np.inf)
    levels = any(trainer.hierarchy(member.settings) is not None for member in members)
    judged = "training and validation labels are each predicted by networks that did not train on them"
    few = [f"With few labels, validation is {folds}-fold cross-validation: {judged}."] if folds > 1 else []
    slow = "the clock cut the choice short, since the machine was slower than planned: another run may answer otherwise"
    late = [slow] if automatic.cut_by_clock else []
    return _Answer(
        members,
        chosen[0].results,
        automatic.folds,
        mean(),
        {seed: mean(seed) for seed in chosen[0].results.probabilities},
        [*few, *late, *_single_labels(graph), *graph.notes],
        automatic.interrupted,
        {"model": AUTO, "leaderboard": [row.to_dict() for row in rows], "verdict": automatic.verdict}
        | {"cut_by_clock": automatic.cut_by_clock},
        sum(candidate.results.seconds for candidate in automatic.candidates),
        hierarchy=None if levels else trainer.coarsen(BATCH_LEVELS, CoarsenConfig()),
    )


def _row(candidate: "CandidateState", graph: Graph, validation: NDArray[np.int64], split: Split) -> Row:
    """Return the scores of a candidate by the mean of its seeds."""
    if not candidate.is_done:
        return Row(candidate.entry.name, candidate.entry.method, left_out=candidate.left_out)
    outputs = {0: candidate.outputs()}
    return Row(
        candidate.entry.name,
        candidate.entry.method,
        len(candidate.results.probabilities),
        evaluate_part(graph, validation, outputs, [0]),
        evaluate_test(graph, split, outputs, [0]),
        candidate.results.seconds,
        weight=candidate.weight,
    )


def _evaluated(
    answer: _Answer,
    trainer: Trainer,
    split: Split,
    coverage: float | None,
    doubts: Doubts | None,
    advise: bool,
    order: NDArray[np.int64] | None,
) -> Run:
    """Evaluate an answer, look for what to label next, and return the run with the nodes in the user's order."""
    graph, target, trained, outputs = trainer.graph, trainer.graph.target, answer.trained, answer.outputs
    validation = np.sort(np.concatenate([fold.validation for fold in answer.folds]))
    training = np.setdiff1d(answer.folds[0].train, validation)
    scored = replace(answer.folds[0], train=training, validation=validation)
    first = next(member for member in answer.members if member.seed == trained.best)
    members = (first, *(member for member in answer.members if member is not first))
    hierarchies = [made for member in members if (made := trainer.hierarchy(member.settings)) is not None]
    hierarchy = max(hierarchies, key=lambda made: made.depth, default=answer.hierarchy)
    history, predicted = trained.history(), target.hard_predictions(outputs)

    answers, figures = evaluate(graph, scored, outputs, coverage)
    votes_of_run, votes_of_given, advice = None, None, dict[str, pd.DataFrame]()
    if target.kind == "classes" and graph.adjacency.nnz <= 2 * MOST_EDGES:
        model, features = trainer.restore(first.settings, answer.folds[first.fold or 0], first.weights)
        votes_of_run = votes(model, features, predicted)
        if votes_of_run is not None and doubts is not None:
            votes_of_given = votes(model, features, doubts.in_place_of(predicted))
    if doubts is not None:
        advice[DOUBTFUL] = doubtful_labels(graph, split, doubts, predicted, hierarchy, votes_of_given)
    if advise and target.kind == "classes":
        deep = trainer.cached_hierarchy(DEPTH, CoarsenConfig())
        suggested = page_suggestions(graph, answers.confidence(outputs).max(axis=1), deep)
        advice |= {} if suggested is None else {SUGGESTIONS: suggested}

    reached = np.ones(graph.n_nodes, bool)
    if by_labels := not any(member.uses_features for member in members):
        reached = reached_from(graph.adjacency, np.concatenate([training, validation]))
    if not reached.all():
        example = str(graph.ids[reached.argmin()])
        guesses = "nodes that no path leads to a label from, whose predictions are guesses (column `reached`), such as"
        answer.notes.append(f"{guesses} {example!r:.60}: {np.count_nonzero(~reached):,}")

    over_seeds = evaluate_part(graph, validation, answer.by_seed, trained.seeds)
    test = evaluate_test(graph, scored, answer.by_seed, trained.seeds)
    learner = next((member for member in members if member.uses_features), first)
    selection = "epoch of lowest squared error on validation"
    nodes, edges = hierarchy.sizes() if hierarchy else ((graph.n_nodes,), (graph.n_edges,))
    scores = {
        "model": first.settings.method,
        "preset": first.settings.preset,
        "dataset": graph.name,
        "seeds": trained.seeds,
        "failed_seeds": {str(outcome.seed): outcome.failure for outcome in trained.outcomes if outcome.failure},
        **({"target": graph.target_name} if target.kind == "numbers" else {}),
        **{result_key(name): test[name].to_dict() if test else None for name in over_seeds},
        **{f"val_{name}": summary.to_dict() for name, summary in over_seeds.items()},
        **figures,
        "doubtful_labels": len(advice[DOUBTFUL]) if DOUBTFUL in advice else None,
        **dict.fromkeys(("baselines", "leaderboard", "verdict", "claim")),
        "best_epoch": [outcome.best_epoch for outcome in trained.outcomes],
        "epochs": len(history),
        "turns": len(answer.folds),
        "selected_seed": first.seed,
        "selection": selection if target.kind == "numbers" else learner.settings.train.selection_rule,
        "hierarchy": {"nodes": [int(n) for n in nodes], "edges": [int(e) for e in edges]},
        "split": {part.replace("validation", "val"): len(getattr(split, part)) for part in ALL_PARTS},
        "seconds": {
            "coarsen": trainer.coarsen_seconds,
            "train": answer.seconds,
            "epoch": trained.seconds / max(len(history), 1),
        },
        "device": trainer.trains_on,
        "interrupted": answer.interrupted,
        "notes": answer.notes,
        "reading": list(graph.notes),
    } | answer.about
    unit = answers.target.scale
    config = first.settings.to_dict() | {
        "members": [member.to_dict() for member in members],
        **{name: scores[name] for name in ("turns", "dataset", "seeds", "device")},
        "n_features": graph.n_features,
        "class_names": list(graph.class_names),
        "target": unit and {"name": graph.target_name, "mean": unit.mean, "spread": unit.std},
        "columns": [asdict(column) for column in graph.columns],
        "reasons": dict(answer.reasons),
        "data": data_digests(graph),
        "ids_given": graph.ids_given,
        "roles": graph.roles and asdict(graph.roles),
        "source": {},
        "spreadsheet_safe": False,
    }
    if order is not None:
        back = np.argsort(order)
        graph, split, outputs = graph.reordered(back), split.reordered(back), outputs[back]
        hierarchy = hierarchy and hierarchy.reordered(back)
        votes_of_run = votes_of_run and votes_of_run.reordered(back)
    part = np.full(graph.n_nodes, "", dtype=object)
    for name in ALL_PARTS:
        part[getattr(split, name)] = name
    table = {"id": graph.ids, **answers.columns(outputs), "given": np.isin(part, ("train", "validation"))}
    table |= {"reached": reached if order is None else reached[back]} if by_labels else {}
    return Run(
        config=config,
        scores=scores,
        table=pd.DataFrame(table | graph.target.column() | {"split": part}),
        members=members,
        probabilities=outputs,
        history=history,
        hierarchy=hierarchy,
        votes=votes_of_run,
        coordinates=graph.coordinates,
        outcomes=tuple(trained.outcomes),
        fitted_graph=graph,
        advice=advice,
    )


def _single_labels(graph: Graph) -> list[str]:
    """Return a note on classes with one label, which validation and test cannot judge."""
    if graph.labels is None:
        return []
    single = np.flatnonzero(np.bincount(graph.labels[graph.labelled], minlength=graph.n_classes) == 1)
    names = ", ".join(f"{graph.class_names[k]!r:.40}" for k in single[:5]) + (", .." if single.size > 5 else "")
    note = f"classes with one label, which trains and leaves none to validate the class: {names}"
    return [note] if single.size else []


def _check_seeds(seeds: Sequence[int], graph: Graph, epochs: int) -> None:
    if len(seeds) == 0:
        raise InputError("There are no seeds to run; give at least one.")
    for seed in seeds:
        check_seed(seed)
    require_memory(  # before anything is made for each seed
        len(seeds) * (4 * graph.n_nodes * graph.n_outputs + 8 * len(HISTORY) * epochs),
        what=f"{len(seeds):,} seeds of {graph.n_nodes:,} predictions each",
        remedy="give fewer seeds",
    )
    if len(set(seeds)) != len(seeds):
        raise InputError("A seed is given twice; give each seed once.")


def check_graph(graph: object) -> None:
    """Refuse a table, such as scikit-learn's estimators take, in place of a graph."""
    if not isinstance(graph, Graph):
        raise InputError(
            f"A graph is needed here, not a {type(graph).__name__}: its edges help to classify its nodes. "
            "Make one with Graph.from_csv or Graph.from_pandas, or from a table with Graph.from_table(X, y)."
        )


def classes_in_order(graph: Graph, split: Split | None, what: str) -> tuple[Graph, Split | None]:
    """Return a graph of classes with its nodes in the order of their ids, in which `fit` works, and its split."""
    check_graph(graph)
    if graph.targets is not None:
        raise InputError(f"{graph.name} has numbers to predict, and {what} takes classes only; use `hiergcn fit`.")
    order = canonical_order(graph.ids)
    return (graph, split) if order is None else (graph.reordered(order), split and split.reordered(order))


def resolve_split(graph: Graph, split: Split | None = None, *, test: float = 0.2, seed: int = 0) -> Split:
    """Return the split that is given, or that the data name, or one drawn from the labels, see `Split.by_id`.

    It is drawn with a fifth of the labels of each class for validation and, if it has enough, a share for test.
    """
    if split is None and graph.split is None and graph.target.values is None:
        raise InputError(f"{graph.name} has no labels to learn from; give the class or the number of some nodes.")
    return split or graph.split or Split.by_id(graph.strata, graph.ids, 0.2, test, seed)
