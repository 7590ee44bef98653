"""The benchmark of the automatic choice: tasks, and tables from made-up results."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up import measured_record

from hiergcn.errors import InputError
from hiergcn_experiments.experiment import Scope
from hiergcn_experiments.page import Section, Table
from hiergcn_experiments.store import Record, latest, write_packed
from hiergcn_experiments.studies import write_pages
from hiergcn_experiments.studies.choosing import (
    NAME,
    RECIPES_NAME,
    TASKS,
    TaskResult,
    choosing_experiments,
    choosing_sections,
)

Accuracies = dict[str, float | None]


def figures(auto: float, candidates: Accuracies, named: dict[str, float] | None = None) -> dict[str, Any]:
    def answer(accuracy: float) -> dict[str, Any]:
        errors = {"ece_before": 0.2, "ece_after": 0.1}
        return {"failure": None, "test_accuracy": accuracy, "validation_accuracy": accuracy, "seconds": 9.0, **errors}

    listed = [
        {"name": name, "test": test, "weight": float(place == 0), "left_out": None if test else "stopped at epoch 9"}
        for place, (name, test) in enumerate(candidates.items())
    ]
    by_name = {name: answer(accuracy) for name, accuracy in (named or {}).items()}
    return answer(auto) | {"candidates": listed, "named": by_name}


def record(task: str, split: int, result: dict[str, Any], finished: str = "2026-01-01", name: str = NAME) -> Record:
    return measured_record(name, {"task": task, "split": split, "time_limit": 120.0}, result, finished)


def table(sections: list[Section], name: str) -> dict[str, list[str]]:
    """Return the cells of a section's table by the first cell of each row."""
    block = next(part for part in sections if part.name == name).blocks[0]
    assert isinstance(block, Table)
    return {row[0].main: [cell.main for cell in row[1:]] for row in block.rows}


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
    assert list(table(sections, "accuracy")) == ["Amazon Photo", "mean"]
    assert sections[-1].about == "Of 99 runs, 1 failed and 97 are missing."
    assert sections[-1].notes[0] == "choosing cs 2: There is no dataset."


def test_public_splits_stand_apart(tmp_path: Path) -> None:
    recipe = figures(0.85, {"grand": 0.83, "gcn": 0.81}, {"grand": 0.85, "hgcn-plus": 0.84})
    records = [
        record("cora-public", 1, figures(0.84, {"gcn": 0.81})),
        record("cora-public", 1, recipe, name=RECIPES_NAME),
    ]
    rows = table(choosing_sections(records), "public")
    assert rows == {
        "Cora, public split": ["84.0", "20.0 → 10.0", "9", "85.0", "GRAND 100%", "85.0", "84.0", "20.0 → 10.0"]
    }
    write_packed(records, tmp_path / "runs.json.gz")
    pages = write_pages(records, tmp_path / "out")
    assert pages == [tmp_path / "out" / "choosing" / "index.html"]  # no page of the paper without its runs
    html = pages[0].read_text(encoding="utf-8")
    assert "Cora, public split" in html
    names = re.findall(r' id="([^"]+)"', html)
    assert len(names) == len(set(names))
    assert set(re.findall(r'href="#([^"]+)"', html)) <= set(names)
    again = tmp_path / "out" / "choosing" / "runs.json.gz"
    assert again.read_bytes() == (tmp_path / "runs.json.gz").read_bytes()


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
