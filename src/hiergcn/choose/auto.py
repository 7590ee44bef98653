"""The automatic choice: train the portfolio's candidates under a time limit and combine them by validation.

Each candidate is trained once, with the first seed. Those that validation puts into the answer are then trained with
the other seeds, and the weights are computed again from the mean of the seeds. No test label is read here.

The simple methods are trained here, one after the other. If there is time for more, the others train side by side in
worker processes, in the lanes of `budget`.
"""

import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from multiprocessing import current_process
from typing import Any

import numpy as np

from hiergcn.choose.adapt import choose_settings
from hiergcn.choose.budget import Budget, Lanes, default_limit, epoch_price
from hiergcn.choose.candidate import TRIAL, Done, Job, Trained, Watch, add_results, work_here, work_in_worker
from hiergcn.choose.portfolio import EVIDENCE, Entry, Standing, candidates_for, check_settings
from hiergcn.errors import HierGCNError
from hiergcn.evaluate.calibration import fit_temperature
from hiergcn.evaluate.combination import ENOUGH, combination_weights
from hiergcn.graph import Split
from hiergcn.graph.profile import GraphProfile, profile_graph
from hiergcn.model.ops.ranks import Ranks
from hiergcn.settings.settings import Settings
from hiergcn.train.events import CandidateDone, CandidateStarted, OnFitEvent
from hiergcn.train.seeds import SeedResults, turns
from hiergcn.train.trainer import Trainer
from hiergcn.workers.memory import available_memory
from hiergcn.workers.pool import Pool

SIMPLE = 4
"""Candidates at the head of the portfolio that are never stopped for being behind: the simple methods."""
CLEAR = 50
"""Validation nodes on which labels alone must make no mistake to end the search: then fewer than 6 % are wrong."""

NO_TIME = "no time was left"
"""Why a candidate was not tried."""

_FIRST_SHARE = 0.7  # of the time, for the first seed of each candidate if there are several
_GRACE = 20.0  # seconds that each simple method gets in any case
_MOST_LANES = 8  # each is a process of half a gigabyte
_LANES_OF_GPU = 4
_WORTH_LANES = 15.0  # seconds; starting a process takes a few
_BESIDE_OTHERS = 1.4  # how much dearer an epoch is beside another process, with which it shares memory and caches


@dataclass(eq=False)
class Automatic:
    """Every candidate, and the weights of those in the answer."""

    candidates: list[Trained]
    profile: GraphProfile
    validation: np.ndarray
    """The nodes that validated."""
    turns: tuple[Split, ...]
    """The split, or those in which labels took turns."""
    structural: bool
    """Whether features were made from the edges, because the nodes had none."""
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
        return f"{what}: {self._reason}.{few}"

    @property
    def _reason(self) -> str:
        """The reason that holds for more than half of the answer, by weight."""
        shares: defaultdict[str, float] = defaultdict(float)
        for one in self.chosen:
            shares[_reason(one.entry, self.structural)] += one.weight
        most = max(shares, key=lambda reason: shares[reason])
        return most if shares[most] > 0.5 else "no single method is clearly better"


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
        workers: processes in which candidates train side by side if there is time for it.
        dataset: name of the graph, if it is a named dataset; candidates then have its recipes.
        by_clock: whether the clock ends the choice too. Without it, prices alone do on a CPU, so that the answer is the
            same on a slow or busy machine. A GPU has no prices and always goes by the clock.
    """
    limit = default_limit(trainer.graph.n_nodes) if time_limit is None else time_limit
    budget = Budget(limit, clock=_clock if by_clock or trainer.device.type == "cuda" else float)
    check_settings(changes or {})
    race = _Race(trainer, split, seeds, emit, dict(changes or {}), workers, dataset, budget)
    interrupted = False
    try:
        race.run()
    except KeyboardInterrupt:
        if not any(one.is_done for one in race.candidates):
            raise
        interrupted = True
    race.weigh()
    return Automatic(race.candidates, race.profile, race.validation, race.turns, race.structural, interrupted)


def _clock() -> float:
    """Return the seconds of one clock for all ranks."""
    return Ranks.current().from_rank0(time.monotonic())


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
        self.share = _FIRST_SHARE if len(seeds) > 1 else 1.0
        take_turns = len(split.validation) < ENOUGH and trainer.graph.labels is not None
        self.turns = turns(split, trainer.graph.truth) if take_turns else (split,)
        self.validation = np.sort(np.concatenate([turn.validation for turn in self.turns]))
        self.validation_labels = trainer.graph.truth[self.validation]
        self.profile = profile_graph(trainer.graph, split)
        self.candidates: list[Trained] = []
        self.structural = not trainer.graph.has_own_features
        self.on_gpu = trainer.device.type == "cuda"
        self.dearer = 1.0

    def standing(self) -> Standing:
        done = {one.entry.name: self.right(one) for one in self.candidates if one.is_done}
        accuracy = {name: float(right.mean()) for name, right in done.items()}
        best = max(accuracy, key=lambda name: accuracy[name], default=None)
        right = np.concatenate([[0, 0, 1, 1], [] if best is None else done[best]])  # few nodes without a mistake, too
        return Standing(self.profile, accuracy, math.sqrt(max(right.var(), 0.01) / len(right)), not self.structural)

    def accuracy(self, one: Trained) -> float:
        """Return the validation accuracy; of numbers, 1 less the mean squared error in units of their variance."""
        return float(self.right(one).mean())

    def right(self, one: Trained) -> np.ndarray:
        """Return whether each validation node is right; of numbers, 1 less the squared error."""
        target = self.trainer.task(self.split).target
        return target.node_scores(self.validation_labels, one.outputs()[self.validation])

    def run(self) -> None:
        """Train the first seed of each candidate, weigh them, and train the other seeds of those in the answer."""
        pending = list(candidates_for(self.dataset, numbers=self.trainer.graph.targets is not None))
        simple, others = pending[:SIMPLE], pending[SIMPLE:]
        count = self._lane_count()
        with ExitStack() as stack:
            if count > 1:  # the workers start while the simple methods train
                given = self.trainer.graph, str(self.trainer.device), self.trainer.given, self.trainer.checkpoint
                pool = stack.enter_context(Pool(work_in_worker, *given, self.turns, processes=count))
                pool.start_workers()
            here = Lanes(Pool(work_here, self.trainer, self.turns, self.emit, self.workers, processes=0), 1)
            self.try_all(simple, here, simple=True)
            lanes = here
            if count > 1:
                lanes, self.dearer = Lanes(pool, count, here.now), _BESIDE_OTHERS
            self.try_all(others, lanes)
            lanes.meet()
            self.weigh()
            self.add_seeds(lanes)

    def _lane_count(self) -> int:
        """Return how many candidates train in parallel: one if an engine or torchrun shares the work."""
        alone = self.trainer.engine is None and Ranks.current().size == 1 and not current_process().daemon
        worth = alone and self.share * self.budget.limit >= _WORTH_LANES
        return min(self.workers, _LANES_OF_GPU if self.on_gpu else _MOST_LANES) if worth else 1

    def try_all(self, pending: list[Entry], lanes: Lanes, simple: bool = False) -> None:
        """Train each candidate with the first seed, within a share of the budget."""
        while pending or lanes.is_busy:
            entry = self._next(pending, lanes) if lanes.is_free else None
            if entry is None:
                self._end(lanes)
            else:
                pending.remove(entry)
                self._begin(entry, lanes, simple)

    def _next(self, pending: Sequence[Entry], lanes: Lanes) -> Entry | None:
        """Return the candidate to consider next; None if all wait for one that is running."""
        now, running = self.standing(), {one.entry.name for one, _ in lanes.running}
        known = [entry for entry in pending if not EVIDENCE.get(entry.otherwise, set()) & running]
        return next((one for one in known if one.early(now)), known[0] if known else None)

    def _begin(self, entry: Entry, lanes: Lanes, simple: bool) -> None:
        """Start the first seed of a candidate, unless there is a reason not to."""
        now, one = self.standing(), Trained(entry)
        self.candidates.append(one)
        self.budget.spent = lanes.now
        one.left_out = self._reason_against(entry, now, simple)
        if one.left_out is not None:
            return
        self.emit(CandidateStarted(entry.name))
        watch = self._planned(one, None if simple else now)
        while lanes.is_busy and self._lacks_memory(one, lanes):
            self._end(lanes)
            watch = self._planned(one, None if simple else now)
        if watch is None:
            self.emit(CandidateDone(entry.name, None, one.left_out))
        else:
            self._start(one, self.seeds[:1], watch, lanes)

    def _start(self, one: Trained, seeds: Sequence[int], watch: Watch, lanes: Lanes) -> None:
        assert one.settings is not None
        lanes.start(
            (one, seeds[0]),
            Job(one.settings, seeds, watch, self.trainer.hierarchy(one.settings)),
            one.epoch,
            one.memory,
        )

    def _end(self, lanes: Lanes) -> None:
        """Wait for the next candidate to finish, and add its results."""
        one = self._taken(lanes)
        self.emit(CandidateDone(one.entry.name, self.accuracy(one) if one.is_done else None, one.left_out))

    def _taken(self, lanes: Lanes) -> Trained:
        one: Trained
        (one, _), reply, price = lanes.wait()
        failed = Done(SeedResults(), f"it failed ({reply.content!s:.200})", 0.0)
        add_results(one, reply.content if reply.kind == "result" else failed)
        one.price = one.price or price
        if one.results.interrupted:
            raise KeyboardInterrupt
        return one

    def _lacks_memory(self, one: Trained, lanes: Lanes) -> bool:
        """Return whether memory may be too small for this job and the running ones."""
        free = available_memory(self.trainer.device)
        return one.left_out not in (None, NO_TIME) or (free is not None and one.memory + lanes.memory > free)

    def _reason_against(self, entry: Entry, now: Standing, simple: bool) -> str | None:
        if not simple and self.flawless:
            return f"{self.flawless.entry.name} makes no mistake on validation"
        if not simple and self.budget.is_over(self.share):
            return NO_TIME  # before reasons that speak of candidates which there was no time for either
        if entry.when(now):
            return None
        untried = {
            one.entry.name: one.left_out for one in self.candidates if one.left_out in (NO_TIME, one.entry.otherwise)
        }
        return next((untried[name] for name in EVIDENCE.get(entry.otherwise, ()) if name in untried), entry.otherwise)

    def _planned(self, one: Trained, now: Standing | None) -> Watch | None:
        """Set what the first seed of a candidate is trained with; None if there is no time; `now` is None if simple."""
        one.left_out = None
        try:
            one.settings = self._settings(one.entry)
            plan = self.trainer.plan(one.settings)  # refuses what does not fit into memory
        except (HierGCNError, MemoryError, RuntimeError) as error:
            one.left_out = f"it failed ({error!s:.200})"
            return None
        one.memory = plan.on_device
        one.epoch = self.dearer * len(self.turns) * epoch_price(one.entry.method, plan, self.on_gpu)
        left, grace = self.budget.left(self.share), 0.0
        if now is None:
            left, grace = max(left / 2, _GRACE), self.budget.seconds() + _GRACE
        epochs = one.settings.train.epochs
        affordable = min(epochs, int(left / one.epoch)) if one.epoch else epochs
        if now is not None and (affordable < TRIAL * epochs or self.budget.is_over(self.share)):
            one.left_out = NO_TIME
            return None
        one.settings = replace(one.settings, train=replace(one.settings.train, epochs=max(affordable, 1)))
        grace = grace if any(one.is_done for one in self.candidates) else math.inf  # there must be an answer
        return Watch(self.budget, self.share, now, grace, len(self.turns), epochs)

    def add_seeds(self, lanes: Lanes) -> None:
        """Train the chosen candidates with the other seeds, heaviest first, as long as there is time."""
        chosen = [one for one in self.candidates if one.weight and one.entry.draws]
        at_once = 1 if lanes.count > 1 and not self.on_gpu else len(self.seeds)
        for one in sorted(chosen, key=lambda one: -one.weight):
            for k in range(1, len(self.seeds), at_once):
                while not lanes.is_free:
                    self._taken(lanes)
                self.budget.spent = lanes.now
                affordable = max(int(self.budget.left() / one.price), 0) if one.price else at_once
                seeds = self.seeds[k : k + min(at_once, affordable)]
                if seeds and not self.budget.is_over():
                    self.emit(CandidateStarted(one.entry.name))
                    self._start(one, seeds, Watch(self.budget), lanes)
        while lanes.is_busy:
            self._taken(lanes)

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


def _reason(entry: Entry, structural: bool) -> str:
    features = "features made from the edges" if structural else "features"
    if entry.method == "constant":
        return "neither features nor edges say more than the mean"
    if not entry.uses_features:
        return "labels spread along the edges say most" if structural else "the edges say more than the features"
    if entry.changes.get("harmonic"):
        return f"labels diffused along the edges say much, and {features} add to them"
    if entry.changes.get("nearness"):
        return f"how near the labels of each class are says much, and {features} add to it"
    if entry.changes.get("degrees"):
        return "a node's degree and those of its neighbours say most"
    if entry.method == "mlp":
        return "the features say more than the edges"
    if entry.method == "graphsage":
        return f"a node's own {features} and those of its neighbours say different things"
    if entry.method == "hgcn":
        return "coarser levels of the graph, which reach far, help here"
    return "the edges say much, and there are no features" if structural else "features and edges together say most"
