"""How long does the harmonic function of a graph with millions of nodes take, and how much memory?

    python benchmarks/harmonic.py                           # 10 million nodes, 25 million edges
    python benchmarks/harmonic.py --nodes 20000 --quick     # a smoke test; writes nothing

A planted graph of 8 classes; one node in a thousand has a label. Its peak memory is counted after the graph has been
made. CPU seconds are those of one core, which depend less on the machine's load.
"""

import argparse
import time
from typing import Any

from harness import environment, in_own_process, provenance, read_results, write_result, write_table

LIMIT = 10_000.0  # seconds
CLASSES = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10**7)
    parser.add_argument("--degree", type=float, default=5.0)
    parser.add_argument("--quick", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    at = environment(["hiergcn", "numpy", "scipy", "numba"])
    run, _ = in_own_process(solved, arguments.nodes, arguments.degree, limit=LIMIT)
    run |= {"environment": at}
    print(run)
    if not arguments.quick:
        print(write_result(f"harmonic-{arguments.nodes}", run))
        write_table("harmonic", table())


def solved(nodes: int, degree: float) -> dict[str, Any]:
    """Make the graph and diffuse its labels; return seconds, bytes and the accuracy at nodes without a label."""
    import numpy as np

    from harness import peak_bytes, reset_peak
    from hiergcn.coarsening.diffusion import Diffusion
    from hiergcn.datasets import planted_graph

    graph = planted_graph(nodes, classes=CLASSES, degree=degree, features=0)
    known = np.sort(np.random.default_rng(0).choice(nodes, nodes // 1000, replace=False))
    held = reset_peak()
    began, cpu = time.perf_counter(), time.process_time()
    F = Diffusion(graph.adjacency).harmonic(known, graph.truth[known], CLASSES)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
    right = F.argmax(axis=1) == graph.truth
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "accuracy": float((right.sum() - right[known].sum()) / (nodes - len(known))),
        "graph_held": held,
        "peak": peak_bytes(),
    }


def table() -> list[str]:
    """Return the table of all stored runs, smallest graph first."""
    runs = sorted(read_results("harmonic-"), key=lambda run: int(run["nodes"]))
    rows = [
        f"| {run['nodes']:,} | {run['edges']:,} | {run['seconds']:.0f} | {run['cpu_seconds']:.0f} "
        f"| {run['peak'] / 1e9:.1f} | {100 * run['accuracy']:.1f} |"
        for run in runs
    ]
    head = ["| nodes | edges | seconds | CPU seconds | peak, GB | accuracy, % |", "|---|---|---|---|---|---|"]
    return [*head, *rows, "", *(provenance(run["environment"]) for run in runs[-1:])]


if __name__ == "__main__":
    main()
