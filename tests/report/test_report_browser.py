"""The page of a run in a browser: it needs no other file, and every control works."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from page_browser import chromium

from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.report import write_report
from hiergcn.run.fit import fit
from hiergcn.run.folder import load_run, write_run
from hiergcn.run.settings import settings_for

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

HOSTILE = "<script>alert(1)</script>"
NODES = 240


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    planted = planted_graph(NODES, classes=4, depth=3, noise=0.5, seed=5)
    ids = np.array([f"paper {number}" for number in range(NODES)], dtype=object)
    ids[17] = HOSTILE
    names = ("</script><b>bold</b>", "beta", "gamma", "delta")
    graph = Graph(planted.adjacency, planted.features, planted.labels, ids, names, "toy")
    assert graph.labels is not None
    settings = settings_for("hgcn", "paper").override({"epochs": 20, "hidden": 8, "levels": 3})
    result = fit(graph, Split.holdout(graph.labels, validation=0.2, test=0.4), settings, [0], device="cpu")
    path = tmp_path_factory.mktemp("browser") / "run"
    write_run(result, path)
    return write_report(path)


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    yield from chromium()


class Opened:
    """A page, with the requests it made and its console messages."""

    def __init__(self, page: "Page", path: Path) -> None:
        self.page = page
        self.requests: list[str] = []
        self.problems: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", self._dismiss)
        page.goto(path.as_uri())
        page.wait_for_function("window.hiergcn !== undefined")

    def _dismiss(self, dialog: "Dialog") -> None:
        self.problems.append(f"dialog {dialog.message}")
        dialog.dismiss()

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page.evaluate("window.hiergcn.state()")
        return found

    @property
    def items(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.page.evaluate("window.hiergcn.items()")
        return found

    @property
    def panel(self) -> str:
        return self.page.inner_text("#explorer-panel")

    def set_level(self, level: int) -> None:
        self.page.locator("#explorer-level").fill(str(level))

    def find(self, text: str) -> None:
        self.page.fill("#explorer-search", text)
        self.page.press("#explorer-search", "Enter")

    def click(self, x: float, y: float) -> None:
        box = self.page.locator("#explorer-graph").bounding_box()
        assert box is not None
        self.page.mouse.click(box["x"] + x, box["y"] + y)


@pytest.fixture
def opened(browser: "Browser", report: Path) -> Iterator[Opened]:
    page = browser.new_page(viewport={"width": 1200, "height": 1100}, reduced_motion="reduce")
    yield Opened(page, report)
    page.close()


def test_the_page_makes_one_request(opened: Opened, report: Path) -> None:
    assert opened.requests == [report.as_uri()]
    assert opened.problems == []
    state = opened.state
    assert state["webgl"]
    assert not opened.page.is_visible("#explorer-picture")
    assert state["level"] == len(state["levels"]) - 1  # starts at the coarsest
    assert state["drawn"] == state["levels"][-1]["nodes"]


def test_the_slider_changes_the_level(opened: Opened) -> None:
    for level, size in enumerate(opened.state["levels"]):
        opened.set_level(level)
        assert opened.state["level"] == level
        assert opened.state["drawn"] == size["nodes"]
        assert opened.state["edges"] == size["edges"]
        assert f"{size['nodes']:,}" in opened.page.inner_text("#explorer-level-name")
    weights = [item["weight"] for item in opened.items]
    assert sum(weights) == NODES


def test_a_click_opens_a_hyper_node_and_a_click_on_its_ring_closes_it(opened: Opened) -> None:
    opened.page.locator("#explorer-graph").scroll_into_view_if_needed()
    before = opened.state["drawn"]
    largest = max(opened.items, key=lambda item: item["weight"])
    opened.click(largest["x"], largest["y"])
    opened.page.wait_for_function("window.hiergcn.state().opened.length === 1")
    state = opened.state
    assert state["opened"] == [largest["key"]]
    assert state["drawn"] > before
    assert "Close" in opened.panel
    ring = ring_point(opened, largest)
    opened.page.wait_for_timeout(400)  # not a double click
    opened.click(*ring)
    opened.page.wait_for_function("window.hiergcn.state().opened.length === 0")
    assert opened.state["drawn"] == before


def ring_point(opened: Opened, hyper_node: dict[str, Any]) -> tuple[float, float]:
    """Return a point in the disc of an opened hyper-node that no drawn node covers."""
    places = np.array([(item["x"], item["y"]) for item in opened.items])
    angles = np.linspace(0, 2 * np.pi, 72)
    near = places[np.hypot(places[:, 0] - hyper_node["x"], places[:, 1] - hyper_node["y"]).argsort()[:2]]
    radius = np.hypot(near[:, 0] - hyper_node["x"], near[:, 1] - hyper_node["y"]).max()
    points = np.stack([hyper_node["x"] + radius * np.cos(angles), hyper_node["y"] + radius * np.sin(angles)], axis=1)
    room = np.hypot(points[:, None, 0] - places[None, :, 0], points[:, None, 1] - places[None, :, 1]).min(axis=1)
    best = points[room.argmax()]
    return float(best[0]), float(best[1])


def test_search_selects_a_node_and_shows_its_path(opened: Opened) -> None:
    opened.find("paper 101")
    state = opened.state
    assert state["selected"]["name"] == "paper 101"
    depth = len(state["levels"]) - 1
    assert len(state["opened"]) == depth  # every hyper-node that contains it was opened
    for level in range(1, depth + 1):
        assert f"level {level}:" in opened.panel
    assert "%" in opened.panel
    assert "hiergcn explain run --node='paper 101'" in opened.panel
    assert any(item["name"] == "paper 101" and item["level"] == 0 for item in opened.items)
    opened.page.click("#explorer-close")
    assert opened.state["opened"] == []


def test_the_panel_shows_the_votes_of_the_node_and_its_neighbours(opened: Opened, report: Path) -> None:
    opened.find("paper 101")
    run = load_run(report.parent)
    assert run.votes is not None
    row = run.votes.shares.toarray()[list(run.predictions["id"]).index("paper 101")]
    expected = sorted(np.abs(row[row != 0]) / np.abs(row).sum(), reverse=True)[:8]
    texts = opened.page.locator("#explorer-panel .votes .share").all_inner_texts()
    shown = [float(text.removeprefix("against ").removesuffix("%").strip()) / 100 for text in texts]
    assert shown == pytest.approx(expected, abs=0.006)
    assert sum(text.startswith("against") for text in texts) <= (row < 0).sum()
    assert "hyper-nodes" in opened.page.inner_text("#explorer-panel")
    other = opened.page.locator("#explorer-panel .votes button").first
    name = other.inner_text()
    other.click()
    opened.page.wait_for_function(f"window.hiergcn.state().selected.name === {name!r}")


def test_search_reports_an_unknown_id(opened: Opened) -> None:
    opened.page.fill("#explorer-search", "no paper of that name")
    assert "no match" in opened.page.inner_text("#explorer-hits")
    opened.page.press("#explorer-search", "Enter")
    assert opened.state["selected"] is None


def test_a_script_in_an_id_stays_text(opened: Opened) -> None:
    opened.find("<script>")
    assert opened.state["selected"]["name"] == HOSTILE
    assert opened.page.inner_text("#explorer-panel h3") == HOSTILE
    assert opened.page.locator("#explorer-panel script").count() == 0
    assert opened.page.locator("main b").count() == 0
    assert "</script><b>bold</b>" in opened.page.inner_text("#explorer-legend")
    assert opened.problems == []


def test_every_colouring_has_its_own_colours_and_legend(opened: Opened) -> None:
    opened.set_level(0)
    seen = {}
    for way in ("predicted", "label", "confidence", "error", "level"):
        opened.page.select_option("#explorer-colour", way)
        assert opened.state["colour"] == way
        seen[way] = [item["colour"] for item in opened.items]
        legend = opened.page.locator("#explorer-legend li").all_inner_texts()
        assert len(legend) > 1
    assert len(set(seen["predicted"])) > 1
    assert len(set(seen["level"])) == 1
    assert len({tuple(colours) for colours in seen.values()}) == 5
    wrong = "#d55e00"
    opened.page.select_option("#explorer-colour", "error")
    number = seen["error"].index(wrong) if wrong in seen["error"] else None
    if number is not None:
        opened.find(opened.items[number]["name"])
        assert "The prediction is wrong." in opened.panel


def test_the_keyboard_can_do_everything(opened: Opened) -> None:
    page, depth = opened.page, opened.state["level"]
    page.focus("#explorer-graph")
    page.keyboard.press("ArrowRight")
    first = opened.state["selected"]
    assert first is not None
    page.keyboard.press("ArrowLeft")
    assert opened.state["selected"]["key"] != first["key"]
    page.keyboard.press("Enter")
    assert opened.state["opened"] == [opened.state["selected"]["key"]]
    assert "open" in page.text_content("#explorer-announcement")  # type: ignore[operator]
    page.keyboard.press("Escape")
    assert opened.state["opened"] == []
    page.keyboard.press("PageDown")
    assert opened.state["level"] == depth - 1
    page.keyboard.press("PageUp")
    assert opened.state["level"] == depth
    page.keyboard.press("+")
    assert opened.problems == []


def test_every_control_can_be_reached_by_tab(opened: Opened) -> None:
    reached = set()
    for _ in range(25):
        opened.page.keyboard.press("Tab")
        reached.add(opened.page.evaluate("document.activeElement.id"))
    assert {"explorer-level", "explorer-colour", "explorer-search", "explorer-in", "explorer-graph"} <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_horizontal_scrolling(browser: "Browser", report: Path, scheme: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme, has_touch=True)
    opened = Opened(page, report)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.evaluate("document.getElementById('explorer-graph').scrollIntoView()")
    largest = max(opened.items, key=lambda item: item["weight"])
    box = page.locator("#explorer-graph").bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + largest["x"], box["y"] + largest["y"])
    page.wait_for_function("window.hiergcn.state().opened.length === 1")
    assert opened.problems == []
    page.close()


def test_the_page_can_be_printed(browser: "Browser", report: Path, tmp_path: Path) -> None:
    page = browser.new_page()
    Opened(page, report)
    page.emulate_media(media="print")
    assert not page.is_visible("#explorer-graph")
    assert page.is_visible("#explorer-picture")
    assert page.is_visible("svg[aria-labelledby='confusion-title']")
    assert len(page.pdf(format="A4")) > 20_000
    page.close()


def test_without_webgl_search_still_works(browser: "Browser", report: Path) -> None:
    page = browser.new_page()
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    opened = Opened(page, report)
    assert not opened.state["webgl"]
    assert page.is_visible("#explorer-no-webgl")
    assert page.is_visible("#explorer-picture")
    opened.find("paper 12")
    assert opened.state["selected"]["name"] == "paper 12"
    assert opened.problems == []
    page.close()
