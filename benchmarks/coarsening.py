"""How fast is coarsening, how does it scale, and how much memory does it need?

    python benchmarks/coarsening.py            # about five minutes on 2 cores
    python benchmarks/coarsening.py --quick    # small sizes; writes nothing

Compared in the same process with a plain Python version of the algorithm, and with two partitioners, which coarsen the
graph, cut the coarsest level and refine the cut: METIS, which matches nodes, and KaMinPar, which clusters them. Needs
the extra `bench`, and Pubmed in `HIERGCN_DATA`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from harness import environment, held_bytes, peak_bytes, provenance, reset_peak, timed, write_result, write_table
from hiergcn.coarsening import CoarsenConfig, coarsen
from hiergcn.coarsening.reference import plain_coarsen
from hiergcn.datasets import load_dataset, planted_graph
from hiergcn.graph import Graph

LEVELS = 4
PARTS = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes; write nothing")
    parser.add_argument("--memory-of", type=Path, help=argparse.SUPPRESS)  # used by the process that memory() starts
    arguments = parser.parse_args()
    if arguments.memory_of:
        print(json.dumps(memory_here(arguments.memory_of)))
        return
    nodes, most_edges = (10**4, 10**5) if arguments.quick else (10**6, 10**7)
    result: dict[str, Any] = {"environment": environment(["hiergcn", "numpy", "scipy", "numba", "pymetis", "kaminpar"])}
    result["plain"] = printed(against_plain())
    large = planted(nodes)
    result["metis"] = printed(against_partitioners(large))
    result["memory"] = {"planted": printed(memory(large)), "random": printed(memory(random_graph(nodes)))}
    del large
    result["scaling"] = printed(scaling(most_edges))
    if not arguments.quick:
        print(write_result("coarsening", result))
        write_table("coarsening", table(result))


def printed(part: dict[str, Any]) -> dict[str, Any]:
    print(json.dumps(part), flush=True)
    return part


def planted(nodes: int, seed: int = 0) -> Graph:
    """Return a graph of nested communities, the smallest of a few hundred nodes, with about 9 edges per node."""
    depth = 1 + max(0, round(log(nodes / 2000, 8)))
    return planted_graph(nodes, degree=18.2, depth=depth, branching=8, features=0, seed=seed)


def random_graph(nodes: int, seed: int = 0) -> Graph:
    """Return a uniformly random graph with 9 edges per node; its edges hardly merge from level to level."""
    source, target = np.random.default_rng(seed).integers(nodes, size=(2, 9 * nodes))
    return Graph.from_edges(source, target, n=nodes)


def against_plain() -> dict[str, Any]:
    """Compare with the same algorithm in plain Python, on Pubmed."""
    graph = load_dataset("pubmed").graph
    A, config = graph.adjacency, CoarsenConfig()
    one, other = coarsen(graph, LEVELS, config), plain_coarsen(A, LEVELS, config)
    if not all(np.array_equal(one.hyper_nodes(level), other.hyper_nodes(level)) for level in range(LEVELS + 1)):
        raise SystemExit("The two versions give different hierarchies.")
    ours = timed(lambda: coarsen(graph, LEVELS, config), repeats=20)
    theirs = timed(lambda: plain_coarsen(A, LEVELS, config), repeats=5)
    return {**sizes(graph), "hiergcn": ours, "plain_python": theirs, "ratio": theirs["median"] / ours["median"]}


def against_partitioners(graph: Graph) -> dict[str, Any]:
    """Compare with partitions of the same graph, with one thread (METIS has no more) and with all."""
    import kaminpar
    import pymetis

    A = graph.adjacency
    adjacency = pymetis.CSRAdjacency(A.indptr, A.indices)
    ours = timed(lambda: coarsen(graph, LEVELS), repeats=5)
    with plain_torch():
        alone = timed(lambda: coarsen(graph, LEVELS), repeats=3)
    metis = timed(lambda: pymetis.part_graph(PARTS, adjacency=adjacency), repeats=2, warm_up=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.metis"
        write_metis(A, path)
        loaded = kaminpar.load_graph(str(path), kaminpar.GraphFileFormat.METIS)
    cores = len(os.sched_getaffinity(0))
    theirs = {
        threads: timed(
            partial(kaminpar.KaMinPar(threads, kaminpar.default_context()).compute_partition, loaded, PARTS, 0.03),
            repeats=3,
        )
        for threads in (cores, 1)  # one object at a time, in case they share a limit of threads
    }
    nodes, edges = coarsen(graph, LEVELS).sizes()
    return {
        **sizes(graph),
        "hierarchy": {"nodes": nodes, "edges": edges},
        "hiergcn": ours,
        "hiergcn_one_thread": alone,
        "metis": {"parts": PARTS, **metis},
        "kaminpar": theirs[cores],
        "kaminpar_one_thread": theirs[1],
        "ratio": metis["median"] / ours["median"],
    }


def write_metis(adjacency: sp.csr_array, path: Path) -> None:
    """Write the pattern of a graph without self-loops as METIS reads it: a line of neighbours per node, from 1."""
    starts = adjacency.indptr.tolist()
    neighbours = (adjacency.indices + 1).astype(str).tolist()
    with path.open("w", encoding="ascii") as file:
        file.write(f"{adjacency.shape[0]} {adjacency.nnz // 2}\n")
        file.writelines(" ".join(neighbours[a:b]) + "\n" for a, b in pairwise(starts))


@contextmanager
def plain_torch() -> Iterator[None]:
    config: Any = numba.config
    cores, config.NUMBA_NUM_THREADS = config.NUMBA_NUM_THREADS, 1
    try:
        yield
    finally:
        config.NUMBA_NUM_THREADS = cores


def scaling(most_edges: int) -> dict[str, Any]:
    """Measure seconds from 10^3 edges on, and fit b of seconds ~ edges^b, for wall clock and CPU time."""
    points = []
    for wanted in np.geomspace(10**3, most_edges, 2 * round(np.log10(most_edges / 10**3)) + 1):
        graph = planted(round(wanted / 9))
        time = timed(lambda graph=graph: coarsen(graph, LEVELS), repeats=3 if wanted > 10**6 else 9)  # type: ignore[misc]
        points.append({**sizes(graph), **time})
    edges = np.log([point["edges"] for point in points])
    wall, cpu = (float(np.polyfit(edges, np.log([p[kind] for p in points]), 1)[0]) for kind in ("median", "cpu"))
    return {"points": points, "exponent": wall, "cpu_exponent": cpu}


def memory(graph: Graph) -> dict[str, Any]:
    """Measure the peak memory of coarsening in a new process that holds only the graph."""
    A = graph.adjacency
    with tempfile.TemporaryDirectory() as folder:
        for part in ("indptr", "indices", "data"):
            np.save(Path(folder) / part, getattr(A, part))
        command = [sys.executable, __file__, "--memory-of", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {**sizes(graph), **json.loads(done.stdout)}


def memory_here(folder: Path) -> dict[str, Any]:
    """Measure the peak memory beyond what this process held before, as a multiple of the graph's arrays."""
    coarsen(planted(10**4), LEVELS)  # compile
    indptr, indices, data = (np.load(folder / f"{part}.npy") for part in ("indptr", "indices", "data"))
    A = sp.csr_array((data, indices, indptr))
    graph_bytes = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
    before = reset_peak()
    hierarchy = coarsen(A, LEVELS)
    peak = peak_bytes() - before
    made = held_bytes(hierarchy) - A.indices.nbytes - A.indptr.nbytes  # weights of 1 take none
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
    """Return the tables of speed, scaling and memory."""
    plain, metis, points = result["plain"], result["metis"], result["scaling"]["points"]
    rows = []
    for threads, end in (("all cores", ""), ("one thread", "_one_thread")):
        ours, theirs = metis[f"hiergcn{end}"], {"METIS, one thread": "metis", f"KaMinPar, {threads}": f"kaminpar{end}"}
        for peer, key in theirs.items():
            if key in metis:
                part = {**metis, "hiergcn": ours, "ratio": metis[key]["median"] / ours["median"]}
                rows.append(row(f"planted, {threads}", part, f"{peer}, {PARTS} parts {span(metis[key])}"))
    lines = [
        provenance(result["environment"]),
        f"{LEVELS} levels; median (least to most).",
        "",
        "| graph | nodes | edges | hiergcn | CPU time | compared with | speed-up |",
        "|---|---|---|---|---|---|---|",
        row("Pubmed", plain, f"plain Python {span(plain['plain_python'])}"),
        *rows,
    ]
    lines += ["", "| edges | seconds | CPU seconds |", "|---|---|---|"]
    lines += [f"| {point['edges']:,} | {point['median']:.2g} | {point['cpu']:.2g} |" for point in points]
    exponent, cpu_exponent = result["scaling"]["exponent"], result["scaling"]["cpu_exponent"]
    lines += ["", f"Fit: seconds ~ edges^{exponent:.2f}, CPU seconds ~ edges^{cpu_exponent:.2f}.", ""]
    lines += ["| memory, relative to the graph's arrays | result | peak, with the result |", "|---|---|---|"]
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
