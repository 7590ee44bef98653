"""Can ten million nodes and a hundred million edges be coarsened on a laptop, and with one core as with two?

    python benchmarks/coarsening_large.py              # some five minutes, 12 GB
    python benchmarks/coarsening_large.py --quick      # a hundredth of the size; writes nothing

The graph is made in one process and coarsened in fresh ones, with all cores and with one, which hold nothing else; each
tells its time, its high-water mark of memory and a digest of the hierarchy, and the digests must agree.
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

from hiergcn.coarsen import Hierarchy, coarsen
from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph
from measuring import circumstances, write_result, write_table

LEVELS = 4
PARTS = ("indptr", "indices", "data")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the size; write nothing")
    parser.add_argument("--make", type=int, help=argparse.SUPPRESS)  # the processes that this one starts
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
    result: dict[str, Any] = {"circumstances": circumstances(["hiergcn", "numpy", "scipy", "numba"]), "runs": []}
    with tempfile.TemporaryDirectory() as folder:
        in_process(["--make", str(nodes), "--folder", folder], cores)
        for threads in dict.fromkeys([cores, 1]):
            told = json.loads(in_process(["--coarsen", "--folder", folder], threads))
            result["runs"].append({"threads": threads, **told})
            print(json.dumps(result["runs"][-1]), flush=True)
    if len({run["digest"] for run in result["runs"]}) > 1:
        raise SystemExit("the hierarchies differ between numbers of threads")
    if write:
        print(write_result("coarsening-large", result))
        write_table("coarsening-large", table(result))


def in_process(arguments: list[str], threads: int) -> str:
    command = [sys.executable, __file__, *arguments]
    environment = {**os.environ, "NUMBA_NUM_THREADS": str(threads)}
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def make(nodes: int, folder: Path) -> None:
    """Nested communities, the smallest of some hundred nodes, and about 10 edges a node."""
    depth = 1 + max(0, round(log(nodes / 2000, 8)))
    graph = planted_graph(nodes, degree=20.3, depth=depth, branching=8, features=0)
    for part in PARTS:
        np.save(folder / part, getattr(graph.adjacency, part))


def coarsened(folder: Path) -> dict[str, Any]:
    coarsen(planted_graph(10**4, features=0), LEVELS)  # compile
    matrix = sp.csr_array(tuple(np.load(folder / f"{part}.npy") for part in reversed(PARTS)))
    graph = Graph(matrix)  # checks it, as reading a graph does
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
        "peak_bytes": int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024,
        "graph_bytes": sum(getattr(matrix, part).nbytes for part in PARTS),
        "digest": digest(hierarchy),
    }


def digest(hierarchy: Hierarchy) -> str:
    """Of every array of every level."""
    found = hashlib.sha256()
    for level in hierarchy.levels:
        for array in (*(getattr(level.adjacency, part) for part in PARTS), level.node_weight, level.group):
            if array is not None:
                found.update(array)
    return found.hexdigest()


def table(result: dict[str, Any]) -> list[str]:
    at, first = result["circumstances"], result["runs"][0]
    lines = [
        f"{at['cores']} cores of {at['cpu']}, {at['when'][:10]}, commit {at['commit'][:10]}, `{at['command']}`.",
        f"{LEVELS} levels of a planted graph of {first['nodes'][0]:,} nodes and {first['edges'][0]:,} edges, the same",
        "to the last bit with any number of threads.",
        "",
        "| threads | seconds | of CPU | load before | peak of the process, graph and result included |",
        "|---|---|---|---|---|",
    ]
    return lines + [
        f"| {run['threads']} | {run['seconds']:.0f} | {run['cpu']:.0f} | {run['load_before']:.1f} | "
        f"{run['peak_bytes'] / 1e9:.1f} GB |"
        for run in result["runs"]
    ]


if __name__ == "__main__":
    main()
