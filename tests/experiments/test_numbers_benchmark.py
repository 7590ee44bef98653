"""The benchmark of numeric targets: a small run through the command, and its page."""

from pathlib import Path

import pytest

from hiergcn.errors import InputError
from hiergcn_experiments.experiments import QUICK
from hiergcn_experiments.numbers import FIRST_SPLIT, TASKS, numbers_experiment
from hiergcn_experiments.page import write_pages
from hiergcn_experiments.runner import run_jobs
from hiergcn_experiments.store import Store


def test_every_task_has_random_and_blocked_splits() -> None:
    jobs = numbers_experiment().jobs()
    assert len(jobs) == 20 * 2 * len(TASKS)
    assert min(job.arguments["split"] for job in jobs) == FIRST_SPLIT  # type: ignore[union-attr]
    with pytest.raises(InputError, match="--tasks prices: choose some of planted, us-counties"):
        numbers_experiment(tasks=["prices"])


def test_a_run_and_its_page(tmp_path: Path) -> None:
    experiment = numbers_experiment(time_limit=0.5, tasks=["planted"], splits=1)
    summary = run_jobs(experiment.jobs(), Store(tmp_path / "store"), workers=1, device="cpu")
    assert (summary.done, summary.failures) == (2, {})
    (page,) = write_pages(tmp_path / "store", tmp_path / "pages", QUICK)
    text = (page.parent / "README.md").read_text(encoding="utf-8")
    assert "| tasks and kinds of split on which the answer is better than every floor | " in text
    assert "Planted communities, 1,000 nodes, blocked" in text
    again = write_pages(page.parent / "runs.json.gz", tmp_path / "again", QUICK)
    assert (again[0].parent / "README.md").read_text(encoding="utf-8") == text
