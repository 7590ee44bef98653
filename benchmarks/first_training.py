"""How long does the first training on a new small graph take on a GPU, compared with a later one?

    python benchmarks/first_training.py      # needs a GPU; a minute on an H200
    python benchmarks/first_training.py --device cpu --nodes 270 --epochs 3   # a smoke test that writes nothing

One seed with the method's default settings, from the graph's tensors to the probabilities on the host. Each figure is
of a process of its own, with an empty cache of compiled kernels; CUDA and cuBLAS are started before. `kernels` forces
the kernels in Triton, as large graphs use them; a graph as small as this does without them.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from os import environ
from typing import Any

import torch

from harness import environment, provenance, write_result, write_table
from hiergcn.coarsening import coarsen
from hiergcn.datasets import planted_graph
from hiergcn.graph import Split
from hiergcn.graph.task import Task
from hiergcn.model import ops
from hiergcn.model.inputs import build_method
from hiergcn.settings.settings import settings_for
from hiergcn.train.loop import train_runs

METHODS = ("gcn", "hgcn", "grand", "hgcn-plus")
NODES = 2_700


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--epochs", type=int, help="of every method; by default its own settings")
    parser.add_argument("--device", default="cuda", help="cuda, or cpu for a smoke test that writes nothing")
    parser.add_argument("--method", help=argparse.SUPPRESS)  # of the process that measures it
    parser.add_argument("--kernels", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print("No GPU: first trainings are not measured.")
        return
    if arguments.method:
        print(json.dumps(trained(arguments)))
        return
    parts = []
    for method in METHODS:
        for kernels in (True, False):
            parts.append({"method": method, "kernels": kernels} | in_new_process(method, kernels))
            print(parts[-1], flush=True)
    if arguments.device == "cuda":
        at = environment(["hiergcn", "torch"]) | {"gpu": torch.cuda.get_device_name()}
        result = {"environment": at, "nodes": arguments.nodes, "parts": parts}
        print(write_result("first_training", result))
        write_table("first_training", table(result))


def in_new_process(method: str, kernels: bool) -> dict[str, Any]:
    """Run this command with the same options for one method, in a process that finds no compiled kernels."""
    command = [sys.executable, *sys.argv, "--method", method, *(["--kernels"] if kernels else [])]
    with tempfile.TemporaryDirectory() as folder:
        space = environ | {"TRITON_CACHE_DIR": folder}
        done = subprocess.run(command, env=space, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def trained(given: argparse.Namespace) -> dict[str, Any]:
    """Train twice on one graph and return the seconds of each."""
    if given.kernels:
        ops.FEW_ENTRIES = 0
    on, nodes = torch.device(given.device), given.nodes
    started = torch.ones(2, 64, 64, device=on)
    float((started @ started).sum())
    graph = planted_graph(nodes, classes=4, features=50, seed=1)
    task = Task.of(graph, Split.random(graph.truth, per_class=nodes // 135, validation=nodes // 27, seed=0))
    settings, hierarchy = settings_for(given.method), coarsen(graph.adjacency, 4)
    config = settings.train if given.epochs is None else replace(settings.train, epochs=given.epochs)
    method, seconds = build_method(given.method, settings.model), []
    for _ in range(2):
        began = time.perf_counter()
        with ops.kernels_if_worthwhile(task.adjacency):
            prepared = method.prepare(task, hierarchy, on)
        (outcome,) = train_runs(method, prepared, [(task, 0)], config, on)
        seconds.append(time.perf_counter() - began)
    return {"first": seconds[0], "later": seconds[1], "epochs": len(outcome.history)}


def table(result: dict[str, Any]) -> list[str]:
    """Return the table: a row per method and way."""
    heads = ["method", "products by", "epochs", "first, s", "later, s", "compiling and starting, s"]
    rows = [heads, ["---"] * len(heads)]
    for part in result["parts"]:
        way, (first, later) = "kernels" if part["kernels"] else "torch", (part["first"], part["later"])
        times = [f"{seconds:.2f}" for seconds in (first, later, first - later)]
        rows.append([part["method"], way, str(part["epochs"]), *times])
    return [provenance(result["environment"]), "", *(f"| {' | '.join(row)} |" for row in rows)]


if __name__ == "__main__":
    main()
