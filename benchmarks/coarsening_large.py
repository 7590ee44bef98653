"""Can a laptop coarsen ten million nodes and a hundred million edges?

    python benchmarks/coarsening_large.py              # about five minutes, 12 GB
    python benchmarks/coarsening_large.py --quick      # a hundredth of the size; writes nothing

One process makes the graph; new processes coarsen it, with all cores and with one. Each measures time and peak memory
and computes a digest of the hierarchy; the digests must agree.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from harness import environment, held_bytes, peak_bytes, provenance, reset_peak, write_result, write_table
from hiergcn.coarsening import Hierarchy, coarsen
from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph

LEVELS = 4
PARTS = ("indptr", "indices", "data")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the size; write nothing")
    parser.add_argument("--make", type=int, help=argparse.SUPPRESS)  # used by the processes that this one starts
    parser.add_argument("--coarsen", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        make(arguments.make, arguments.folder)
    elif arguments.coarsen:
        print(json.dumps(coarsened(arguments.folder)))
    else:
        measure(10**5 if arguments.quick else 10**7, write=not arguments.quick)


def measure(nodes: int, write: bool) -> None:
    cores = len(os.sched_getaffinity(0))
    result: dict[str, Any] = {"environment": environment(["hiergcn", "numpy", "scipy", "numba"]), "runs": []}
    with tempfile.TemporaryDirectory() as folder:
        in_process(["--make", str(nodes), "--folder", folder], cores)
        for threads in dict.fromkeys([cores, 1]):
            figures = json.loads(in_process(["--coarsen", "--folder", folder], threads))
            result["runs"].append({"threads": threads, **figures})
            print(json.dumps(result["runs"][-1]), flush=True)
    if len({run["digest"] for run in result["runs"]}) > 1:
        raise SystemExit("The hierarchy depends on the number of threads.")
    if write:
        print(write_result("coarsening_large", result))
        write_table("coarsening_large", table(result))


def in_process(arguments: list[str], threads: int) -> str:
    command = [sys.executable, __file__, *arguments]
    variables = {**os.environ, "NUMBA_NUM_THREADS": str(threads)}
    return subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True).stdout


def make(nodes: int, folder: Path) -> None:
    """Write a graph of nested communities, the smallest of a few hundred nodes, with about 10 edges per node."""
    depth = 1 + max(0, round(log(nodes / 2000, 8)))
    graph = planted_graph(nodes, degree=20.3, depth=depth, branching=8, features=0)
    for part in PARTS:
        np.save(folder / part, getattr(graph.adjacency, part))


def coarsened(folder: Path) -> dict[str, Any]:
    coarsen(planted_graph(3 * 10**5, features=0), LEVELS)  # compile, the kernels for large graphs too
    graph = Graph(sp.csr_array(tuple(np.load(folder / f"{part}.npy") for part in reversed(PARTS))))  # validates it
    reset_peak()  # the weights that were read, all 1, are gone
    load = os.getloadavg()[0]
    began, cpu_began = time.perf_counter(), time.process_time()
    hierarchy = coarsen(graph, LEVELS)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    nodes, edges = hierarchy.sizes()
    return {
        "nodes": nodes,
        "edges": edges,
        "seconds": seconds,
        "cpu": cpu,
        "load_before": load,
        "peak_bytes": peak_bytes(),
        "held_bytes": held_bytes(hierarchy),
        "digest": digest(hierarchy),
    }


def digest(hierarchy: Hierarchy) -> str:
    """Return a digest of all arrays of all levels."""
    found = hashlib.sha256()
    for level in hierarchy.levels:
        for array in (*(getattr(level.adjacency, part) for part in PARTS), level.node_weight, level.group):
            if array is not None:
                found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def table(result: dict[str, Any]) -> list[str]:
    """Return the table: a row per number of threads."""
    first = result["runs"][0]
    lines = [
        provenance(result["environment"]),
        f"{LEVELS} levels of a planted graph with {first['nodes'][0]:,} nodes and {first['edges'][0]:,} edges;",
        (
            "the result does not depend on the number of threads. Peak memory includes graph and result, which take "
            f"{first['held_bytes'] / 1e9:.1f} GB."
        ),
        "",
        "| threads | seconds | CPU seconds | load average | peak memory |",
        "|---|---|---|---|---|",
    ]
    return lines + [
        f"| {run['threads']} | {run['seconds']:.0f} | {run['cpu']:.0f} | {run['load_before']:.1f} | "
        f"{run['peak_bytes'] / 1e9:.1f} GB |"
        for run in result["runs"]
    ]


if __name__ == "__main__":
    main()
