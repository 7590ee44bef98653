"""How long do 20 seeds take on a GPU, side by side, next to one of them alone?

    python benchmarks/replicas.py            # needs a GPU; a minute on an H200
    python benchmarks/replicas.py --device cpu --cases cora:paper --epochs 3 --seeds 2   # to see that it runs

H-GCN with the paper's settings, and on NELL, where these do not learn, also with those of the recipe that does (twice
as wide, less dropout); 250 epochs, validation after each. Everything from the initial weights to the probabilities on
the host is timed; the coarsening, done once for a graph, is not. Each figure is the median of three runs, or fewer
where they take over 5 s, after one that warms up (kernels are compiled in a machine's first run). The runs are
compared with each other bit for bit, and a seed alone with the same among the twenty.
"""

import argparse
import statistics
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch

import moved
from hiergcn.coarsen import coarsen
from hiergcn.datasets import load_dataset
from hiergcn.graph.task import Task
from hiergcn.model.registry import build_method
from hiergcn.run.settings import settings_for
from hiergcn.train.loop import SeedOutcome, train_side_by_side
from measuring import circumstances, write_result, write_table

LONG = 5.0  # seconds of runs after which no more are made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--cases", default="cora:paper,pubmed:paper,nell:paper,nell:default", help="dataset:preset, ..."
    )
    parser.add_argument("--epochs", type=int, default=250)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cuda", help="cuda; cpu only to see that it runs, nothing is written then")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        print("There is no GPU here, so seeds side by side are not measured.")
        return
    parts = []
    for case in arguments.cases.split(","):
        name, preset = case.split(":")
        parts.append(measured(name, preset, arguments.epochs, arguments.seeds, arguments.repeats, device))
        print(*told(parts[-1]), sep=" | ", flush=True)
    if device.type == "cuda":
        gpu = {"gpu": torch.cuda.get_device_name(device)}
        result = {"circumstances": circumstances(["hiergcn", "torch"]) | gpu, "parts": parts}
        print(write_result("replicas", result))
        write_table("replicas", table(result))
        write_table("moved", moved.table(parts))


def measured(name: str, preset: str, epochs: int, seeds: int, repeats: int, device: torch.device) -> dict[str, Any]:
    data, settings = load_dataset(name), settings_for("hgcn", preset, name)
    task, method = Task.of(data.graph, data.split), build_method("hgcn", settings.model)
    hierarchy = coarsen(data.graph.adjacency, settings.model.levels, settings.coarsen)
    prepared, config = method.prepare(task, hierarchy, device), replace(settings.train, epochs=epochs)

    def run(n: int) -> tuple[float, list[SeedOutcome]]:
        began = time.perf_counter()
        outcomes = train_side_by_side(method, prepared, [task] * n, config, range(n), device)
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
    figures["peak"] = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    return figures


def same(some: list[SeedOutcome], others: list[SeedOutcome]) -> bool:
    return all(
        np.array_equal(one.history, other.history, equal_nan=True) for one, other in zip(some, others, strict=True)
    )


def table(result: dict[str, Any]) -> list[str]:
    at, parts = result["circumstances"], result["parts"]
    seeds = f"{parts[0]['seeds']} seeds, s"
    heads = ["dataset", "settings", "one seed, s", seeds, "ratio", "peak, GiB", "repeats bit for bit"]
    rows = [heads, ["---"] * len(heads), *map(told, parts)]
    where = f"{at['gpu']}, {at['when'][:10]}, commit {at['commit'][:10]}, `{at['command']}`."
    return [*(f"| {' | '.join(row)} |" for row in rows), "", where]


def told(part: dict[str, Any]) -> list[str]:
    peak = "-" if part["peak"] is None else f"{part['peak'] / 2**30:.1f}"
    repeats = "yes" if part["one"]["repeats"] and part["all"]["repeats"] else "no"
    one, several = part["one"]["median"], part["all"]["median"]
    settings = f"{'the paper' if part['preset'] == 'paper' else 'the recipe'}'s, {part['width']} columns"
    return [part["dataset"], settings, f"{one:.2f}", f"{several:.2f}", f"{part['ratio']:.2f}", peak, repeats]


if __name__ == "__main__":
    main()
