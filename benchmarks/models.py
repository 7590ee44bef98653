"""What does one training epoch of every model take on every dataset, in seconds and in memory?

    python benchmarks/models.py                          # every model and dataset at hand, one run
    python benchmarks/models.py --device cuda            # the same on a GPU
    python benchmarks/models.py --models gcn,hgcn --datasets cora --quick    # to see that it runs; writes nothing

Each pair runs in a process of its own with the settings of its recipe. An epoch is one step of training as the loop
takes it, without the look at validation that follows; of DeepWalk and label propagation, which know no epochs, it is
all of the learning, and of Planetoid the steps of the classes, without the contexts that are learnt once before.
Datasets that are not embedded are looked for where `HIERGCN_DATA` says; those not at hand are left out and named.
"""

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hiergcn.datasets import list_datasets
from hiergcn.model.registry import method_names
from hiergcn.run.process import Peak, Send, WorkFailedError, in_own_process
from measuring import circumstances, write_result, write_table

PACKAGES = ["hiergcn", "torch", "numpy", "scipy", "numba"]
PRELOAD = ["torch", "torch_geometric.nn", "hiergcn.run.settings", "hiergcn.datasets", "hiergcn.train.learners"]
WARM_UP, REPEATS = 2, 10
ENOUGH = 4.0  # seconds of a pair's epochs after which no further one is begun
LIMIT = 900.0  # seconds after which a pair is ended
MEMORY = 12e9  # bytes beyond which a pair is ended
BEFORE = {"label_steps": 0, "graph_steps": 0}  # what Planetoid does once, before its first epoch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(method_names()), help="names with commas between them")
    parser.add_argument("--datasets", help="names with commas between them; all that are at hand if left out")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true", help="two repeats; write nothing")
    arguments = parser.parse_args()
    datasets, absent = at_hand(arguments.datasets)
    name = "models" if arguments.device == "cpu" else f"models-{arguments.device}"
    result: dict[str, Any] = {"circumstances": circumstances(PACKAGES), "device": arguments.device, "absent": absent}
    result["pairs"] = [
        told(measured(dataset, model, arguments.device, 2 if arguments.quick else REPEATS))
        for dataset in datasets
        for model in arguments.models.split(",")
    ]
    result["load_after"] = circumstances([])["load_before"]
    if not arguments.quick:
        print(write_result(name, result))
        write_table(name, table(result))


def at_hand(wanted: str | None) -> tuple[list[str], list[str]]:
    """Datasets that can be read without a download, and those that cannot."""
    listed = [one for one in list_datasets() if wanted is None or one.name in wanted.split(",")]
    here = [one.name for one in listed if one.where == "embedded" or Path(one.where).exists()]
    return here, [one.name for one in listed if one.name not in here]


def told(pair: dict[str, Any]) -> dict[str, Any]:
    words = pair.get("failure") or (
        f"{1000 * pair['median']:.1f} ms ({1000 * pair['least']:.1f} to {1000 * pair['most']:.1f}, "
        f"{len(pair['seconds'])} epochs), {pair['memory'] / 1e6:.0f} MB"
    )
    print(f"{pair['dataset']:10} {pair['model']:18} {words}", flush=True)
    return pair


def measured(dataset: str, model: str, device: str, repeats: int) -> dict[str, Any]:
    pair: dict[str, Any] = {"dataset": dataset, "model": model}
    try:
        figures, peak = in_own_process(epochs, dataset, model, device, repeats, limit=LIMIT, preload=PRELOAD)
    except WorkFailedError as error:
        return pair | {"failure": str(error)}
    return {**pair, **figures, "process_peak": peak.resident}


def epochs(send: Send, dataset: str, model: str, device: str, repeats: int) -> dict[str, Any]:  # noqa: ARG001
    """The work of a pair's process: seconds of every epoch, and the memory that it took above the data."""
    import torch

    if device == "cpu":
        resource.setrlimit(resource.RLIMIT_DATA, (int(MEMORY), int(MEMORY)))
    from hiergcn.coarsen import coarsen
    from hiergcn.datasets import load_dataset
    from hiergcn.graph.task import Task
    from hiergcn.model.registry import build_method
    from hiergcn.run.settings import settings_for
    from hiergcn.train.labels import labelled_nodes
    from hiergcn.train.learners import OneLearner

    data = load_dataset(dataset)
    task, where = Task.of(data.graph, data.split), torch.device(device)
    settings = settings_for(model, None, dataset)
    if model.startswith("planetoid"):
        settings = settings.override(BEFORE)
    method = build_method(model, settings.model)
    before = forget_peak(where)
    began = time.perf_counter()
    levels = coarsen(data.graph.adjacency, settings.model.levels, settings.coarsen) if method.uses_hierarchy else None
    prepared = method.prepare(task, levels, where)
    prepare_seconds = time.perf_counter() - began
    nodes = labelled_nodes(task, where, loss=settings.train.loss)

    def fresh() -> Callable[[], float]:
        generator = torch.Generator(where).manual_seed(0)
        with where:
            network = method.build(prepared, task.n_classes, generator).to(where)
        learner = OneLearner(network, prepared.features, nodes, settings.train)

        def step() -> float:
            loss = learner.step(1)
            if where.type == "cuda":
                torch.cuda.synchronize()
            return float(loss)

        return step

    seconds, cpu = timed_steps(fresh, method.learns_at_once, repeats)
    return {
        "median": statistics.median(seconds),
        "least": min(seconds),
        "most": max(seconds),
        "cpu": statistics.median(cpu),
        "seconds": seconds,
        "cpu_seconds": cpu,
        "at_once": method.learns_at_once,
        "prepare_seconds": prepare_seconds,
        "threads": torch.get_num_threads(),
        "memory": peak_since(where) - before,
    }


def timed_steps(
    fresh: Callable[[], Callable[[], float]], at_once: bool, repeats: int
) -> tuple[list[float], list[float]]:
    """Seconds of every step by the clock and by the processor, which other work on the machine disturbs less."""
    step, spent, seconds, cpu = fresh(), 0.0, [], []
    for number in range(WARM_UP + repeats):
        if at_once and number:
            step = fresh()  # the first step learns everything: each one needs a new model
        began, cpu_began = time.perf_counter(), time.process_time()
        step()
        took, cpu_took = time.perf_counter() - began, time.process_time() - cpu_began
        spent += took
        if number >= WARM_UP or (at_once and spent > ENOUGH):  # a step of minutes is measured, not warmed up for
            seconds.append(took)
            cpu.append(cpu_took)
        if seconds and spent > ENOUGH:
            break
    return seconds, cpu


def forget_peak(where: Any) -> int:
    """Bytes held now, on the GPU or by the process; the peak is counted from here on."""
    import torch

    if where.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        return int(torch.cuda.memory_allocated())
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the kernel's word for it
    return _peak(False)


def peak_since(where: Any) -> int:
    return _peak(where.type == "cuda")


def _peak(gpu: bool) -> int:
    from hiergcn.run.process import peak_memory

    peak: Peak = peak_memory()
    return (peak.gpu if gpu else peak.resident) or 0


def table(result: dict[str, Any]) -> list[str]:
    """Models down, datasets across: median milliseconds of an epoch, and memory."""
    pairs = {(pair["model"], pair["dataset"]): pair for pair in result["pairs"]}
    models, datasets = (list(dict.fromkeys(pair[kind] for pair in result["pairs"])) for kind in ("model", "dataset"))
    facts, gpu = result["circumstances"], result["device"] == "cuda"
    kind = "median" if gpu else "cpu"
    lines = [f"| model | {' | '.join(datasets)} |", "|---" * (len(datasets) + 1) + "|"]
    lines += [
        f"| {model} | {' | '.join(_cell(pairs[model, dataset], kind) for dataset in datasets)} |" for model in models
    ]
    load = f"load {facts['load_before']:.1f} before and {result['load_after']:.1f} after"
    machine = f"{facts['cpu']}, {facts['cores']} cores, {load}, {result['device']}"
    clock = (
        "by the clock"
        if gpu
        else "of the processor's time, which other work on the machine disturbs less than the clock"
    )
    lines += ["", f"Median ms of an epoch {clock}, and peak MB above what the process held with the data read."]
    lines += [
        "(all): the whole of the learning, which knows no epochs. Every epoch, also by the clock, is in the JSON file."
    ]
    lines += [f"{machine}; commit {facts['commit'][:12]}: `{facts['command']}`."]
    lines += [
        f"- {pair['model']} on {pair['dataset']}: {pair['failure']}" for pair in pairs.values() if "failure" in pair
    ]
    return lines + ([f"Not at hand: {', '.join(result['absent'])}."] if result["absent"] else [])


def _cell(pair: dict[str, Any], kind: str) -> str:
    if "failure" in pair:
        return "failed"
    milliseconds = 1000 * pair[kind]
    shown = f"{milliseconds:,.0f}" if milliseconds > 100 else f"{milliseconds:.1f}"
    return f"{shown}{' (all)' if pair['at_once'] else ''}, {pair['memory'] / 1e6:,.0f} MB"


if __name__ == "__main__":
    main()
