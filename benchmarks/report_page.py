"""How long does it take to make the page of a run, how large is it, and how fast is it in a browser?

    python benchmarks/report_page.py            # Cora, Pubmed and NELL if available, and a planted graph of 10^6 nodes
    python benchmarks/report_page.py --quick    # Cora only; writes nothing

Each run is trained for two epochs: making the page takes as long for a poor model. Timed is reading the run folder
and writing its page: the layout is computed and the figures are drawn.

If playwright and Chromium are there, the page is opened at 1440 x 900 pixels, drawn in software. First paint is the
browser's own figure. Frames are counted while the picture is dragged for two seconds, at the level of the nodes;
painting is the time that it takes to draw the picture once.
"""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import environment, provenance, timed, write_result, write_table
from hiergcn.datasets import list_datasets, load_dataset, planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import fit
from hiergcn.run.run import Run
from hiergcn.settings.settings import settings_for

PACKAGES = ["hiergcn", "numpy", "scipy", "numba", "jinja2"]
DATASETS = ("cora", "pubmed", "nell")
MILLION = 10**6
EPOCHS = "2"
VISITS = 3
DRAG_MS = 2000
DRAG = """async (wanted) => {
  const stage = document.getElementById("explorer-graph"), box = stage.getBoundingClientRect();
  const send = (type, x, y) => stage.dispatchEvent(new PointerEvent(type,
    {bubbles: true, pointerId: 1, pointerType: "mouse", button: 0, clientX: box.x + x, clientY: box.y + y}));
  stage.setPointerCapture = () => undefined;  // there is no real pointer
  send("pointerdown", 300, 200);
  const start = performance.now();
  let frames = 0;
  while (performance.now() - start < wanted) {
    await new Promise(requestAnimationFrame);
    const t = (performance.now() - start) / 300;
    send("pointermove", 300 + 150 * Math.sin(t), 200 + 100 * Math.sin(1.7 * t));
    frames++;
  }
  send("pointerup", 300, 200);
  return frames;
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="Cora only; write nothing")
    quick = parser.parse_args().quick
    result: dict[str, Any] = {"environment": environment(PACKAGES), "pages": []}
    available = [one.name for one in list_datasets() if one.where == "embedded" or Path(one.where).exists()]
    for name in DATASETS[:1] if quick else [name for name in DATASETS if name in available]:
        data = load_dataset(name)
        result["pages"].append(measured(data.graph, data.split, repeats=3))
    if not quick:
        graph = planted_graph(MILLION, depth=8, seed=0)
        split = Split.random(graph.truth, per_class=1000, validation=5000)
        result["pages"].append(measured(graph, split, repeats=1))
    result["load_after"] = environment([])["load_before"]
    lines = table(result)
    print("\n".join(lines))
    if not quick:
        print(write_result("report_page", result))
        write_table("report_page", lines)


def measured(graph: Graph, split: Split | None, repeats: int) -> dict[str, Any]:
    assert split is not None
    settings = settings_for("hgcn").override({"epochs": EPOCHS, "hidden": "8", "patience": "none"})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        start = time.perf_counter()
        fit(graph, split, settings, [0], device="cpu").write(path)
        trained = time.perf_counter() - start
        page = timed(lambda: Run.load(path).write_page(), repeats, warm_up=1 if graph.n_nodes < MILLION else 0)
        size = (path / "report.html").stat().st_size
        seen = in_browser(path / "report.html")
        page_text = (path / "report.html").read_text(encoding="utf-8")
    print(f"{graph.name}: {page['median']:.1f} s, {size / 1e6:.1f} MB", flush=True)
    return {
        "graph": graph.name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "page": page,
        "page_bytes": size,
        "explorer_bytes": len(packed(page_text, "arrays")) + len(packed(page_text, "ids")),
        "levels": json.loads(packed(page_text, "manifest"))["levels"],
        "train_seconds": trained,
        "browser": seen,
    }


def in_browser(page: Path) -> dict[str, float] | None:
    """Return first paint and start of the explorer in milliseconds, and frames per second; None without a browser."""
    path = os.environ.get("HIERGCN_BROWSER") or shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if path is None:
        return None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        found = [_visited(browser, page) for _ in range(VISITS)]
        browser.close()
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


def _visited(browser: Any, page: Path) -> dict[str, float]:
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    tab.goto(page.as_uri())
    while not tab.evaluate("window.hiergcn !== undefined"):
        tab.wait_for_timeout(20)
    started = tab.evaluate("performance.now()")
    paint = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    tab.locator("#explorer-level").fill("0")
    tab.evaluate("document.getElementById('explorer-frame').scrollIntoView()")
    frames = tab.evaluate(DRAG, DRAG_MS)
    painting = tab.evaluate("window.hiergcn.state().paintMs")
    tab.close()
    rate = 1000 * frames / DRAG_MS
    return {"first_paint_ms": paint, "explorer_ms": started, "frames_per_second": rate, "painting_ms": painting}


def packed(page: str, what: str) -> str:
    """Return one of the explorer's data elements."""
    start = page.index(">", page.index(f'id="explorer-{what}"')) + 1
    return page[start : page.index("</script>", start)]


def table(result: dict[str, Any]) -> list[str]:
    """Return the table: a row per graph."""
    lines = [
        provenance(result["environment"]),
        "",
        "| graph | nodes | edges | time | CPU | page size | levels | first paint | ready | paint | frames per s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for page in result["pages"]:
        built, seen = page["page"], page.get("browser")
        speed = "| – | – | – | – |"
        if seen is not None:
            milliseconds = f"| {seen['first_paint_ms']:.0f} ms | {seen['explorer_ms']:.0f} ms "
            speed = f"{milliseconds}| {seen['painting_ms']:.0f} ms | {seen['frames_per_second']:.0f} |"
        lines.append(
            f"| {page['graph']} | {page['nodes']:,} | {page['edges']:,} | {built['median']:.1f} s "
            f"| {built['cpu']:.1f} s | {page['page_bytes'] / 1e6:.1f} MB | {len(page['levels'])} {speed}"
        )
    return lines


if __name__ == "__main__":
    main()
