"""The automatic choice: train the portfolio's candidates under a time limit and combine them by validation.

Each candidate is trained once, with the first seed. Those that validation puts into the answer are then trained with
the other seeds, and the weights are computed again from the mean of the seeds. No test label is read here.

The simple methods are trained here, one after the other. If there is time for more, the others train side by side in
worker processes, in the lanes of `budget`. What is made from the graph for a candidate, its hierarchy and the columns
of its labels, is made here and goes to the worker with the job.
"""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import current_process
from typing import Any, NamedTuple, Self

import numpy as np
import torch

from hiergcn.choose.adapt import choose_settings
from hiergcn.choose.budget import Budget, Lanes, default_limit, epoch_price
from hiergcn.choose.portfolio import NO_TIME, Candidate, SearchState, candidate_title, candidates_for, check_settings
from hiergcn.coarsening import Hierarchy
from hiergcn.errors import HierGCNError, InputError
from hiergcn.evaluate.calibration import ENOUGH, Temperature, combination_weights, fit_temperature
from hiergcn.graph import Split
from hiergcn.graph.profile import profile_graph
from hiergcn.model.inputs import INPUTS, keep_columns, label_columns
from hiergcn.model.ops.ranks import Ranks
from hiergcn.settings.registry import method_info
from hiergcn.settings.settings import Settings, effective
from hiergcn.train.events import CandidateDone, CandidateStarted, EpochDone, OnFitEvent, StopTraining
from hiergcn.train.trainer import SeedResults, Trainer, fold_splits, train_seeds
from hiergcn.workers.machine import available_memory
from hiergcn.workers.pool import Pool, Send, Work, now_and_then

OUT_OF_TIME, FAILED = "it ran out of time", "it failed"
SIMPLE = 4
"""Candidates at the head of the portfolio that are never stopped for being behind: the simple methods."""
CLEAR = 50
"""Validation nodes on which labels alone must make no mistake to end the search: then fewer than 6 % are wrong."""
TRIAL = 1 / 3
"""Share of the epochs after which a weak candidate is stopped; less than that is not worth its time."""

_FIRST_SHARE = 0.7  # of the time, for the first seed of each candidate if there are several
_GRACE = 20.0  # seconds that each simple method gets in any case
_MOST_LANES = 8  # each is a process of half a gigabyte
_LANES_OF_GPU = 4
_WORTH_LANES = 15.0  # seconds; starting a process takes a few
_BESIDE_OTHERS = 1.4  # how much more an epoch costs beside another process, with which it shares memory and caches
_WEAK = 3.0  # standard errors behind the best
_PAUSE = 0.1  # seconds between two messages of a worker


@dataclass(eq=False)
class CandidateState:
    """A candidate with its results, or why it has none."""

    entry: Candidate
    settings: Settings | None = None
    results: SeedResults = field(default_factory=SeedResults)
    epoch: float = 0.0
    """Seconds of an epoch of all folds, see `budget`."""
    price: float = 0.0
    """Seconds of the first seed."""
    memory: int = 0
    """Bytes planned."""
    left_out: str | None = None
    """Why it has no result, in words."""
    untried: bool = False
    """Whether it has none because it was not tried."""
    weight: float = 0.0
    temperature: Temperature = field(default_factory=Temperature)
    """Of the mean of its seeds; without it, a candidate that is too sure or not sure enough would be misjudged."""

    @property
    def is_done(self) -> bool:
        return bool(self.results.probabilities)

    @property
    def has_failed(self) -> bool:
        """Whether it has no result for another reason than time or memory."""
        reason = "" if self.is_done else self.left_out or ""
        return reason.startswith(FAILED) and "memory" not in reason.lower()

    def outputs(self, seed: int | None = None) -> np.ndarray:
        """Return the calibrated probabilities, or numbers, of a seed; of the mean of all seeds if it has none."""
        outputs = self.results.probabilities.get(seed) if seed is not None else None
        outputs = self.results.mean() if outputs is None else outputs
        return outputs if outputs.shape[1] == 1 else self.temperature.scale(outputs).astype(np.float32)


def _clock() -> float:
    """Return the seconds of one clock for all ranks. It goes to workers with the budget."""
    return Ranks.current().from_rank0(time.monotonic())


class Automatic:
    """An automatic choice: its candidates, how far they are, and the weights of those in the answer.

    Args:
        changes: settings by name, for every candidate that has them.
        time_limit: seconds; by default `default_limit`. Each simple method gets 20 s in any case.
        workers: processes in which candidates train side by side if there is time for it.
        dataset: name of the graph, if it is a named dataset; candidates then have its recipes.
        by_clock: whether the clock ends the choice too. Without it, prices alone do on a CPU, so that the answer is the
            same on a slow or busy machine. A GPU has no prices and always goes by the clock.
    """

    def __init__(
        self,
        trainer: Trainer,
        split: Split,
        seeds: Sequence[int],
        emit: OnFitEvent,
        changes: Mapping[str, Any] | None = None,
        time_limit: float | None = None,
        workers: int = 1,
        dataset: str | None = None,
        by_clock: bool = True,
    ) -> None:
        self.on_gpu = trainer.device.type == "cuda"
        limit = default_limit(trainer.graph.n_nodes) if time_limit is None else time_limit
        self.budget = Budget(limit, clock=_clock if by_clock or self.on_gpu else float)
        self.trainer, self.split, self.seeds, self.emit = trainer, split, seeds, emit
        self.changes, self.workers, self.dataset = dict(changes or {}), workers, dataset
        check_settings(self.changes)
        self.share = _FIRST_SHARE if len(seeds) > 1 else 1.0
        cross_validated = len(split.validation) < ENOUGH and trainer.graph.labels is not None
        self.folds = fold_splits(split, trainer.graph.truth) if cross_validated else (split,)
        self.validation = np.sort(np.concatenate([fold.validation for fold in self.folds]))
        """The nodes that validated."""
        self.validation_labels = trainer.graph.truth[self.validation]
        self.profile = profile_graph(trainer.graph, split)
        self.candidates: list[CandidateState] = []
        self.structural = not trainer.graph.has_own_features
        """Whether features were made from the edges, because the nodes had none."""
        self.slowdown = 1.0
        """How much more an epoch costs than it would alone on the machine."""
        self.interrupted = False
        self.cut_by_clock = False
        """Whether the machine was too slow for what the limit pays for, so that another run may answer otherwise."""

    @property
    def done(self) -> list[CandidateState]:
        """The candidates that have a result."""
        return [candidate for candidate in self.candidates if candidate.is_done]

    @property
    def chosen(self) -> list[CandidateState]:
        """The candidates in the answer, that with the largest weight first."""
        weighty = (candidate for candidate in self.candidates if candidate.weight > 0)
        return sorted(weighty, key=lambda candidate: -candidate.weight)

    @property
    def verdict(self) -> str:
        """What was chosen and why, in two sentences at most."""
        features = "features made from the edges" if self.structural else "features"
        parts, shares = list[str](), defaultdict[str, float](float)
        for candidate in self.chosen:
            info, inputs = method_info(candidate.entry.method), candidate.entry.name.split("+")[1:]
            parts.append(f"{candidate_title(candidate.entry.name)} ({100 * candidate.weight:.0f} %)")
            reasons: list[str | None] = [kind.reason for kind in INPUTS if kind.name in inputs]
            reasons += [info.reason_without_features if self.structural else None, info.reason]
            shares[next(filter(None, reasons)).format(features=features)] += candidate.weight
        first, *others = parts
        parts = [*others[:3], f"{len(others) - 3} more"] if len(others) > 3 else others
        listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
        best = candidate_title(self.chosen[0].entry.name)
        what = f"{first} answers together with {listed}" if others else f"{best} is best here"
        most = max(shares, key=lambda reason: shares[reason])
        reason = f": {most if shares[most] > 0.5 else 'no single method is clearly better'}"
        if failed := [candidate.entry.name for candidate in self.candidates if candidate.has_failed]:
            reason = f", but not all could be compared: {', '.join(failed)} failed"  # so there is no reason
        validated = len(self.validation)
        few = "" if validated >= ENOUGH else f" With {validated} validation nodes the choice is uncertain."
        return f"{what[0].upper()}{what[1:]}{reason}.{few}"

    def run(self) -> Self:
        """Train candidates and weigh them by validation. Ctrl-C keeps the candidates that are finished, if any are."""
        try:
            self._train()
        except KeyboardInterrupt:
            if not self.done:
                raise
            self.interrupted = True
        self.weigh()
        return self

    def _train(self) -> None:
        """Train the first seed of each candidate, weigh them, and train the other seeds of those in the answer."""
        trainer = self.trainer
        pending = list(candidates_for(self.dataset, numbers=trainer.graph.target.kind == "numbers"))
        simple, others = pending[:SIMPLE], pending[SIMPLE:]
        alone = trainer.engine is None and Ranks.current().size == 1 and not current_process().daemon
        worth = alone and self.share * self.budget.limit >= _WORTH_LANES  # else an engine or torchrun shares the work
        count = min(self.workers, _LANES_OF_GPU if self.on_gpu else _MOST_LANES) if worth else 1
        with ExitStack() as stack:
            if count > 1:  # the workers start while the simple methods train
                there = partial(Trainer, trainer.graph, str(trainer.device), trainer.given, None, trainer.checkpoint)
                pool = stack.enter_context(Pool(prepare_work, there, self.folds, processes=count))
                pool.start_workers()
            here = Lanes(Pool(prepare_work, lambda: trainer, self.folds, self.emit, self.workers, processes=0), 1)
            self.try_all(simple, here, simple=True)
            lanes = here
            if count > 1:
                lanes, self.slowdown = Lanes(pool, count, here.now), _BESIDE_OTHERS
            self.try_all(others, lanes)
            lanes.free = [max(lanes.free)] * lanes.count  # all of them when the last one was
            self.weigh()
            self.add_seeds(lanes)

    def state(self) -> SearchState:
        """Return what is known by now."""
        scores = {candidate.entry.name: self.node_scores(candidate) for candidate in self.done}
        accuracy = {name: float(score.mean()) for name, score in scores.items()}
        best = max(accuracy, key=lambda name: accuracy[name], default=None)
        score = np.concatenate([[0, 0, 1, 1], [] if best is None else scores[best]])  # few nodes without a mistake, too
        return SearchState(self.profile, accuracy, math.sqrt(max(score.var(), 0.01) / len(score)), not self.structural)

    def node_scores(self, candidate: CandidateState) -> np.ndarray:
        """Return the score of each validation node: whether it is right, or of numbers 1 less the squared error."""
        target = self.trainer.task(self.split).target
        return target.node_scores(self.validation_labels, candidate.outputs()[self.validation])

    def try_all(self, pending: list[Candidate], lanes: Lanes, simple: bool = False) -> None:
        """Train each candidate with the first seed, within a share of the budget."""
        while pending or lanes.running:
            entry = None
            if lanes.free:  # consider the next one, unless all wait for one that is running
                now, running = self.state(), {candidate.entry.name for candidate, _ in lanes.running}
                known = [entry for entry in pending if entry.when is None or not running & {*entry.when.evidence}]
                early = (entry for entry in known if entry.early and getattr(now, entry.early))
                entry = next(early, next(iter(known), None))
            if entry is None:
                self._add_results(lanes)
            else:
                pending.remove(entry)
                self._begin(entry, lanes, simple)

    def _begin(self, entry: Candidate, lanes: Lanes, simple: bool) -> None:
        """Start the first seed of a candidate, unless there is a reason not to."""
        now, candidate = self.state(), CandidateState(entry)
        self.candidates.append(candidate)
        self.budget.spent = lanes.now
        if not simple and (flawless := self.flawless):
            candidate.left_out = f"{flawless.entry.name} makes no mistake on validation"
        elif not simple and self.budget.is_over(self.share):  # before reasons that speak of candidates without time
            candidate.left_out, self.cut_by_clock = NO_TIME, True
        elif entry.when is not None and not getattr(now, entry.when.name):
            reasons = {other.entry.name: other.left_out for other in self.candidates if other.untried}
            unknown = next((reasons[name] for name in entry.when.evidence if name in reasons), None)
            candidate.left_out = unknown or entry.when.otherwise
        if candidate.left_out:
            candidate.untried = True
            return
        self.emit(CandidateStarted(entry.name))
        while True:
            job = self._plan(candidate, None if simple else now)
            free = available_memory(self.trainer.device)
            fits = free is None or candidate.memory + sum(other.memory for other in lanes.running.values()) <= free
            if not lanes.running or (fits and (job or candidate.untried)):
                break
            self._add_results(lanes)  # wait, because memory may be too small for this job and the running ones
        if job is None:
            self.emit(CandidateDone(entry.name, None, candidate.left_out))
        else:
            self._start(candidate, job, lanes)

    def _plan(self, candidate: CandidateState, now: SearchState | None) -> "Job | None":
        """Return the first seed of a candidate as a job; None if there is no time; `now` is None if simple."""
        candidate.left_out, candidate.untried = None, False
        try:
            settings = candidate.settings = self.settings_of(candidate.entry)
            plan = self.trainer.plan(settings)  # refuses what does not fit into memory
        except (HierGCNError, MemoryError, RuntimeError) as error:
            candidate.left_out = f"{FAILED} ({error!s:.200})"
            return None
        candidate.memory = plan.on_device
        price = epoch_price(candidate.entry.method, plan, self.on_gpu)
        candidate.epoch = self.slowdown * len(self.folds) * price
        left, grace = self.budget.left(self.share), 0.0
        if now is None:
            left, grace = max(left / 2, _GRACE), self.budget.seconds() + _GRACE
        epochs = settings.train.epochs
        affordable = min(epochs, int(left / candidate.epoch)) if candidate.epoch else epochs
        late = now is not None and self.budget.is_over(self.share)
        if late or (now is not None and affordable < TRIAL * epochs):
            candidate.left_out, candidate.untried = NO_TIME, True
            self.cut_by_clock = self.cut_by_clock or late
            return None
        candidate.settings = replace(settings, train=replace(settings.train, epochs=max(affordable, 1)))
        grace = grace if self.done else math.inf  # there must be an answer
        return Job(candidate.settings, self.seeds[:1], self.budget, self.share, now, grace, epochs)

    def settings_of(self, entry: Candidate) -> Settings:
        """Return the recipe or settings for the graph, with the changes of the candidate and of the user.

        In cross-validation the validation loss selects the epoch. The best accuracy of few nodes is a matter of luck,
        and the more so the more epochs a candidate has: it would look better than it is.
        """
        adapted = choose_settings(
            self.trainer.graph,
            self.split,
            entry.method,
            dataset=self.dataset if entry.recipe else None,
            changes=entry.changes,
            coarsen=self.trainer.coarsen,
            profile=self.profile,
        ).settings
        by_loss = {"selection": "loss"} if len(self.folds) > 1 else {}
        return adapted.override(effective(adapted.method, by_loss | self.changes))

    def _start(self, candidate: CandidateState, job: "Job", lanes: Lanes) -> None:
        if lanes.count > 1:
            job = job._replace(hierarchy=self.trainer.hierarchy(job.settings))
            with suppress(InputError):  # which the worker will report
                columns = [label_columns(self.trainer.task(fold), job.settings.model) for fold in self.folds]
                job = job._replace(columns=columns)
        lanes.start((candidate, job.seeds[0]), job, candidate.epoch, candidate.memory)

    def _add_results(self, lanes: Lanes) -> None:
        """Wait for the job that ends next, and add its results."""
        candidate: CandidateState
        (candidate, seed), reply, price = lanes.wait()
        failed = SeedResults(), f"{FAILED} ({reply.content!s:.200})"
        results, left_out = reply.content if reply.kind == "result" else failed
        candidate.results.add_all(results)
        self.cut_by_clock = self.cut_by_clock or left_out == OUT_OF_TIME
        if not candidate.is_done:
            candidate.left_out = left_out
        candidate.price = candidate.price or price
        if candidate.results.interrupted:
            raise KeyboardInterrupt
        if seed == self.seeds[0]:
            score = float(self.node_scores(candidate).mean()) if candidate.is_done else None
            self.emit(CandidateDone(candidate.entry.name, score, candidate.left_out))

    @property
    def flawless(self) -> CandidateState | None:
        """The first method of labels alone that makes no mistake on validation: nothing can be shown to be better."""
        if len(self.validation_labels) < CLEAR:
            return None
        by_labels = (candidate for candidate in self.done if not candidate.entry.uses_features)
        return next((candidate for candidate in by_labels if self.node_scores(candidate).mean() == 1.0), None)

    def weigh(self) -> None:
        """Set the weights from the mean probabilities of each candidate at the validation nodes."""
        done = self.done
        if not done:
            reasons = "; ".join(f"{failed.entry.name}: {failed.left_out}" for failed in self.candidates[:3])
            raise HierGCNError(f"No candidate could be trained ({reasons}).")
        networks = [one for one in self.candidates if one.entry.uses_features and not one.untried]
        if any(one.has_failed for one in networks) and not any(one.is_done for one in networks):
            failed = next(one for one in networks if one.has_failed)
            raise HierGCNError(f"Every network failed, such as {failed.entry.name}: {failed.left_out}.")
        if self.trainer.graph.labels is not None:
            for candidate in done:
                mean = candidate.results.mean()[self.validation]
                candidate.temperature = fit_temperature(mean, self.validation_labels)
        outputs = [candidate.outputs()[self.validation] for candidate in done]
        for candidate, weight in zip(done, combination_weights(outputs, self.validation_labels), strict=True):
            candidate.weight = float(weight)

    def add_seeds(self, lanes: Lanes) -> None:
        """Train the chosen candidates with the other seeds, heaviest first, as long as there is time."""
        at_once = 1 if lanes.count > 1 and not self.on_gpu else len(self.seeds)
        for candidate in self.chosen:
            for k in range(1, len(self.seeds) if candidate.entry.uses_features else 0, at_once):
                while not lanes.free:
                    self._add_results(lanes)
                self.budget.spent = lanes.now
                affordable = max(int(self.budget.left() / candidate.price), 0) if candidate.price else at_once
                seeds = self.seeds[k : k + min(at_once, affordable)]
                if seeds and candidate.settings is not None and not self.budget.is_over():
                    self.emit(CandidateStarted(candidate.entry.name))
                    self._start(candidate, Job(candidate.settings, seeds, self.budget), lanes)
        while lanes.running:
            self._add_results(lanes)


class _StoppedError(Exception):
    """A candidate is stopped before its end."""


class Job(NamedTuple):
    """Seeds of a candidate to train, and what ends them early."""

    settings: Settings
    seeds: Sequence[int]
    budget: Budget
    share: float = 1.0
    """Of the budget."""
    now: SearchState | None = None
    """What the candidate is compared with; None never stops it for being behind."""
    grace: float = 0.0
    """Seconds from the start of the choice that it has in any case."""
    epochs: int | None = None
    """Most epochs of the candidate; None if a network that is not trained to its end is of no use."""
    hierarchy: Hierarchy | None = None
    """Made by the caller, as the columns, so that no worker makes it again."""
    columns: Sequence[Mapping[str, np.ndarray]] = ()
    """Of the training labels of each fold, by the name of the input."""

    def check(self, event: EpochDone, folds: int = 1) -> None:
        """End the candidate after an epoch when the clock says so, or early if it is far behind.

        If it has a single fold, its network keeps its best epoch if the clock ends it after a third of its epochs.
        """
        tried = self.epochs is not None and event.epoch >= TRIAL * self.epochs
        if self.budget.is_over(self.share, self.grace):
            raise StopTraining if tried and folds == 1 else _StoppedError(OUT_OF_TIME)
        if not tried or self.now is None or not self.now.accuracy:
            return
        behind = max(self.now.accuracy.values()) - event.best_validation_accuracy
        if behind > _WEAK * math.sqrt(folds) * self.now.error:
            raise _StoppedError(f"stopped at epoch {event.epoch}, far behind the best")


def prepare_work(
    make_trainer: Callable[[], Trainer], folds: Sequence[Split], emit: OnFitEvent | None = None, workers: int = 1
) -> Work:
    """Return a function that trains a job; it returns the results, and why a seed has none.

    A failure must not lose other candidates. The function sends the number of epochs, the mean of the folds.
    """
    if current_process().daemon:  # a worker beside others
        torch.set_num_threads(1)
    trainer = make_trainer()

    def train(send: Send, job: Job) -> tuple[SeedResults, str | None]:
        if job.hierarchy is not None:
            trainer.hierarchies.setdefault((job.settings.coarsen, job.settings.model.levels), job.hierarchy)
        for fold, columns in zip(folds, job.columns, strict=False):
            keep_columns(trainer.task(fold), columns)
        results, left_out, epochs, send_epochs = SeedResults(), None, 0, now_and_then(send, _PAUSE)

        def on_epoch(event: EpochDone) -> None:
            nonlocal epochs
            nonlocal left_out
            epochs += 1
            try:
                job.check(event, len(folds))
            except StopTraining:  # with its best epoch so far
                left_out = OUT_OF_TIME
                raise
            send_epochs(epochs / len(folds))

        try:
            train_seeds(trainer, folds, job.settings, job.seeds, emit or (lambda _: None), workers, on_epoch, results)
        except _StoppedError as reason:
            left_out = str(reason)
        except (HierGCNError, MemoryError, RuntimeError) as error:
            left_out = f"{FAILED} ({error!s:.200})"
        send(epochs / len(folds))
        return results, left_out

    return train
