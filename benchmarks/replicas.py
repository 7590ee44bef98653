"""How long do 20 seeds in parallel take on a GPU, compared with one seed?

    python benchmarks/replicas.py            # needs a GPU; a minute on an H200
    python benchmarks/replicas.py --device cpu --cases cora:paper --epochs 3 --seeds 2   # a smoke test

H-GCN with the paper's settings; on NELL, where these do not learn, also with the default recipe (twice as wide, less
dropout). 250 epochs, validation after each. Timed is everything from the initial weights to the probabilities on the
host, without coarsening. Figures are medians of three runs, or fewer if they take over 5 s, after a warm-up run that
compiles the kernels. Repeated runs must agree bit for bit.
"""

import argparse
import statistics
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch

import gpu_traffic
from harness import environment, provenance, write_result, write_table
from hiergcn.coarsening import coarsen
from hiergcn.datasets import load_dataset
from hiergcn.graph.task import Task
from hiergcn.model.inputs import build_method
from hiergcn.settings.settings import settings_for
from hiergcn.train.loop import SeedOutcome, train_models

LONG = 5.0  # seconds after which no new run starts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--cases", default="cora:paper,pubmed:paper,nell:paper,nell:default", help="dataset:preset, ..."
    )
    parser.add_argument("--epochs", type=int, default=250)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cuda", help="cuda, or cpu for a smoke test that writes nothing")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        print("No GPU: seeds in parallel are not measured.")
        return
    parts = []
    for case in arguments.cases.split(","):
        name, preset = case.split(":")
        parts.append(measured(name, preset, arguments.epochs, arguments.seeds, arguments.repeats, device))
        print(*row(parts[-1]), sep=" | ", flush=True)
    if device.type == "cuda":
        gpu = {"gpu": torch.cuda.get_device_name(device)}
        result = {"environment": environment(["hiergcn", "torch"]) | gpu, "parts": parts}
        print(write_result("replicas", result))
        write_table("replicas", table(result))
        write_table("gpu_traffic", gpu_traffic.table(parts))


def measured(name: str, preset: str, epochs: int, seeds: int, repeats: int, device: torch.device) -> dict[str, Any]:
    data, settings = load_dataset(name), settings_for("hgcn", preset, name)
    task, method = Task.of(data.graph, data.split), build_method("hgcn", settings.model)
    hierarchy = coarsen(data.graph.adjacency, settings.model.levels, settings.coarsen)
    prepared, config = method.prepare(task, hierarchy, device), replace(settings.train, epochs=epochs)

    def run(n: int) -> tuple[float, list[SeedOutcome]]:
        began = time.perf_counter()
        outcomes = train_models(
            method, prepared, [(task, seed) for seed in range(n)], config, device, side_by_side=True
        )
        return time.perf_counter() - began, outcomes

    width = settings.model.hidden * settings.model.channels
    figures: dict[str, Any] = {"dataset": name, "preset": preset, "width": width, "epochs": epochs, "seeds": seeds}
    for key, n in (("one", 1), ("all", seeds)):
        first, outcomes = run(n)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        runs = [run(n)]
        while len(runs) < repeats and sum(t for t, _ in runs) < LONG:
            runs.append(run(n))
        figures[key] = {
            "median": statistics.median(t for t, _ in runs),
            "seconds": [t for t, _ in runs],
            "first": first,
        }
        figures[key]["repeats"] = all(same(outcomes, others) for _, others in runs)
        figures[key]["validation_accuracy"] = [outcome.validation_accuracy for outcome in outcomes]
        figures[key]["history_of_the_first"] = outcomes[0].history[:5, :2].tolist()
    figures["ratio"] = figures["all"]["median"] / figures["one"]["median"]
    test, labels = data.split.test, data.graph.labels
    assert labels is not None
    found = [outcome.probabilities for outcome in outcomes if outcome.probabilities is not None]
    figures["test_accuracy"] = [float((one[test].argmax(axis=1) == labels[test]).mean()) for one in found]
    figures["peak"] = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    return figures


def same(some: list[SeedOutcome], others: list[SeedOutcome]) -> bool:
    return all(
        np.array_equal(one.history, other.history, equal_nan=True) for one, other in zip(some, others, strict=True)
    )


def table(result: dict[str, Any]) -> list[str]:
    """Return the table: a row per dataset and preset."""
    parts = result["parts"]
    seeds = f"{parts[0]['seeds']} seeds, s"
    heads = ["dataset", "preset", "columns", "one seed, s", seeds, "ratio", "peak memory, GiB", "deterministic"]
    heads += ["test accuracy"]
    rows = [heads, ["---"] * len(heads), *map(row, parts)]
    return [provenance(result["environment"]), "", *(f"| {' | '.join(cells)} |" for cells in rows)]


def row(part: dict[str, Any]) -> list[str]:
    peak = "-" if part["peak"] is None else f"{part['peak'] / 2**30:.1f}"
    repeats = "yes" if part["one"]["repeats"] and part["all"]["repeats"] else "no"
    one, several = part["one"]["median"], part["all"]["median"]
    times = [f"{one:.2f}", f"{several:.2f}", f"{part['ratio']:.2f}"]
    tested = [100 * accuracy for accuracy in part.get("test_accuracy", ())]  # not in results of earlier versions
    accuracy = f"{statistics.mean(tested):.1f} ± {statistics.stdev(tested):.1f}" if len(tested) > 1 else "-"
    return [part["dataset"], part["preset"], str(part["width"]), *times, peak, repeats, accuracy]


if __name__ == "__main__":
    main()
