"""Values in a notebook: graph, hierarchy, result and leaderboard as HTML, and the page of a run in a cell."""

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from hiergcn import Graph, NodeClassifier
from hiergcn.coarsening import coarsen
from hiergcn.datasets import planted_graph
from hiergcn.run.run import Run

HOSTILE = "<script>alert(1)</script>"


class Balanced(HTMLParser):
    """Checks that every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def graph() -> Graph:
    planted = planted_graph(120, classes=3, seed=2)
    labels = np.where(np.arange(120) % 3 == 0, planted.truth, -1)
    return Graph(planted.adjacency, planted.features, labels, None, (HOSTILE, "beta", "gamma"), "my & graph")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def result(graph: Graph) -> Run:
    return NodeClassifier(time_limit=1).fit(graph).result_


def test_a_graph_shows_its_sizes_and_classes(graph: Graph) -> None:
    text = graph._repr_html_()
    assert "script" not in Balanced(text).tags
    assert html.escape(HOSTILE) in text
    assert "my &amp; graph" in text
    assert f"<b>{graph.n_edges:,}</b>" in text
    assert f">{int((graph.truth == 1).sum())}</td>" in text
    Balanced(Graph(graph.adjacency)._repr_html_())  # without labels, too


def test_a_hierarchy_shows_its_levels(graph: Graph) -> None:
    hierarchy = coarsen(graph, 2)
    text = hierarchy._repr_html_()
    Balanced(text)
    for n, m in zip(*hierarchy.sizes(), strict=True):
        assert f">{n:,}</td>" in text
        assert f">{m:,}</td>" in text


def test_a_result_shows_scores_verdict_and_leaderboard(result: Run) -> None:
    assert re.fullmatch(r"Run\('my & graph', 'auto', validation [\d.]+ %, seeds=1\)", repr(result))
    text = result._repr_html_()
    Balanced(text)
    assert result.verdict is not None
    assert html.escape(result.verdict) in text
    assert result.leaderboard is not None
    assert result.leaderboard._repr_html_() in text
    done = [one for one in result.leaderboard if one.validation is not None]
    assert text.count("<tr>") == len(done) + 1
    best = done[0].validation
    assert best is not None
    assert best.accuracy.mean is not None
    assert f"{100 * best.accuracy.mean:.1f} %" in text


def test_the_page_is_shown_in_a_cell(result: Run, tmp_path: Path) -> None:
    assert isinstance(result, Run)
    page = result.show(height=700)
    text = page._repr_html_()
    assert text.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert "height: 700px" in text
    assert HOSTILE not in text
    page.save(tmp_path / "page.html")
    saved = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert html.unescape(re.findall(r'srcdoc="([^"]*)"', text)[0]) == saved
    assert "Content-Security-Policy" in saved
    assert 'id="explorer"' in saved
    assert len(repr(page)) < 100
