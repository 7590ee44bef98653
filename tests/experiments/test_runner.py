"""Jobs done by real worker processes, some of which are killed."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from test_cli_interrupt import children, gone

from hiergcn.workers.pool import Engine
from hiergcn_experiments.experiment import Experiment, Job, Measurement, Variant
from hiergcn_experiments.paper.experiments import QUICK, paper_experiments
from hiergcn_experiments.runner import JobDone, RunSummary, Started, UnitFailed, digest_of, jobs_of, run_jobs, units_of
from hiergcn_experiments.store import Record, Store

SCRIPT = """
import sys
from pathlib import Path
sys.path[:0] = {tests!r}
from test_runner import mlp_jobs
from hiergcn_experiments.runner import JobDone, run_jobs
from hiergcn_experiments.store import Store

def say(event):
    if isinstance(event, JobDone):
        print(event.record.id, flush=True)

if __name__ == "__main__":
    store, seeds, epochs, workers = Path(sys.argv[1]), *map(int, sys.argv[2:])
    summary = run_jobs(mlp_jobs(seeds, epochs), Store(store), workers=workers, on_event=say)
    print("done", summary.done, summary.done_before, flush=True)
"""


HERE = Engine(0)
"""Does jobs without another process, which takes seconds to start."""


def mlp_jobs(seeds: int, epochs: int) -> list[Job]:
    """Return trainings of the fastest method, on the dataset that the package contains."""
    arm = Variant("mlp", "mlp", changes={"hidden": 4})
    return jobs_of([Experiment("small", "", "", (arm,), ("cora",), seeds=seeds, most_epochs=epochs)])


def ids_of(jobs: list[Job]) -> set[str]:
    return {Record(job.key(), digest_of(job.dataset), {}).id for job in jobs}


def done(store: Store) -> set[str]:
    return {record.id for record in store.records()}


def test_only_what_is_missing_is_done_and_again_gives_the_same(tmp_path: Path) -> None:
    store, bad, jobs = Store(tmp_path), Measurement("nothing_of_that_name"), mlp_jobs(3, 2)
    store.make()
    store.write(Record(jobs[0].key(), "other data", {"test_accuracy": 0.0}))  # does not count
    first = run_jobs([bad, *jobs[:2]], store, engine=HERE)
    assert (first.done, first.done_before) == (2, 0)
    assert "KeyError" in first.failures["nothing_of_that_name"]
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/*.json")}
    assert len(times) == 3
    second = run_jobs(jobs, store, engine=HERE)
    assert (second.done, second.done_before) == (1, 2)
    assert {path: path.stat().st_mtime_ns for path in times} == times

    results = {record.id: record.result for record in store.records() if record.data != "other data"}
    assert len({result["test_accuracy"] for result in results.values()}) > 1
    assert all(result["failure"] is None and 0 < result["test_accuracy"] < 1 for result in results.values())
    for record in store.records():
        store.write(replace(record, result=record.result | {"test_accuracy": 0.0}))
    assert run_jobs(jobs, store, again=True, workers=2).done == 3
    assert {record.id: record.result for record in store.records() if record.data != "other data"} == results


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks into /proc for what is still alive")
def test_kill_loses_the_jobs_in_flight_and_nothing_else(tmp_path: Path) -> None:
    """Killed with SIGKILL in the middle, as by a machine that runs out of memory."""
    store, seeds, epochs = Store(tmp_path / "store"), 12, 40
    jobs = mlp_jobs(seeds, epochs)
    folders, script = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "cli")], tmp_path / "script.py"
    script.write_text(SCRIPT.format(tests=folders), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(script), str(store.folder), str(seeds), str(epochs), "2"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    told = {process.stdout.readline().strip() for _ in range(3)}
    workers = children(process.pid)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while not gone(workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert gone(workers), "workers went on after their runner was killed"
    kept = {record.id for record in store.records()}  # reads every file: none is half written
    assert told <= kept
    assert 0 < len(kept) < len(jobs)
    summary = run_jobs(jobs, store, engine=HERE)
    assert summary.done == len(jobs) - len(kept)
    assert done(store) == ids_of(jobs)
    assert not list((tmp_path / "store").rglob("*.part"))


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    def interrupt(event: Started | JobDone | UnitFailed) -> None:
        if isinstance(event, JobDone):
            raise KeyboardInterrupt

    summary = run_jobs(mlp_jobs(6, 2), Store(tmp_path), workers=1, on_event=interrupt)
    assert summary.interrupted
    assert summary.done == 1
    assert 1 <= len(Store(tmp_path).records()) < 6


def test_nothing_is_begun_when_the_time_is_up(tmp_path: Path) -> None:
    summary = run_jobs(mlp_jobs(2, 2), Store(tmp_path), workers=1, budget_seconds=0.0)
    assert summary == RunSummary(2, out_of_time=True, seconds=summary.seconds)


def test_units_go_round_the_settings_and_never_mix_them() -> None:
    import torch

    jobs = [*mlp_jobs(5, 2), *mlp_jobs(3, 3)]
    units = units_of(jobs, torch.device("cpu"))
    assert [len(unit.jobs) for unit in units] == [2, 2, 2, 1, 1]
    places = [jobs.index(job) for unit in units for job in unit.jobs]
    assert places == [0, 1, 5, 6, 2, 3, 7, 4]
    assert json.loads(json.dumps(jobs[0].key())) == jobs[0].key()
    (alone,) = units_of([Measurement("cost", {"nodes": 1}, alone=True)], torch.device("cpu"))
    assert alone.alone


def test_experiments_share_runs() -> None:
    """The full H-GCN of the ablation, and the paper's number of levels, are Table 2's runs."""
    every = paper_experiments(QUICK)
    both = jobs_of([every["table2"], every["table4"]], ["hgcn"])
    assert len(both) == 3 * 3  # H-GCN, and two ablations, of 3 seeds each
    assert len(jobs_of([every["table2"], every["figure-levels"]], ["hgcn"])) == 4 * 3
