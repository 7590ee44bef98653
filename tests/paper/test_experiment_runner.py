"""Jobs done by real processes, which are really killed."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hiergcn.paper.experiment import Arm, Experiment
from hiergcn.paper.identity import Job, MeasureJob
from hiergcn.paper.runner import Hands, RunListener, RunSummary, run_jobs
from hiergcn.paper.store import Record, Store
from hiergcn.paper.units import Unit, jobs_of, units_of

SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_experiment_runner import mlp_jobs
from hiergcn.paper.runner import Hands, RunListener, run_jobs
from hiergcn.paper.store import Store

class Say(RunListener):
    def job_done(self, unit, record):
        print(record.id, flush=True)

if __name__ == "__main__":
    store, seeds, epochs, workers = Path(sys.argv[1]), *map(int, sys.argv[2:])
    summary = run_jobs(mlp_jobs(seeds, epochs), Store(store), Hands(workers), listener=Say())
    print("done", summary.done, summary.done_before, flush=True)
"""


def mlp_jobs(seeds: int, epochs: int) -> list[Job]:
    """The quickest method there is, on the dataset of the package; of one version, whoever edits meanwhile."""
    arm = Arm("mlp", "mlp", changes={"hidden": 4})
    jobs = jobs_of([Experiment("small", "", "", (arm,), ("cora",), seeds=seeds, most_epochs=epochs)])
    return [replace(job, code="tested") for job in jobs]


def runner(tmp_path: Path, seeds: int, epochs: int, workers: int = 1) -> "subprocess.Popen[str]":
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parent)), encoding="utf-8")
    words = [str(tmp_path / "store"), str(seeds), str(epochs), str(workers)]
    return subprocess.Popen(
        [sys.executable, str(script), *words],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False


def test_only_what_is_missing_is_done(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = run_jobs(mlp_jobs(2, 2), store, Hands(1))
    assert (first.done, first.done_before) == (2, 0)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("jobs/*/*.json")}
    again = run_jobs(mlp_jobs(3, 2), store, Hands(2))
    assert (again.done, again.done_before) == (1, 2)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert not list(tmp_path.glob("claims/*"))
    results = [record.result for record in store.records()]
    assert len({result["test_accuracy"] for result in results}) > 1
    assert all(result["failure"] is None and 0 < result["test_accuracy"] < 1 for result in results)


def test_the_same_seed_gives_the_same_result(tmp_path: Path) -> None:
    for name in ("one", "other"):
        run_jobs(mlp_jobs(2, 3), Store(tmp_path / name), Hands(1 if name == "one" else 2))
    one, other = ({r.id: r.result for r in Store(tmp_path / name).records()} for name in ("one", "other"))
    assert one == other


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks into /proc for what is still alive")
def test_kill_loses_the_jobs_in_flight_and_nothing_else(tmp_path: Path) -> None:
    """Killed with SIGKILL in the middle, as by a machine that runs out of memory."""
    store, seeds, epochs = Store(tmp_path / "store"), 12, 40
    jobs = mlp_jobs(seeds, epochs)
    process = runner(tmp_path, seeds, epochs, workers=2)
    assert process.stdout is not None
    told = {process.stdout.readline().strip() for _ in range(3)}
    workers = children(process.pid)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers)), "workers went on after their runner was killed"
    kept = {record.id for record in store.records()}  # reads every file: none is half written
    assert told <= kept
    assert 0 < len(kept) < len(jobs)
    summary = run_jobs(jobs, store, Hands(2))
    assert summary.done == len(jobs) - len(kept)
    assert store.done() == {job.id for job in jobs}
    assert not list((tmp_path / "store").rglob("*.part"))


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    process = runner(tmp_path, 8, 40)
    assert process.stdout is not None
    process.stdout.readline()
    (worker,) = [pid for pid in children(process.pid) if "resource_tracker" not in _command(pid)]
    os.kill(worker, signal.SIGKILL)
    out, _ = process.communicate(timeout=100)
    done = int(out.split("done")[1].split()[0])
    assert 5 <= done < 8  # the unit in flight, two runs, is lost and is not begun again
    summary = run_jobs(mlp_jobs(8, 40), Store(tmp_path / "store"), Hands(1))
    assert summary.done == 8 - done


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")


def test_two_runners_share_a_store_and_do_no_job_twice(tmp_path: Path) -> None:
    seeds, epochs = 12, 60
    both = [runner(tmp_path, seeds, epochs) for _ in range(2)]
    outs = [process.communicate(timeout=200)[0] for process in both]
    done = [[line for line in out.splitlines() if len(line) == 32] for out in outs]
    assert sorted(done[0] + done[1]) == sorted(job.id for job in mlp_jobs(seeds, epochs))
    assert done[0]
    assert done[1]
    assert Store(tmp_path / "store").done() == {job.id for job in mlp_jobs(seeds, epochs)}


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    class Interrupting(RunListener):
        def job_done(self, unit: Unit, record: Record) -> None:
            raise KeyboardInterrupt

    summary = run_jobs(mlp_jobs(6, 2), Store(tmp_path), Hands(1), listener=Interrupting())
    assert summary.interrupted
    assert summary.done == 1
    assert 1 <= len(Store(tmp_path).done()) < 6
    assert not list(tmp_path.glob("claims/*.json"))


def test_nothing_is_begun_when_the_time_is_up(tmp_path: Path) -> None:
    summary = run_jobs(mlp_jobs(2, 2), Store(tmp_path), Hands(1), budget_seconds=0.0)
    assert summary == RunSummary(2, out_of_time=True, seconds=summary.seconds)


def test_work_that_fails_is_told_and_left_undone(tmp_path: Path) -> None:
    bad = MeasureJob("nothing_of_that_name", {}, None, "code")
    summary = run_jobs([bad, *mlp_jobs(1, 2)], Store(tmp_path), Hands(1))
    assert "ModuleNotFoundError" in summary.failures["nothing_of_that_name"]
    assert summary.done == 1
    assert not Store(tmp_path).has(bad.id)


def test_units_go_round_the_settings_and_never_mix_them() -> None:
    import torch

    jobs = [*mlp_jobs(5, 2), *mlp_jobs(3, 3)]
    units = units_of(jobs, torch.device("cpu"))
    assert [len(unit.jobs) for unit in units] == [2, 2, 2, 1, 1]
    places = [jobs.index(job) for unit in units for job in unit.jobs]
    assert places == [0, 1, 5, 6, 2, 3, 7, 4]
    assert json.loads(json.dumps(jobs[0].key())) == jobs[0].key()
    alone = units_of([replace(MeasureJob("cost", {"nodes": 1}, None, "c"), alone=True)], torch.device("cpu"))
    assert alone[0].alone
