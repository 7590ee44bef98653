"""The benchmark of labels: strategies and labels saved. Its page is made again in test_page.py."""

from typing import Any

import numpy as np
import pytest

from hiergcn.errors import InputError
from hiergcn_experiments.experiment import Scope
from hiergcn_experiments.studies import labels, named_experiments
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
from hiergcn_experiments.studies.labels_page import Curves


def accuracies(random: float, suggest: float) -> dict[str, Any]:
    """At 5 and 10 labels per class; random nodes gain 0.1 with twice as many."""
    given = {"random": {"5": random, "10": random + 0.1}, "suggest": {"5": suggest, "10": suggest + 0.1}}
    return {"accuracy": given}


def test_labels_saved_are_read_off_the_curve_of_random_labels() -> None:
    curves = Curves("cora", {0: accuracies(0.5, 0.55)})
    assert curves.saved("suggest", 5) == pytest.approx(1 - 5 / np.sqrt(50))  # half way from 5 to 10, on a log scale
    assert curves.saved("suggest", 10) is None  # more than random labels reach
    assert Curves("cora", {0: accuracies(0.5, 0.5)}).saved("suggest", 5) == pytest.approx(0.0)


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
