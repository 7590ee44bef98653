"""The benchmark of labels: strategies, labels saved, and tables from made-up results."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up import measured_record as record

from hiergcn.errors import InputError
from hiergcn_experiments.experiment import Scope
from hiergcn_experiments.page import Table
from hiergcn_experiments.store import Record
from hiergcn_experiments.studies import labels, named_experiments, write_pages
from hiergcn_experiments.studies.labels import (
    AUTO,
    COVERAGE,
    DOUBTFUL,
    LINEAR,
    SCALE,
    STRATEGIES,
    HiddenLabels,
    hidden_labels,
    labels_experiments,
)
from hiergcn_experiments.studies.labels_page import Curves, labels_sections


def accuracies(random: float, suggest: float) -> dict[str, Any]:
    """Every strategy at 5 and 10 labels per class; random nodes gain 0.1 with twice as many."""
    given = {"random": {"5": random, "10": random + 0.1}, "suggest": {"5": suggest, "10": suggest + 0.1}}
    return {"accuracy": given | {"rounds": {"5": suggest, "10": suggest + 0.15}}}


@pytest.fixture(scope="module")
def results() -> list[Record]:
    sets = [
        {"nodes": nodes, "asked": asked, "covered": asked + 0.01, "size": 1.5}
        for nodes in labels.CALIBRATING
        for asked in labels.ASKED
    ]
    doubts = {
        "flipped": 14,
        "labels": 140,
        "precision": {"judged": 0.6, "confidence in the label": 0.4, "confidence": 0.1},
        "accuracy": {"as given": 0.7, "without the doubtful": 0.72, "true labels": 0.8},
    }
    return [
        *(record(LINEAR, {"task": "cora", "draw": draw}, accuracies(0.5, 0.55 + 0.01 * draw)) for draw in range(3)),
        record(LINEAR, {"task": "pegase", "draw": 0}, accuracies(0.5, 0.45)),
        record(
            AUTO, {"task": "cora", "draw": 0, "time_limit": 5.0}, accuracies(0.6, 0.7) | {"failures": ["rounds: x"]}
        ),
        record(COVERAGE, {"task": "cora", "split": 0, "model": "linear"}, {"sets": sets, "accuracy": 0.7}),
        record(DOUBTFUL, {"task": "cora", "draw": 0, "more": 0}, doubts),
        record(SCALE, {"nodes": 10_000_000}, {"edges": 5, "coarsen": 9.0, "suggest": 130.0}),
    ]


def test_labels_saved_are_read_off_the_curve_of_random_labels() -> None:
    curves = Curves("cora", {0: accuracies(0.5, 0.55)})
    assert curves.saved("suggest", 5) == pytest.approx(1 - 5 / np.sqrt(50))  # half way from 5 to 10, on a log scale
    assert curves.saved("suggest", 10) is None  # more than random labels reach
    assert Curves("cora", {0: accuracies(0.5, 0.5)}).saved("suggest", 5) == pytest.approx(0.0)


def test_verdicts_say_what_does_not_hold(results: list[Record]) -> None:
    block = labels_sections(results)[0].blocks[0]
    assert isinstance(block, Table)
    verdicts = {row[0].main: (row[1].main, row[2].main) for row in block.rows}
    assert verdicts["a linear model: suggest better than random in at least 25 of 28 cells"] == ("2 of 4", "undecided")
    assert verdicts["suggest on 10,000,000 nodes after coarsening: under 120 s"] == ("130 s", "does not hold")
    held = [name for name, (_, verdict) in verdicts.items() if verdict == "holds"]
    assert held[-1].startswith("precision of doubtful labels, 20 per class")
    (sets,) = [verdict for name, (_, verdict) in verdicts.items() if "coverage within 2 points of 90%" in name]
    assert sets == "undecided"  # one split of one task


def test_a_page_is_written(results: list[Record], tmp_path: Path) -> None:
    (page,) = write_pages(results, tmp_path / "pages")
    text = (page.parent / "README.md").read_text(encoding="utf-8")
    assert "Cora, 5 per class" in text
    assert "1 fits of the automatic choice failed" in text
    assert (page.parent / "figures" / "curves-linear.svg").is_file()


def test_experiments_by_name() -> None:
    parts = named_experiments(["labels"], Scope(quick=True, tasks=["cora"]))
    assert [one.name for one in parts] == [LINEAR, AUTO, COVERAGE, f"{COVERAGE}-auto", DOUBTFUL, SCALE]
    assert [len(one.jobs()) for one in parts] == [1, 1, 1, 1, 2, 1]
    with pytest.raises(InputError, match="choose some of cora"):
        labels_experiments(Scope(tasks=["coral"]))


@pytest.fixture(scope="module")
def hidden() -> HiddenLabels:
    return hidden_labels("cora")


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategies_choose_as_many_nodes_as_asked(hidden: HiddenLabels, name: str) -> None:
    nodes = STRATEGIES[name](hidden, 21, 3)
    assert len(set(nodes.tolist())) == 21


def test_a_linear_model_learns_from_chosen_labels_alone(hidden: HiddenLabels) -> None:
    nodes = hidden.suggested(35, 0)
    assert hidden.labelled(nodes).labelled.tolist() == sorted(nodes.tolist())
    assert 0.6 < hidden.accuracy(hidden.linear(nodes), nodes) < 0.9
    found = labels.labels_coverage("cora", 0, "linear")
    assert all(abs(one["covered"] - one["asked"]) < 0.1 for one in found["sets"])
