"""How fast is coarsening, how does it grow, and what memory does it take?

    python benchmarks/coarsening.py            # all of it, about five minutes on 2 cores
    python benchmarks/coarsening.py --quick    # small sizes, to see that it runs; writes nothing

Peers run in the same process, one after the other: a plain-Python version of the same algorithm, and METIS's k-way
partitioning, which coarsens by matching, too. Needs the extra `bench`, and Pubmed where `HIERGCN_DATA` says.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import log
from pathlib import Path
from typing import Any

import numba
import numpy as np
import psutil
import pymetis
import scipy.sparse as sp

from hiergcn.coarsen import CoarsenConfig, coarsen
from hiergcn.datasets import load_dataset, planted_graph
from hiergcn.graph import Graph
from measuring import circumstances, timed, write_result, write_table
from plain_coarsening import plain_coarsen

LEVELS = 4
PARTS = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes; write nothing")
    parser.add_argument("--memory-of", type=Path, help=argparse.SUPPRESS)  # the process that memory() starts
    arguments = parser.parse_args()
    if arguments.memory_of:
        print(json.dumps(memory_here(arguments.memory_of)))
        return
    nodes, most_edges = (10**4, 10**5) if arguments.quick else (10**6, 10**7)
    result: dict[str, Any] = {"circumstances": circumstances(["hiergcn", "numpy", "scipy", "numba", "pymetis"])}
    result["plain"] = told(against_plain())
    large = planted(nodes)
    result["metis"] = told(against_metis(large))
    result["memory"] = {"planted": told(memory(large)), "random": told(memory(random_graph(nodes)))}
    del large
    result["growth"] = told(growth(most_edges))
    if not arguments.quick:
        print(write_result("coarsening", result))
        write_table("coarsening", table(result))


def told(part: dict[str, Any]) -> dict[str, Any]:
    print(json.dumps(part), flush=True)
    return part


def planted(nodes: int, seed: int = 0) -> Graph:
    """Nested communities, the smallest of some hundred nodes, and about 9 edges a node."""
    depth = 1 + max(0, round(log(nodes / 2000, 8)))
    return planted_graph(nodes, degree=18.2, depth=depth, branching=8, features=0, seed=seed)


def random_graph(nodes: int, seed: int = 0) -> Graph:
    """9 edges a node between any two nodes: nothing to find, and the edges hardly get fewer from level to level."""
    source, target = np.random.default_rng(seed).integers(nodes, size=(2, 9 * nodes))
    return Graph.from_edges(source, target, n=nodes)


def against_plain() -> dict[str, Any]:
    """Pubmed, the same hierarchy by the same algorithm in plain Python."""
    graph = load_dataset("pubmed").graph
    A, config = graph.adjacency, CoarsenConfig()
    rows = np.split(np.arange(A.nnz), A.indptr[1:-1])
    plain = [dict(zip(A.indices[row].tolist(), A.data[row].tolist(), strict=True)) for row in rows]
    hierarchy, (_, _, groups) = coarsen(graph, LEVELS, config), plain_coarsen(plain, LEVELS, config)
    if [level.grouping().tolist() for level in hierarchy.levels[:-1]] != groups:
        raise SystemExit("the two versions do not agree, so their times mean nothing")
    ours = timed(lambda: coarsen(graph, LEVELS, config), repeats=20)
    theirs = timed(lambda: plain_coarsen(plain, LEVELS, config), repeats=5)
    return {**sizes(graph), "hiergcn": ours, "plain_python": theirs, "ratio": theirs["median"] / ours["median"]}


def against_metis(graph: Graph) -> dict[str, Any]:
    """The time of a hierarchy and of METIS's partition of the same graph, with one thread (as METIS) and with all."""
    A = graph.adjacency
    adjacency = pymetis.CSRAdjacency(A.indptr, A.indices)
    ours = timed(lambda: coarsen(graph, LEVELS), repeats=5)
    with one_thread():
        alone = timed(lambda: coarsen(graph, LEVELS), repeats=3)
    theirs = timed(lambda: pymetis.part_graph(PARTS, adjacency=adjacency), repeats=3, warm_up=0)
    nodes, edges = coarsen(graph, LEVELS).sizes()
    return {
        **sizes(graph),
        "hierarchy": {"nodes": nodes, "edges": edges},
        "hiergcn": ours,
        "hiergcn_one_thread": alone,
        "metis": {"parts": PARTS, **theirs},
        "ratio": theirs["median"] / ours["median"],
    }


@contextmanager
def one_thread() -> Iterator[None]:
    config: Any = numba.config
    cores, config.NUMBA_NUM_THREADS = config.NUMBA_NUM_THREADS, 1
    try:
        yield
    finally:
        config.NUMBA_NUM_THREADS = cores


def growth(most_edges: int) -> dict[str, Any]:
    """Seconds from 10^3 edges on, and the exponent b of seconds ~ edges^b, by the clock and of CPU."""
    points = []
    for wanted in np.geomspace(10**3, most_edges, 2 * round(np.log10(most_edges / 10**3)) + 1):
        graph = planted(round(wanted / 9))
        time = timed(lambda graph=graph: coarsen(graph, LEVELS), repeats=3 if wanted > 10**6 else 9)  # type: ignore[misc]
        points.append({**sizes(graph), **time})
    edges = np.log([point["edges"] for point in points])
    wall, cpu = (float(np.polyfit(edges, np.log([p[kind] for p in points]), 1)[0]) for kind in ("median", "cpu"))
    return {"points": points, "exponent": wall, "cpu_exponent": cpu}


def memory(graph: Graph) -> dict[str, Any]:
    """Peak memory of coarsening in a fresh process that holds the graph and nothing else."""
    A = graph.adjacency
    with tempfile.TemporaryDirectory() as folder:
        for part in ("indptr", "indices", "data"):
            np.save(Path(folder) / part, getattr(A, part))
        command = [sys.executable, __file__, "--memory-of", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {**sizes(graph), **json.loads(done.stdout)}


def memory_here(folder: Path) -> dict[str, Any]:
    """The high-water mark of this process above what it held before, as multiples of the graph's arrays."""
    coarsen(planted(10**4), LEVELS)  # compile
    indptr, indices, data = (np.load(folder / f"{part}.npy") for part in ("indptr", "indices", "data"))
    A = sp.csr_array((data, indices, indptr))
    graph_bytes = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
    before = psutil.Process().memory_info().rss
    hierarchy = coarsen(A, LEVELS)
    status = Path("/proc/self/status").read_text()  # ru_maxrss would begin with the memory of the parent process
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024 - before
    made = sum(level.bytes() for level in hierarchy.levels) - graph_bytes
    return {
        "graph_bytes": graph_bytes,
        "result_bytes": made,
        "peak_bytes": peak,
        "result_over_graph": made / graph_bytes,
        "peak_over_graph": peak / graph_bytes,
    }


def sizes(graph: Graph) -> dict[str, Any]:
    return {"graph": graph.name, "nodes": graph.n_nodes, "edges": graph.n_edges}


def table(result: dict[str, Any]) -> list[str]:
    at, plain, metis, points = result["circumstances"], result["plain"], result["metis"], result["growth"]["points"]
    one = {**metis, "hiergcn": metis["hiergcn_one_thread"]}
    one["ratio"] = metis["metis"]["median"] / one["hiergcn"]["median"]
    lines = [
        f"{at['cores']} cores of {at['cpu']}, {at['when'][:10]}, commit {at['commit'][:10]}, `{at['command']}`.",
        f"Medians; in brackets the least and the most. A hierarchy has {LEVELS} levels. The load average before it was",
        f"{at['load_before']:.1f}: far above 0, others used the cores, and seconds of CPU say more than of the clock.",
        "",
        "| graph | nodes | edges | hiergcn | of CPU | peer | times faster |",
        "|---|---|---|---|---|---|---|",
        row("Pubmed", plain, f"plain Python {span(plain['plain_python'])}"),
        row("planted", metis, f"METIS, {PARTS} parts {span(metis['metis'])}"),
        row("planted, one thread", one, "the same"),
    ]
    edges = " | ".join(f"{point['edges']:,}" for point in points)
    seconds = " | ".join(f"{point['median']:.2g}" for point in points)
    cpu = " | ".join(f"{point['cpu']:.2g}" for point in points)
    lines += ["", f"| edges | {edges} |", "|---" * (len(points) + 1) + "|"]
    lines += [f"| seconds | {seconds} |", f"| of CPU | {cpu} |", ""]
    exponent, cpu_exponent = result["growth"]["exponent"], result["growth"]["cpu_exponent"]
    lines += [f"Growth: seconds ~ edges^{exponent:.2f}, of CPU ~ edges^{cpu_exponent:.2f}.", ""]
    lines += ["| memory, as multiples of the graph's own arrays | result | peak, result included |", "|---|---|---|"]
    for name, part in result["memory"].items():
        lines.append(f"| {name} | {part['result_over_graph']:.2f} | {part['peak_over_graph']:.2f} |")
    return lines


def row(name: str, part: dict[str, Any], peer: str) -> str:
    ours, cpu = span(part["hiergcn"]), part["hiergcn"]["cpu"]
    return f"| {name} | {part['nodes']:,} | {part['edges']:,} | {ours} | {cpu:.2g} s | {peer} | {part['ratio']:.1f} |"


def span(time: dict[str, Any]) -> str:
    return f"{time['median']:.2g} s ({time['least']:.2g} to {time['most']:.2g})"


if __name__ == "__main__":
    main()
