"""The benchmark of graphs of large diameter: a small run of each part, its page, and the verdicts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hiergcn.settings.settings import settings_for
from hiergcn_experiments.experiment import Scope, Training
from hiergcn_experiments.paper.claims import CLAIMS as OF_THE_PAPER
from hiergcn_experiments.runner import run_jobs
from hiergcn_experiments.store import Record, Store, read_records
from hiergcn_experiments.studies import large_diameter as study
from hiergcn_experiments.studies import named_experiments, write_pages
from hiergcn_experiments.studies.large_diameter_page import RangeResults, sign

TINY = "city-200"
RESULTS = Path(__file__).parents[2] / "docs" / "results"


def test_a_run_that_ends_early_has_every_graph_first() -> None:
    experiment = study.range_experiments(Scope())[0]
    jobs = [job for job in experiment.jobs() if isinstance(job, Training)]
    first = {(job.dataset, job.split.kind) for job in jobs[: len(jobs) // 3]}
    every = {(dataset, kind) for dataset in study.DATASETS for kind in ("tenths", "blocked", "apart")}
    assert first == every - {(study.CLUSTERED, "apart")}
    cells = {cell.key: len(cell.runs) for cell in experiment.cells()}
    assert cells["graphsage-16", "helsinki", "blocked"] == 20
    assert cells[study.GAPS[0].name, study.CITY, "random"] == 20


def test_range_means_its_parts_but_for_the_large_city() -> None:
    named = [one.name for one in named_experiments(["range"], Scope(quick=True))]
    assert named == [study.ACCURACY, "range-influence", "range-cost"]


def test_influence_of_a_flat_network_ends_with_its_layers() -> None:
    flat = np.array(study.range_influence(TINY, "gcn-2", 2)["influence"])
    deep = np.array(study.range_influence(TINY, "hgcn-4", 2)["influence"])
    assert (flat[:3] > 0).all()
    assert (flat[3:] == 0).all()
    assert deep[3:8].min() > 0


def test_cost_and_the_large_city() -> None:
    cost = study.range_cost(TINY, 1)
    assert cost["epoch"]["gcn-2"] < cost["epoch"]["graphsage-16"]
    large = study.range_large(300, 2)
    assert large["epochs"] == 2
    assert 0 <= large["test_accuracy"] <= 1


def test_a_run_and_its_page(tmp_path: Path) -> None:
    (train, *others) = study.range_experiments(Scope(quick=True))
    few = ("harmonic", study.BASE.name, "gcn-2", study.GAPS[0].name, "elsewhere")
    some = tuple(one for one in train.variants if one.name in few)
    jobs = replace(train, variants=some).jobs() + list(others[0].measurements[:1])
    summary = run_jobs(jobs, Store(tmp_path / "store"), workers=1, device="cpu")
    assert (summary.done, summary.failures) == (len(jobs), {})
    (page,) = write_pages(read_records(tmp_path / "store"), tmp_path / "pages", quick=True)
    text = (page.parent / "README.md").read_text(encoding="utf-8")
    for part in ("## Overview", "## The paper's claims", "## Depth and levels", "## How far a network sees"):
        assert part in text
    assert "| harmonic function |" in text


def _made_up(accuracy: dict[str, float]) -> RangeResults:
    """Return results in which every run of an arm has the same accuracy, on test and on validation."""
    records = []
    for cell in study.range_experiments(Scope())[0].cells():
        for job in cell.trainings() if cell.variant in accuracy else ():
            value = accuracy[cell.variant] + 0.001 * job.split.number
            result = {"test_accuracy": value, "validation_accuracy": value, "failure": None, "depth": None}
            records.append(Record(job.key(), None, result, {"seconds": 1.0, "finished": "2026"}))
    return RangeResults(records)


def test_choices_are_by_validation_and_leads_by_splits() -> None:
    results = _made_up({study.GAPS[0].name: 0.5, study.GAPS[1].name: 0.6, "graphsage-16": 0.55, "gcn-8": 0.4})
    assert results.long_range == study.GAPS[1].name
    assert results.best(study.FLAT_VARIANTS, "helsinki", "random") == "graphsage-16"
    lead = results.lead(study.GAPS[1].name, "graphsage-16", "helsinki", "random")
    assert lead is not None
    assert sign(lead) == 1
    assert lead.mean == pytest.approx(0.05)


def test_verdicts_on_citation_networks_are_those_of_the_paper_page() -> None:
    text = (RESULTS / "paper" / "README.md").read_text(encoding="utf-8")
    quotes = {one.name: one.quote for one in OF_THE_PAPER}
    for claim in study.TEXTS["claim"]:
        row = next(line for line in text.splitlines() if quotes[claim["name"]] in line)
        assert f"| {claim['citation']} |" in row


@pytest.mark.parametrize("preset", study.PRESETS)
def test_presets_are_the_arms_that_were_run(preset: str) -> None:
    (cell,) = (
        one
        for one in study.range_experiments(Scope())[0].cells()
        if one.key == (study.PRESETS[preset].name, "helsinki", "blocked") and len(one.runs) == 20
    )
    recipe = settings_for("hgcn", preset)
    assert (cell.settings.model, cell.settings.train) == (recipe.model, recipe.train)
