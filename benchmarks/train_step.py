"""How long does a training step of H-GCN take on a CPU, compared with PyTorch Geometric's networks and the roofline?

    python benchmarks/train_step.py                           # about seven minutes on 2 cores
    python benchmarks/train_step.py --datasets cora --quick   # a smoke test; writes nothing

H-GCN has the paper's settings. All networks of a dataset share a process and take turns, so the machine's load affects
all of them; a ratio compares two turns of the same round. A turn is five steps, since a training run takes its steps
one after the other: the first after another network's finds other data in the caches, and threads asleep. One and two
threads take turns, too: what two gain changes on a virtual machine from minute to minute. Needs the extras `bench` and
`pyg`, and the datasets in `HIERGCN_DATA`.
"""

import argparse
import statistics
import time
from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np
import torch

from harness import environment, provenance, write_result, write_table
from hiergcn.coarsening import coarsen
from hiergcn.datasets import Dataset, load_dataset
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.inputs import build_method
from hiergcn.settings.settings import Settings, settings_for
from hiergcn.train.learners import Learner, labelled_nodes
from peers import PEERS, Step, peer_steps
from roofline import Machine, hgcn_work

OURS = "H-GCN"
TURN = 5  # steps
WARM_UP, ROUNDS = 1, 30
ENOUGH = 60.0  # CPU seconds per dataset and kind of step, after which no new round starts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer,pubmed", help="comma-separated names")
    parser.add_argument("--threads", default="1,2", help="comma-separated numbers")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="at most; fewer if they take long")
    parser.add_argument("--quick", action="store_true", help="few rounds; write nothing")
    arguments = parser.parse_args()
    result: dict[str, Any] = {
        "environment": environment(["hiergcn", "torch", "torch_geometric", "numpy", "scipy"]),
        "parts": [],
    }
    machines: dict[int, Machine] = {}
    for threads in map(int, arguments.threads.split(",")):
        torch.set_num_threads(threads)
        machines[threads] = machine = Machine.measured()
        rates = f"{machine.bandwidth / 1e9:.1f} GB/s, {machine.rate / 1e9:.0f} GFLOP/s"
        print(f"{threads} threads: {rates}", flush=True)
    for name in arguments.datasets.split(","):
        parts = measured(load_dataset(name), 4 if arguments.quick else arguments.rounds, machines)
        result["parts"] += parts
        print("\n".join(line for part in parts for line in summary(part)), flush=True)
    result["load_after"] = environment([])["load_before"]
    if not arguments.quick:
        print(write_result("train_step", result))
        write_table("train_step", table(result))


def measured(data: Dataset, rounds: int, machines: dict[int, Machine]) -> list[dict[str, Any]]:
    """Time all networks in turns, with each number of threads.

    Return for each number the seconds of their steps, H-GCN's ratio to each, and what the threads gain over the first.
    """
    settings = settings_for("hgcn", "paper", data.name)
    steps: dict[str, tuple[Step, Step]] = {OURS: our_steps(data.graph, data.split, settings)}
    steps |= {name: peer_steps(name, data.graph, data.split) for name in PEERS}
    parts: dict[int, dict[str, Any]] = {
        threads: {"threads": threads, **asdict(machine), "dataset": data.name} for threads, machine in machines.items()
    }
    for number, kind in enumerate(("training", "evaluation")):
        calls = {name: pair[number] for name, pair in steps.items()}
        every = in_turns(calls, rounds, list(machines))
        first, _ = next(iter(every.values()))
        for threads, (seconds, cpu) in every.items():
            least = least_seconds(data, kind == "training", machines[threads])
            parts[threads][kind] = {
                "rounds": len(seconds[OURS]),
                "networks": {name: spread(times) for name, times in seconds.items()},
                "ratios": {name: ratio(seconds[OURS], seconds[name]) for name in PEERS},
                "gains": {name: ratio(first[name], seconds[name]) for name in calls},
                "cpu": {name: statistics.median(times) for name, times in cpu.items()},
                "cpu_ratios": {name: statistics.median(cpu[OURS]) / statistics.median(cpu[name]) for name in PEERS},
                "roofline": least | {"ratio": statistics.median(seconds[OURS]) / least["seconds"]},
            }
    return list(parts.values())


def our_steps(graph: Graph, split: Split, settings: Settings) -> tuple[Step, Step]:
    """Return a training step and an evaluation, as the training loop makes them."""
    task, device = Task.of(graph, split), torch.device("cpu")
    method = build_method("hgcn", settings.model)
    prepared = method.prepare(task, coarsen(graph.adjacency, settings.model.levels, settings.coarsen), device)
    nodes = labelled_nodes(task, device, loss=settings.train.loss)
    model = method.build(prepared, task.n_classes, torch.Generator().manual_seed(0))
    learner = Learner(model, prepared.features, nodes, settings.train)

    def step() -> object:
        return learner.step(1)

    @torch.no_grad()
    def evaluate() -> object:
        model.eval()
        return model(prepared.features)

    return step, evaluate


def least_seconds(data: Dataset, training: bool, machine: Machine) -> dict[str, Any]:
    """Return the roofline of H-GCN's step."""
    settings, graph = settings_for("hgcn", "paper", data.name), data.graph
    hierarchy = coarsen(graph.adjacency, settings.model.levels, settings.coarsen)
    features = graph.features
    entries = int(np.count_nonzero(features) if isinstance(features, np.ndarray) else features.nnz)  # type: ignore[union-attr]
    work = hgcn_work(hierarchy, settings.model, graph.n_features, entries, graph.n_classes, training)
    return {"bytes": work.bytes, "operations": work.operations, "seconds": machine.least_seconds(work)}


Times = dict[str, list[float]]
"""Seconds of a step in each turn, by network."""


def in_turns(calls: dict[str, Step], rounds: int, numbers: list[int]) -> dict[int, tuple[Times, Times]]:
    """Return wall-clock and CPU seconds of a step in each turn, for each number of threads."""
    every: dict[int, tuple[Times, Times]] = {
        threads: ({name: [] for name in calls}, {name: [] for name in calls}) for threads in numbers
    }
    began = time.process_time()
    for number in range(WARM_UP + rounds):
        for name, threads in product(calls, numbers):
            torch.set_num_threads(threads)
            call, (seconds, cpu) = calls[name], every[threads]
            start, cpu_start = time.perf_counter(), time.process_time()
            for _ in range(TURN):
                call()
            took, cpu_took = time.perf_counter() - start, time.process_time() - cpu_start
            if number >= WARM_UP:
                seconds[name].append(took / TURN)
                cpu[name].append(cpu_took / TURN)
        if time.process_time() - began > ENOUGH and number > WARM_UP + 3:
            break
    return every


def spread(values: list[float]) -> dict[str, Any]:
    """Return median and quartiles, which single disturbed rounds do not change."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high}


def ratio(ours: list[float], theirs: list[float]) -> dict[str, Any]:
    return spread([a / b for a, b in zip(ours, theirs, strict=True)])


def both(part: dict[str, Any], name: str) -> str:
    """Return H-GCN's time relative to a network's, by wall clock and by CPU time."""
    return f"{part['ratios'][name]['median']:.2f} / {part['cpu_ratios'][name]:.2f}"


def summary(part: dict[str, Any]) -> list[str]:
    lines = []
    for kind in ("training", "evaluation"):
        here = part[kind]
        times = ", ".join(f"{name} {milliseconds(time)}" for name, time in here["networks"].items())
        ratios = ", ".join(f"{name} {both(here, name)}" for name in PEERS)
        least = here["roofline"]
        lines.append(
            f"{part['dataset']:9} {part['threads']} thread(s) {kind:10} {times}: {ratios}; "
            f"roofline {1000 * least['seconds']:.2f} ms, ratio {least['ratio']:.1f}"
        )
    return lines


def milliseconds(time: dict[str, Any]) -> str:
    return f"{1000 * time['median']:.1f} ms ({1000 * time['low']:.1f} to {1000 * time['high']:.1f})"


def table(result: dict[str, Any]) -> list[str]:
    """Return a table per kind of step and number of threads: networks down, datasets across."""
    lines = [
        provenance(result["environment"]),
        "Cells: median (quartiles), then H-GCN's time divided by the network's, wall clock / CPU.",
    ]
    for kind in ("training", "evaluation"):
        for threads in dict.fromkeys(part["threads"] for part in result["parts"]):
            parts = [part for part in result["parts"] if part["threads"] == threads]
            rows = {OURS: [milliseconds(part[kind]["networks"][OURS]) for part in parts]}
            if threads != result["parts"][0]["threads"]:
                gains = [part[kind]["gains"][OURS] for part in parts]
                rows["times as fast as one thread"] = [
                    f"{one['median']:.2f} ({one['low']:.2f} to {one['high']:.2f})" for one in gains
                ]
            rows["its roofline"] = [f"{1000 * part[kind]['roofline']['seconds']:.2f} ms" for part in parts]
            rows["ratio to the roofline"] = [f"{part[kind]['roofline']['ratio']:.1f}" for part in parts]
            for name in PEERS:
                rows[name] = [
                    f"{milliseconds(part[kind]['networks'][name])}, {both(part[kind], name)}" for part in parts
                ]
            datasets = " | ".join(part["dataset"] for part in parts)
            lines += ["", f"| {kind}, {threads} thread{'s' if threads > 1 else ''} | {datasets} |"]
            lines.append("|---" * (len(parts) + 1) + "|")
            lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]
    return lines


if __name__ == "__main__":
    main()
