"""How much accuracy does training in batches cost?

    python benchmarks/batches.py --jobs 2                      # about 90 minutes of CPU time
    python benchmarks/batches.py --datasets cora --batches 4   # measure some rows again, keep the others
    python benchmarks/batches.py --datasets cora --quick       # few epochs; writes nothing

H-GCN with the paper's settings, the same seeds with and without batches. `edges kept` is the share of edges inside
batches in an epoch. Needs the datasets in `HIERGCN_DATA`.
"""

import argparse
import statistics
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch

from harness import environment, provenance, read_results, write_result, write_table
from hiergcn.coarsening import coarsen
from hiergcn.datasets import load_dataset
from hiergcn.graph.task import Task
from hiergcn.model.inputs import build_method
from hiergcn.run.fit import fit
from hiergcn.settings.settings import settings_for
from hiergcn.train.batches import Batches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="pubmed,cora", help="comma-separated names")
    parser.add_argument("--batches", default="1,4,8", help="comma-separated numbers")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="number of processes, with one thread each")
    parser.add_argument("--quick", action="store_true", help="few epochs and seeds; write nothing")
    arguments = parser.parse_args()
    seeds, epochs = (1, 5) if arguments.quick else (arguments.seeds, 250)
    counts = [int(count) for count in arguments.batches.split(",")]
    at = environment(["hiergcn", "torch", "numpy", "scipy"])
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as pool:
        jobs = {
            (name, count): [pool.submit(trained, name, count, seed, epochs) for seed in range(seeds)]
            for name in arguments.datasets.split(",")
            for count in sorted(counts, reverse=True)  # the longest first
        }
        rows = [row(name, count, [job.result() for job in own]) for (name, count), own in jobs.items()]
    for name in arguments.datasets.split(","):
        new = [{**one, "commit": at["commit"]} for one in rows if one["dataset"] == name]
        old = [one for result in read_results(f"batches-{name}") for one in result["rows"]]
        kept = [one for one in old if one["batches"] not in counts]
        result = {"environment": at, "rows": sorted(kept + new, key=lambda one: one["batches"])}
        if not arguments.quick:
            print(write_result(f"batches-{name}", result))
    if not arguments.quick:
        write_table("batches", table(read_results("batches-")))


def trained(name: str, count: int, seed: int, epochs: int) -> dict[str, Any]:
    """Train one seed and return its figures."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    data = load_dataset(name)
    settings = settings_for("hgcn", "paper", name).override({"batches": count, "epochs": epochs})
    hierarchy = coarsen(data.graph.adjacency, settings.model.levels, settings.coarsen)
    run = fit(data.graph, data.split, settings, [seed], device="cpu", hierarchy=hierarchy)
    task, method = Task.of(data.graph, data.split), build_method(settings.method, settings.model)
    cpu = torch.device("cpu")
    batches = Batches(method, method.prepare(task, hierarchy, cpu), task, hierarchy, count, cpu)
    ends, hyper_node = data.graph.adjacency.tocoo(), hierarchy.hyper_nodes(hierarchy.depth)
    drawn = [kept[hyper_node] for kept in batches.draw(np.random.default_rng(seed))]
    figures = {
        "nodes_of_batches": [int(nodes.sum()) for nodes in drawn],
        "edges_kept": float(sum(np.mean(nodes[ends.row] & nodes[ends.col]) for nodes in drawn)),
        "validation": 100 * (run.outcomes[0].validation_accuracy or np.nan),
        "test": 100 * run.metrics()["test_accuracy"]["per_seed"][0],
        "epoch_seconds": run.seconds["epoch"],
    }
    print(name, count, seed, {key: figures[key] for key in ("edges_kept", "epoch_seconds")}, flush=True)
    return figures


def row(name: str, count: int, seeds: list[dict[str, Any]]) -> dict[str, Any]:
    """Summarise the seeds of a dataset and number of batches."""
    return {
        "dataset": name,
        "batches": count,
        "nodes_of_batches": seeds[0]["nodes_of_batches"],
        "edges_kept": statistics.mean(one["edges_kept"] for one in seeds),
        "validation": [one["validation"] for one in seeds],
        "test": [one["test"] for one in seeds],
        "epoch_seconds": statistics.median(one["epoch_seconds"] for one in seeds),
    }


def table(results: list[dict[str, Any]]) -> list[str]:
    """Return the table: a row per dataset and number of batches."""
    lines = [
        provenance(results[0]["environment"]),
        "Accuracy in %: mean over seeds (standard deviation).",
        "",
        "| dataset | batches | edges kept | validation | test | change in test |",
        "|---|---|---|---|---|---|",
    ]
    whole: dict[str, float] = {}
    for row in [row for result in results for row in result["rows"]]:
        test = statistics.mean(row["test"])
        first = whole.setdefault(row["dataset"], test)
        difference = "" if row["batches"] == 1 else f"{test - first:+.1f}"
        lines.append(
            f"| {row['dataset']} | {row['batches']} | {100 * row['edges_kept']:.0f} % | {spread(row['validation'])} | "
            f"{spread(row['test'])} | {difference} |"
        )
    return lines


def spread(values: list[float]) -> str:
    return f"{statistics.mean(values):.1f} ({statistics.stdev(values) if len(values) > 1 else 0:.1f})"


if __name__ == "__main__":
    main()
