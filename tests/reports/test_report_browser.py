"""The page of a run in a browser: it needs no other file, and every control works."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from page_browser import SIZES, Opened, axe_violations

from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import fit
from hiergcn.run.run import Run
from hiergcn.settings.settings import settings_for

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = "<script>alert(1)</script>"
NODES = 240


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    planted = planted_graph(NODES, classes=4, depth=3, noise=1.5, seed=5)
    ids = np.array([f"paper {number}" for number in range(NODES)], dtype=object)
    ids[17] = HOSTILE
    names = ("</script><b>bold</b>", "beta", "gamma", "delta")
    graph = Graph(planted.adjacency, planted.features, planted.labels, ids, names, "toy")
    settings = settings_for("hgcn", "paper").override({"epochs": 20, "hidden": 8, "levels": 3})
    result = fit(graph, Split.holdout(graph.truth, validation=0.2, test=0.4), settings, [0, 1], device="cpu")
    path = tmp_path_factory.mktemp("browser") / "run"
    result.write(path)
    return Run.load(path).write_page()


@pytest.fixture(scope="module")
def run(report: Path) -> Run:
    return Run.load(report.parent)


@pytest.fixture(scope="module")
def once(browser: "Browser", report: Path) -> Iterator[Opened]:
    page = browser.new_page(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    opened = Opened(page, report)
    assert opened.requests == [report.as_uri()]
    yield opened
    page.close()


@pytest.fixture
def opened(once: Opened) -> Opened:
    once.reset()
    return once


def test_the_page_makes_one_request(opened: Opened) -> None:
    assert opened.requests == []  # beyond the file, which the fixture has seen
    assert opened.problems == []
    assert not opened.page.is_visible("#explorer-pictures")
    assert not opened.page.is_visible("#explorer-panel")  # opens with the first choice
    stage = opened.page.locator(".stage").bounding_box()
    assert stage is not None
    assert stage["y"] < SIZES[1440]  # the graph begins on the first screen
    state = opened.state
    assert state["drawn"] == state["levels"][state["level"]]["nodes"]


def test_every_screen_is_filled_and_accessible(opened: Opened) -> None:
    page = opened.page
    opened.find("paper 101")
    for width, height in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        assert opened.overflow() <= 0
        stage, panel = (page.locator(name).bounding_box() for name in (".stage", "#explorer-panel"))
        assert stage is not None
        assert panel is not None
        assert stage["width"] >= 0.95 * width - 20
        assert stage["height"] >= 0.5 * height
        assert panel["width"] * panel["height"] < 0.6 * stage["width"] * stage["height"]  # it lies over the picture
        charts = page.evaluate(
            "[...document.querySelectorAll('.plot')].map(plot => plot.getBoundingClientRect().width)"
        )
        assert min(width for width in charts if width) >= 90  # they keep a readable width
        label = page.locator(".level label")
        assert label.evaluate("one => one.scrollWidth <= one.clientWidth")  # its text is not cut
        if width in (390, 1440):  # one on each side of the style's main break
            assert axe_violations(page) == []
            page.emulate_media(color_scheme="dark")
            assert axe_violations(page, ["color-contrast"]) == []  # all else is the same in the dark
            page.emulate_media(color_scheme="light")


def test_every_state_is_accessible(opened: Opened) -> None:
    page = opened.page
    for text in ("paper 10", "no paper of that name"):
        page.fill("#explorer-search", text)
        assert axe_violations(page) == []
    opened.find("paper 101")
    page.click("#explorer-full")
    assert axe_violations(page) == []
    page.click("#explorer-full")
    page.click("#explorer-reset")
    page.select_option("#explorer-only", "wrong")
    assert axe_violations(page) == []
    page.click("#explorer-reset")
    page.focus("#explorer-graph")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert opened.state["opened"]
    for details in page.locator("details").all():
        details.evaluate("details => details.open = true")
    page.select_option("#explorer-colour", "error")
    assert axe_violations(page) == []


CORNER = """() => {
  const canvas = document.querySelector("#explorer-graph canvas"), context = canvas.getContext("2d");
  const colour = [...context.getImageData(1, 1, 1, 1).data].slice(0, 3);
  return "#" + colour.map(value => value.toString(16).padStart(2, "0")).join("");
}"""  # the colour of the picture's corner


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
def test_the_explorer_works_on_every_screen(opened: Opened, run: Run, width: int, scheme: Any) -> None:
    page = opened.page
    page.set_viewport_size({"width": width, "height": SIZES[width]})
    page.emulate_media(color_scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--paper')").strip()
    opened.until(f"({CORNER})() === '{ground}'")  # painted again, in the next frame

    opened.find("paper 101")  # the panel opens; the node and its neighbours are in the free part of the stage,
    free = _free_part(opened)  # or as many of them as leave the node large enough to be seen
    items = {item["key"]: item for item in opened.items}
    node, *neighbours = (items[key] for key in opened.state["lit"])
    assert _inside(node, free, r=node["r"])
    assert node["r"] == pytest.approx(7, abs=0.01) or all(_inside(item, free, r=0) for item in neighbours)
    assert page.locator("#explorer-graph canvas.dimmed").count() == 1
    assert page.locator("#explorer-path li").last.inner_text() == "paper 101"
    page.locator("#explorer-path button").first.click()
    assert opened.state.get("selected") is None

    largest = max(opened.items, key=lambda item: item["weight"])  # an opened hyper-node is in the free part, too
    opened.click(largest["x"], largest["y"])
    (ring,) = opened.state["rings"]
    assert _inside(ring, _free_part(opened), r=ring["r"])
    page.click("#explorer-reset")

    entry = page.locator("#explorer-legend button", has_text="gamma")
    entry.click()
    assert opened.state["matches"] == (run.table["predicted"] == "gamma").sum()
    assert entry.get_attribute("aria-pressed") == "true"
    entry.click()
    assert opened.state["matches"] == NODES

    page.click("#explorer-full")
    opened.until("document.getElementById('explorer-frame').getBoundingClientRect().height === innerHeight")
    page.click("#explorer-full")
    opened.until("!window.hiergcn.state().full")
    page.locator(".matrix tbody a").first.click()
    opened.until("document.getElementById('explorer-panel').getBoundingClientRect().top < innerHeight")
    assert opened.overflow() <= 0
    assert opened.problems == []


def _free_part(opened: Opened) -> tuple[float, float]:
    """Return width and height of the part of the stage that the panel leaves free, at its top left."""
    stage, panel = (opened.page.locator(name).bounding_box() for name in (".stage", "#explorer-panel"))
    assert stage is not None
    if panel is None:
        return stage["width"], stage["height"]
    below = panel["width"] > 0.8 * stage["width"]
    return (stage["width"], panel["y"] - stage["y"]) if below else (panel["x"] - stage["x"], stage["height"])


def _inside(place: dict[str, Any], part: tuple[float, float], r: float) -> bool:
    return bool(r <= place["x"] <= part[0] - r and r <= place["y"] <= part[1] - r)


def test_the_slider_changes_the_level_while_stage_and_camera_keep_their_size(opened: Opened) -> None:
    """Whatever the legend and the words below the stage are."""
    page, heights = opened.page, set[float]()

    def measure() -> None:
        box = page.locator(".stage").bounding_box()
        assert box is not None
        heights.add(box["height"])

    for level, size in enumerate(opened.state["levels"]):
        opened.set_level(level)
        state = opened.state
        assert (state["level"], state["drawn"], state["edges"]) == (level, size["nodes"], size["edges"])
        assert f"{size['nodes']:,}" in page.inner_text("#explorer-level-name")
        measure()
    assert sum(item["weight"] for item in opened.items) == NODES
    for way in ("predicted", "error", "level", "label"):
        page.select_option("#explorer-colour", way)
        measure()
    assert len(heights) == 1
    page.click("#explorer-in")
    before = opened.state["camera"]
    page.set_viewport_size({"width": 1440, "height": 800})
    page.wait_for_timeout(100)
    assert opened.state["camera"] == before


def test_classes_have_one_order(opened: Opened) -> None:
    def named(where: str) -> list[str]:
        return [text.strip() for text in opened.page.locator(where).all_inner_texts()]

    order = named("#classes .plots tbody th")
    assert named("#explorer-legend button") == order
    assert named("#explorer-class option")[1:] == order
    assert named(".matrix tbody th") == order


def test_classes_are_named_where_they_are_at_home(opened: Opened) -> None:
    regions = opened.state["regions"]
    assert {region["name"] for region in regions} & {"beta", "gamma", "delta"}
    for region in regions:
        nearest = min(opened.items, key=lambda item: np.hypot(item["x"] - region["x"], item["y"] - region["y"]))
        assert nearest["name"].endswith(region["name"])  # "9 nodes, mostly beta"
    opened.page.select_option("#explorer-colour", "confidence")
    assert opened.state["regions"] == []  # colours mean something else


def test_a_click_opens_a_hyper_node_which_makes_room(opened: Opened) -> None:
    before = opened.state
    largest = max(opened.items, key=lambda item: item["weight"])
    assert largest["name"].startswith(f"{largest['weight']} nodes, ")  # a name that tells something
    opened.click(largest["x"], largest["y"])
    state = opened.state
    assert state["opened"] == [largest["key"]]
    assert state["camera"]["scale"] > before["camera"]["scale"]  # the camera goes there
    (ring,) = state["rings"]
    stage = opened.page.locator(".stage").bounding_box()
    assert stage is not None
    assert ring["x"] - ring["r"] > 0
    assert ring["y"] + ring["r"] < stage["height"]
    for item in opened.items:  # members are in the ring, all others outside
        far = np.hypot(item["x"] - ring["x"], item["y"] - ring["y"])
        if item["parent"] == largest["key"]:
            assert far + item["r"] <= ring["r"] + 1
        else:
            assert far + 0.5 * item["r"] >= ring["r"]
    assert "Close" in opened.panel
    angle = next(a for a in np.linspace(0, 6, 60) if _is_free(opened.items, ring, a))
    opened.click(ring["x"] + 0.9 * ring["r"] * np.cos(angle), ring["y"] + 0.9 * ring["r"] * np.sin(angle))
    assert opened.state["opened"] == []
    assert opened.state["drawn"] == before["drawn"]


def _is_free(items: list[dict[str, Any]], ring: dict[str, float], angle: float) -> bool:
    x, y = ring["x"] + 0.9 * ring["r"] * np.cos(angle), ring["y"] + 0.9 * ring["r"] * np.sin(angle)
    return all(np.hypot(item["x"] - x, item["y"] - y) > item["r"] + 6 for item in items)


def test_a_selected_node_lights_its_neighbours_and_dims_the_rest(opened: Opened, run: Run) -> None:
    opened.set_level(0)
    opened.find("paper 101")
    assert run.hierarchy is not None
    row = list(run.table["id"]).index("paper 101")
    neighbours = set(run.table["id"].to_numpy()[run.hierarchy.levels[0].adjacency[[row]].indices])
    names = {item["key"]: item["name"] for item in opened.items}
    assert {names[key] for key in opened.state["lit"]} == neighbours | {"paper 101"}
    assert opened.page.locator("#explorer-graph canvas.dimmed").count() == 1
    opened.page.click("#explorer-panel .dismiss")
    assert opened.state["lit"] is None
    assert opened.page.locator("#explorer-graph canvas.dimmed").count() == 0


def test_the_way_down_is_a_breadcrumb_that_can_be_clicked(opened: Opened) -> None:
    opened.find("paper 101")
    depth = opened.state["level"]
    steps = opened.page.locator("#explorer-path li")
    names = steps.all_inner_texts()
    assert 3 <= len(names) <= depth + 2  # the level, hyper-nodes, the node
    assert len({name.strip() for name in names}) == len(names)  # hyper-nodes that hold the same nodes come once
    assert steps.last.inner_text() == "paper 101"
    assert len(opened.state["opened"]) == depth
    steps.nth(1).locator("button").click()
    assert opened.state["opened"] == []
    assert opened.state["selected"]["level"] == depth
    steps.nth(0).locator("button").click()
    assert opened.state["selected"] is None


def test_scrolling_over_the_picture_scrolls_the_page(opened: Opened) -> None:
    left, top = opened.corner()
    page = opened.page
    before, at = opened.state["camera"]["scale"], page.evaluate("scrollY")
    page.mouse.move(left + 300, top + 200)
    page.mouse.wheel(0, 200)
    opened.until(f"scrollY === {at + 200}")
    assert opened.state["camera"]["scale"] == before
    assert page.is_visible("#explorer-hint")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    opened.until(f"window.hiergcn.state().camera.scale > {1.2 * before}")
    assert page.evaluate("scrollY") == at + 200
    opened.click(4, 4)  # beside all nodes; from now on the wheel zooms
    zoomed, at = opened.state["camera"]["scale"], page.evaluate("scrollY")
    page.mouse.wheel(0, 100)
    opened.until(f"window.hiergcn.state().camera.scale < {zoomed}")
    assert page.evaluate("scrollY") == at


def test_a_drag_moves_the_picture(opened: Opened) -> None:
    left, top = opened.corner()
    item = opened.items[0]
    opened.page.mouse.move(left + 5, top + 5)
    opened.page.mouse.down()
    opened.page.mouse.move(left + 65, top + 45, steps=3)
    opened.page.mouse.up()
    moved = opened.items[0]
    assert (moved["x"] - item["x"], moved["y"] - item["y"]) == pytest.approx((60, 40), abs=0.01)
    assert opened.state["selected"] is None


def test_on_touch_one_finger_scrolls_and_two_zoom(browser: "Browser", report: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, reduced_motion="reduce")
    page = context.new_page()
    opened = Opened(page, report)
    left, top = opened.corner()
    largest = max(opened.items, key=lambda item: item["weight"])
    page.touchscreen.tap(left + largest["x"], top + largest["y"])
    opened.until("window.hiergcn.state().opened.length === 1")
    page.click("#explorer-reset")
    devices = context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        spots = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(points)]
        devices.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": spots})

    left, top = opened.corner()
    at, before = page.evaluate("scrollY"), opened.state["camera"]["scale"]
    touch("touchStart", (left + 150, top + 300))
    for step in range(1, 9):
        touch("touchMove", (left + 150, top + 300 - 25 * step))
    touch("touchEnd")
    opened.until(f"scrollY > {at + 100}")
    assert opened.state["camera"]["scale"] == before
    left, top = opened.corner()
    touch("touchStart", (left + 150, top + 200), (left + 200, top + 200))
    for step in range(1, 6):
        touch("touchMove", (left + 150 - 10 * step, top + 200), (left + 200 + 10 * step, top + 200))
    touch("touchEnd")
    opened.until(f"window.hiergcn.state().camera.scale > {1.5 * before}")
    assert opened.problems == []
    context.close()


def test_search_shows_classes_and_keeps_the_chosen_id(opened: Opened, run: Run) -> None:
    opened.page.fill("#explorer-search", "paper 10")
    hits = opened.page.locator("#explorer-hits li")
    predicted = dict(zip(run.table["id"], run.table["predicted"], strict=True))
    assert hits.first.inner_text().split()[-1] == predicted["paper 10"].split()[-1]
    assert hits.first.locator(".dot").count() == 1
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("Enter")
    chosen = opened.state["selected"]["name"]
    assert chosen.startswith("paper 10")
    assert chosen != "paper 10"
    assert opened.page.input_value("#explorer-search") == chosen
    opened.page.click("#explorer-reset")
    assert opened.page.input_value("#explorer-search") == ""
    opened.find(chosen)
    assert "%" in opened.panel
    assert f"hiergcn explain run --node='{chosen}'" in opened.panel
    opened.page.fill("#explorer-search", "no paper of that name")
    assert opened.page.is_visible("#explorer-no-hit")
    opened.page.press("#explorer-search", "Enter")
    assert opened.state["selected"]["name"] == chosen


def test_the_panel_shows_the_votes_of_the_node_and_its_neighbours(opened: Opened, run: Run) -> None:
    opened.find("paper 101")
    assert run.votes is not None
    row = run.votes.shares.toarray()[list(run.table["id"]).index("paper 101")]
    expected = sorted(np.abs(row[row != 0]) / np.abs(row).sum(), reverse=True)[:8]
    texts = opened.page.locator("#explorer-panel .votes .share").all_inner_texts()
    shown = [float(text.removeprefix("against ").removesuffix("%").strip()) / 100 for text in texts]
    assert shown == pytest.approx(expected, abs=0.006)
    assert sum(text.startswith("against") for text in texts) <= (row < 0).sum()
    other = opened.page.locator("#explorer-panel .votes button").first
    name = other.inner_text()
    other.click()
    assert opened.state["selected"]["name"] == name


def wrong_nodes(run: Run) -> set[str]:
    table = run.table
    return set(table["id"][(table["split"] == "test") & (table["label"] != table["predicted"])])


def test_filters_show_some_nodes_and_list_them(opened: Opened, run: Run) -> None:
    table = run.table
    opened.page.select_option("#explorer-only", "wrong")
    assert opened.state["level"] == 0
    assert {item["name"] for item in opened.items if item["matches"]} == wrong_nodes(run)
    assert opened.page.inner_text("#explorer-panel h3") == f"{len(wrong_nodes(run))} nodes predicted wrongly"
    assert opened.page.locator("#explorer-panel .items li").count() == min(len(wrong_nodes(run)), 50)
    opened.page.locator("#explorer-panel .items button").first.click()
    assert opened.state["selected"]["name"] in wrong_nodes(run)
    opened.page.click("#explorer-reset")
    assert opened.state["matches"] == NODES
    opened.page.select_option("#explorer-class", label="gamma")
    assert opened.state["matches"] == (table["predicted"] == "gamma").sum()
    opened.page.select_option("#explorer-only", "unsure")
    given, unsure = table["given"], table["confidence"] < 0.5
    assert opened.state["matches"] == ((table["predicted"] == "gamma") & unsure & ~given).sum()


def test_cells_of_the_matrix_lead_to_their_nodes(opened: Opened, run: Run) -> None:
    test = run.table[run.table["split"] == "test"]
    link = opened.page.locator(".matrix tbody a").first
    count = int(link.inner_text())
    link.click()
    assert opened.state["matches"] == count
    filter_ = opened.state["filter"]
    names = run.config["class_names"]
    expected = (test["label"] == names[filter_["label"]]) & (test["predicted"] == names[filter_["predicted"]])
    assert count == expected.sum()
    opened.until("document.getElementById('explorer').getBoundingClientRect().top < innerHeight")
    opened.page.locator("#classes .plots tbody a").first.click()
    assert opened.state["matches"] == (test["label"] == names[opened.state["filter"]["label"]]).sum()
    opened.page.locator("[data-show^=arrange]").click()
    assert opened.state["arrangement"] == "prediction"


def test_the_address_can_name_a_node(browser: "Browser", report: Path) -> None:
    opened = Opened(browser.new_page(), report, anchor="#node=paper+12")
    assert opened.state["selected"]["name"] == "paper 12"
    opened.page.click("#explorer-panel .dismiss")
    assert opened.page.evaluate("location.hash") == ""
    opened.find("paper 101")
    assert opened.page.evaluate("location.hash") == "#node=paper%20101"
    opened.find("<script>")
    assert opened.page.inner_text("#explorer-panel h3") == HOSTILE
    assert opened.page.locator("#explorer-panel script, main b").count() == 0
    assert "</script><b>bold</b>" in opened.page.inner_text("#explorer-legend")
    assert opened.problems == []
    opened.page.close()


def test_every_colouring_has_its_own_colours_and_legend(opened: Opened, run: Run) -> None:
    opened.set_level(0)
    seen = {}
    for way in ("predicted", "label", "confidence", "error", "level"):
        opened.page.select_option("#explorer-colour", way)
        assert opened.state["colour"] == way
        seen[way] = [item["colour"] for item in opened.items]
        assert opened.page.inner_text("#explorer-legend")
    assert len({tuple(colours) for colours in seen.values()}) == 5
    assert len(set(seen["level"])) == 1
    names = [item["name"] for item in opened.items]
    wrong = {name for name, colour in zip(names, seen["error"], strict=True) if colour == "#d55e00"}
    assert wrong == wrong_nodes(run)


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
    before = opened.state["camera"]["scale"]
    page.keyboard.press("+")
    assert opened.state["camera"]["scale"] > before
    reached = set()
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    assert {"explorer-level", "explorer-colour", "explorer-only", "explorer-search", "explorer-full"} <= reached
    assert opened.problems == []


def test_the_head_of_a_column_sorts_its_table(opened: Opened) -> None:
    table = opened.page.locator("#classes .plots")
    order = table.locator("tbody th").all_inner_texts()
    head = table.locator("thead th", has_text="F1")
    for direction, sign in (("descending", -1), ("ascending", 1)):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == direction
        shown = [sign * float(text) for text in table.locator("tbody td:nth-child(5)").all_inner_texts()]
        assert shown == sorted(shown)
    table.locator("thead button", has_text="class").click()
    assert table.locator("tbody th").all_inner_texts() == sorted(order)
    assert axe_violations(opened.page) == []


def test_charts_tell_their_values(opened: Opened) -> None:
    page = opened.page
    page.evaluate("document.getElementById('training').scrollIntoView()")
    page.wait_for_timeout(200)  # a scroll hides the text again
    page.locator("#training .plot").first.hover()
    assert page.inner_text("#tip").startswith("epoch ")
    assert "validation: " in page.inner_text("#tip")
    page.evaluate("document.getElementById('classes').scrollIntoView()")
    page.wait_for_timeout(200)
    page.locator("#classes .cell circle").first.hover()
    assert "precision" in page.inner_text("#tip")
    page.locator("#classes h2").hover()
    assert not page.is_visible("#tip")


def test_the_picture_can_be_saved(opened: Opened) -> None:
    with opened.page.expect_download() as waiting:
        opened.page.click("#explorer-save")
    assert waiting.value.suggested_filename == "run.png"
    assert Path(waiting.value.path()).read_bytes().startswith(b"\x89PNG")


def test_without_scripts_there_are_pictures_and_no_dead_controls(browser: "Browser", report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    for name in ("button", "select", "input"):
        assert not any(one.is_visible() for one in page.locator(name).all())
    assert page.locator("#explorer-pictures svg").first.is_visible()
    assert page.locator("#training .plot").first.is_visible()
    context.close()


def test_the_page_can_be_printed(browser: "Browser", report: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    Opened(page, report)
    page.emulate_media(media="print")
    assert not page.is_visible("#explorer-frame")
    assert page.is_visible("#explorer-pictures")
    assert page.is_visible(".matrix")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf(format="A4")) > 20_000
    page.close()
