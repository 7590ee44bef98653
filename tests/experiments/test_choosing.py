"""The benchmark of the automatic choice: tasks, and how candidates count."""

from typing import Any

import numpy as np
import pytest
from made_up import measured_record

from hiergcn.errors import InputError
from hiergcn_experiments.experiment import Scope
from hiergcn_experiments.page import Table
from hiergcn_experiments.store import Record, latest
from hiergcn_experiments.studies.choosing import NAME, TASKS, TaskResult, choosing_experiments, choosing_sections


def figures(auto: float, candidates: dict[str, float | None]) -> dict[str, Any]:
    listed = [
        {"name": name, "test": test, "weight": float(place == 0), "left_out": None if test else "stopped at epoch 9"}
        for place, (name, test) in enumerate(candidates.items())
    ]
    answer = {"failure": None, "test_accuracy": auto, "seconds": 9.0, "ece_before": 0.2, "ece_after": 0.1}
    return answer | {"candidates": listed, "named": {}}


def record(task: str, split: int, result: dict[str, Any], finished: str = "2026-01-01") -> Record:
    return measured_record(NAME, {"task": task, "split": split, "time_limit": 120.0}, result, finished)


def test_a_candidate_without_a_result_counts_as_the_automatic_choice() -> None:
    one = TaskResult(
        "cora-5", {1: figures(0.80, {"gcn": 0.70, "grand": 0.90}), 2: figures(0.60, {"gcn": 0.64, "grand": None})}
    )
    assert one.counted("gcn") == pytest.approx(0.67)
    assert one.counted("grand") == pytest.approx(0.75)  # (0.90 + 0.60) / 2
    assert one.best_on_average == "grand"
    assert one.lead == pytest.approx(-0.05)
    assert one.best_of_each_split == pytest.approx(0.77)  # (0.90 + 0.64) / 2
    assert one.lead_over("gcn") == pytest.approx(0.03)
    assert one.lead_over("grand") == pytest.approx(-0.10)
    assert one.lead_over("mlp") is None


def test_the_latest_record_counts_and_failures_are_listed() -> None:
    records = latest(
        [
            record("photo", 1, figures(0.9, {"gcn": 0.8}), "2026-02-01"),
            record("photo", 1, {"failure": "Out of memory."}, "2026-01-01"),
            record("cs", 2, {"failure": "There is no dataset."}),
        ]
    )
    sections = choosing_sections(records)
    (table,) = (block for part in sections if part.name == "accuracy" for block in part.blocks)
    assert isinstance(table, Table)
    assert [row[0].main for row in table.rows] == ["Amazon Photo", "mean"]
    assert sections[-1].about == "Of 99 runs, 1 failed and 97 are missing."
    assert sections[-1].notes[0] == "choosing cs 2: There is no dataset."


def test_every_task_has_its_jobs_and_the_first_splits_come_first() -> None:
    jobs = choosing_experiments(Scope(seconds=60))[0].measurements
    assert len(jobs) == 15 * 5 + 2 * 3 * 4
    assert [job.arguments["split"] for job in jobs] == sorted(job.arguments["split"] for job in jobs)
    assert min(job.arguments["split"] for job in jobs) == 1  # split 0 served the design
    assert all(job.on_device for job in jobs)
    (few,) = choosing_experiments(Scope(quick=True, tasks=["cs"]))
    assert [job.arguments["task"] for job in few.measurements] == ["cs"]
    with pytest.raises(InputError, match="--tasks corra: choose some of cora-5"):
        choosing_experiments(Scope(tasks=["corra"]))


def test_generated_tasks_differ_by_split() -> None:
    (first, split), (other, _) = (TASKS["communities"].draw(number) for number in (1, 2))
    assert (split.train.size, split.validation.size, split.test.size) == (48, 12, 240)
    assert not np.array_equal(first.truth, other.truth)
    split.check(first)
    assert list(TASKS["cora-public"].seeds(2)) == [5, 6, 7, 8, 9]
