"""How long is a training step of H-GCN on a CPU, next to PyTorch Geometric's networks and to the least time possible?

    python benchmarks/steps.py                           # about four minutes on 2 cores
    python benchmarks/steps.py --datasets cora --quick   # to see that it runs; writes nothing

H-GCN has the paper's settings. All networks of a dataset live in one process and take turns, a step each, so that what
else happens on the machine happens to all of them; a round's ratio is that of two steps next to each other. Measured
with one thread and with two, which wait for each other without spinning: on a machine that has other work, two that
spin are a hundred times slower than one. Needs the extras `bench` and `pyg`, and the datasets where `HIERGCN_DATA`
says.
"""

import argparse
import os
import statistics
import sys
import time
from typing import Any

import numpy as np
import torch

from floor import Machine, hgcn_work
from hiergcn.coarsen import coarsen
from hiergcn.datasets import Dataset, load_dataset
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.registry import build_method
from hiergcn.run.settings import Settings, settings_for
from hiergcn.train.labels import labelled_nodes
from hiergcn.train.optimiser import make_optimiser
from measuring import circumstances, write_result, write_table
from peers import PEERS, Step, peer_steps

OURS = "H-GCN"
WARM_UP, ROUNDS = 3, 40
ENOUGH = 25.0  # seconds of CPU in a dataset's rounds, for each number of threads, after which no further one is begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer,pubmed", help="names with commas between them")
    parser.add_argument("--threads", default="1,2", help="numbers with commas between them")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="at most; fewer where they would take long")
    parser.add_argument("--quick", action="store_true", help="few rounds; write nothing")
    arguments = parser.parse_args()
    if "OMP_WAIT_POLICY" not in os.environ:  # read when torch is loaded, so this process begins anew
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"})
    result: dict[str, Any] = {
        "circumstances": circumstances(["hiergcn", "torch", "torch_geometric", "numpy", "scipy"]),
        "parts": [],
    }
    for threads in map(int, arguments.threads.split(",")):
        torch.set_num_threads(threads)
        machine = Machine.measured()
        print(f"{threads} threads: {machine.bandwidth / 1e9:.1f} GB/s, {machine.rate / 1e9:.0f} GFLOP/s", flush=True)
        for name in arguments.datasets.split(","):
            part = measured(load_dataset(name), 5 if arguments.quick else arguments.rounds, machine)
            result["parts"].append({"threads": threads, "bandwidth": machine.bandwidth, "rate": machine.rate, **part})
            print("\n".join(told(result["parts"][-1])), flush=True)
    result["load_after"] = circumstances([])["load_before"]
    if not arguments.quick:
        print(write_result("steps", result))
        write_table("steps", table(result))


def measured(data: Dataset, rounds: int, machine: Machine) -> dict[str, Any]:
    """Every network in turn, round after round: seconds of its steps, and the ratio of ours to each."""
    settings = settings_for("hgcn", "paper", data.name)
    steps: dict[str, tuple[Step, Step]] = {OURS: our_steps(data.graph, data.split, settings)}
    steps |= {name: peer_steps(name, data.graph, data.split) for name in PEERS}
    part: dict[str, Any] = {"dataset": data.name}
    for number, kind in enumerate(("training", "evaluation")):
        calls = {name: pair[number] for name, pair in steps.items()}
        seconds, cpu = in_turns(calls, rounds)
        least = least_seconds(data, kind == "training", machine)
        part[kind] = {
            "rounds": len(seconds[OURS]),
            "networks": {name: spread(times) for name, times in seconds.items()},
            "ratios": {name: ratio(seconds[OURS], seconds[name]) for name in PEERS},
            "cpu": {name: statistics.median(times) for name, times in cpu.items()},
            "cpu_ratios": {name: statistics.median(cpu[OURS]) / statistics.median(cpu[name]) for name in PEERS},
            "floor": {**least, "distance": statistics.median(seconds[OURS]) / least["seconds"]},
        }
    return part


def our_steps(graph: Graph, split: Split, settings: Settings) -> tuple[Step, Step]:
    """A step as the training loop takes it, and a look at every node's logits as it takes after each."""
    task, device = Task.of(graph, split), torch.device("cpu")
    method = build_method("hgcn", settings.model)
    prepared = method.prepare(task, coarsen(graph.adjacency, settings.model.levels, settings.coarsen), device)
    train, _ = labelled_nodes(task, device, loss=settings.train.loss)
    model = method.build(prepared, task.n_classes, torch.Generator().manual_seed(0))
    optimiser = make_optimiser(model, dict(model.named_parameters()), settings.train)

    def step() -> object:
        model.train()
        return model.step(prepared.features, train, optimiser, 1)

    @torch.no_grad()
    def look() -> object:
        model.eval()
        return model(prepared.features)

    return step, look


def least_seconds(data: Dataset, training: bool, machine: Machine) -> dict[str, Any]:
    settings, graph = settings_for("hgcn", "paper", data.name), data.graph
    hierarchy = coarsen(graph.adjacency, settings.model.levels, settings.coarsen)
    features = graph.features
    entries = int(np.count_nonzero(features) if isinstance(features, np.ndarray) else features.nnz)  # type: ignore[union-attr]
    work = hgcn_work(hierarchy, settings.model, graph.n_features, entries, graph.n_classes, training)
    return {"bytes": work.bytes, "operations": work.operations, "seconds": machine.least_seconds(work)}


def in_turns(calls: dict[str, Step], rounds: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Seconds of each step by the clock, and of the processor, which other work on the machine disturbs less."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    cpu: dict[str, list[float]] = {name: [] for name in calls}
    began = time.process_time()
    for number in range(WARM_UP + rounds):
        for name, call in calls.items():
            start, cpu_start = time.perf_counter(), time.process_time()
            call()
            took, cpu_took = time.perf_counter() - start, time.process_time() - cpu_start
            if number >= WARM_UP:
                seconds[name].append(took)
                cpu[name].append(cpu_took)
        if time.process_time() - began > ENOUGH and number > WARM_UP + 3:
            break
    return seconds, cpu


def spread(values: list[float]) -> dict[str, Any]:
    """The median with the quartiles, which a disturbed round does not move."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high, "values": values}


def ratio(ours: list[float], theirs: list[float]) -> dict[str, Any]:
    return spread([a / b for a, b in zip(ours, theirs, strict=True)])


def both(part: dict[str, Any], name: str) -> str:
    """The ratio by the clock, and of CPU."""
    return f"{part['ratios'][name]['median']:.2f}, {part['cpu_ratios'][name]:.2f}"


def told(part: dict[str, Any]) -> list[str]:
    lines = []
    for kind in ("training", "evaluation"):
        here = part[kind]
        times = ", ".join(f"{name} {milliseconds(time)}" for name, time in here["networks"].items())
        ratios = ", ".join(f"{both(here, name)} of {name}" for name in PEERS)
        floor = here["floor"]
        lines.append(
            f"{part['dataset']:9} {part['threads']} thread(s) {kind:10} {times}: {ratios}; "
            f"floor {1000 * floor['seconds']:.2f} ms, {floor['distance']:.1f} times that"
        )
    return lines


def milliseconds(time: dict[str, Any]) -> str:
    return f"{1000 * time['median']:.1f} ms ({1000 * time['low']:.1f} to {1000 * time['high']:.1f})"


def table(result: dict[str, Any]) -> list[str]:
    at = result["circumstances"]
    lines = [
        f"{at['cores']} cores of {at['cpu']}, {at['when'][:10]}, commit {at['commit'][:10]}, `{at['command']}`;",
        f"load of the machine {at['load_before']:.1f} before. Medians; in brackets the quartiles.",
        "Ratios are by the clock, round by round, and of CPU.",
    ]
    for kind in ("training", "evaluation"):
        peers = " | ".join(f"{name} | ratio" for name in PEERS)
        lines += ["", f"| {kind} | threads | {OURS} | {peers} | floor | times the floor |"]
        lines.append("|---" * (5 + 2 * len(PEERS)) + "|")
        for part in result["parts"]:
            here = part[kind]
            peers = " | ".join(f"{milliseconds(here['networks'][name])} | {both(here, name)}" for name in PEERS)
            floor = f"{1000 * here['floor']['seconds']:.2f} ms | {here['floor']['distance']:.1f}"
            ours = milliseconds(here["networks"][OURS])
            lines.append(f"| {part['dataset']} | {part['threads']} | {ours} | {peers} | {floor} |")
    return lines


if __name__ == "__main__":
    main()
