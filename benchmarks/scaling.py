"""How do time and memory of a training step scale, from a thousand to ten million edges?

    python benchmarks/scaling.py              # about six minutes on 2 cores, 8 GB
    python benchmarks/scaling.py --quick      # up to 30,000 edges; writes nothing

Planted graphs with 9 edges per node and 32 dense features; H-GCN with the paper's settings, PyTorch Geometric's GCN
and GAT. The product of Â with 40 columns, as most layers of H-GCN have it, shows by itself what larger graphs cost per
edge: its arithmetic is linear, but the rows of neighbours no longer fit into the caches. Each point runs in its own
process with one thread; `cpu` is CPU time, which depends less on the machine's load. The same process then takes steps
with two threads, which wait as in `hiergcn`. A network is not measured on graphs for which it would run out of memory.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from math import log
from typing import Any

import numpy as np

from harness import environment, in_own_process, provenance, write_result, write_table

EDGES = [round(10**exponent) for exponent in np.arange(3.0, 7.01, 0.5)]
PRODUCT, COLUMNS = "product Â H", 40
NETWORKS = {"H-GCN": 10**7, PRODUCT: 10**7, "GCN": 10**7, "GAT": 10**6}  # the most edges it is measured with
FITTED = 90_000  # edges from which on the exponents are fitted
ENOUGH = 2.0  # seconds per point after which no new step starts
FEWEST = 5  # steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes; write nothing")
    arguments = parser.parse_args()
    packages = ["hiergcn", "torch", "torch_geometric", "numpy", "scipy"]
    result: dict[str, Any] = {"environment": environment(packages), "points": []}
    for edges in [size for size in EDGES if not arguments.quick or size <= 30_000]:
        for network in [name for name, most in NETWORKS.items() if edges <= most]:
            figures, _ = in_own_process(steps_of, network, edges, limit=2400.0)
            result["points"].append({"network": network, **figures})
            print(
                f"{network:6} {figures['edges']:>10,} edges {figures['cpu']:.4g} CPU seconds, "
                f"{figures['memory'] / 1e6:,.0f} MB",
                flush=True,
            )
    result["exponents"] = {name: exponent(result["points"], name) for name in NETWORKS}
    if not arguments.quick:
        print(write_result("scaling", result))
        write_table("scaling", table(result))


def steps_of(network: str, edges: int) -> dict[str, Any]:
    """Measure a point, in its own process."""
    import torch

    from harness import peak_bytes, reset_peak
    from hiergcn.datasets import planted_graph
    from hiergcn.graph import Split
    from hiergcn.model.ops.sparse import SparseMatrix, normalised_adjacency
    from hiergcn.settings.settings import settings_for
    from peers import peer_steps
    from train_step import our_steps

    torch.set_num_threads(1)
    nodes = round(edges / 9)
    depth = 1 + max(0, round(log(max(nodes, 2000) / 2000, 8)))
    graph = planted_graph(nodes, classes=4, degree=18.2, depth=depth, branching=8, features=32, noise=4.0)
    split = Split.random(graph.truth, per_class=min(20, nodes // 20), validation=nodes // 5)
    held = reset_peak()
    if network == "H-GCN":
        step, _ = our_steps(graph, split, settings_for("hgcn", "paper"))
    elif network == PRODUCT:
        step = partial(
            SparseMatrix.from_scipy(normalised_adjacency(graph.adjacency)).product, torch.rand(nodes, COLUMNS)
        )
    else:
        step, _ = peer_steps(network, graph, split)
    seconds, cpu = timed(step)
    memory = peak_bytes() - held
    torch.set_num_threads(2)
    shared, _ = timed(step)
    return {
        "nodes": nodes,
        "edges": graph.n_edges,
        "median": statistics.median(seconds),
        "two_threads": statistics.median(shared),
        "cpu": statistics.median(cpu),
        "least": min(cpu),
        "most": max(cpu),
        "steps": len(cpu),
        "memory": memory,
    }


def timed(step: Callable[[], object]) -> tuple[list[float], list[float]]:
    """Return wall-clock and CPU seconds of steps after the first."""
    seconds: list[float] = []
    cpu: list[float] = []
    step()
    while len(cpu) < FEWEST or (sum(seconds) < ENOUGH and len(cpu) < 30):
        began, cpu_began = time.perf_counter(), time.process_time()
        step()
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - cpu_began)
    return seconds, cpu


def exponent(points: list[dict[str, Any]], network: str) -> float:
    """Fit b of cpu ~ edges^b for large graphs, where fixed costs are negligible."""
    large = [point for point in points if point["network"] == network and point["edges"] > FITTED]
    if len(large) < 2:
        return float("nan")
    edges, cpu = (np.log([point[key] for point in large]) for key in ("edges", "cpu"))
    return float(np.polyfit(edges, cpu, 1)[0])


def table(result: dict[str, Any]) -> list[str]:
    """Return the table: edges down, networks across."""
    networks = list(NETWORKS)
    lines = [
        provenance(result["environment"]),
        "Median CPU milliseconds per step with one thread, peak memory beyond the graph, and how many times as fast",
        "two threads are (wall clock).",
        "",
        f"| edges | {' | '.join(networks)} |",
        "|---" * (len(networks) + 1) + "|",
    ]
    by_size: dict[int, dict[str, dict[str, Any]]] = {}
    for point in result["points"]:
        by_size.setdefault(point["edges"], {})[point["network"]] = point
    for edges, points in by_size.items():
        cells = [_cell(points[name]) if name in points else "" for name in networks]
        lines.append(f"| {edges:,} | {' | '.join(cells)} |")
    powers = ", ".join(f"{name} edges^{value:.2f}" for name, value in result["exponents"].items())
    return [*lines, "", f"Fit above {FITTED:,} edges: CPU time ~ {powers}."]


def _cell(point: dict[str, Any]) -> str:
    milliseconds = 1000 * point["cpu"]
    return (
        f"{milliseconds:,.{1 if milliseconds > 1 else 2}f}, {point['memory'] / 1e6:,.0f} MB, "
        f"{point['median'] / point['two_threads']:.2f}"
    )


if __name__ == "__main__":
    main()
