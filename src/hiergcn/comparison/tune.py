"""Search for settings: Optuna proposes them, `fit` returns the mean validation accuracy over a few seeds.

The split that is searched on has no test nodes, so that a later test of the settings stays honest. Every trial is
written to a journal file when it ends, so that a search can be resumed. Several processes, also of several machines
with a shared folder, can work on the same search.
"""

import json
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hiergcn.choose.adapt import choose_settings
from hiergcn.coarsening import Hierarchy
from hiergcn.errors import InputError, MissingPackageError
from hiergcn.files import naming, write_text, written_whole
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import classes_in_order, fit, resolve_split
from hiergcn.settings.fields import SCALINGS
from hiergcn.settings.settings import GROUPS, Settings, effective, method_for, settings_for
from hiergcn.train.checkpoint import digest, graph_arrays
from hiergcn.train.trainer import Trainer
from hiergcn.workers.memory_plan import unit_request
from hiergcn.workers.pool import Engine, Reply, Request, Send, Work

if TYPE_CHECKING:
    import optuna

JOURNAL = "study.journal"
FEWEST_FOR_IMPORTANCE = 5
"""With fewer trials, importance would be chance."""
MOST_LEVELS = 6


Space = dict[str, dict[str, Any] | tuple[Any, ...]]
"""The values to search for each setting: a range, as Optuna's `suggest_int` and `suggest_float` take it, or choices."""

SPACE: Space = {
    "levels": {"low": 1, "high": MOST_LEVELS},
    "hidden": (16, 32, 64, 128),
    "dropout": {"low": 0.0, "high": 0.9, "step": 0.05},
    "learning_rate": {"low": 1e-3, "high": 5e-2, "log": True},
    "l2": {"low": 1e-6, "high": 1e-2, "log": True},
    "pooling": ("sum", "mean", "l2"),
    "scaling": SCALINGS,
    "channels": {"low": 1, "high": 4},
    "share": {"low": 0.0, "high": 0.6, "step": 0.1},
    "order": {"low": 1, "high": 8},
    "drop_node": {"low": 0.0, "high": 0.7, "step": 0.1},
    "input_dropout": {"low": 0.0, "high": 0.8, "step": 0.1},
    "hidden_dropout": {"low": 0.0, "high": 0.8, "step": 0.1},
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
        model, dataset: as in `fit`, which chooses the settings of the first trial, and those that are not searched.
        changes: settings by name that are fixed, not searched.
        trials: in all, those of earlier searches in the folder included.
        seeds, device: of each trial, as in `fit`.
        on_event: gets every trial that ends.
        workers: trials that run at the same time, in processes of this machine if there is no engine; by default 1, or
            as many as the engine has room for.
        engine: runs the trials on other machines, see `open_engine`.
    """
    changes = changes or {}
    graph, split = classes_in_order(graph, split, "a search for settings")
    split = resolve_split(graph, split)
    unseen = Split(split.train, split.validation, np.empty(0, np.int64))
    unseen.check(graph)
    where = engine or Engine(0 if workers in (None, 1) else workers)
    device = where.device(device)
    trainer = Trainer(graph, device if engine is None else "cpu")  # coarsens once, for everything below
    base = settings_for(model or method_for(None, dataset), None, dataset).override(changes)
    space = search_space(base, changes, trainer.coarsen)
    more: dict[str, Any] = {"dataset": dataset, "changes": changes, "coarsen": trainer.coarsen}
    first = choose_settings(graph, unseen, model, **more).settings
    deep = trainer.coarsen(MOST_LEVELS, first.coarsen) if "levels" in space else trainer.hierarchy(first)

    def request(values: Mapping[str, Any]) -> Request:
        return unit_request(trainer.graph, first.override(values), deep, device)

    logging, interrupted = _optuna().logging, False
    running, replies = deque["optuna.Trial"](), dict[int, Reply]()
    with ExitStack() as stack:
        stack.callback(logging.set_verbosity, logging.get_verbosity())
        logging.set_verbosity(logging.WARNING)
        decisive = [first.to_dict(), list(seeds), sorted(space)]
        nodes = np.concatenate([unseen.train, unseen.validation])
        fingerprint = digest(decisive, *graph_arrays(graph), unseen.train, nodes, graph.truth[nodes])
        with naming(folder / JOURNAL):
            study = _open_study(folder, fingerprint, first, space)
        at_once = workers or where.workers(request({}))
        pool = stack.enter_context(where.pool(_fitting, graph, unseen, first, deep, tuple(seeds), device))
        try:
            while (left := trials - len(_ended(study))) > 0:  # other processes may add to the study, too
                while len(running) < min(at_once, left):
                    with naming(folder / JOURNAL):
                        trial, values = _propose(study, space)
                    pool.start(trial.number, values, request(values))
                    running.append(trial)
                replies |= {number: reply for number, reply in pool.wait() if reply.kind != "message"}
                while running and running[0].number in replies:  # recorded in their order
                    trial = running.popleft()
                    with naming(folder / JOURNAL):
                        _record(study, trial, replies.pop(trial.number))
                    ended = _ended(study)
                    write_trials(ended, folder)
                    if on_event:
                        on_event(next(done for done in ended if done.number == trial.number))
        except KeyboardInterrupt:
            interrupted = True
        return Tuning(first, _ended(study), _importance(study), interrupted)


def _propose(study: "optuna.Study", space: Space) -> tuple["optuna.Trial", dict[str, Any]]:
    """Return a trial and its settings, which depend on its number and on the recorded trials alone."""
    trial, values = study.ask(), dict[str, Any]()
    study.sampler = _optuna().samplers.TPESampler(seed=trial.number)
    for name, part in space.items():
        if isinstance(part, tuple):
            values[name] = trial.suggest_categorical(name, part)
        else:
            suggest = trial.suggest_int if isinstance(part["low"], int) else trial.suggest_float
            values[name] = suggest(name, **part)
    return trial, values


def _record(study: "optuna.Study", trial: "optuna.Trial", reply: Reply) -> None:
    """Write a result to the journal, or why there is none: other settings may work."""
    if reply.kind == "result":
        accuracy, loss, seconds = reply.content
        trial.set_user_attr("loss", loss)
        trial.set_user_attr("seconds", seconds)
        study.tell(trial, accuracy)
    else:
        trial.set_user_attr("failure", f"{reply.content:.300}")
        study.tell(trial, state=_optuna().trial.TrialState.FAIL)


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
    names = effective(settings.method, settings.values())
    space = {name: part for name, part in SPACE.items() if name in names and name not in fixed}
    if "levels" in space:
        space["levels"] = {"low": 1, "high": max(coarsened(MOST_LEVELS, settings.coarsen).depth, 1)}
    if not space:
        raise InputError(f"{settings.method} has no setting left to search; fix fewer of them.")
    return space


def write_tuning(tuning: Tuning, folder: Path, command: str) -> None:
    """Write every trial to `trials.csv`, and the best settings to `best.toml`: a recipe with what is not by default."""
    write_trials(tuning.trials, folder)
    lines = [f"about = {json.dumps(f'Best of {len(tuning.trials)} trials by validation accuracy: {command}')}"]
    for group in GROUPS:
        values = getattr(tuning.settings, group)
        default = vars(type(values)())
        changed = {name: value for name, value in vars(values).items() if value not in (None, default[name])}
        if changed:
            lines += ["", f"[{group}]", *(f"{name} = {json.dumps(value)}" for name, value in changed.items())]
    write_text(folder / "best.toml", "\n".join(lines) + "\n")


def write_trials(trials: Iterable[Trial], folder: Path) -> None:
    """Write `trials.csv`."""
    rows = []
    for trial in trials:
        figures = {"val_accuracy": trial.accuracy, "val_loss": trial.loss, "seconds": trial.seconds}
        rows.append({"trial": trial.number, **figures, **trial.settings, "failure": trial.failure})
    with written_whole(folder / "trials.csv") as part:
        pd.DataFrame(rows).to_csv(part, index=False)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise MissingPackageError("Tuning needs Optuna, which is not installed; run pip install optuna.") from None
    return optuna


def _open_study(folder: Path, fingerprint: str, first: Settings, space: Space) -> Any:
    """Open the study in the folder's journal, or begin a new one with the settings `first`."""
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

        def can_propose(part: dict[str, Any] | tuple[Any, ...], value: Any) -> bool:
            if isinstance(part, tuple):
                return value in part
            return isinstance(value, int | float) and part["low"] <= value <= part["high"]

        values = first.values()
        study.enqueue_trial({name: values[name] for name, part in space.items() if can_propose(part, values[name])})
    return study


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
