"""Take the screenshots of reports in docs/images: a desktop, a chosen node in the explorer, a map, and a phone.

    hiergcn fit cora --seeds 3 --out cora/
    hiergcn fit helsinki --out helsinki/
    python scripts/photograph_report.py cora/ helsinki/ 1110563    # runs, and the id of a node of the first to choose

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
    cora, places, node = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        taken(opened(browser, cora, 1200, 1240), "report.png")
        page = opened(browser, cora, 1200, 760)
        choose(page, node)
        taken(page, "explorer.png", "#explorer-frame")
        page = opened(browser, places, 1200, 760)
        page.select_option("#explorer-colour", "label")
        taken(page, "map.png", "#explorer-frame")
        page = opened(browser, cora, 390, 1400, phone=True)
        choose(page, node)
        taken(page, "report-phone.png")
        browser.close()


def opened(browser: "Browser", run: Path, width: int, height: int, *, phone: bool = False) -> "Page":
    page = browser.new_page(
        viewport={"width": width, "height": height},
        device_scale_factor=1.5 if phone else 1,
        color_scheme="dark" if phone else "light",
        has_touch=phone,
        reduced_motion="reduce",
    )
    page.goto((run / "report.html").resolve().as_uri())
    while not page.evaluate("window.hiergcn !== undefined"):
        page.wait_for_timeout(50)
    return page


def choose(page: "Page", node: str) -> None:
    page.fill("#explorer-search", node)
    page.press("#explorer-search", "Enter")


def taken(page: "Page", name: str, what: str | None = None) -> None:
    """Write a picture, as small as it can be without loss."""
    page.mouse.move(5, 5)
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    page.wait_for_timeout(SETTLED)
    path = IMAGES / name
    if what is None:
        page.screenshot(path=path)
    else:
        page.locator(what).screenshot(path=path)
    Image.open(path).convert("RGB").save(path, optimize=True)


if __name__ == "__main__":
    main()
