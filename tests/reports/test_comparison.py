"""Verdict and chart of a comparison."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hiergcn.comparison.compare import Comparison, MethodRun, Score
from hiergcn.comparison.comparison_page import verdict, write_comparison_page
from hiergcn.comparison.splits import PUBLIC
from hiergcn.evaluate.paired import compare_all
from hiergcn.settings.settings import settings_for
from hiergcn.workers.machine import Peak, environment


def method(name: str, *accuracies: float | None) -> MethodRun:
    scores = tuple(
        Score(name, 0, k, {} if value is None else {"accuracy": value}, value) for k, value in enumerate(accuracies)
    )
    return MethodRun(name, settings_for("hgcn"), scores, Peak(None, None), None)


def comparison(*runs: MethodRun) -> Comparison:
    done = {run.model: run.by_pair for run in runs}
    differences = compare_all(done, runs[0].model)
    seeds = tuple(range(len(runs[0].scores)))
    return Comparison("toy", (PUBLIC,), seeds, runs[0].model, runs, differences, about="the graph's own split")


SAME = [0.819, 0.82, 0.81, 0.83, 0.82, 0.81]
LOW, MIDDLE, HIGH = ([start + 0.001 * k * start for k in range(6)] for start in (0.5, 0.7, 0.8))


@pytest.mark.parametrize(
    ("methods", "title", "words"),
    [
        (
            {"a": [0.70 + 0.001 * k for k in range(8)], "b": [0.80 + 0.002 * k for k in range(8)]},
            "b: 80.7 ± 0.5 %",
            "significantly better than every other",
        ),
        ({"gcn": SAME, "hgcn": SAME[::-1]}, "No clear winner", "not significantly better than"),
        # six pairs are enough for one comparison, but Holm's correction for two leaves p at 0.06 whatever they are
        ({"a": MIDDLE, "b": HIGH}, "b: 80.2 ± 0.1 %", "significantly better"),
        ({"a": LOW, "b": MIDDLE, "c": HIGH}, "Too few runs to tell", "6 runs per method; take at least 7 seeds."),
        ({"a": [None, None]}, "Every run failed", ""),
        ({"a": [0.5, 0.6], "b": [None, None]}, "a: 55.0 ± 7.1 %", ""),
    ],
)
def test_a_method_wins_if_it_is_significantly_better_than_every_other(
    methods: dict[str, list[float | None]], title: str, words: str
) -> None:
    verdict_, sentence = verdict(comparison(*(method(name, *scores) for name, scores in methods.items())))
    assert verdict_ == title
    assert words in sentence


def test_equal_differences_have_no_interval(tmp_path: Path) -> None:
    """Student's interval of differences that do not vary would have no length."""
    found = comparison(method("gcn", 0.5, 0.6, 0.7), method("hgcn", 0.75, 0.85, 0.95))
    page = write_comparison_page(replace(found, environment=environment()), tmp_path / "found.html").read_text("utf-8")
    assert re.search(r"<td>\+25\.0</td>\s*<td>–</td>", page)
    assert "Holm" not in page  # there is one comparison


def test_the_page_sorts_methods_and_counts_failures(tmp_path: Path) -> None:
    found = comparison(method("low", 0.7, None), method("high", 0.8, 0.82), method("none", None, None))
    page = write_comparison_page(replace(found, environment=environment()), tmp_path / "found.html").read_text("utf-8")
    assert page.index(">High<") < page.index(">Low<") < page.index(">None<")
    assert "81.0 ± 1.4" in page
    assert "1 of 2 failed" in page
