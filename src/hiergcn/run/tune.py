"""Settings searched on validation: Optuna proposes, `fit` answers with the mean validation accuracy over a few seeds.

The split that is searched on has no test nodes, so that a test of the settings found stays honest. Every trial is kept
in a journal file as it ends: the same command goes on where the last one was stopped.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hiergcn.coarsen import coarsen
from hiergcn.errors import HierGCNError, InputError, MissingPackageError
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import fit
from hiergcn.run.result import RunResult
from hiergcn.run.search_space import MOST_LEVELS, Space, search_space
from hiergcn.run.settings import GROUPS, Settings

if TYPE_CHECKING:
    import optuna

JOURNAL = "study.journal"
FEWEST_FOR_IMPORTANCE = 5
"""Trials before which it would be chance."""


@dataclass(frozen=True)
class Trial:
    """One proposal and what it gave; accuracy and loss are None where it failed."""

    number: int
    settings: dict[str, Any]
    accuracy: float | None
    """Mean over seeds, on validation."""
    loss: float | None
    seconds: float
    failure: str | None


@dataclass(frozen=True)
class Tuning:
    """Every trial that ended, and what follows from them."""

    base: Settings
    trials: tuple[Trial, ...]
    importance: dict[str, float]
    """How much of the accuracy each setting decides, largest first; they add up to 1. Empty for few trials."""
    interrupted: bool = False

    @property
    def best(self) -> Trial:
        """Highest accuracy, of equal ones that with the lowest loss."""
        done = [trial for trial in self.trials if trial.accuracy is not None]
        if not done:
            why = f" ({self.trials[0].failure})" if self.trials else ""
            raise InputError(f"No trial gave a model{why}: there is nothing to choose from.")
        return max(done, key=lambda trial: (trial.accuracy or 0.0, -(trial.loss or math.inf), -trial.number))

    @property
    def settings(self) -> Settings:
        return self.base.override(self.best.settings)


def tune(
    graph: Graph,
    split: Split,
    base: Settings,
    folder: Path,
    *,
    trials: int = 50,
    seeds: Sequence[int] = (0, 1),
    fixed: Collection[str] = (),
    device: str = "auto",
    on_trial: Callable[[Trial], None] | None = None,
) -> Tuning:
    """Search until the journal in `folder` holds that many trials; Ctrl-C ends with those that are finished.

    Args:
        graph: with labels.
        split: its test nodes are left alone.
        base: what is not searched, and the first trial.
        folder: of the journal; there are trials already where the search goes on.
        trials: in all, those of earlier commands included.
        seeds: run in each trial.
        fixed: settings to leave as in `base`.
        device: as in `fit`.
        on_trial: told of every trial that ends.
    """
    unseen = Split(split.train, split.validation, np.empty(0, np.int64))
    unseen.check(graph)
    space = search_space(graph, base, fixed)
    study = _study(folder, _fingerprint(graph, unseen, base, seeds, space), base, space)
    deep = coarsen(graph.adjacency, MOST_LEVELS, base.coarsen) if "levels" in space else None
    interrupted = False
    try:
        for _ in range(trials - len(_ended(study))):
            proposed = study.ask()
            settings = base.override({name: part.suggest(proposed, name) for name, part in space.items()})
            _answer(study, proposed, partial(fit, graph, unseen, settings, seeds, device=device, hierarchy=deep))
            if on_trial:
                on_trial(_trial(study.trials[proposed.number]))
    except KeyboardInterrupt:
        interrupted = True
    return Tuning(base, tuple(map(_trial, _ended(study))), _importance(study), interrupted)


def _answer(study: "optuna.Study", proposed: "optuna.Trial", run: Callable[[], RunResult]) -> None:
    """Run a trial and write down what it gave. One that is stopped stays without an answer and is not counted."""
    began = time.perf_counter()
    try:
        result = run()
    except (HierGCNError, MemoryError, RuntimeError) as error:  # the next trial may be luckier
        proposed.set_user_attr("failure", f"{error!s:.300}")
        _fail(study, proposed.number)
        return
    if result.interrupted:
        raise KeyboardInterrupt
    losses = [outcome.validation_loss for outcome in result.outcomes if outcome.validation_loss is not None]
    proposed.set_user_attr("loss", math.fsum(losses) / len(losses))
    proposed.set_user_attr("seconds", time.perf_counter() - began)
    study.tell(proposed, result.validation.accuracy.mean)


def recipe(tuning: Tuning, about: str) -> str:
    """The best settings as a recipe file: what differs from the defaults of every group."""
    lines = [f"about = {json.dumps(about)}"]
    for group in GROUPS:
        values = getattr(tuning.settings, group)
        default = type(values)()
        changed = {
            field.name: getattr(values, field.name)
            for field in fields(values)
            if getattr(values, field.name) not in (None, getattr(default, field.name))
        }
        if changed:
            lines += ["", f"[{group}]", *(f"{name} = {json.dumps(value)}" for name, value in changed.items())]
    return "\n".join(lines) + "\n"


def _study(folder: Path, fingerprint: str, base: Settings, space: Space) -> "optuna.Study":
    """The study in the folder's journal, new or as it was left."""
    try:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
    except ImportError:
        raise MissingPackageError(
            "Tuning needs Optuna, which is not installed; install it with pip install 'hiergcn[tune]'."
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    folder.mkdir(parents=True, exist_ok=True)
    storage = JournalStorage(JournalFileBackend(str(folder / JOURNAL)))
    study = optuna.create_study(
        storage=storage, study_name="hiergcn", direction="maximize", load_if_exists=True,
        sampler=optuna.samplers.TPESampler(),
    )  # fmt: skip
    study.sampler = optuna.samplers.TPESampler(seed=len(study.trials))  # the same proposals after the same trials
    if study.user_attrs.get("fingerprint", fingerprint) != fingerprint:
        raise InputError(
            f"{folder} holds trials of other data, seeds or settings; name another folder for this search."
        )
    study.set_user_attr("fingerprint", fingerprint)
    for trial in study.get_trials(states=(optuna.trial.TrialState.RUNNING, optuna.trial.TrialState.WAITING)):
        _fail(study, trial.number)  # it was stopped
    if not _ended(study):
        first = {name: value for name, value in _values(base).items() if name in space and space[name].holds(value)}
        study.enqueue_trial(first)
    return study


def _values(settings: Settings) -> dict[str, Any]:
    return {
        field.name: getattr(getattr(settings, group), field.name)
        for group in GROUPS
        for field in fields(getattr(settings, group))
    }


def _fingerprint(graph: Graph, split: Split, base: Settings, seeds: Sequence[int], space: Space) -> str:
    """Of everything that decides what a trial gives."""
    assert graph.labels is not None
    digest = hashlib.sha256(json.dumps([base.to_dict(), list(seeds), sorted(space)], default=str).encode())
    X = graph.features
    arrays = [graph.adjacency.indptr, graph.adjacency.indices, graph.adjacency.data, split.train, split.validation]
    arrays += [] if X is None else [X] if isinstance(X, np.ndarray) else [X.indptr, X.indices, X.data]
    for array in (*arrays, graph.labels[split.train], graph.labels[split.validation]):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _fail(study: "optuna.Study", number: int) -> None:
    from optuna.trial import TrialState

    study.tell(number, state=TrialState.FAIL)


def _ended(study: "optuna.Study") -> "list[optuna.trial.FrozenTrial]":
    """Trials that gave something or failed by themselves, not those that were stopped."""
    return [trial for trial in study.get_trials() if trial.value is not None or "failure" in trial.user_attrs]


def _trial(found: "optuna.trial.FrozenTrial") -> Trial:
    return Trial(
        number=found.number,
        settings=dict(found.params),
        accuracy=found.value,
        loss=found.user_attrs.get("loss"),
        seconds=found.user_attrs.get("seconds", 0.0),
        failure=found.user_attrs.get("failure"),
    )


def _importance(study: "optuna.Study") -> dict[str, float]:
    from optuna.importance import get_param_importances

    values = [trial.value for trial in _ended(study) if trial.value is not None]
    if len(values) < FEWEST_FOR_IMPORTANCE or len(set(values)) == 1:
        return {}
    return {name: float(share) for name, share in get_param_importances(study).items() if math.isfinite(share)}
