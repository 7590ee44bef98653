"""How long is an epoch on a graph of millions of nodes, and how much memory does it need?

    python benchmarks/large.py                                        # 1 million nodes, 9 million edges, on 2 CPU cores
    python benchmarks/large.py --device cuda                          # the same on a GPU
    python benchmarks/large.py --device cuda --nodes 5000000 --degree 20
    python benchmarks/large.py --set batches=8 --set recompute=true   # with less memory; settings as in `hiergcn fit`
    python benchmarks/large.py --nodes 20000 --quick                  # a smoke test; writes nothing

A planted graph with 100 dense features; H-GCN with the paper's settings. An epoch is a full-batch step and the
validation after it. Each run has its own process; its peak memory is counted after the graph has been made.
"""

import argparse
import os
import statistics
import time
from itertools import pairwise
from math import log
from typing import Any

from harness import environment, in_own_process, write_result, write_table

LIMIT = 3000.0  # seconds
FEATURES, CLASSES = 100, 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10**6)
    parser.add_argument("--degree", type=float, default=18.2)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--epochs", type=int, help="default: 3 on a CPU, 75 on a GPU")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting")
    parser.add_argument("--quick", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    epochs = arguments.epochs or (3 if arguments.device == "cpu" else 75)
    at = environment(["hiergcn", "torch", "numpy", "scipy", "numba"])
    changes = dict(pair.split("=", 1) for pair in arguments.set)
    work = (arguments.nodes, arguments.degree, arguments.device, arguments.threads, epochs, changes)
    run, peak = in_own_process(trained, *work, limit=LIMIT)
    run |= {"process_peak": peak.resident, "gpu_peak": peak.gpu, "environment": at}
    print(summary(run))
    if not arguments.quick:
        changed = "".join(f"-{name}={value}" for name, value in changes.items())
        name = f"large-{arguments.device}-{arguments.nodes}{changed}"
        print(write_result(name, run))
        write_table("large", table())


def trained(
    nodes: int, degree: float, device: str, threads: int, epochs: int, changes: dict[str, str]
) -> dict[str, Any]:
    """Make the graph, coarsen, prepare and train. Return the seconds and bytes of each."""
    import torch

    from harness import peak_bytes, reset_peak
    from hiergcn.coarsening import coarsen
    from hiergcn.datasets import planted_graph
    from hiergcn.graph import Split
    from hiergcn.graph.task import Task
    from hiergcn.model.inputs import build_method
    from hiergcn.settings.settings import settings_for
    from hiergcn.train.batches import Batches
    from hiergcn.train.loop import train_runs

    torch.set_num_threads(threads)
    depth = 1 + max(0, round(log(nodes / 2000, 8)))
    graph = planted_graph(nodes, classes=CLASSES, degree=degree, depth=depth, branching=8, features=FEATURES, noise=4.0)
    task = Task.of(graph, Split.random(graph.truth, per_class=nodes // 100 // CLASSES, validation=nodes // 100))
    settings = settings_for("hgcn", "paper").override({"epochs": str(epochs), **changes})
    method, where = build_method("hgcn", settings.model), torch.device(device)
    held = reset_peak()
    clock = [time.perf_counter()]
    hierarchy = coarsen(graph.adjacency, settings.model.levels, settings.coarsen)
    clock.append(time.perf_counter())
    config = settings.train
    in_batches = config.batches > 1 and config.batch_validation
    whole = None if in_batches else method.prepare(task, hierarchy, where)
    batches = Batches(method, whole, task, hierarchy, config.batches, where) if config.batches > 1 else None
    inputs = whole if batches is None else batches.model_inputs
    assert inputs is not None
    clock.append(time.perf_counter())
    ticks: list[tuple[int, float]] = []
    outcome = next(
        iter(
            train_runs(
                method,
                inputs,
                [(task, 0)],
                config,
                where,
                lambda event: ticks.append((event.epoch, time.perf_counter())),
                batches,
            )
        )
    )
    seconds = [(late - soon) / (b - a) for (a, soon), (b, late) in pairwise(ticks)]
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "features": FEATURES,
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "threads": threads,
        "settings": changes,
        "levels": [level.n_nodes for level in hierarchy.levels],
        "coarsen_seconds": clock[1] - clock[0],
        "prepare_seconds": clock[2] - clock[1],
        "epoch_seconds": statistics.median(seconds),
        "epoch_spread": [min(seconds), max(seconds)],
        "epochs": epochs,
        "validation_accuracy": outcome.validation_accuracy,
        "graph_held": held,
        "peak": peak_bytes(),
        "gpu_memory": torch.cuda.max_memory_allocated() if device == "cuda" else None,
    }


def summary(run: dict[str, Any]) -> str:
    gpu = f", GPU {run['gpu_memory'] / 1e9:.1f} GB" if run["gpu_memory"] else ""
    low, high = run["epoch_spread"]
    return (
        f"{run['nodes']:,} nodes, {run['edges']:,} edges on {run['device']} {run['settings'] or ''}: "
        f"coarsening {run['coarsen_seconds']:.1f} s, preparing {run['prepare_seconds']:.1f} s, "
        f"epoch {run['epoch_seconds']:.3f} s ({low:.3f} to {high:.3f}), peak {run['peak'] / 1e9:.1f} GB{gpu}"
    )


def table() -> list[str]:
    """Return the table of all stored runs, smallest graph first."""
    from harness import read_results

    runs = sorted(read_results("large-"), key=lambda run: (run["nodes"], run["device"], str(run["settings"])))
    lines = [
        "| nodes | edges | device | settings | coarsening | epoch | peak memory | peak GPU memory | commit |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        changed = ", ".join(f"{name}={value}" for name, value in run["settings"].items()) or "the paper's"
        device = run["device"] if run["gpu_memory"] else f"{run['threads']} cores of {run['environment']['cpu']}"
        gpu = f"{run['gpu_memory'] / 1e9:.1f} GB" if run["gpu_memory"] else ""
        lines.append(
            f"| {run['nodes']:,} | {run['edges']:,} | {device} | {changed} | {run['coarsen_seconds']:.1f} s | "
            f"{seconds(run['epoch_seconds'])} | {run['peak'] / 1e9:.1f} GB | {gpu} | "
            f"{run['environment']['commit'][:10]} |"
        )
    return lines


def seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{1000 * value:.0f} ms"


if __name__ == "__main__":
    main()
