"""Take the screenshots of reports in docs/images: a page, a chosen node, a map of classes and of numbers.

    hiergcn fit cora --seeds 5 --baselines --out cora/
    hiergcn fit helsinki --model harmonic --out helsinki/
    hiergcn fit us-counties --model label-propagation --coverage 0.9 --out counties/
    python scripts/photograph_report.py cora/ helsinki/ counties/ 40151    # the id of a node of the first to choose

Needs playwright, Pillow and an installed Chromium.
"""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
FLAGS = ["--no-sandbox", "--disable-gpu"]
SETTLED = 1500  # milliseconds


def main() -> None:
    (cora, places, numbers), node = map(Path, sys.argv[1:4]), sys.argv[4]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        taken(opened(browser, cora, 1440, 1300), "report.png")
        page = opened(browser, cora, 1440, 860)
        page.fill("#explorer-search", node)
        page.press("#explorer-search", "Enter")
        taken(page, "explorer.png", "#explorer-frame")
        page = opened(browser, places, 1440, 860)
        page.select_option("#explorer-colour", "label")
        taken(page, "map.png", "#explorer-frame")
        taken(opened(browser, numbers, 1440, 860), "numbers.png", "#explorer-frame")
        browser.close()


def opened(browser: "Browser", run: Path, width: int, height: int) -> "Page":
    page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
    page.goto((run / "report.html").resolve().as_uri())
    while not page.evaluate("window.hiergcn !== undefined"):
        page.wait_for_timeout(50)
    return page


def taken(page: "Page", name: str, what: str | None = None) -> None:
    """Write a picture in 256 colours, so that it is small."""
    page.mouse.move(5, 5)
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    page.wait_for_timeout(SETTLED)
    path = IMAGES / name
    if what is None:
        page.screenshot(path=path)
    else:
        page.locator(what).screenshot(path=path)
    small = (
        Image.open(path).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
    )
    small.save(path, optimize=True)


if __name__ == "__main__":
    main()
