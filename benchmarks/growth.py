"""How do the time and the memory of a training step grow, from a thousand to ten million edges?

    python benchmarks/growth.py              # about four minutes on 2 cores, 8 GB
    python benchmarks/growth.py --quick      # up to 30,000 edges; writes nothing

Planted graphs with 9 edges a node and 32 dense features; H-GCN with the paper's settings, and PyTorch Geometric's GCN
and GAT. Each point has a process of its own with one thread; `cpu` are seconds of the processor, which other work on
the machine disturbs less. A network is left out beyond the size where it would need more than the machine has.
"""

import argparse
import statistics
import time
from math import log
from typing import Any

import numpy as np

from hiergcn.run.process import Send, in_own_process
from measuring import circumstances, write_result, write_table

EDGES = [round(10**exponent) for exponent in np.arange(3.0, 7.01, 0.5)]
NETWORKS = {"H-GCN": 10**7, "GCN": 10**7, "GAT": 10**6}  # and the most edges it is measured with
ENOUGH = 2.0  # seconds of a point's steps after which no further one is begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes; write nothing")
    arguments = parser.parse_args()
    packages = ["hiergcn", "torch", "torch_geometric", "numpy", "scipy"]
    result: dict[str, Any] = {"circumstances": circumstances(packages), "points": []}
    for edges in [size for size in EDGES if not arguments.quick or size <= 30_000]:
        for network in [name for name, most in NETWORKS.items() if edges <= most]:
            figures, _ = in_own_process(steps_of, network, edges, limit=2400.0)
            result["points"].append({"network": network, **figures})
            print(
                f"{network:6} {figures['edges']:>10,} edges {figures['cpu']:.4g} s of CPU, "
                f"{figures['memory'] / 1e6:,.0f} MB",
                flush=True,
            )
    result["exponents"] = {name: exponent(result["points"], name) for name in NETWORKS}
    if not arguments.quick:
        print(write_result("growth", result))
        write_table("growth", table(result))


def steps_of(send: Send, network: str, edges: int) -> dict[str, Any]:  # noqa: ARG001
    """The work of a point's process."""
    import torch

    from hiergcn.datasets import planted_graph
    from hiergcn.graph import Split
    from hiergcn.run.settings import settings_for
    from measuring import forget_peak, peak_since
    from peers import peer_steps
    from steps import our_steps

    torch.set_num_threads(1)
    nodes = round(edges / 9)
    depth = 1 + max(0, round(log(max(nodes, 2000) / 2000, 8)))
    graph = planted_graph(nodes, classes=4, degree=18.2, depth=depth, branching=8, features=32, noise=4.0)
    assert graph.labels is not None
    split = Split.random(graph.labels, per_class=min(20, nodes // 20), validation=nodes // 5)
    held = forget_peak()
    if network == "H-GCN":
        step, _ = our_steps(graph, split, settings_for("hgcn", "paper"))
    else:
        step, _ = peer_steps(network, graph, split)
    step()
    seconds: list[float] = []
    cpu: list[float] = []
    while len(cpu) < 2 or (sum(seconds) < ENOUGH and len(cpu) < 30):
        began, cpu_began = time.perf_counter(), time.process_time()
        step()
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - cpu_began)
    return {
        "nodes": nodes,
        "edges": graph.n_edges,
        "median": statistics.median(seconds),
        "cpu": statistics.median(cpu),
        "least": min(cpu),
        "most": max(cpu),
        "steps": len(cpu),
        "memory": peak_since() - held,
    }


def exponent(points: list[dict[str, Any]], network: str) -> float:
    """b of cpu ~ edges^b, from 30,000 edges on, where fixed costs no longer matter."""
    large = [point for point in points if point["network"] == network and point["edges"] > 30_000]
    if len(large) < 2:
        return float("nan")
    edges, cpu = (np.log([point[key] for point in large]) for key in ("edges", "cpu"))
    return float(np.polyfit(edges, cpu, 1)[0])


def table(result: dict[str, Any]) -> list[str]:
    at = result["circumstances"]
    networks = list(NETWORKS)
    lines = [
        f"One of {at['cores']} cores of {at['cpu']}, {at['when'][:10]}, commit {at['commit'][:10]}, `{at['command']}`.",
        "Milliseconds of CPU, median; MB above what the process held with the graph read.",
        "",
        f"| edges | {' | '.join(networks)} |",
        "|---" * (len(networks) + 1) + "|",
    ]
    by_size: dict[int, dict[str, dict[str, Any]]] = {}
    for point in result["points"]:
        by_size.setdefault(point["edges"], {})[point["network"]] = point
    for edges, points in by_size.items():
        cells = [
            f"{1000 * points[name]['cpu']:,.1f}, {points[name]['memory'] / 1e6:,.0f} MB" if name in points else ""
            for name in networks
        ]
        lines.append(f"| {edges:,} | {' | '.join(cells)} |")
    grown = ", ".join(f"{name} edges^{value:.2f}" for name, value in result["exponents"].items())
    return [*lines, "", f"Growth from 30,000 edges on: {grown}."]


if __name__ == "__main__":
    main()
