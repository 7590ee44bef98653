"""Several methods over the same splits and seeds: every figure of each, and the paired differences between them.

Each method runs in a process of its own, one after the other, so that its time and its peak memory are its own. Random
splits are drawn from all labelled nodes, 20 a class to train, 500 to validate, the rest to test; the graph stays whole
(Shchur et al. keep its largest connected component, which gives other, slightly higher figures).
"""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import InputError
from hiergcn.evaluate.compare import TEST, PairedDifference, Scores, compare_all
from hiergcn.evaluate.metrics import Summary
from hiergcn.files import written_whole
from hiergcn.graph import Graph, Split
from hiergcn.run.environment import environment
from hiergcn.run.fit import AllSeedsFailedError, Listener, fit
from hiergcn.run.isolated import Peak, Send, WorkFailedError, in_own_process
from hiergcn.run.settings import Settings
from hiergcn.train.loop import SeedOutcome

PER_CLASS, VALIDATION = 20, 500


@dataclass(frozen=True)
class SplitPlan:
    """Which splits to compare on: the one that the graph comes with, or `count` random ones."""

    count: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """`public`, or `random:N`."""
        kind, colon, number = text.partition(":")
        if text == "public":
            return cls()
        if kind == "random" and colon and number.isdecimal() and int(number) > 0:
            return cls(int(number))
        raise InputError(f"splits is {text!r}; give public, or random:N for N random splits.")

    def splits(self, graph: Graph, own: Split) -> list[Split]:
        """The splits in order; the seed of a random one is its number."""
        if self.count is None:
            return [own]
        if graph.labels is None:
            raise InputError(f"{graph.name} has no labels to draw random splits from.")
        return [Split.random(graph.labels, PER_CLASS, VALIDATION, seed=number) for number in range(self.count)]

    @property
    def about(self) -> str:
        if self.count is None:
            return "the split that the graph comes with"
        return (
            f"{self.count} random splits of the whole graph, not of its largest component: "
            f"{PER_CLASS} a class train, {VALIDATION} validate, the rest test"
        )

    def __str__(self) -> str:
        return "public" if self.count is None else f"random:{self.count}"


@dataclass(frozen=True)
class Score:
    """One seed of one method on one split; accuracies are fractions of 1, None where the seed failed."""

    model: str
    split: int
    seed: int
    test_accuracy: float | None
    validation_accuracy: float | None
    macro_f1: float | None
    best_epoch: int | None
    seconds: float | None
    failure: str | None


@dataclass(frozen=True)
class MethodRun:
    """What one method gave."""

    model: str
    settings: Settings
    scores: tuple[Score, ...]
    peak: Peak
    epoch_seconds: float | None
    """Mean seconds of an epoch, validation included."""
    failure: str | None = None
    """Why the method as a whole gave nothing."""

    @property
    def by_pair(self) -> Scores:
        return {(score.split, score.seed): score.test_accuracy for score in self.scores}

    @property
    def test_accuracy(self) -> Summary:
        return Summary(tuple(score.test_accuracy for score in self.scores))

    @property
    def failed(self) -> int:
        return sum(score.test_accuracy is None for score in self.scores)

    @property
    def seconds(self) -> float | None:
        """Mean seconds of a seed."""
        known = [score.seconds for score in self.scores if score.seconds is not None]
        return math.fsum(known) / len(known) if known else None

    def to_dict(self) -> dict[str, Any]:
        validation = Summary(tuple(score.validation_accuracy for score in self.scores))
        return {
            "model": self.model,
            "test_accuracy": {"mean": self.test_accuracy.mean, "std": self.test_accuracy.std},
            "val_accuracy": {"mean": validation.mean, "std": validation.std},
            "runs": len(self.scores),
            "failed_seeds": self.failed,
            "failure": self.failure,
            "seconds": {"seed": self.seconds, "epoch": self.epoch_seconds},
            "peak_memory_bytes": self.peak.resident,
            "peak_gpu_memory_bytes": self.peak.gpu,
            "selection": self.settings.train.selection_rule,
            "settings": self.settings.to_dict(),
        }


@dataclass(frozen=True)
class Comparison:
    """Every method's figures and its difference to one of them."""

    dataset: str
    plan: SplitPlan
    seeds: tuple[int, ...]
    against: str
    runs: tuple[MethodRun, ...]
    differences: tuple[PairedDifference, ...]
    interrupted: bool = False

    def difference(self, model: str) -> PairedDifference | None:
        return next((one for one in self.differences if one.model == model), None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "splits": str(self.plan),
            "splits_about": self.plan.about,
            "seeds": list(self.seeds),
            "against": self.against,
            "test": TEST,
            "correction": "Holm",
            "models": [run.to_dict() for run in self.runs],
            "differences": [one.to_dict() for one in self.differences],
            "interrupted": self.interrupted,
        }


class CompareListener:
    """Told what happens during a comparison. Does nothing by itself."""

    def method_started(self, model: str, splits: int, seeds: int) -> None: ...
    def seed_finished(self, model: str, split: int, seed: int, failure: str | None) -> None: ...
    def method_finished(self, run: MethodRun) -> None: ...


def compare(
    graph: Graph,
    own: Split,
    methods: Mapping[str, Settings],
    seeds: Sequence[int],
    *,
    plan: SplitPlan | None = None,
    against: str | None = None,
    device: str = "auto",
    listener: CompareListener | None = None,
) -> Comparison:
    """Run each method over the same splits and seeds. Ctrl-C keeps the methods that are finished, if there are any.

    Args:
        graph: with labels.
        own: the split that it comes with.
        methods: settings by the name to show.
        seeds: run on each split.
        plan: which splits; the graph's own where left out.
        against: the name that the others are compared with; the first where left out.
        device: as in `fit`.
        listener: told of the progress.
    """
    plan, listener = plan or SplitPlan(), listener or CompareListener()
    against = against or next(iter(methods))
    if against not in methods:
        raise InputError(f"{against!r} is not among the models compared; give one of {', '.join(methods)}.")
    if len(own.test) == 0 and plan.count is None:
        raise InputError(f"{graph.name}'s split has no test nodes to compare on; take random splits.")
    splits = plan.splits(graph, own)
    for split in splits:
        split.check(graph)
    runs: list[MethodRun] = []
    interrupted = False
    try:
        for name, settings in methods.items():
            listener.method_started(name, len(splits), len(seeds))
            runs.append(_run_method(name, settings, graph, splits, tuple(seeds), device, listener))
            listener.method_finished(runs[-1])
    except KeyboardInterrupt:
        if not runs:
            raise
        interrupted = True
    done = {run.model: run.by_pair for run in runs}
    return Comparison(
        dataset=graph.name,
        plan=plan,
        seeds=tuple(seeds),
        against=against,
        runs=tuple(runs),
        differences=compare_all(done, against) if against in done else (),
        interrupted=interrupted,
    )


def write_comparison(comparison: Comparison, folder: Path, command: str | None = None) -> None:
    """`comparison.json` with every setting and figure, `scores.csv` with a row for each model, split and seed."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = list(Score.__dataclass_fields__)
    with written_whole(folder / "scores.csv") as part, part.open("w", encoding="utf-8", newline="") as lines:
        rows = csv.DictWriter(lines, columns, lineterminator="\n")
        rows.writeheader()
        rows.writerows(asdict(score) for run in comparison.runs for score in run.scores)
    recorded = comparison.to_dict() | {"command": command, "environment": environment()}
    with written_whole(folder / "comparison.json") as part:
        part.write_text(json.dumps(recorded, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _run_method(
    name: str,
    settings: Settings,
    graph: Graph,
    splits: list[Split],
    seeds: tuple[int, ...],
    device: str,
    listener: CompareListener,
) -> MethodRun:
    def told(message: tuple[int, int, str | None]) -> None:
        listener.seed_finished(name, *message)

    try:
        (scores, epoch_seconds), peak = in_own_process(
            _train_splits, name, settings, graph, splits, seeds, device, on_message=told
        )
    except WorkFailedError as error:
        nothing = (None,) * 5
        failed = tuple(
            Score(name, number, seed, *nothing, str(error)) for number in range(len(splits)) for seed in seeds
        )
        return MethodRun(name, settings, failed, Peak(None, None), None, str(error))
    return MethodRun(name, settings, scores, peak, epoch_seconds)


class _Teller(Listener):
    """Sends every finished seed to the process that waits."""

    def __init__(self, send: Send, split: int) -> None:
        self.send, self.split = send, split

    def seed_finished(self, outcome: SeedOutcome) -> None:
        self.send((self.split, outcome.seed, outcome.failure))


def _train_splits(
    send: Send,
    name: str,
    settings: Settings,
    graph: Graph,
    splits: list[Split],
    seeds: tuple[int, ...],
    device: str,
) -> tuple[tuple[Score, ...], float | None]:
    """The work of a method's process: the scores of every split and seed, and the mean seconds of an epoch."""
    scores: list[Score] = []
    hierarchy: Hierarchy | None = None  # depends on the graph alone
    train_seconds, epochs = 0.0, 0
    for number, split in enumerate(splits):
        try:
            result = fit(
                graph, split, settings, seeds, device=device, hierarchy=hierarchy, listener=_Teller(send, number)
            )
        except AllSeedsFailedError as error:
            scores += [Score(name, number, seed, *(None,) * 5, str(error)) for seed in seeds]
            continue
        hierarchy = result.hierarchy
        train_seconds += result.seconds["train"]
        epochs += len(result.history)
        assert result.test is not None  # noqa: S101  (compare has refused a split without test nodes)
        for outcome, accuracy, f1 in zip(
            result.outcomes, result.test.accuracy.per_seed, result.test.macro_f1.per_seed, strict=True
        ):
            scores.append(
                Score(
                    name,
                    number,
                    outcome.seed,
                    accuracy,
                    outcome.validation_accuracy,
                    f1,
                    outcome.best_epoch,
                    outcome.seconds,
                    outcome.failure,
                )
            )
    return tuple(scores), train_seconds / epochs if epochs else None
