"""Can two cores and 4 GB of memory coarsen a hundred million edges, and what would a thousand million take?

    python benchmarks/coarsening_out_of_core.py                   # 10^7 and 10^8 edges; 6 minutes, 20 GB of disk
    python benchmarks/coarsening_out_of_core.py --edges 1e5 1e6   # a smoke test
    python benchmarks/coarsening_out_of_core.py --out times.json  # leaves benchmarks/results as it is

DuckDB coarsens edges from a folder of Parquet files, with two threads, each size in a process of its own. The result is
written after each size. Ten times the last size is extrapolated by the growth from the size before it:
t(10 m) = t(m) * t(m) / t(m / 10). Needs DuckDB and what hiergcn itself needs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from harness import HERE, environment, peak_bytes, provenance, write_table
from hiergcn.coarsening.out_of_core import LevelSummary, coarsen_out_of_core
from hiergcn.files import written_whole

NAME = "coarsening_out_of_core"
LEVELS, THREADS = 2, 2
DEGREE = 10  # edges per node
CHUNK = 10**7  # edges per file
LIMIT = 3.0e9  # bytes of DuckDB's own memory for 10^8 edges; the process needs about a third more


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=float, nargs="+", default=[1e7, 1e8], help="sizes, each ten times the last")
    parser.add_argument("--folder", type=Path, help="for edges and temporary files [default: the system's]")
    parser.add_argument("--out", type=Path, help=f"file for the result [default: benchmarks/results/{NAME}.json]")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)  # used by the processes that this one starts
    arguments = parser.parse_args()
    if arguments.one:
        arguments.out.write_text(json.dumps(coarsened(arguments.one, arguments.folder)), encoding="utf-8")
        return
    at = environment(["hiergcn", "duckdb", "numpy"])
    result: dict[str, Any] = {"environment": at, "threads": THREADS, "runs": []}
    for edges in map(int, arguments.edges):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            run = Path(folder, "run.json")
            command = [sys.executable, __file__, "--one", str(edges), "--folder", folder, "--out", str(run)]
            subprocess.run(command, check=True)
            result["runs"].append(json.loads(run.read_text(encoding="utf-8")))
        with written_whole(arguments.out or HERE / "results" / f"{NAME}.json") as part:
            part.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print("\n".join(table(result)))
    if not arguments.out:
        write_table(NAME, table(result))


def coarsened(edges: int, folder: Path) -> dict[str, Any]:
    """Write the edges, coarsen them and return sizes, seconds and peak memory."""
    write_edges(edges, folder / "edges")
    limit = f"{round(max(LIMIT * edges / 10**8, 2e8) / 1e6)}MB"
    load, began, cpu_began = os.getloadavg()[0], time.perf_counter(), time.process_time()
    after: list[float] = []

    def on_level(level: int, sizes: LevelSummary) -> None:
        after.append(time.perf_counter() - began)
        print(f"level {level}: {sizes.nodes:,} nodes, {sizes.edges:,} edges after {after[-1]:.1f} s", flush=True)

    out = folder / "hyper-nodes.parquet"
    levels = coarsen_out_of_core(folder / "edges", LEVELS, out, memory=limit, threads=THREADS, on_level=on_level)
    return {
        "rows": edges,
        "nodes": [level.nodes for level in levels],
        "edges": [level.edges for level in levels],
        "memory_limit": limit,
        "seconds": time.perf_counter() - began,
        "seconds_after_level": after,
        "cpu": time.process_time() - cpu_began,
        "load_before": load,
        "load_after": os.getloadavg()[0],
        "peak_bytes": peak_bytes(),
    }


def write_edges(count: int, folder: Path) -> None:
    """Write edges between near nodes mostly: the logarithm of the distance is uniform, as in nested communities."""
    folder.mkdir()
    rng, nodes = np.random.default_rng(0), count // DEGREE
    for number, start in enumerate(range(0, count, CHUNK)):
        size = min(CHUNK, count - start)
        source = rng.integers(0, nodes, size)
        distance = np.exp(rng.random(size) * np.log(nodes)).astype(np.int64)
        columns = {"source": source, "target": (source + distance) % nodes}  # noqa: F841  (DuckDB finds it by name)
        duckdb.sql(f"COPY (FROM columns) TO '{folder}/part-{number:03}.parquet'")
    print(f"{count:,} edges written", flush=True)


def table(result: dict[str, Any]) -> list[str]:
    """Return the table: a row per size, and one for ten times as many edges."""
    runs = result["runs"]
    lines = [
        provenance(result["environment"]),
        f"{LEVELS} levels, {THREADS} threads; DuckDB's own limit is 3 GB per 100 million edges.",
        "",
        "| rows | edges | nodes | seconds | CPU seconds | load average | peak memory |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {run['rows']:,} | {run['edges'][0]:,} | {run['nodes'][0]:,} | {run['seconds']:,.0f} | {run['cpu']:,.0f} | "
        f"{run['load_before']:.1f} to {run['load_after']:.1f} | {run['peak_bytes'] / 1e9:.1f} GB |"
        for run in runs
    ]
    if len(runs) < 2:
        return lines
    small, large = runs[-2:]
    seconds, cpu = (f"{large[part] ** 2 / small[part]:,.0f}" for part in ("seconds", "cpu"))
    return [*lines, f"| {10 * large['rows']:,} | | extrapolated | {seconds} | {cpu} | | |"]


if __name__ == "__main__":
    main()
