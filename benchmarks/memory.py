"""Planned memory of fits, beside their measured peaks.

    python benchmarks/memory.py                      # about ten minutes on 2 cores
    python benchmarks/memory.py --methods gat,gcn    # measure these again; keep the other fits
    python benchmarks/memory.py --quick              # the smallest fits; writes nothing

Each fit runs for two epochs in its own process. The peak is counted above what the process held with the graph read.
The plan is made before the fit starts, with the hierarchy (`planned`) and without (`planned_blind`).
"""

import argparse
from typing import Any

from harness import environment, in_own_process, read_results, write_result, write_table

Case = tuple[int, float, int, str, dict[str, str]]
"""Nodes, degree, features, method, settings."""

PLANTED: list[Case] = [
    (50_000, 18.2, 100, "hgcn", {}),
    (200_000, 18.2, 100, "hgcn", {}),
    (200_000, 18.2, 100, "hgcn", {"recompute": "true"}),
    (200_000, 18.2, 100, "hgcn", {"batches": "8"}),
    (200_000, 4.0, 16, "hgcn", {"hidden": "64", "channels": "8"}),
    (100_000, 40.0, 300, "hgcn", {"levels": "2"}),
    (200_000, 18.2, 100, "hgcn-plus", {}),
    (200_000, 18.2, 100, "hgcn-plus", {"input_dropout_on": "propagated"}),
    (100_000, 18.2, 2_000, "hgcn-plus", {}),
    (100_000, 18.2, 100, "hgcn-plus", {"networks": "4"}),
    (100_000, 18.2, 100, "gcn", {}),
    (100_000, 18.2, 100, "gat", {}),
]
QUICK: list[Case] = [(5_000, 18.2, 100, "hgcn", {}), (5_000, 18.2, 100, "gcn", {})]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="run the smallest fits and write nothing")
    parser.add_argument("--methods", default="hgcn,hgcn-plus,gcn,gat", help="comma-separated names")
    arguments = parser.parse_args()
    at = environment(["hiergcn", "torch", "numpy", "scipy"])
    kept = [fit for result in read_results("memory") for fit in result["fits"]]
    result: dict[str, Any] = {"environment": at, "fits": []}
    for case in QUICK if arguments.quick else PLANTED:
        nodes, *_, method, changes = case
        if method in arguments.methods.split(","):
            figures, _ = in_own_process(fitted, *case, limit=1500.0)
            result["fits"].append({**figures, "commit": at["commit"]})
            print(figures, flush=True)
        else:
            this = (method, nodes, changes)
            result["fits"] += [fit for fit in kept if (fit["method"], fit["nodes"], fit["settings"]) == this]
    if not arguments.quick:
        print(write_result("memory", result))
        write_table("memory", table(result))


def fitted(nodes: int, degree: float, features: int, method: str, changes: dict[str, str]) -> dict[str, Any]:
    import torch

    from harness import peak_bytes, reset_peak
    from hiergcn.coarsening import coarsen
    from hiergcn.datasets import planted_graph
    from hiergcn.graph import Split
    from hiergcn.run.fit import fit
    from hiergcn.settings.settings import settings_for
    from hiergcn.workers.memory_plan import plan_memory

    torch.set_num_threads(1)
    small = planted_graph(500)
    preset = "paper" if method == "hgcn" else None
    settings = settings_for(method, preset).override({"epochs": "2", **changes})
    fit(small, Split.holdout(small.truth), settings, [0], device="cpu")  # so that modules and compiled code are loaded
    graph = planted_graph(nodes, classes=8, degree=degree, depth=4, branching=8, features=features)
    split = Split.random(graph.truth, per_class=50, validation=1000)
    blind = plan_memory(graph, settings).total
    levels = getattr(settings.model, "levels", 0)
    planned = plan_memory(graph, settings, coarsen(graph.adjacency, levels, settings.coarsen)).total
    held = reset_peak()
    result = fit(graph, split, settings, [0], device="cpu")
    peak = peak_bytes() - held
    return {
        "method": method,
        "nodes": nodes,
        "edges": graph.n_edges,
        "features": features,
        "settings": changes,
        "planned_blind": blind,
        "planned": planned,
        "peak": peak,
        "ratio": planned / peak,
        "blind_ratio": blind / peak,
        "epoch_seconds": result.seconds["epoch"],
    }


def table(result: dict[str, Any]) -> list[str]:
    at = result["environment"]
    lines = [
        f"{at['cores']} cores of {at['cpu']}, {at['when'][:10]}, commit {at['commit'][:10]}, `{at['command']}`.",
        "",
        "| method | nodes | edges | features | settings | planned | peak | planned / peak |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return lines + [
        f"| {fit['method']} | {fit['nodes']:,} | {fit['edges']:,} | {fit['features']} | "
        f"{', '.join(f'{name}={value}' for name, value in fit['settings'].items())} | {fit['planned'] / 1e9:.2f} GB | "
        f"{fit['peak'] / 1e9:.2f} GB | {fit['ratio']:.2f} |"
        for fit in result["fits"]
    ]


if __name__ == "__main__":
    main()
