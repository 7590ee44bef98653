"""A page in a browser, with what it asked for and said."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Page

SIZES = {390: 844, 1024: 768, 1440: 900, 2560: 1440}
"""Heights of the screens that pages are tested on, by their width."""

RESET = """() => {
  for (const one of document.querySelectorAll("details")) one.open = false;
  if (window.hiergcn) {
    for (const name of ["colour", "arrange"]) {
      const select = document.getElementById(`explorer-${name}`);
      select.selectedIndex = 0;
      select.dispatchEvent(new Event("change"));
    }
    document.getElementById("explorer-search").value = "";
    document.getElementById("explorer-reset").click();
  }
  document.activeElement?.blur();
  scrollTo(0, 0);
}"""


class Opened:
    """A page, with the requests it made and its console messages."""

    def __init__(self, page: "Page", path: Path, ready: str = "window.hiergcn !== undefined", anchor: str = "") -> None:
        self.page = page
        self.requests: list[str] = []
        self.problems: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", self._dismiss)
        page.goto(path.as_uri() + anchor)
        self.until(ready)

    def reset(self) -> None:
        """Bring the page back to how it was opened, which is faster than to open it again."""
        self.page.set_viewport_size({"width": 1440, "height": SIZES[1440]})
        self.page.emulate_media(color_scheme="light")
        self.page.evaluate(RESET)
        self.page.mouse.move(2, 2)
        self.requests.clear()
        self.problems.clear()

    def until(self, condition: str) -> None:
        """Wait until an expression is true; playwright's own way needs `eval`, which the page forbids."""
        for _ in range(500):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"never true: {condition}")

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

    def corner(self) -> tuple[float, float]:
        """Return where the stage begins in the window."""
        self.page.evaluate("document.querySelector('.stage').scrollIntoView({block: 'center'})")
        box = self.page.locator("#explorer-graph").bounding_box()
        assert box is not None
        return box["x"], box["y"]

    def click(self, x: float, y: float) -> None:
        left, top = self.corner()
        self.page.mouse.click(left + x, top + y)

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        found: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return found


def axe_violations(page: "Page", rules: Sequence[str] = ()) -> list[str]:
    """Return what axe-core objects to, as `rule: element`; of some rules or of all."""
    axe = pytest.importorskip(
        "axe_playwright_python", reason="axe-core is not installed (pip install axe-playwright-python)"
    )
    if not page.evaluate("window.axe !== undefined"):
        page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    only: dict[str, Any] = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": tags}
    found = page.evaluate("only => axe.run({runOnly: only, resultTypes: ['violations']})", only)
    return [f"{rule['id']}: {node['html'][:200]}" for rule in found["violations"] for node in rule["nodes"]]
