"""How much time and memory does it take to read a large graph from CSV or Parquet files?

    python benchmarks/read_csv.py            # 1 million nodes, 5 million edges: about two minutes on 2 cores
    python benchmarks/read_csv.py --quick    # a hundredth of the size; writes nothing

Each run is a new process, with pyarrow, with pandas alone or from Parquet, for integer and for text ids. Timed is
`Graph.from_csv`, loading numba and its machine code included; memory is the peak of the process, Python and libraries
included. On a machine with other load compare CPU seconds: pyarrow uses all cores, so that seconds are fewer on a quiet
one.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness import HERE, environment, peak_bytes, provenance, write_result, write_table
from hiergcn.graph import Graph
from hiergcn.graph.tables import text_files

LIMIT_GIGABYTES = 3.0
FEATURES = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small files; write nothing")
    parser.add_argument("--repeats", type=int, default=3, help="processes per row")
    arguments = parser.parse_args()
    nodes, edges = (10**4, 5 * 10**4) if arguments.quick else (10**6, 5 * 10**6)
    result: dict[str, Any] = {"environment": environment(["hiergcn", "numpy", "pandas", "pyarrow"])}
    result |= {"nodes": nodes, "edges": edges, "features": FEATURES, "repeats": arguments.repeats, "runs": []}
    with tempfile.TemporaryDirectory() as folder:
        for ids in ("whole numbers", "text"):
            files = write_files(Path(folder), nodes, edges, ids)
            for reader in ("pyarrow", "pandas", "parquet"):
                run = measured(files, ids, reader, arguments.repeats)
                print(json.dumps(run), flush=True)
                result["runs"].append(run)
    if not arguments.quick:
        print(write_result("read_csv", result))
        write_table("read_csv", table(result))


def write_files(folder: Path, nodes: int, edges: int, ids: str) -> tuple[Path, Path]:
    """Write a random graph with gaps in its ids, labels for a tenth of the nodes, and features."""
    rng = np.random.default_rng(0)
    names: Any = rng.permutation(10 * nodes)[:nodes]
    if ids == "text":
        names = np.char.add("user-", names.astype(str))
    source, target = rng.integers(nodes, size=(2, edges))
    pd.DataFrame({"source": names[source], "target": names[target]}).to_csv(folder / "edges.csv", index=False)
    table = pd.DataFrame(rng.normal(size=(nodes, FEATURES)).round(4), columns=[f"x{k}" for k in range(FEATURES)])
    table.insert(0, "id", names)
    classes = np.array(["art", "law", "music"])[rng.integers(3, size=nodes)]
    table["label"] = np.where(rng.random(nodes) < 0.1, classes, "")
    table.to_csv(folder / "nodes.csv", index=False)
    for name in ("edges", "nodes"):
        pd.read_csv(folder / f"{name}.csv", dtype={"label": str}).to_parquet(folder / f"{name}.parquet")
    return folder / "edges.csv", folder / "nodes.csv"


def measured(files: tuple[Path, Path], ids: str, reader: str, repeats: int) -> dict[str, Any]:
    if reader == "parquet":
        files = (files[0].with_suffix(".parquet"), files[1].with_suffix(".parquet"))
    program = "import sys; from read_csv import read_here; read_here(*sys.argv[1:])"
    command = [sys.executable, "-c", program, reader, *map(str, files)]
    runs = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE).stdout)
        for _ in range(repeats)
    ]
    middle = {name: statistics.median(run[name] for run in runs) for name in ("seconds", "cpu_seconds", "gigabytes")}
    return {"ids": ids, "reader": reader, **middle, "megabytes_of_files": _megabytes(files), "every_run": runs}


def read_here(reader: str, edges: str, nodes: str) -> None:
    """Read the graph and print the measurements; runs in the new process."""
    if reader == "pandas":
        text_files.LONG = 1 << 62  # no file is long enough for pyarrow
    began, began_cpu = time.perf_counter(), time.process_time()
    graph = Graph.from_csv(edges, nodes)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    assert graph.n_features == FEATURES
    gigabytes = peak_bytes() / 1e9
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds, "gigabytes": gigabytes}))


def _megabytes(files: tuple[Path, Path]) -> float:
    return sum(file.stat().st_size for file in files) / 1e6


def table(result: dict[str, Any]) -> list[str]:
    """Return the table: a row per kind of ids and reader."""
    lines = [
        provenance(result["environment"]),
        f"{result['nodes']:,} nodes with {result['features']} features, {result['edges']:,} edges;",
        f"medians of {result.get('repeats', 3)} processes. Our limit: {LIMIT_GIGABYTES:.0f} GB.",
        "",
        "| ids | reader | files, MB | seconds | CPU seconds | peak memory, GB |",
        "|---|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {run['ids']} | {run['reader']} | {run['megabytes_of_files']:.0f} | {run['seconds']:.1f} | "
        f"{run['cpu_seconds']:.1f} | {run['gigabytes']:.2f} |"
        for run in result["runs"]
    ]
    return lines


if __name__ == "__main__":
    main()
