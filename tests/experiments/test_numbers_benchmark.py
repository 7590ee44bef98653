"""The benchmark of numeric targets: a small run through the command, and its page."""

from pathlib import Path

import pytest

from hiergcn.errors import InputError
from hiergcn_experiments.experiment import Scope
from hiergcn_experiments.runner import run_jobs
from hiergcn_experiments.store import Store, read_records
from hiergcn_experiments.studies import write_pages
from hiergcn_experiments.studies.numbers import FIRST_SPLIT, TASKS, numbers_experiments


def test_every_task_has_random_and_blocked_splits() -> None:
    (experiment,) = numbers_experiments(Scope())
    jobs = experiment.jobs()
    assert len(jobs) == 20 * 2 * len(TASKS)
    assert min(job.arguments["split"] for job in jobs) == FIRST_SPLIT  # type: ignore[union-attr]
    with pytest.raises(InputError, match="--tasks prices: choose some of planted, us-counties"):
        numbers_experiments(Scope(tasks=["prices"]))


def test_a_run_and_its_page(tmp_path: Path) -> None:
    (experiment,) = numbers_experiments(Scope(quick=True, tasks=["planted"], seconds=0.5))
    summary = run_jobs(experiment.jobs(), Store(tmp_path / "store"), workers=1, device="cpu")
    assert (summary.done, summary.failures) == (2, {})
    (page,) = write_pages(read_records(tmp_path / "store"), tmp_path / "pages")
    text = (page.parent / "README.md").read_text(encoding="utf-8")
    assert "| tasks and kinds of split on which the answer is better than every floor | " in text
    assert "Planted communities, 1,000 nodes, blocked" in text
