"""The check of labels in a fit: a table for people, and dropping labels on request."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hiergcn import Graph, InputError, NodeClassifier, planted_graph
from hiergcn.advise.doubtful import Doubts, without_doubtful
from hiergcn.graph import Split
from hiergcn.run.fit import fit
from hiergcn.run.run import DOUBTFUL, Run

WRONG = [3, 30, 77, 101, 150]
QUICK = {"epochs": 15, "hidden": 8, "passes": 1, "levels": 2}


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Half of the nodes are labelled, five of them wrongly."""
    planted = planted_graph(400, classes=3, depth=1, degree=8, homophily=0.95, noise=1.0, seed=6)
    labels = planted.truth.copy()
    labels[WRONG] = (labels[WRONG] + 1) % 3
    labels[200:] = -1
    return planted.with_labels(labels, ["red", "green", "blue"])


@pytest.fixture(scope="module")
def result(graph: Graph) -> Run:
    return fit(graph, model="hgcn-plus", changes=QUICK, device="cpu", advise=True, drop_doubtful=3)


def used(split: Split) -> set[int]:
    return set(split.train.tolist()) | set(split.validation.tolist())


def test_wrong_labels_are_found_and_dropped_on_request(graph: Graph, result: Run) -> None:
    table = result.doubtful
    assert table is not None
    tested = set(result.split.test.tolist())
    known = [node for node in WRONG if node not in tested]
    assert len(known) >= 3
    assert set(table["id"][: len(known)]) == set(known)
    assert table["dropped"].tolist() == [True] * 3 + [False] * (len(table) - 3)
    assert not set(table["id"][:3]) & used(result.split)
    assert not set(table["id"]) & tested  # test labels are out of reach
    assert (table["probability"] < table["likely_probability"]).all()
    assert np.isfinite(table[["neighbour_votes", "hyper_node_votes"]].to_numpy()).all()


def test_what_surroundings_say(graph: Graph, result: Run) -> None:
    assert result.doubtful is not None
    first = result.doubtful.iloc[0]
    counted = {
        part.rsplit(" ", 1)[0]: int(part.rsplit(" ", 1)[1].strip("()")) for part in first["neighbours"].split(", ")
    }
    beside = graph.adjacency[[first["id"]]].indices
    assert sum(counted.values()) == len(beside)
    assert max(counted, key=lambda name: counted[name]) == first["likely"]
    assert first["hyper_node"]


def test_a_run_folder_has_both_tables(graph: Graph, result: Run, tmp_path: Path) -> None:
    result.from_source({"python": "NodeClassifier()"}).write(tmp_path / "run")
    run = Run.load(tmp_path / "run")
    assert run.doubtful is not None
    assert run.suggestions is not None
    assert result.doubtful is not None
    assert run.doubtful["likely"].tolist() == result.doubtful["likely"].tolist()
    assert list(run.suggestions) == ["id", "reason", "label"]
    assert (run.suggestions["id"].astype(int) >= 200).all()
    page = Run.load(tmp_path / "run").write_page().read_text(encoding="utf-8")
    assert "Doubtful labels" in page
    assert "Nodes to label next" in page
    assert run.scores["doubtful_labels"] == len(result.doubtful)


def test_many_doubtful_labels_speak_against_the_judges(result: Run) -> None:
    assert result.doubtful is not None
    few = result.doubtful[:1].assign(dropped=False)
    labels = len(result.split.train) + len(result.split.validation)
    for number in (1, labels // 4, labels // 2):
        many = replace(result, advice={**result.advice, DOUBTFUL: few.loc[few.index.repeat(number)]})
        assert (f"That is {number} of {labels}" in many.page()) == (number > labels // 4)


def test_nothing_is_judged_unless_asked(graph: Graph) -> None:
    plain = fit(graph, model="label-propagation", device="cpu")
    assert plain.doubtful is None
    assert plain.suggestions is None
    classifier = NodeClassifier("label-propagation", device="cpu").fit(graph)
    table = classifier.doubtful_labels()
    assert "neighbour_votes" not in table
    assert len(set(table["id"][:5]) & set(WRONG)) >= 4


def test_every_class_keeps_a_training_label(graph: Graph) -> None:
    nodes = np.flatnonzero(graph.truth[:200] == 1)[:2]
    others = np.flatnonzero(graph.truth[:200] != 1)[:20]
    split = Split(np.concatenate([nodes, others[:15]]), others[15:], np.array([]))
    doubts = Doubts(np.concatenate([nodes, others]), graph.truth[np.concatenate([nodes, others])], np.ones((22, 3)))
    kept = without_doubtful(graph, split, doubts, 3)
    assert set(nodes) & set(kept.train) == {nodes[1]}  # the first one is dropped, the last of its class is not
    assert len(used(kept)) == 22 - 3
    with pytest.raises(InputError, match="nothing is left to validate"):
        without_doubtful(graph, split, doubts, 21)
    with pytest.raises(InputError, match="10 or more"):
        without_doubtful(graph, split, None, 1)
