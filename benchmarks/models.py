"""How much time and memory does a training epoch of each model need on each dataset?

    python benchmarks/models.py                          # all models, all available datasets
    python benchmarks/models.py --device cuda            # the same on a GPU
    python benchmarks/models.py --models gcn,hgcn --datasets cora --quick    # a smoke test; writes nothing
    python benchmarks/models.py --models hgcn --datasets cora --add    # keeps the stored figures of all other pairs

Each pair runs in its own process with the settings of its recipe, on a CPU with one thread, then with two, which wait
as in `hiergcn`. An epoch is one training step without validation.
DeepWalk and label propagation have no epochs: their figure is the whole training. Planetoid's is a step on the
classes, without the contexts that it learns before. Datasets that are neither embedded nor in `HIERGCN_DATA` are
skipped and named.
"""

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import HERE, environment, in_own_process, peak_bytes, provenance, reset_peak, write_result, write_table
from hiergcn.datasets import list_datasets
from hiergcn.settings.registry import method_names
from hiergcn.workers.pool import WorkFailedError

PACKAGES = ["hiergcn", "torch", "numpy", "scipy", "numba"]
WARM_UP, REPEATS = 2, 10
ENOUGH = 4.0  # seconds per pair after which no new epoch starts
LIMIT = 900.0  # seconds after which a pair is stopped
MEMORY = 12e9  # bytes at which a pair is stopped
NO_CONTEXTS = {"label_steps": 0, "graph_steps": 0}  # Planetoid learns them before its first epoch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(method_names()), help="comma-separated names")
    parser.add_argument("--datasets", help="comma-separated names; default: all available")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true", help="two repeats; write nothing")
    parser.add_argument("--add", action="store_true", help="keep the stored figures of all other pairs")
    arguments = parser.parse_args()
    datasets, absent = available(arguments.datasets)
    name = "models" if arguments.device == "cpu" else f"models-{arguments.device}"
    result: dict[str, Any] = {"environment": environment(PACKAGES), "device": arguments.device, "absent": absent}
    result["pairs"] = [
        printed(measured(dataset, model, arguments.device, 2 if arguments.quick else REPEATS))
        for dataset in datasets
        for model in arguments.models.split(",")
    ]
    if arguments.add:
        result["pairs"] = joined(json.loads((HERE / "results" / f"{name}.json").read_text()), result)
    result["load_after"] = environment([])["load_before"]
    if not arguments.quick:
        print(write_result(name, result))
        write_table(name, table(result))


def joined(stored: dict[str, Any], added: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all pairs, in the order of `method_names`; those of another commit or machine say of which."""
    was, now = ([part["environment"][name] for name in ("commit", "cpu")] for part in (stored, added))
    earlier = {} if was == now else {"earlier": f"{stored['environment']['when'][:10]}, commit {was[0][:10]}, {was[1]}"}
    pairs = {(pair["dataset"], pair["model"]): earlier | pair for pair in stored["pairs"]}
    pairs |= {(pair["dataset"], pair["model"]): pair for pair in added["pairs"]}
    models, datasets = list(method_names()), [one.name for one in list_datasets()]
    known = [key for key in pairs if key[0] in datasets and key[1] in models]
    return [pairs[key] for key in sorted(known, key=lambda key: (datasets.index(key[0]), models.index(key[1])))]


def available(wanted: str | None) -> tuple[list[str], list[str]]:
    """Return the datasets that can be read without a download, and those that cannot."""
    listed = [one for one in list_datasets() if wanted is None or one.name in wanted.split(",")]
    here = [one.name for one in listed if one.where == "embedded" or Path(one.where).exists()]
    return here, [one.name for one in listed if one.name not in here]


def printed(pair: dict[str, Any]) -> dict[str, Any]:
    words = pair.get("failure") or (
        f"{1000 * pair['median']:.1f} ms ({1000 * pair['least']:.1f} to {1000 * pair['most']:.1f}, "
        f"{len(pair['seconds'])} epochs), {pair['memory'] / 1e6:.0f} MB"
    )
    print(f"{pair['dataset']:10} {pair['model']:18} {words}", flush=True)
    return pair


def measured(dataset: str, model: str, device: str, repeats: int) -> dict[str, Any]:
    pair: dict[str, Any] = {"dataset": dataset, "model": model}
    try:
        figures, peak = in_own_process(epochs, dataset, model, device, repeats, limit=LIMIT)
    except WorkFailedError as error:
        return pair | {"failure": str(error)}
    return {**pair, **figures, "process_peak": peak.resident}


def epochs(dataset: str, model: str, device: str, repeats: int) -> dict[str, Any]:
    """Measure a pair in its own process: seconds of every epoch, and peak memory beyond the data."""
    import torch

    if device == "cpu":
        resource.setrlimit(resource.RLIMIT_DATA, (int(MEMORY), int(MEMORY)))
        torch.set_num_threads(1)  # as `hiergcn` does
    from hiergcn.coarsening import coarsen
    from hiergcn.datasets import load_dataset
    from hiergcn.graph.task import Task
    from hiergcn.model.inputs import build_method
    from hiergcn.settings.settings import settings_for
    from hiergcn.train.learners import Learner, labelled_nodes

    data = load_dataset(dataset)
    task, where = Task.of(data.graph, data.split), torch.device(device)
    settings = settings_for(model, None, dataset)
    if model.startswith("planetoid"):
        settings = settings.override(NO_CONTEXTS)
    method = build_method(model, settings.model)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    before = int(torch.cuda.memory_allocated()) if device == "cuda" else reset_peak()
    began = time.perf_counter()
    levels = (
        coarsen(data.graph.adjacency, settings.model.levels, settings.coarsen)
        if settings.model.uses_hierarchy
        else None
    )
    prepared = method.prepare(task, levels, where)
    prepare_seconds = time.perf_counter() - began
    nodes = labelled_nodes(task, where, loss=settings.train.loss)

    def fresh() -> Callable[[], float]:
        generator = torch.Generator(where).manual_seed(0)
        with where:
            network = method.build(prepared, task.n_classes, generator).to(where)
        learner = Learner(network, prepared.features, nodes, settings.train)

        def step() -> float:
            loss = learner.step(1)
            if where.type == "cuda":
                torch.cuda.synchronize()
            return float(loss)

        return step

    seconds, cpu = timed_steps(fresh, settings.model.closed_form, repeats)
    memory = (torch.cuda.max_memory_allocated() if device == "cuda" else peak_bytes()) - before
    shared = None
    if device == "cpu" and not settings.model.closed_form:
        torch.set_num_threads(2)
        shared = statistics.median(timed_steps(fresh, False, repeats)[0])
    return {
        "median": statistics.median(seconds),
        "least": min(seconds),
        "most": max(seconds),
        "cpu": statistics.median(cpu),
        "seconds": seconds,
        "cpu_seconds": cpu,
        "at_once": settings.model.closed_form,
        "prepare_seconds": prepare_seconds,
        "two_threads": shared,
        "memory": memory,
    }


def timed_steps(
    fresh: Callable[[], Callable[[], float]], at_once: bool, repeats: int
) -> tuple[list[float], list[float]]:
    """Return wall-clock and CPU seconds of every step; CPU time depends less on the machine's load."""
    step, spent, seconds, cpu = fresh(), 0.0, [], []
    for number in range(WARM_UP + repeats):
        if at_once and number:
            step = fresh()  # the first step is the whole training, so each needs a new model
        began, cpu_began = time.perf_counter(), time.process_time()
        step()
        took, cpu_took = time.perf_counter() - began, time.process_time() - cpu_began
        spent += took
        if number >= WARM_UP or (at_once and spent > ENOUGH):  # a step of minutes needs no warm-up
            seconds.append(took)
            cpu.append(cpu_took)
        if seconds and spent > ENOUGH:
            break
    return seconds, cpu


def table(result: dict[str, Any]) -> list[str]:
    """Return the table: models down, datasets across; median milliseconds per epoch, and memory."""
    pairs = {(pair["model"], pair["dataset"]): pair for pair in result["pairs"]}
    earlier = sorted({pair["earlier"] for pair in result["pairs"] if "earlier" in pair})
    datasets = list(dict.fromkeys(pair["dataset"] for pair in result["pairs"]))
    models = sorted({pair["model"] for pair in result["pairs"]}, key=list(method_names()).index)
    gpu = result["device"] == "cuda"
    kind = "median" if gpu else "cpu"
    lines = [
        provenance(result["environment"]),
        f"Median {'' if gpu else 'CPU '}milliseconds per epoch, peak memory beyond the data; (all): whole training.",
        *([] if gpu else ["One thread; the last number is how many times as fast two threads are (wall clock)."]),
        *(f"Cells with *: {run}." for run in earlier),
        "",
        f"| model | {' | '.join(datasets)} |",
        "|---" * (len(datasets) + 1) + "|",
    ]
    lines += [
        f"| {model} | {' | '.join(_cell(pairs.get((model, dataset)), kind) for dataset in datasets)} |"
        for model in models
    ]
    failed = [pair for pair in pairs.values() if "failure" in pair]
    lines += ["", *(f"- {pair['model']} on {pair['dataset']}: {pair['failure']}" for pair in failed)] if failed else []
    return lines + (["", f"Not available: {', '.join(result['absent'])}."] if result["absent"] else [])


def _cell(pair: dict[str, Any] | None, kind: str) -> str:
    if pair is None:
        return ""
    if "failure" in pair:
        return "failed"
    milliseconds = 1000 * pair[kind]
    shown = f"{milliseconds:,.0f}" if milliseconds > 100 else f"{milliseconds:.1f}"
    words = [f"{shown}{' (all)' if pair['at_once'] else ''}", f"{pair['memory'] / 1e6:,.0f} MB"]
    if pair.get("two_threads"):
        words.append(f"{pair['median'] / pair['two_threads']:.2f}")
    return ", ".join(words) + ("*" if "earlier" in pair else "")


if __name__ == "__main__":
    main()
