"""How long does the page of a run take to build, and how large is it?

    python benchmarks/pages.py            # Cora, Pubmed and NELL where at hand, and a planted graph of a million nodes
    python benchmarks/pages.py --quick    # Cora alone; writes nothing

Each run is trained for a few epochs only: the page is the same work for a poor model. Building reads the run folder,
lays the hierarchy out, draws the figures and writes report.html; the time to read the folder is part of it.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from hiergcn.datasets import list_datasets, load_dataset, planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.report import write_report
from hiergcn.run.fit import fit
from hiergcn.run.folder import write_run
from hiergcn.run.settings import settings_for
from measuring import circumstances, timed, write_result, write_table

PACKAGES = ["hiergcn", "numpy", "scipy", "numba", "matplotlib", "jinja2"]
DATASETS = ("cora", "pubmed", "nell")
MILLION = 10**6
EPOCHS = "2"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="Cora alone; write nothing")
    quick = parser.parse_args().quick
    result: dict[str, Any] = {"circumstances": circumstances(PACKAGES), "pages": []}
    here = [one.name for one in list_datasets() if one.where == "embedded" or Path(one.where).exists()]
    for name in DATASETS[:1] if quick else [name for name in DATASETS if name in here]:
        data = load_dataset(name)
        result["pages"].append(measured(data.graph, data.split, repeats=3))
    if not quick:
        graph = planted_graph(MILLION, depth=8, seed=0)
        assert graph.labels is not None
        split = Split.random(graph.labels, per_class=1000, validation=5000)
        result["pages"].append(measured(graph, split, repeats=1))
    result["load_after"] = circumstances([])["load_before"]
    lines = table(result)
    print("\n".join(lines))
    if not quick:
        print(write_result("pages", result))
        write_table("pages", lines)


def measured(graph: Graph, split: Split | None, repeats: int) -> dict[str, Any]:
    assert split is not None
    settings = settings_for("hgcn").override({"epochs": EPOCHS, "hidden": "8", "patience": "none"})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        start = time.perf_counter()
        write_run(fit(graph, split, settings, [0], device="cpu"), path)
        trained = time.perf_counter() - start
        page = timed(lambda: write_report(path), repeats, warm_up=1 if graph.n_nodes < MILLION else 0)
        size = (path / "report.html").stat().st_size
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
    }


def packed(page: str, what: str) -> str:
    """One of the texts that the explorer reads."""
    start = page.index(">", page.index(f'id="explorer-{what}"')) + 1
    return page[start : page.index("</script>", start)]


def table(result: dict[str, Any]) -> list[str]:
    at = result["circumstances"]
    lines = [
        f"{at['cores']} cores of {at['cpu']}, {at['when'][:10]}, commit {at['commit'][:10]}, `{at['command']}`;",
        f"load of the machine {at['load_before']:.1f} before and {result['load_after']:.1f} after.",
        "",
        "| graph | nodes | edges | page built in | of CPU | page | of it the hierarchy | levels shown |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for page in result["pages"]:
        built, megabytes = page["page"], page["page_bytes"] / 1e6
        lines.append(
            f"| {page['graph']} | {page['nodes']:,} | {page['edges']:,} | {built['median']:.1f} s "
            f"| {built['cpu']:.1f} s | {megabytes:.1f} MB "
            f"| {page['explorer_bytes'] / 1e6:.1f} MB | {len(page['levels'])} |"
        )
    return lines


if __name__ == "__main__":
    main()
