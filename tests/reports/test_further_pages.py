"""Pages of other kinds in a browser: many classes, a map, a tiny graph, no edges, numbers, a comparison, the paper."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from page_browser import SIZES, Opened, axe_violations
from test_comparison import comparison, method

from hiergcn.comparison.comparison_page import write_comparison_page
from hiergcn.datasets import planted_graph, planted_numbers
from hiergcn.graph import Graph, Split
from hiergcn.graph.coordinates import Coordinates
from hiergcn.reports import explorer
from hiergcn.run.fit import fit
from hiergcn.run.run import DOUBTFUL, SUGGESTIONS, Run
from hiergcn.settings.settings import settings_for
from hiergcn.workers.machine import environment

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NODES, CLASSES = 400, 25
ANY = "document.readyState === 'complete'"
EXPLORER = "window.hiergcn !== undefined"


def settings(**changes: int) -> dict[str, int]:
    return {"epochs": 2, "hidden": 4, **changes}


def many_classes() -> Run:
    """Return a run with 25 classes, places in degrees, doubtful labels and suggestions."""
    planted = planted_graph(NODES, classes=CLASSES, depth=1, noise=0.5, seed=2)
    rng = np.random.default_rng(0)
    places = Coordinates(np.column_stack([24.9 + 0.1 * rng.random(NODES), 60.1 + 0.1 * rng.random(NODES)]), True)
    names = tuple(f"topic {k:02d}" for k in range(CLASSES))
    labels = np.where(rng.random(NODES) < 0.8, planted.truth, -1)
    graph = Graph(planted.adjacency, planted.features, labels, class_names=names, name="many", coordinates=places)
    split = Split.holdout(labels, validation=0.2, test=0.3)
    result = fit(graph, split, settings_for("label-propagation"), [0], device="cpu")
    given = [str(node) for node in split.train[:3]]
    about = {"label": "topic 01", "probability": "0.01", "likely": "topic 02", "likely_probability": "0.9"}
    doubtful = pd.DataFrame(
        [{"id": one, **about, "neighbours": "", "hyper_node": "", "dropped": "False"} for one in given]
    )
    open_nodes = [str(node) for node in np.flatnonzero(labels < 0)[:4]]
    suggestions = pd.DataFrame([{"id": one, "reason": "stands for itself alone", "label": ""} for one in open_nodes])
    scores = {**result.scores, "doubtful_labels": len(doubtful)}
    return replace(result, scores=scores, advice={DOUBTFUL: doubtful, SUGGESTIONS: suggestions})


def tiny() -> Run:
    """Return a run of 12 nodes and 2 classes; two labels validate."""
    ring = sp.csr_array(([1.0] * 12, (range(12), [(k + 1) % 12 for k in range(12)])), shape=(12, 12))
    labels = np.array([0, 0, 0, -1, -1, -1, 1, 1, 1, -1, -1, -1])
    ids = np.array([f"member {k}" for k in range(12)], dtype=object)
    graph = Graph((ring + ring.T).tocsr(), np.eye(12), labels, ids, ("Mr. Hi", "Officer"), "tiny-edges")
    split = Split(np.array([0, 1, 6, 7]), np.array([2, 8]), np.array([], np.int64))
    return fit(graph, split, settings_for("hgcn", "paper").override(settings(levels=1)), [0], device="cpu")


def without_edges() -> Run:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 60)
    graph = Graph(
        sp.csr_array((60, 60)), rng.standard_normal((60, 4)), labels, class_names=("a", "b", "c"), name="lonely"
    )
    split = Split.holdout(labels, validation=0.3, test=0.3)
    return fit(graph, split, settings_for("mlp").override(settings()), [0], device="cpu")


def numbers() -> Run:
    """Return a run of numbers at places; node 0 is far away from all others."""
    places = np.random.default_rng(2).random((200, 2))
    places[0] = 50, 50
    graph = replace(planted_numbers(200, seed=1), coordinates=Coordinates(places))
    order = np.random.default_rng(0).permutation(200)
    return fit(graph, Split(order[:60], order[60:100], order[100:]), settings_for("harmonic"), [0], device="cpu")


def of_runs(result: Callable[[], Run]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "report.html"
        path.write_text(result().page(), encoding="utf-8")
        return path

    return write


def of_large_graph(folder: Path) -> Path:
    """Write the page of a small graph as if it were too large for all its edges and places."""
    planted = planted_graph(NODES, classes=3, depth=2, seed=4)
    split = Split.holdout(planted.truth, validation=0.2, test=0.3)
    result = fit(planted, split, settings_for("hgcn", "paper").override(settings(levels=2)), [0], device="cpu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer, "LARGE", NODES)
        patch.setattr(explorer, "WHOLE_EDGES", NODES)
        return of_runs(lambda: result)(folder)


def of_comparison(folder: Path) -> Path:
    """Write a comparison in which the two methods tie."""
    same = [0.819, 0.82, 0.81, 0.83, 0.82, 0.81]
    tie = comparison(method("gcn", *same), method("label-propagation", *same[::-1]))
    return write_comparison_page(replace(tie, environment=environment()), folder / "compared.html")


def of_paper(folder: Path) -> Path:
    sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
    from made_up import TINY, records_of

    from hiergcn_experiments.paper.experiments import paper_experiments
    from hiergcn_experiments.paper.pages import write_paper

    records = records_of(paper_experiments(TINY).values(), lambda cell, split, seed: 0.7 + 0.01 * seed)
    return write_paper(records, folder / "pages", TINY)[0]


MADE = {
    "many": (of_runs(many_classes), EXPLORER),
    "tiny": (of_runs(tiny), EXPLORER),
    "lonely": (of_runs(without_edges), EXPLORER),
    "numbers": (of_runs(numbers), EXPLORER),
    "large": (of_large_graph, EXPLORER),
    "comparison": (of_comparison, ANY),
    "paper": (of_paper, ANY),
}


@pytest.fixture(scope="module")
def open_page(browser: "Browser", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Opened]]:
    """Return a function that makes and opens the page of a name, or brings it back to how it was opened."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    pages: dict[str, Opened] = {}

    def opened(name: str) -> Opened:
        if name not in pages:
            make, ready = MADE[name]
            pages[name] = Opened(context.new_page(), make(tmp_path_factory.mktemp(name)), ready)
            assert len(pages[name].requests) == 1
            assert pages[name].problems == []
        pages[name].page.bring_to_front()
        pages[name].reset()
        return pages[name]

    yield opened
    context.close()


@pytest.mark.parametrize("name", MADE)
def test_every_page_fits_every_screen(open_page: Callable[[str], Opened], name: str) -> None:
    opened = open_page(name)
    for width, height in SIZES.items():
        opened.page.set_viewport_size({"width": width, "height": height})
        assert opened.overflow() <= 0, width
        columns = opened.page.evaluate(
            "[...document.querySelectorAll('h1, .headline')].map(one => one.getBoundingClientRect().right)"
        )
        assert max(columns) <= width
    opened.page.set_viewport_size({"width": 390, "height": SIZES[390]})
    opened.page.emulate_media(color_scheme="dark")
    assert axe_violations(opened.page) == []
    opened.page.emulate_media(color_scheme="light")
    if MADE[name][1] == ANY:  # the explorer is looked at on the page of a run
        opened.page.set_viewport_size({"width": 1440, "height": SIZES[1440]})
        assert axe_violations(opened.page, ["color-contrast"]) == []
    assert opened.requests == []
    assert opened.problems == []


def test_many_classes_are_grouped_and_can_be_searched(open_page: Callable[[str], Opened]) -> None:
    opened = open_page("many")
    page = opened.page
    text = page.text_content("#classes") or ""
    for words in ("All 25 classes, the largest first", "Most frequent mistakes"):
        assert words in text
    assert page.locator(".matrix").count() == 0
    groups = page.locator("#explorer-class optgroup")
    assert [groups.nth(k).get_attribute("label") for k in range(2)] == ["in colour", "rarer classes"]
    assert groups.nth(0).locator("option").count() == 10  # the most frequent
    entry = page.locator("#explorer-legend button", has_text="15 rarer classes")
    entry.click()
    rarer = opened.state["matches"]
    assert 0 < rarer < NODES
    assert page.inner_text("#explorer-panel h3") == f"{rarer} nodes predicted one of the rarer classes"
    page.click("#explorer-reset")
    name = groups.nth(1).locator("option").nth(1).inner_text()
    page.fill("#explorer-search", name)
    hit = page.locator("#explorer-hits li").first
    assert "class of" in hit.inner_text()
    size = int(hit.inner_text().split("class of ")[1].split()[0])
    page.press("#explorer-search", "Enter")
    assert opened.state["matches"] == size
    found = [item for item in opened.items if item["matches"]]
    assert len(found) == size
    assert {item["colour"] for item in found} == {"#0068a3"}  # a rare class is seen while it is chosen


def test_nodes_with_coordinates_stand_on_a_map_with_a_scale(open_page: Callable[[str], Opened]) -> None:
    opened = open_page("many")
    state = opened.state
    assert state["arrangement"] == "map"
    assert state["drawn"] == NODES
    assert opened.page.inner_text("#explorer-scale").endswith("km")
    rng = np.random.default_rng(0)
    east, north = rng.random(NODES), rng.random(NODES)
    places = {int(item["name"]): item for item in opened.items}
    x, y = (np.array([places[k][axis] for k in range(NODES)]) for axis in "xy")
    assert np.corrcoef(x, east)[0, 1] > 0.999
    assert np.corrcoef(-y, north)[0, 1] > 0.999
    opened.page.select_option("#explorer-arrange", "hierarchy")
    assert not opened.page.is_visible("#explorer-scale")


@pytest.mark.parametrize(
    ("link", "only", "heading"),
    [
        ("Double-check these labels", "doubtful", "3 nodes with a doubtful label"),
        ("Label these nodes next", "suggested", "4 nodes to be labelled next"),
    ],
)
@pytest.mark.parametrize("width", [390, 1440])
def test_advice_leads_into_the_explorer(
    open_page: Callable[[str], Opened], link: str, only: str, heading: str, width: int
) -> None:
    opened = open_page("many")
    page = opened.page
    page.set_viewport_size({"width": width, "height": SIZES[width]})
    page.get_by_role("link", name=link).click()
    assert opened.state["filter"]["only"] == only
    assert page.inner_text("#explorer-panel h3") == heading
    assert page.input_value("#explorer-only") == only
    opened.until("document.getElementById('explorer-panel').getBoundingClientRect().top < innerHeight")
    first = page.locator(f"#{'doubtful' if only == 'doubtful' else 'suggestions'} tbody a").first
    first.click()
    opened.until("window.hiergcn.state().selected !== null")
    assert opened.state["selected"]["name"] == first.inner_text()


def test_numbers_with_coordinates_are_shown_on_maps(open_page: Callable[[str], Opened]) -> None:
    maps = open_page("numbers").page.locator("#predictions .map")
    assert maps.locator("h3").all_inner_texts()[0] == "Predicted value"
    assert maps.first.locator("figcaption").inner_text() == "1 node lies far outside the picture."
    assert maps.first.locator("path").count() == maps.first.locator(".legend li").count() == 6
    drawn = sum((path.get_attribute("d") or "").count("M") for path in maps.first.locator("path").all())
    assert drawn == 199


def test_numbers_can_be_explored(open_page: Callable[[str], Opened]) -> None:
    opened = open_page("numbers")
    page = opened.page
    result = numbers()
    table = result.predictions()
    test = table[table["split"] == "test"]
    error = (test["predicted"] - test["value"]).abs()
    page.get_by_role("link", name="Look at large errors").click()
    large = error[error > float(np.sqrt((error**2).mean()))]
    assert opened.state["matches"] == len(large) > 0
    assert page.inner_text("#explorer-panel h3").startswith(f"{len(large)} nodes with an error above")
    worst = test.iloc[int(error.to_numpy().argmax())]
    assert page.locator("#explorer-panel .items button").first.inner_text() == str(worst["id"])
    page.locator("#explorer-panel .items button").first.click()
    assert f"Predicted {result.metrics()['target']}: {worst['predicted']:.4g}" in opened.panel
    assert f"True value: {worst['value']:.4g} (test)." in opened.panel
    assert "Confidence" not in opened.panel
    ways = page.locator("#explorer-colour option").all_inner_texts()
    assert ways == ["predicted value", "true value", "large errors", "level"]
    page.click("#explorer-panel .dismiss")
    ranges = np.array([item["colour"] for item in sorted(opened.items, key=lambda item: int(item["name"]))])
    values = table["predicted"].to_numpy()
    assert len(set(ranges)) == 6
    for colour in set(ranges):  # a colour holds the numbers between two others
        low, high = values[ranges == colour].min(), values[ranges == colour].max()
        assert ((values >= low) & (values <= high)).sum() <= (ranges == colour).sum() + 1
    far = next(item for item in opened.items if item["name"] == "0")
    stage = page.locator("#explorer-graph").bounding_box()
    assert stage is not None
    assert not 0 < far["x"] < stage["width"]  # one node far away does not make the map small


def test_a_large_graph_can_be_explored(open_page: Callable[[str], Opened]) -> None:
    """Its page has neither all edges nor the places of the nodes."""
    opened = open_page("large")
    opened.set_level(0)
    assert opened.state["drawn"] == NODES
    assert len({(round(item["x"]), round(item["y"])) for item in opened.items}) > 0.8 * NODES
    assert "the strongest of each node" in opened.page.inner_text("#explorer-status")
    opened.find("17")
    assert opened.state["selected"]["name"] == "17"
    assert "%" in opened.panel
    assert opened.problems == []


def test_a_tiny_graph_is_whole_and_has_no_headline(open_page: Callable[[str], Opened]) -> None:
    opened = open_page("tiny")
    assert opened.page.inner_text(".headline") == "Too few labels to judge"
    assert opened.page.inner_text("h1") == "tiny"
    for width, height in SIZES.items():
        opened.page.set_viewport_size({"width": width, "height": height})
        stage = opened.page.locator("#explorer-graph").bounding_box()
        assert stage is not None
        sides = {"x": stage["width"], "y": stage["height"]}
        inside = (f"item.{axis} >= item.r && item.{axis} + item.r <= {size}" for axis, size in sides.items())
        opened.until(f"window.hiergcn.items().every(item => {' && '.join(inside)})")
    assert opened.page.locator("#confidence figure").count() == 0  # nothing can be seen in two nodes


def test_a_tie_has_no_winner_and_its_figures_are_on_the_screen(open_page: Callable[[str], Opened]) -> None:
    opened = open_page("comparison")
    assert opened.page.inner_text(".headline") == "No clear winner"
    cells = opened.page.locator("section", has_text="Differences from GCN").locator("tbody td:not(.plot)")
    assert cells.count() == 3  # difference, interval, p
    for width, height in SIZES.items():
        opened.page.set_viewport_size({"width": width, "height": height})
        for cell in cells.all():
            box = cell.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= width


def test_verdicts_of_the_paper_can_be_filtered(open_page: Callable[[str], Opened]) -> None:
    page = open_page("paper").page
    rows = page.locator("[data-verdict]")
    button = page.locator("[data-only]").nth(1)
    word, number = button.inner_text().split(": ")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    shown = [row for row in rows.all() if row.is_visible()]
    assert len(shown) == int(number)
    assert {row.get_attribute("data-verdict") for row in shown} == {word}
    page.locator("[data-only]").first.click()
    assert all(row.is_visible() for row in rows.all())
    assert "H-GCN" in (page.locator("tr.ours").first.text_content() or "")
    assert "Where the figures come from" in page.locator("section").last.inner_text()  # bookkeeping at the end
