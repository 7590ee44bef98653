"""The methods side by side, and what is said about them."""

from typing import Any

import pytest

from hiergcn.evaluate.metrics import accuracy_interval
from hiergcn.reports.headline import headline, title_of
from hiergcn.reports.leaderboard import board_of


def accuracy(mean: float) -> dict[str, Any]:
    return {"mean": mean, "std": None, "per_seed": [mean]}


def candidate(name: str, test: float, validation: float, weight: float = 0.0) -> dict[str, Any]:
    scores = {"test": {"accuracy": accuracy(test)}, "validation": {"accuracy": accuracy(validation)}}
    method = name.removesuffix("+harmonic")
    return {"name": name, "model": method, "seeds": 1, "seconds": 1.0, "left_out": None, "weight": weight} | scores


HARMONIC = ("gcn+harmonic", 0.9, 0.9, 1.0)


def metrics(answer: float, nodes: int, *candidates: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "model": "auto",
        "preset": "adapted",
        "dataset": "suppliers-edges",
        "seeds": [0],
        "failed_seeds": {},
        "test_accuracy": accuracy(answer),
        "val_accuracy": accuracy(answer),
        **{f"{part}{name}": accuracy(0.0) for part in ("", "val_") for name in ("macro_f1", "balanced_accuracy")},
        "delivered_accuracy": answer,
        "delivered_val_accuracy": answer,
        "per_class": {"on": "test", "classes": [{"name": "a", "support": nodes}]},
        "split": {"train": 10, "val": nodes, "test": nodes},
        "seconds": {"train": 1.0},
        "leaderboard": list(candidates),
        "baselines": None,
        "claim": None,
        "verdict": "GCN is best here.",
        "interrupted": False,
        "notes": [],
        "reading": [],
    } | changes


@pytest.mark.parametrize(
    ("nodes", "candidates", "words"),
    [
        # a clear lead in points; the simple method is chosen by validation, not by test; no lead on few nodes;
        # a part of the answer, alone; an answer that is a simple method has nothing to be compared with
        (1000, [HARMONIC, ("mlp", 0.6, 0.61)], "30.0 points above MLP (60.0 %), the best simple method on validation."),
        (1000, [("gcn", 0.5, 0.8), ("mlp", 0.7, 0.6)], "GCN (50.0 %)"),
        (50, [HARMONIC, ("harmonic", 0.86, 0.86)], "No clear difference from harmonic function (86.0 %)"),
        (
            50,
            [("gcn+harmonic", 0.9, 0.9, 0.6), ("gcn", 0.88, 0.88, 0.4)],
            "No clear difference from GCN alone (88.0 %): on 50 test nodes, a gap below 12 points may be chance.",
        ),
        (500, [("harmonic", 0.9, 0.9, 1.0)], "None"),
    ],
)
def test_the_answer_is_compared_with_the_best_simple_method(
    nodes: int, candidates: list[tuple[Any, ...]], words: str
) -> None:
    assert words in str(board_of(metrics(0.9, nodes, *(candidate(*one) for one in candidates))).comparison())


def test_a_run_that_loses_says_what_to_use() -> None:
    found = metrics(0.3, 500, model="hgcn", leaderboard=None, baselines=[candidate("label-propagation", 0.47, 0.5)])
    board = board_of(found)
    assert [row.name for row in board.rows] == ["label-propagation", "hgcn"]  # the best first
    assert "17.0 points below label propagation (47.0 %)" in str(board.comparison())
    assert "leave out --model" in str(board.comparison())
    head, cells, _ = board.plots()
    assert len(cells) == 2
    assert ">-" not in head  # the axis is as wide as the scores need
    assert ">−" not in head


def test_few_nodes_make_no_headline() -> None:
    found = metrics(1.0, 2, candidate("mlp", 1.0, 1.0))
    top = headline(found, board_of(found))
    assert top.figure == "Too few labels to judge"
    assert "2 of 2 test nodes correct" in top.meaning
    assert not top.judged
    assert top.title == "suppliers"


def test_candidates_without_a_result_are_listed_with_the_reason() -> None:
    stopped = candidate("gcn", 0.5, 0.5) | {"left_out": "no time was left"}
    board = board_of(metrics(0.9, 100, stopped))
    assert board.left_out == [("GCN", "no time was left")]
    assert len(board.rows) == 1


def test_the_interval_of_an_accuracy_is_wilsons() -> None:
    low, high = accuracy_interval(0.5, 10)
    assert (low, high) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert accuracy_interval(1.0, 2)[1] == 1.0
    assert accuracy_interval(1.0, 2)[0] == pytest.approx(0.3424, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "title"), [("a-edges", "a"), ("web_links", "web"), ("cora", "Cora"), ("nell", "NELL"), ("edges", "edges")]
)
def test_titles(name: str, title: str) -> None:
    assert title_of(name) == title


def test_labels_that_never_validated_are_not_counted() -> None:
    """Of 8 labels that took turns, the only one of its class trains each time."""
    classes = [{"name": "a", "support": 7}, {"name": "b", "support": 0}]
    changes = {"test_accuracy": None, "delivered_accuracy": None, "delivered_val_accuracy": 1.0, "turns": 4}
    found = metrics(1.0, 3, per_class={"on": "validation", "classes": classes}, **changes)
    found["split"] = {"train": 5, "val": 3, "test": 0}
    assert headline(found, board_of(found)).meaning == "7 of 7 validation nodes correct; that says little."
