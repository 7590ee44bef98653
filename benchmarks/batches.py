"""What does it cost in accuracy to train in batches instead of on the whole graph?

    python benchmarks/batches.py                               # about half an hour on a CPU
    python benchmarks/batches.py --datasets cora --batches 4   # one of them again; other rows are kept as they were
    python benchmarks/batches.py --datasets cora --quick       # few epochs; writes nothing

H-GCN with the paper's settings, the same seeds with and without batches; `edges kept` are those inside of batches, all
others play no part in training. Needs the datasets where `HIERGCN_DATA` says.
"""

import argparse
import statistics
from typing import Any

import numpy as np
import torch

from hiergcn.coarsen import coarsen
from hiergcn.coarsen.partition import parts
from hiergcn.datasets import Dataset, load_dataset
from hiergcn.run.fit import fit
from hiergcn.run.settings import Settings, settings_for
from measuring import circumstances, read_results, write_result, write_table

SEEDS = {"cora": 5, "citeseer": 3, "pubmed": 2}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default=",".join(SEEDS), help="names with commas between them")
    parser.add_argument("--batches", default="1,4,8", help="numbers with commas between them")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true", help="few epochs and seeds; write nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in arguments.datasets.split(","):
        counts = [int(count) for count in arguments.batches.split(",")]
        before = [row for result in read_results(f"batches-{name}") for row in result["rows"]]
        at = circumstances(["hiergcn", "torch", "numpy", "scipy"])
        result: dict[str, Any] = {"circumstances": at, "rows": [row for row in before if row["batches"] not in counts]}
        data = load_dataset(name)
        for count in counts:
            changes = {"batches": count} | ({"epochs": 5} if arguments.quick else {})
            settings = settings_for("hgcn", "paper", name).override(changes)
            seeds = 1 if arguments.quick else SEEDS.get(name, 3)
            result["rows"].append({**measured(data, settings, seeds, arguments.device), "commit": at["commit"]})
            print(result["rows"][-1], flush=True)
        result["rows"].sort(key=lambda row: row["batches"])
        if not arguments.quick:
            print(write_result(f"batches-{name}", result))
            write_table("batches", table(read_results("batches-")))


def measured(data: Dataset, settings: Settings, seeds: int, device: str) -> dict[str, Any]:
    count = settings.train.batches
    hierarchy = coarsen(data.graph.adjacency, settings.model.levels, settings.coarsen)
    pieces = parts(hierarchy, count)
    kept = sum(piece.hierarchy.levels[0].adjacency.nnz for piece in pieces) / data.graph.adjacency.nnz
    run = fit(data.graph, data.split, settings, range(seeds), device=device, hierarchy=hierarchy)
    metrics = run.metrics()
    return {
        "dataset": data.name,
        "batches": count,
        "nodes_of_batches": [len(piece.nodes) for piece in pieces],
        "edges_kept": kept,
        "validation": [100 * (outcome.validation_accuracy or np.nan) for outcome in run.outcomes],
        "test": [100 * accuracy for accuracy in metrics["test_accuracy"]["per_seed"]],
        "epoch_seconds": run.seconds["epoch"],
    }


def table(results: list[dict[str, Any]]) -> list[str]:
    at = results[0]["circumstances"]
    lines = [
        f"{at['cores']} cores of {at['cpu']}, {at['when'][:10]}, commit {at['commit'][:10]}, `{at['command']}`.",
        "Means over the seeds, in percent; in brackets the standard deviation.",
        "",
        "| dataset | batches | edges kept | validation | test | of the whole graph |",
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
