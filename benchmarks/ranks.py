"""How much faster are 8 ranks of torchrun than one process, on one machine without a GPU?

    python benchmarks/ranks.py                              # 1 million nodes, 8 ranks on 16 cores; about two minutes
    python benchmarks/ranks.py --nodes 20000 --ranks 2      # a smoke test

A planted graph with 16 dense features; GCN in 32 batches, evaluated in batches too. This process trains alone, with one
thread; then torchrun starts the ranks, first with one thread each, which gives the same bits, then with all cores.
Epochs are timed after the first one. The result is written to --out, or to benchmarks/results.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

import torch

from harness import environment, provenance, write_result, write_table
from hiergcn.coarsening import coarsen
from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.inputs import build_method
from hiergcn.model.ops.ranks import Ranks, joined
from hiergcn.settings.settings import settings_for
from hiergcn.train.batches import Batches
from hiergcn.train.loop import train_models

CPU = torch.device("cpu")
CLASSES, FEATURES, DEGREE, BATCHES, LEVELS = 8, 16, 12.0, 32, 4
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10**6)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--out", type=Path, help="file for the result [default: benchmarks/results/ranks.json]")
    parser.add_argument("--wide", action="store_true", help="also one process with a thread per core")
    arguments = parser.parse_args()
    if "WORLD_SIZE" in os.environ:  # a rank that this script has started
        with joined("cpu") as ranks:
            run = trained(planted(arguments.nodes), arguments.epochs)
        if ranks.rank == 0:
            arguments.out.write_text(json.dumps(run), encoding="utf-8")
        return
    at, cores = environment(["hiergcn", "torch", "numpy", "scipy", "numba"]), len(os.sched_getaffinity(0))
    graph = planted(arguments.nodes)
    result: dict[str, Any] = {"environment": at, "nodes": graph.n_nodes, "edges": graph.n_edges, "batches": BATCHES}
    ways = [(1, 1), (arguments.ranks, 1), (arguments.ranks, max(cores // arguments.ranks, 1))]
    ways += [(1, cores)] if arguments.wide else []
    result["runs"] = []
    for ranks, threads in dict.fromkeys(ways):
        torch.set_num_threads(threads)
        run = (
            in_ranks(arguments.nodes, ranks, threads, arguments.epochs)
            if ranks > 1
            else trained(graph, arguments.epochs)
        )
        result["runs"].append(run)
        print(json.dumps(run), flush=True)
        if arguments.out:
            arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print("\n".join(table(result)))
    if not arguments.out:
        print(write_result("ranks", result))
        write_table("ranks", table(result))


def planted(nodes: int) -> Graph:
    """Make the graph, the same one in every process."""
    depth = 1 + max(0, round(log(nodes / 2000, 8)))
    return planted_graph(nodes, classes=CLASSES, degree=DEGREE, depth=depth, branching=8, features=FEATURES)


def in_ranks(nodes: int, ranks: int, threads: int, epochs: int) -> dict[str, Any]:
    """Train in processes that torchrun starts."""
    with tempfile.TemporaryDirectory() as folder:
        given = ["--nodes", str(nodes), "--epochs", str(epochs), "--out", f"{folder}/run.json"]
        start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
        variables = os.environ | dict.fromkeys(THREADS, str(threads))
        subprocess.run([sys.executable, *start, __file__, *given], check=True, env=variables)
        run: dict[str, Any] = json.loads((Path(folder) / "run.json").read_text(encoding="utf-8"))
        return run


def trained(graph: Graph, epochs: int) -> dict[str, Any]:
    """Coarsen, prepare and train; return the seconds of each."""
    share = max(graph.n_nodes // 100 // CLASSES, 2)
    task = Task.of(graph, Split.random(graph.truth, per_class=share, validation=CLASSES * share))
    settings = settings_for("gcn").override({"epochs": epochs, "batches": BATCHES, "hidden": 32})
    method = build_method("gcn", settings.model)
    began = time.perf_counter()
    hierarchy = coarsen(graph.adjacency, LEVELS, settings.coarsen)
    batches = Batches(method, None, task, hierarchy, BATCHES, CPU)
    ticks: list[float] = []
    outcome = train_models(
        method,
        batches.model_inputs,
        [(task, 0)],
        settings.train,
        CPU,
        lambda _: ticks.append(time.perf_counter()),
        batches,
    )[0]
    seconds = [late - soon for soon, late in pairwise(ticks)]
    bits = hashlib.sha256(b"".join(value.numpy().tobytes() for value in (outcome.weights or {}).values()))
    return {
        "ranks": Ranks.current().size,
        "threads": torch.get_num_threads(),
        "prepare_seconds": ticks[0] - began,  # with the first epoch
        "epoch_seconds": statistics.median(seconds),
        "epoch_spread": [min(seconds), max(seconds)],
        "epochs": epochs,
        "validation_loss": outcome.history[:, 1].tolist(),
        "weights": bits.hexdigest(),
    }


def table(result: dict[str, Any]) -> list[str]:
    """Return the table: a row for each way to train."""
    alone = result["runs"][0]
    lines = [
        provenance(result["environment"]),
        f"GCN in {result['batches']} batches; {result['nodes']:,} nodes, {result['edges']:,} edges.",
        "",
        "| processes | threads of each | seconds per epoch | speed-up over the first | weights |",
        "|---|---|---|---|---|",
    ]
    bits = {True: "the same bits", False: "other bits"}
    return lines + [
        f"| {run['ranks']} | {run['threads']} | {run['epoch_seconds']:.2f} | "
        f"{alone['epoch_seconds'] / run['epoch_seconds']:.1f} | {bits[run['weights'] == alone['weights']]} |"
        for run in result["runs"]
    ]


if __name__ == "__main__":
    main()
