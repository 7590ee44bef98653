"""The automatic choice: train the portfolio's candidates under a time limit and combine them by validation.

Each candidate is trained once, with the first seed. Those that validation puts into the answer are then trained with
the other seeds, and the weights are computed again from the mean of the seeds. No test label is read here.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hiergcn.errors import HierGCNError
from hiergcn.evaluate.calibration import Temperature, fit_temperature
from hiergcn.evaluate.combination import ENOUGH, combination_weights
from hiergcn.evaluate.metrics import decided
from hiergcn.graph import Split
from hiergcn.graph.profile import GraphProfile, profile_graph
from hiergcn.graph.tables.feature_columns import STRUCTURAL
from hiergcn.model.ops.ranks import Ranks
from hiergcn.run.adapt import choose_settings
from hiergcn.run.budget import Budget, default_limit, epoch_price
from hiergcn.run.events import CandidateDone, CandidateStarted, EpochDone, OnFitEvent
from hiergcn.run.portfolio import EVIDENCE, Entry, Standing, candidates_for, check_settings
from hiergcn.run.seeds import SeedResults, train_seeds
from hiergcn.run.settings import Settings
from hiergcn.run.trainer import Trainer
from hiergcn.run.turns import turns
from hiergcn.train.config import StopTraining

SIMPLE = 4
"""Candidates at the head of the portfolio that are never stopped for being behind: the simple methods."""
CLEAR = 50
"""Validation nodes on which labels alone must make no mistake to end the search: then fewer than 6 % are wrong."""

NO_TIME = "no time was left"
"""Why a candidate was not tried."""

_FIRST_SHARE = 0.7  # of the time, for the first seed of each candidate if there are several
_GRACE = 20.0  # seconds that each simple method gets in any case
_TRIAL = 1 / 3  # of the epochs, after which a weak candidate is stopped; less than that is not worth its time
_WEAK = 3.0  # standard errors behind the best


class _StoppedError(Exception):
    """A candidate is stopped before its end."""


@dataclass(eq=False)
class Trained:
    """A candidate with its results, or why it has none."""

    entry: Entry
    settings: Settings | None = None
    results: SeedResults = field(default_factory=SeedResults)
    price: float = 0.0
    """Seconds of the first seed, see `Budget`."""
    left_out: str | None = None
    weight: float = 0.0
    temperature: Temperature = field(default_factory=Temperature)
    """Of the mean of its seeds; without it, a candidate that is too sure or not sure enough would be misjudged."""

    @property
    def is_done(self) -> bool:
        return bool(self.results.probabilities)

    def outputs(self, seed: int | None = None) -> np.ndarray:
        """Return the calibrated probabilities, or numbers, of a seed; of the mean of all seeds if it has none."""
        found = self.results.probabilities.get(seed) if seed is not None else None
        found = self.results.mean() if found is None else found
        return found if found.shape[1] == 1 else self.temperature.of(found).astype(np.float32)


@dataclass(eq=False)
class Automatic:
    """Every candidate, and the weights of those in the answer."""

    candidates: list[Trained]
    profile: GraphProfile
    validation: np.ndarray
    """The nodes that validated."""
    turns: tuple[Split, ...]
    """The split, or those in which labels took turns."""
    interrupted: bool = False

    @property
    def chosen(self) -> list[Trained]:
        """The candidates in the answer, that with the largest weight first."""
        return sorted((one for one in self.candidates if one.weight > 0), key=lambda one: -one.weight)

    @property
    def verdict(self) -> str:
        """What was chosen and why, in two sentences at most."""
        first, *others = self.chosen
        name = first.entry.title
        if others:
            parts = [f"{one.entry.title} ({100 * one.weight:.0f} %)" for one in others[:3]]
            parts += [f"{len(others) - 3} more"] if len(others) > 3 else []
            listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
            what = f"{name[0].upper()}{name[1:]} ({100 * first.weight:.0f} %) answers together with {listed}"
        else:
            what = f"{name[0].upper()}{name[1:]} is best here"
        validated = len(self.validation)
        few = "" if validated >= ENOUGH else f" With {validated} validation nodes the choice is uncertain."
        return f"{what}: {_reason(first.entry)}.{few}"


def choose(
    trainer: Trainer,
    split: Split,
    seeds: Sequence[int],
    emit: OnFitEvent,
    changes: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    workers: int = 1,
    dataset: str | None = None,
    by_clock: bool = True,
) -> Automatic:
    """Train candidates and weigh them by validation. Ctrl-C keeps the candidates that are finished, if there are any.

    Args:
        changes: settings by name, for every candidate that has them.
        time_limit: seconds; by default `default_limit`. Each simple method gets 20 s in any case.
        dataset: name of the graph, if it is a named dataset; candidates then have its recipes.
        by_clock: whether the clock ends the choice too. Without it, prices alone do on a CPU, so that the answer is the
            same on a slow or busy machine. A GPU has no prices and always goes by the clock.
    """
    limit = default_limit(trainer.graph.n_nodes) if time_limit is None else time_limit
    if by_clock or trainer.device.type == "cuda":
        budget = Budget(limit, clock=lambda: Ranks.current().agreed(time.monotonic()))  # one clock for all ranks
    else:
        budget = Budget(limit, clock=lambda: 0.0)
    check_settings(changes or {})
    race = _Race(trainer, split, seeds, emit, dict(changes or {}), workers, dataset, budget)
    interrupted = False
    try:
        race.try_all(_FIRST_SHARE if len(seeds) > 1 else 1.0)
        race.weigh()
        race.add_seeds()
    except KeyboardInterrupt:
        if not any(one.is_done for one in race.candidates):
            raise
        interrupted = True
    race.weigh()
    return Automatic(race.candidates, race.profile, race.validation, race.turns, interrupted)


class _Race:
    """The candidates of one choice."""

    def __init__(
        self,
        trainer: Trainer,
        split: Split,
        seeds: Sequence[int],
        emit: OnFitEvent,
        changes: dict[str, Any],
        workers: int,
        dataset: str | None,
        budget: Budget,
    ) -> None:
        self.trainer, self.split, self.seeds, self.emit = trainer, split, seeds, emit
        self.changes, self.workers, self.dataset, self.budget = changes, workers, dataset, budget
        take_turns = len(split.validation) < ENOUGH and trainer.graph.labels is not None
        self.turns = turns(split, trainer.graph.truth) if take_turns else (split,)
        self.validation = np.sort(np.concatenate([turn.validation for turn in self.turns]))
        self.validation_labels = trainer.graph.truth[self.validation]
        self.profile = profile_graph(trainer.graph, split)
        self.candidates: list[Trained] = []
        self.structural = any(column.kind == STRUCTURAL for column in trainer.graph.columns)

    def standing(self) -> Standing:
        done = {one.entry.name: self.right(one) for one in self.candidates if one.is_done}
        accuracy = {name: float(right.mean()) for name, right in done.items()}
        best = max(accuracy, key=lambda name: accuracy[name], default=None)
        variance = 0.25 if best is None else float(done[best].var())
        return Standing(self.profile, accuracy, math.sqrt(max(variance, 0.01) / len(self.validation_labels)))

    def accuracy(self, one: Trained) -> float:
        """Return the validation accuracy; of numbers, 1 less the mean squared error in units of their variance."""
        return float(self.right(one).mean())

    def right(self, one: Trained) -> np.ndarray:
        """Return whether each validation node is right; of numbers, 1 less the squared error."""
        found, scale = decided(one.outputs()[self.validation]), self.trainer.task(self.split).scale
        right: np.ndarray = found == self.validation_labels
        return right if scale is None else 1.0 - ((found - self.validation_labels) / scale.spread) ** 2

    def try_all(self, share: float) -> None:
        """Train each candidate with the first seed, within a share of the budget."""
        pending = list(candidates_for(self.dataset, numbers=self.trainer.graph.targets is not None))
        simple = {entry.name for entry in pending[:SIMPLE]}
        while pending:
            now = self.standing()
            entry = next((one for one in pending if one.early(now)), pending[0])
            pending.remove(entry)
            one = Trained(entry, left_out=self._reason_against(entry, now, entry.name in simple, share))
            self.candidates.append(one)
            if one.left_out is None:
                self.emit(CandidateStarted(entry.name))
                self._train_first(one, None if entry.name in simple else now, share)
                self.emit(CandidateDone(entry.name, self.accuracy(one) if one.is_done else None, one.left_out))

    def _reason_against(self, entry: Entry, now: Standing, simple: bool, share: float) -> str | None:
        if entry.name == "mlp" and self.structural:
            return "the nodes have no features"
        if not simple and self.flawless:
            return f"{self.flawless.entry.name} makes no mistake on validation"
        if not simple and self.budget.is_over(share):
            return NO_TIME  # before reasons that speak of candidates which there was no time for either
        if entry.when(now):
            return None
        untried = {one.entry.name for one in self.candidates if one.left_out == NO_TIME}
        return NO_TIME if EVIDENCE.get(entry.otherwise, set()) & untried else entry.otherwise

    def _train_first(self, one: Trained, now: Standing | None, share: float) -> None:
        """Train the first seed of a candidate for as many epochs as there is time for; `now` is None if simple."""
        try:
            one.settings = self._settings(one.entry)
            plan = self.trainer.plan(one.settings)  # refuses what does not fit into memory
            epoch = len(self.turns) * epoch_price(one.entry.method, plan, self.trainer.device.type == "cuda")
            left, grace = self.budget.left(share), 0.0
            if now is None:
                left, grace = max(left / 2, _GRACE), self.budget.seconds() + _GRACE
            epochs = one.settings.train.epochs
            affordable = min(epochs, int(left / epoch)) if epoch else epochs
            if now is not None and (affordable < _TRIAL * epochs or self.budget.is_over(share)):
                one.left_out = NO_TIME
                return
            one.settings = replace(one.settings, train=replace(one.settings.train, epochs=max(affordable, 1)))
        except (HierGCNError, MemoryError, RuntimeError) as error:
            one.left_out = f"it failed ({error!s:.200})"
            return
        grace = grace if any(one.is_done for one in self.candidates) else math.inf  # there must be an answer
        watch = _Watch(self.budget, share, now, grace, len(self.turns), epochs)
        self._train(one, self.seeds[:1], watch)
        one.price = epoch * watch.count / len(self.turns)
        self.budget.spent += one.price

    def add_seeds(self) -> None:
        """Train the chosen candidates with the other seeds, heaviest first, as long as there is time."""
        for one in sorted(self.candidates, key=lambda one: -one.weight):
            if not one.weight or not one.entry.draws or self.budget.is_over():
                continue
            affordable = len(self.seeds) if one.price == 0 else max(int(self.budget.left() / one.price), 0)
            if seeds := self.seeds[1 : 1 + affordable]:
                self.emit(CandidateStarted(one.entry.name))
                self._train(one, seeds, _Watch(self.budget))
                self.emit(CandidateDone(one.entry.name, self.accuracy(one), None))
                self.budget.spent += len(seeds) * one.price

    @property
    def flawless(self) -> Trained | None:
        """The first method of labels alone that makes no mistake on validation: nothing can be shown to be better."""
        if len(self.validation_labels) < CLEAR:
            return None
        done = (one for one in self.candidates if one.is_done and not one.entry.uses_features)
        return next((one for one in done if self.accuracy(one) == 1.0), None)

    def weigh(self) -> None:
        """Set the weights from the mean probabilities of each candidate at the validation nodes."""
        done = [one for one in self.candidates if one.is_done]
        if not done:
            reasons = "; ".join(f"{one.entry.name}: {one.left_out}" for one in self.candidates[:3])
            raise HierGCNError(f"No candidate could be trained ({reasons}).")
        if self.trainer.graph.labels is not None:
            for one in done:
                one.temperature = fit_temperature(one.results.mean()[self.validation], self.validation_labels)
        found = [one.outputs()[self.validation] for one in done]
        for one, weight in zip(done, combination_weights(found, self.validation_labels), strict=True):
            one.weight = float(weight)

    def _train(self, one: Trained, seeds: Sequence[int], watch: "_Watch") -> None:
        """Train seeds of a candidate; a failure must not lose the others."""
        assert one.settings is not None
        try:
            train_seeds(self.trainer, self.turns, one.settings, seeds, self.emit, self.workers, watch, into=one.results)
        except _StoppedError as reason:
            if not one.is_done:
                one.left_out = str(reason)
        except (HierGCNError, MemoryError, RuntimeError) as error:
            if not one.is_done:
                one.left_out = f"it failed ({error!s:.200})"
        if one.results.interrupted:
            raise KeyboardInterrupt

    def _settings(self, entry: Entry) -> Settings:
        """Return the recipe or settings for the graph, with the changes of the candidate and of the user.

        If labels take turns, the validation loss selects the epoch. The best accuracy of few nodes is a matter of luck,
        and the more so the more epochs a candidate has: it would look better than it is.
        """
        graph, split, coarsened = self.trainer.graph, self.split, self.trainer.coarsened
        adapted = choose_settings(
            graph,
            split,
            entry.method,
            dataset=self.dataset if entry.recipe else None,
            changes=entry.changes,
            coarsened=coarsened,
            profile=self.profile,
        ).settings
        by_loss = {"selection": "loss"} if len(self.turns) > 1 else {}
        return adapted.override(adapted.effective(by_loss | self.changes))


class _Watch:
    """A callback after each epoch that ends a candidate when the clock says so, or early if it is far behind.

    The only network of a candidate keeps its best epoch if the clock ends it after a third of its epochs.

    Args:
        share: of the budget.
        now: what the candidate is compared with; None never stops it for being behind.
        grace: seconds from the start of the choice that it has in any case.
        turns: parts of the validation nodes, one of which validates at a time.
        epochs: most epochs of the candidate; None if a network that is not trained to its end is of no use.
    """

    def __init__(
        self,
        budget: Budget,
        share: float = 1.0,
        now: Standing | None = None,
        grace: float = 0.0,
        turns: int = 1,
        epochs: int | None = None,
    ) -> None:
        self.budget, self.share, self.now, self.grace = budget, share, now, grace
        self.turns, self.epochs, self.count = turns, epochs, 0

    def __call__(self, event: EpochDone) -> None:
        self.count += 1
        tried = self.epochs is not None and event.epoch >= _TRIAL * self.epochs
        if self.budget.is_over(self.share, self.grace):
            raise StopTraining if tried and self.turns == 1 else _StoppedError("time was up before its end")
        if not tried or self.now is None or not self.now.accuracy:
            return
        behind = max(self.now.accuracy.values()) - event.best_validation_accuracy
        if behind > _WEAK * math.sqrt(self.turns) * self.now.error:
            raise _StoppedError(f"stopped at epoch {event.epoch}, far behind the best")


def _reason(entry: Entry) -> str:
    if entry.method == "constant":
        return "neither features nor edges say more than the mean"
    if not entry.uses_features:
        return "the edges say more than the features"
    if entry.changes.get("harmonic"):
        return "labels diffused along the edges say much, and features add to them"
    if entry.changes.get("nearness"):
        return "how near the labels of each class are says much, and features add to it"
    if entry.method == "mlp":
        return "the features say more than the edges"
    if entry.method == "graphsage":
        return "a node's own features and those of its neighbours say different things"
    if entry.method == "hgcn":
        return "the graph is large across, and coarser levels reach far"
    return "features and edges together say most"
