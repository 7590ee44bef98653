"""Search for settings: Optuna proposes them, `fit` returns the mean validation accuracy over a few seeds.

The split that is searched on has no test nodes, so that a later test of the settings stays honest. Every trial is
written to a journal file when it ends, so that a search can be resumed. Several processes, also of several machines
with a shared folder, can work on the same search.
"""

import hashlib
import json
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hiergcn.choose.adapt import choose_settings
from hiergcn.coarsening import Hierarchy
from hiergcn.errors import InputError, MissingPackageError
from hiergcn.files import naming, written_whole
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import check_classes, fit, in_canonical_order, own_split
from hiergcn.settings.fields import SCALINGS
from hiergcn.settings.settings import GROUPS, Settings, method_for, settings_for
from hiergcn.train.trainer import Trainer
from hiergcn.workers.memory_plan import unit_request
from hiergcn.workers.pool import Engine, Pool, Reply, Request, Send, Work

if TYPE_CHECKING:
    import optuna

JOURNAL = "study.journal"
FEWEST_FOR_IMPORTANCE = 5
"""With fewer trials, importance would be chance."""
MOST_LEVELS = 6


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, in steps or on a logarithmic scale."""

    low: float
    high: float
    step: float | None = None
    log: bool = False


Space = dict[str, Range | tuple[Any, ...]]
"""The values to search for each setting: a range, or a tuple of choices."""

SPACE: Space = {
    "levels": Range(1, MOST_LEVELS),
    "hidden": (16, 32, 64, 128),
    "dropout": Range(0.0, 0.9, step=0.05),
    "learning_rate": Range(1e-3, 5e-2, log=True),
    "l2": Range(1e-6, 1e-2, log=True),
    "pooling": ("sum", "mean", "l2"),
    "scaling": SCALINGS,
    "channels": Range(1, 4),
    "share": Range(0.0, 0.6, step=0.1),
    "order": Range(1, 8),
    "drop_node": Range(0.0, 0.7, step=0.1),
    "input_dropout": Range(0.0, 0.8, step=0.1),
    "hidden_dropout": Range(0.0, 0.8, step=0.1),
}


@dataclass(frozen=True)
class Trial:
    """Settings and their result; accuracy and loss are None if the trial failed."""

    number: int
    settings: dict[str, Any]
    accuracy: float | None
    """Mean validation accuracy over seeds."""
    loss: float | None
    seconds: float
    failure: str | None


@dataclass(frozen=True)
class Tuning:
    """Every trial that ended, the settings of the first one, and the importance of each setting."""

    base: Settings
    trials: tuple[Trial, ...]
    importance: dict[str, float]
    """Share of the variance of accuracy that each setting explains, largest first; empty for few trials."""
    interrupted: bool = False

    @property
    def best(self) -> Trial:
        """The trial with the highest accuracy; of equal ones, that with the lowest loss."""
        done = [trial for trial in self.trials if trial.accuracy is not None]
        if not done:
            why = f" ({self.trials[0].failure})" if self.trials else ""
            raise InputError(f"Every trial failed{why}; there are no settings to choose from.")
        return max(done, key=lambda trial: (trial.accuracy or 0.0, -(trial.loss or math.inf), -trial.number))

    @property
    def settings(self) -> Settings:
        return self.base.override(self.best.settings)


def tune(
    graph: Graph,
    split: Split | None,
    folder: Path,
    *,
    settings: Settings | None = None,
    model: str | None = None,
    dataset: str | None = None,
    changes: Mapping[str, Any] | None = None,
    trials: int = 50,
    seeds: Sequence[int] = (0, 1),
    device: str = "auto",
    on_event: Callable[[Trial], None] | None = None,
    workers: int | None = None,
    engine: Engine | None = None,
) -> Tuning:
    """Search until the journal in `folder` holds that many trials; Ctrl-C keeps the finished ones.

    A trial is proposed from the results of all trials but the last `workers - 1`, which may still be running. So the
    search depends on the number of workers, and neither on the engine nor on which trial ends first.

    Args:
        graph: with labels.
        split: that of the graph, or drawn from the labels, if None. Its test nodes are not used.
        folder: of the journal. A search that was begun there goes on.
        settings: the first trial, and the values of all settings that are not searched; if None, they are chosen by
            the next three arguments as in `fit`.
        model, dataset: as in `fit`.
        changes: settings by name that are fixed, not searched.
        trials: in all, those of earlier searches in the folder included.
        seeds, device: of each trial, as in `fit`.
        on_event: gets every trial that ends.
        workers: trials that run at the same time, in processes of this machine if there is no engine; by default 1, or
            as many as the engine has room for.
        engine: runs the trials on other machines, see `open_engine`.
    """
    changes = changes or {}
    check_classes(graph, "a search for settings")
    graph, split = in_canonical_order(graph, split)
    split = own_split(graph, split)
    unseen = Split(split.train, split.validation, np.empty(0, np.int64))
    unseen.check(graph)
    where = engine or Engine(0 if workers in (None, 1) else workers)
    device = where.device(device)
    here = device if engine is None else "cpu"
    trainer = Trainer(graph, here)  # coarsens once: for the search space, the first trial's settings and all trials
    base = settings or settings_for(model or method_for(None, dataset), None, dataset).override(changes)
    space = search_space(base, changes, trainer.coarsen)
    chosen = partial(choose_settings, graph, unseen, dataset=dataset, changes=changes, coarsen=trainer.coarsen)
    first = settings or chosen(model).settings
    deep = trainer.coarsen(MOST_LEVELS, first.coarsen) if "levels" in space else trainer.hierarchy(first)
    optuna, interrupted = _optuna(), False
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with naming(folder / JOURNAL):
            study = _study(folder, _fingerprint(graph, unseen, first, seeds, space), first, space)
        search = _Search(study, folder, space, lambda tried: unit_request(trainer.graph, tried, deep, device), first)
        with where.pool(_fitting, graph, unseen, first, deep, tuple(seeds), device) as pool:
            try:
                for trial in search.run(pool, trials, workers or where.workers(search.request(first))):
                    if on_event:
                        on_event(trial)
            except KeyboardInterrupt:
                interrupted = True
        return Tuning(first, _ended(study), _importance(study), interrupted)
    finally:
        optuna.logging.set_verbosity(verbosity)


@dataclass(frozen=True)
class _Search:
    """A study and the inputs of its trials."""

    study: "optuna.Study"
    folder: Path
    space: Space
    request: Callable[[Settings], Request]
    base: Settings

    def run(self, pool: Pool, trials: int, at_once: int) -> Iterator[Trial]:
        """Run trials until there are that many, and yield each when it and those before it have ended."""
        running: deque[optuna.Trial] = deque()
        replies: dict[int, Reply] = {}
        while (left := trials - len(_ended(self.study))) > 0:  # other processes may add to the study, too
            while len(running) < min(at_once, left):
                running.append(self._start(pool))
            replies |= {number: reply for number, reply in pool.wait() if reply.kind != "message"}
            while running and running[0].number in replies:
                trial = running.popleft()
                reply = replies.pop(trial.number)
                with naming(self.folder / JOURNAL):
                    if reply.kind == "result":
                        accuracy, loss, seconds = reply.content
                        trial.set_user_attr("loss", loss)
                        trial.set_user_attr("seconds", seconds)
                        self.study.tell(trial, accuracy)
                    else:  # other settings may work
                        trial.set_user_attr("failure", f"{reply.content:.300}")
                        self.study.tell(trial, state=_optuna().trial.TrialState.FAIL)
                ended = _ended(self.study)
                write_trials(ended, self.folder)
                yield next(one for one in ended if one.number == trial.number)

    def _start(self, pool: Pool) -> "optuna.Trial":
        """Propose a trial and have it done. It depends on its number and on the recorded trials alone."""
        values: dict[str, Any] = {}
        with naming(self.folder / JOURNAL):
            trial = self.study.ask()
            self.study.sampler = _optuna().samplers.TPESampler(seed=trial.number)
            for name, part in self.space.items():
                if isinstance(part, tuple):
                    values[name] = trial.suggest_categorical(name, part)
                elif isinstance(part.low, int) and isinstance(part.high, int):
                    values[name] = trial.suggest_int(name, part.low, part.high)
                else:
                    values[name] = trial.suggest_float(name, part.low, part.high, step=part.step, log=part.log)
        pool.start(trial.number, values, self.request(self.base.override(values)))
        return trial


def _fitting(
    graph: Graph, split: Split, base: Settings, hierarchy: Hierarchy | None, seeds: tuple[int, ...], device: str
) -> Work:
    """Prepare a worker; return what runs a trial: mean accuracy, mean loss and seconds."""

    def run(_: Send, values: dict[str, Any]) -> tuple[float | None, float, float]:
        began = time.perf_counter()
        result = fit(graph, split, base.override(values), seeds, device=device, hierarchy=hierarchy)
        if result.interrupted:
            raise KeyboardInterrupt
        losses = [outcome.validation_loss for outcome in result.outcomes if outcome.validation_loss is not None]
        return result.validation.accuracy.mean, math.fsum(losses) / len(losses), time.perf_counter() - began

    return run


def search_space(settings: Settings, fixed: Collection[str], coarsened: Callable[..., Hierarchy]) -> Space:
    """Return the method's settings that are not fixed, with at most as many levels as the graph has.

    `coarsened(levels, config)` makes the graph's hierarchy, such as `Trainer.coarsen`.
    """
    names = {name for group in GROUPS if not settings.without_effect(group) for name in vars(getattr(settings, group))}
    space = {name: part for name, part in SPACE.items() if name in names and name not in fixed}
    if "levels" in space:
        space["levels"] = Range(1, max(coarsened(MOST_LEVELS, settings.coarsen).depth, 1))
    if not space:
        raise InputError(f"{settings.method} has no setting left to search; fix fewer of them.")
    return space


def write_tuning(tuning: Tuning, folder: Path, command: str) -> None:
    """Write `trials.csv` with every trial and `best.toml` with the best settings."""
    write_trials(tuning.trials, folder)
    about = f"Best of {len(tuning.trials)} trials by validation accuracy: {command}"
    with written_whole(folder / "best.toml") as part:
        part.write_text(recipe(tuning, about), encoding="utf-8")


def write_trials(trials: Iterable[Trial], folder: Path) -> None:
    """Write `trials.csv`."""
    table = pd.DataFrame(
        {"trial": one.number, "val_accuracy": one.accuracy, "val_loss": one.loss, "seconds": one.seconds}
        | one.settings
        | {"failure": one.failure}
        for one in trials
    )
    with written_whole(folder / "trials.csv") as part:
        table.to_csv(part, index=False)


def recipe(tuning: Tuning, about: str) -> str:
    """Return the best settings as a recipe file, with what differs from the defaults of each group."""
    lines = [f"about = {json.dumps(about)}"]
    for group in GROUPS:
        values = getattr(tuning.settings, group)
        default = vars(type(values)())
        changed = {name: value for name, value in vars(values).items() if value not in (None, default[name])}
        if changed:
            lines += ["", f"[{group}]", *(f"{name} = {json.dumps(value)}" for name, value in changed.items())]
    return "\n".join(lines) + "\n"


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise MissingPackageError("Tuning needs Optuna, which is not installed; run pip install optuna.") from None
    return optuna


def _study(folder: Path, fingerprint: str, base: Settings, space: Space) -> Any:
    """Open the study in the folder's journal, or begin a new one with the settings of `base`."""
    optuna = _optuna()
    folder.mkdir(parents=True, exist_ok=True)
    journal = optuna.storages.journal.JournalFileBackend(str(folder / JOURNAL))
    study: Any = optuna.create_study(
        storage=optuna.storages.JournalStorage(journal), study_name="hiergcn", direction="maximize",
        load_if_exists=True, sampler=optuna.samplers.TPESampler(seed=0),
    )  # fmt: skip
    if study.user_attrs.get("fingerprint", fingerprint) != fingerprint:
        raise InputError(
            f"{folder} holds trials with other data, seeds or settings; name another folder for this search."
        )
    study.set_user_attr("fingerprint", fingerprint)
    if not _ended(study) and not study.get_trials(states=(optuna.trial.TrialState.WAITING,)):
        values = {name: value for name, value in base.values().items() if name in space}
        for name, part in space.items():  # a value that the search could not propose is left to it
            number = values[name] if isinstance(values[name], int | float) else math.nan
            if not (values[name] in part if isinstance(part, tuple) else part.low <= number <= part.high):
                del values[name]
        study.enqueue_trial(values)
    return study


def _fingerprint(graph: Graph, split: Split, base: Settings, seeds: Sequence[int], space: Space) -> str:
    """Return a digest of everything that decides the result of a trial."""
    digest = hashlib.sha256(json.dumps([base.to_dict(), list(seeds), sorted(space)], default=str).encode())
    X = graph.features
    arrays = [graph.adjacency.indptr, graph.adjacency.indices, graph.adjacency.data, split.train, split.validation]
    arrays += [] if X is None else [X] if isinstance(X, np.ndarray) else [X.indptr, X.indices, X.data]
    for array in (*arrays, graph.truth[split.train], graph.truth[split.validation]):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _ended(study: "optuna.Study") -> tuple[Trial, ...]:
    """Return the trials that finished or failed, not the interrupted ones."""
    trials = []
    for trial in study.get_trials():
        loss, failure, seconds = (trial.user_attrs.get(name) for name in ("loss", "failure", "seconds"))
        if trial.value is not None or failure is not None:
            trials.append(Trial(trial.number, dict(trial.params), trial.value, loss, seconds or 0.0, failure))
    return tuple(trials)


def _importance(study: "optuna.Study") -> dict[str, float]:
    accuracies = [trial.accuracy for trial in _ended(study) if trial.accuracy is not None]
    if len(accuracies) < FEWEST_FOR_IMPORTANCE or len(set(accuracies)) == 1:
        return {}
    importances = _optuna().importance.get_param_importances(study)
    return {name: float(share) for name, share in importances.items() if math.isfinite(share)}
