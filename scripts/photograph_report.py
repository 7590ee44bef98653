"""Take screenshots of a run's report for docs/images: a desktop with open hyper-nodes, a phone after a search.

    hiergcn fit cora --seeds 5 --out run/
    python scripts/photograph_report.py run/ 1110563    # the id of a node to search for

Needs playwright, Pillow and an installed Chromium.
"""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
SETTLED = 800  # milliseconds


def main() -> None:
    report = (Path(sys.argv[1]) / "report.html").resolve().as_uri()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        desktop = browser.new_page(viewport={"width": 1060, "height": 1180}, device_scale_factor=1.25)
        opened(desktop, report)
        for level, count in ((None, 3), (3, 2)):
            open_heaviest(desktop, level, count)
        taken(desktop, "report.png")
        phone = browser.new_page(
            viewport={"width": 390, "height": 1500}, device_scale_factor=1.5, color_scheme="dark", has_touch=True
        )
        opened(phone, report)
        phone.fill("#explorer-search", sys.argv[2])
        phone.press("#explorer-search", "Enter")
        taken(phone, "report-phone.png")
        browser.close()
    picture = Image.open(IMAGES / "report.png").convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(IMAGES / "report.png", optimize=True)


def opened(page: "Page", report: str) -> None:
    page.goto(report)
    page.wait_for_function("window.hiergcn !== undefined")


def open_heaviest(page: "Page", level: int | None, count: int) -> None:
    items = [item for item in page.evaluate("window.hiergcn.items(1e6)") if level is None or item["level"] == level]
    box = page.locator("#explorer-graph").bounding_box()
    assert box is not None
    for item in sorted(items, key=lambda item: -item["weight"])[:count]:
        page.mouse.click(box["x"] + item["x"], box["y"] + item["y"])
        page.wait_for_timeout(SETTLED)


def taken(page: "Page", name: str) -> None:
    page.mouse.move(5, 5)
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    page.wait_for_timeout(2 * SETTLED)
    page.screenshot(path=IMAGES / name)


if __name__ == "__main__":
    main()
