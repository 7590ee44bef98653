"""Can two cores and 4 GB of memory coarsen a hundred million edges, and what would a thousand million take?

    python benchmarks/coarsening_out_of_core.py             # about an hour of two cores, 20 GB of disk
    python benchmarks/coarsening_out_of_core.py --quick     # 10^5 and 10^6 edges; writes nothing

DuckDB coarsens ten and a hundred million edges, read from a folder of Parquet files, each in a process of its own. The
time of a thousand million is extrapolated by the growth between the two: t(10 m) = t(m) * t(m) / t(m / 10).
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

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from harness import environment, peak_bytes, provenance, write_result, write_table
from hiergcn.coarsen.out_of_core import LevelSummary, coarsen_out_of_core

LEVELS = 2
DEGREE = 10  # edges per node
CHUNK = 10**7  # edges per file
LIMIT = 3.0e9  # bytes of DuckDB's own memory for 10^8 edges; the process needs about a third more


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10^5 and 10^6 edges; write nothing")
    parser.add_argument("--folder", type=Path, help="for edges and temporary files [default: the system's]")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)  # used by the processes that this one starts
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(coarsened(arguments.one, arguments.folder)))
        return
    result: dict[str, Any] = {"environment": environment(["hiergcn", "duckdb", "numpy", "pyarrow"]), "runs": []}
    for edges in (10**5, 10**6) if arguments.quick else (10**7, 10**8):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            command = [sys.executable, __file__, "--one", str(edges), "--folder", folder]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        result["runs"].append(json.loads(done.stdout))
        print(json.dumps(result["runs"][-1]), flush=True)
    print("\n".join(table(result)))
    if not arguments.quick:
        print(write_result("coarsening_out_of_core", result))
        write_table("coarsening_out_of_core", table(result))


def coarsened(edges: int, folder: Path) -> dict[str, Any]:
    """Write the edges, coarsen them and return sizes, seconds and peak memory."""
    write_edges(edges, folder / "edges")
    limit = f"{round(max(LIMIT * edges / 10**8, 2e8) / 1e6)}MB"
    load, began, cpu_began = os.getloadavg()[0], time.perf_counter(), time.process_time()
    after: list[float] = []

    def on_level(_: int, __: LevelSummary) -> None:
        after.append(time.perf_counter() - began)

    out = folder / "hyper-nodes.parquet"
    levels = coarsen_out_of_core(folder / "edges", LEVELS, out, memory=limit, on_level=on_level)
    return {
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
        columns = {"source": source, "target": (source + distance) % nodes}
        pq.write_table(pa.table(columns), folder / f"part-{number:03}.parquet")


def table(result: dict[str, Any]) -> list[str]:
    """Return the table: a row per graph, and one for ten times as many edges."""
    runs = result["runs"]
    lines = [
        provenance(result["environment"]),
        f"{LEVELS} levels; DuckDB's own limit is 3 GB per 100 million edges. The last row is extrapolated.",
        "",
        "| edges | nodes | seconds | CPU seconds | load average | peak memory |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {run['edges'][0]:,} | {run['nodes'][0]:,} | {run['seconds']:,.0f} | {run['cpu']:,.0f} | "
        f"{run['load_before']:.1f} to {run['load_after']:.1f} | {run['peak_bytes'] / 1e9:.1f} GB |"
        for run in runs
    ]
    small, large = runs
    seconds, cpu = (large[part] ** 2 / small[part] for part in ("seconds", "cpu"))
    return [*lines, f"| {10 * large['edges'][0]:,} | {10 * large['nodes'][0]:,} | {seconds:,.0f} | {cpu:,.0f} | | |"]


if __name__ == "__main__":
    main()
