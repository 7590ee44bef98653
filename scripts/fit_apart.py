"""Fit several methods with every seed in a process of its own: the run folders of `hiergcn fit`, sooner on many cores.

    python scripts/fit_apart.py jobs.txt --workers 16 --seeds 20 --limit 600 --out runs

A line of jobs.txt is what follows `hiergcn fit`: `cora --model deepwalk --set C=1 --device cpu`. A seed decides all that
a model draws, so it does not matter beside which others it runs. Jobs begin in the order given; those whose seeds are
not all done at the limit are written with the seeds that are.
"""

import argparse
import multiprocessing
import shlex
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures import TimeoutError as OutOfTimeError
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from hiergcn.datasets import load_dataset
from hiergcn.evaluate.metrics import evaluate_part, evaluate_test
from hiergcn.run.fit import AllSeedsFailedError, fit
from hiergcn.run.folder import write_run
from hiergcn.run.recipes import published
from hiergcn.run.result import RunResult, SeedSummary
from hiergcn.run.settings import Settings, settings_for


@dataclass(frozen=True)
class Job:
    """A line of the list."""

    dataset: str
    model: str
    preset: str | None
    changes: tuple[str, ...]
    device: str

    @classmethod
    def parse(cls, line: str) -> "Job":
        words = argparse.ArgumentParser(prog="a line of the jobs")
        words.add_argument("dataset")
        words.add_argument("--model", default="hgcn")
        words.add_argument("--preset")
        words.add_argument("--set", dest="changes", action="append", default=[])
        words.add_argument("--device", default="cpu")
        given = words.parse_args(shlex.split(line))
        return cls(given.dataset, given.model, given.preset, tuple(given.changes), given.device)

    @property
    def settings(self) -> Settings:
        changes = dict(change.split("=", 1) for change in self.changes)
        return settings_for(self.model, self.preset, self.dataset).override(changes)

    def command(self, seeds: int) -> str:
        preset = ["--preset", self.preset] if self.preset else []
        changes = [word for change in self.changes for word in ("--set", change)]
        words = ["hiergcn", "fit", self.dataset, "--model", self.model, *preset, *changes]
        return shlex.join([*words, "--seeds", str(seeds), "--device", self.device])

    @property
    def name(self) -> str:
        return "-".join([self.dataset, self.model, self.preset or "default", *self.changes])


def one_seed(job: Job, seed: int) -> RunResult | SeedSummary:
    """The work of a process: a run of one seed, or the summary of one that failed."""
    data = load_dataset(job.dataset)
    claim = published(job.model, job.dataset)
    began = time.perf_counter()
    try:
        return fit(data.graph, data.split, job.settings, [seed], device=job.device, claim=claim)
    except AllSeedsFailedError as error:
        return SeedSummary(seed, None, None, None, time.perf_counter() - began, str(error))


def merged(found: Sequence[RunResult | SeedSummary]) -> RunResult:
    """What `fit` gives over the seeds that each of these has one of."""
    results = [one for one in found if isinstance(one, RunResult)]
    outcomes = tuple(one.outcomes[0] if isinstance(one, RunResult) else one for one in found)
    seeds = [outcome.seed for outcome in outcomes]
    best = max(results, key=lambda result: (_least(result), -(result.outcomes[0].validation_loss or 0.0)))
    predicted = {result.seeds[0]: result.predicted for result in results}
    history = pd.concat([result.history for result in results], ignore_index=True)
    train = sum(result.seconds["train"] for result in results)
    return replace(
        best,
        outcomes=outcomes,
        validation=evaluate_part(best.graph, best.split.validation, predicted, seeds),
        test=evaluate_test(best.graph, best.split, predicted, seeds),
        history=history,
        seconds=best.seconds | {"train": train, "epoch": train / len(history)},
    )


def _least(result: RunResult) -> float:
    return result.outcomes[0].validation_accuracy or 0.0


def write_job(job: Job, asked: int, found: Sequence[RunResult | SeedSummary], out: Path) -> None:
    result = merged(found)
    source = {
        "data": job.dataset,
        "split": "the dataset's own",
        "command": job.command(asked),
        "processes": "one for each seed",
    }
    write_run(result, out / job.name, source)
    print(
        f"{job.name}: {len(found)} of {asked} seeds, {len(result.failed_seeds)} failed, {result.seconds['train']:.0f} s in all",
        flush=True,
    )


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("jobs", type=Path)
    words.add_argument("--workers", type=int, default=4)
    words.add_argument("--seeds", type=int, default=20)
    words.add_argument("--limit", type=float, default=3600.0, help="seconds")
    words.add_argument("--out", type=Path, default=Path("runs"))
    given = words.parse_args()
    end = time.monotonic() + given.limit
    jobs = [Job.parse(line) for line in given.jobs.read_text().splitlines() if line.strip() and line[0] != "#"]
    pool = ProcessPoolExecutor(given.workers, mp_context=multiprocessing.get_context("spawn"))
    running = {job: [pool.submit(one_seed, job, seed) for seed in range(given.seeds)] for job in jobs}
    for job, futures in running.items():
        found = [one for future in futures if (one := _in_time(job, future, end)) is not None]
        if any(isinstance(one, RunResult) for one in found):
            write_job(job, given.seeds, found, given.out)
    for job in jobs:
        if not (given.out / job.name).exists():
            print(f"{job.name}: nothing in time", flush=True)
    processes = list((pool._processes or {}).values())  # noqa: SLF001  (there is no public way to end work at once)
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()


def _in_time(job: Job, future: "Future[RunResult | SeedSummary]", end: float) -> RunResult | SeedSummary | None:
    try:
        return future.result(timeout=max(0.0, end - time.monotonic()))
    except OutOfTimeError:
        return None
    except Exception as error:  # noqa: BLE001  (one seed's failure must not lose the others')
        print(f"{job.name}: {type(error).__name__}: {error}", flush=True)
        return None


if __name__ == "__main__":
    main()
