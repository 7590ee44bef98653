"""What would an epoch of H-GCN on a billion edges take on 8 GPUs, and what breaks first? Nothing is measured here.

    python benchmarks/billion_edges.py                  # writes the table of docs/more-than-one-machine.md
    python benchmarks/billion_edges.py --edges 2e8      # another graph; writes nothing

The graph is that of `large.py` and `coarsening_large.py`: 20 entries of the adjacency per node, 100 dense features, the
paper's settings. Coarser levels are as large, relative to the first, as those of 101 million edges were. Memory is the
memory plan. Seconds of kernels are the traffic of an epoch over a rate: the traffic is counted as in `gpu_traffic.py`,
and the rate is that of the largest measured run. Seconds of assembling batches are those in which that run prepared its
graph, per edge. Plan and traffic are checked against the measured runs in results/large-cuda-*.json.
"""

import argparse
from dataclasses import replace
from typing import Any

from harness import HERE, read_results, write_table
from hiergcn.model.inputs import build_method
from hiergcn.model.method import WORD, LevelSize, MemoryPlan, Workload
from hiergcn.settings.methods import HGCNConfig
from hiergcn.settings.settings import settings_for

FEATURES, CLASSES, DEGREE = 100, 8, 20  # of large.py
RANKS, GPU_MEMORY, HOST_MEMORY = 8, 141e9, 2e12  # a machine with H200 GPUs, from the vendor's data sheets
MOST_ENTRIES = 2**31 - 1  # that a row pointer of 32 bits can count
PAGE = HERE.parent / "docs" / "more-than-one-machine.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=float, default=1e9)
    parser.add_argument("--batches", type=int, default=64)
    arguments = parser.parse_args()
    lines = [*check_table(), "", *table(round(arguments.edges), arguments.batches)]
    print("\n".join(lines))
    if arguments.edges == 1e9 and arguments.batches == 64:
        write_table("billion edges", lines, PAGE)


def shrinkage() -> list[tuple[float, float]]:
    """Return nodes and edges of each level relative to the first, as measured on 101 million edges."""
    run = read_results("coarsening_large")[0]["runs"][0]
    return [(n / run["nodes"][0], e / run["edges"][0]) for n, e in zip(run["nodes"], run["edges"], strict=True)]


def workload(nodes: int, edges: int, batches: int = 1) -> Workload:
    """Return the sizes of a graph with its hierarchy."""
    levels = [(round(nodes * n), round(2 * edges * e)) for n, e in shrinkage()]
    sizes = tuple(LevelSize(n, entries + n) for n, entries in levels)
    return Workload(sizes, FEATURES, None, CLASSES, batches, full_validation=batches == 1)


def plan(work: Workload) -> MemoryPlan:
    settings = settings_for("hgcn", "paper")
    return build_method("hgcn", settings.model).memory(work)


def epoch_bytes(work: Workload) -> float:
    """Return the bytes that the kernels of an epoch read and write, validation included; see `gpu_traffic.py`.

    A sparse product reads a row of the dense matrix for every entry; three of them per layer: forward, backward and
    validation.
    """
    config: HGCNConfig = settings_for("hgcn", "paper").model
    d, p, width = config.hidden, config.weight_embedding, config.hidden * config.channels
    (n, m), inner = work.levels[0], [*work.levels[1:-1], *work.levels[:0:-1]]
    words = 3 * (m + n) * min(FEATURES + p, width) + 5 * n * FEATURES  # Â X, dropout of X
    words += _dense(n, FEATURES + p, width)
    for nodes, entries in inner:
        words += 3 * (entries + nodes) * min(d + p, width) + 6 * nodes * (d + p) + _dense(nodes, d + p, width)
    words += 3 * (m + n) * min(d, CLASSES) + 4 * n * d + _dense(n, d, CLASSES)
    indices = 3 * 2 * sum(entries for _, entries in [work.levels[0], *inner, work.levels[0]])  # columns and values
    return WORD * (words + indices)


def _dense(n: int, k: int, width: int) -> int:
    """Count H θ in training and validation, and both gradients."""
    return 4 * n * (k + width)


def measured() -> list[tuple[dict[str, Any], Workload]]:
    """Return the measured runs on a GPU, smallest first, with their sizes; those of coarser levels are estimated."""
    runs = sorted((run for run in read_results("large-cuda-") if not run["settings"]), key=lambda run: run["nodes"])
    return [(run, workload(run["nodes"], run["edges"])) for run in runs]


def rate() -> float:
    """Return the bytes per second of the largest measured run: caches help smaller ones more."""
    run, work = measured()[-1]
    return epoch_bytes(work) / float(run["epoch_seconds"])


def check_table() -> list[str]:
    """Return the table that compares plan and traffic with the measured runs."""
    rows = ["| measured, one H200 | epoch | traffic | rate | GPU memory | planned |", "|---|---|---|---|---|---|"]
    for run, work in measured():
        traffic, memory, seconds = epoch_bytes(work), plan(work).on_gpu, run["epoch_seconds"]
        rows.append(
            f"| {run['edges'] / 1e6:.0f} million edges | {seconds:.3f} s | {traffic / 1e9:.0f} GB | "
            f"{traffic / seconds / 1e12:.2f} TB/s | {run['gpu_memory'] / 1e9:.1f} GB | {memory / 1e9:.1f} GB |"
        )
    return rows


def table(edges: int, batches: int) -> list[str]:
    """Return the table of the simulation."""
    nodes = 2 * edges // DEGREE
    work = workload(nodes, edges, batches)
    whole = replace(work, batches=1)
    entries = sum(level.entries for level in work.levels)
    planned = plan(work)
    epoch = epoch_bytes(work) / rate()
    largest = measured()[-1][0]
    assembling = 2 * edges / largest["edges"] * largest["prepare_seconds"] / RANKS
    rows = [
        ("nodes, entries of all levels", f"{nodes:,}, {entries:,}"),
        ("features", f"{work.features / 1e9:.0f} GB"),
        ("levels and features as tensors", f"{plan(whole).structure / 1e9:.0f} GB"),
        (f"activations of one of {batches} batches", f"{planned.kept / 1e9:.1f} GB"),
        ("activations without batches", f"{plan(whole).kept / 1e9:.0f} GB"),
        ("GPU memory per rank, of 141 GB", f"{planned.on_gpu / 1e9:.0f} GB"),
        ("host memory per rank, while coarsening (linear)", f"{host_bytes(work) / 1e9:.0f} GB"),
        (f"host memory, {RANKS} ranks, of 2,000 GB", f"{RANKS * host_bytes(work) / 1e9:,.0f} GB"),
        ("traffic of an epoch, all ranks", f"{epoch_bytes(work) / 1e12:.1f} TB"),
        (f"epoch, {RANKS} GPUs: kernels", f"{epoch / RANKS:.1f} s"),
        (f"epoch, {RANKS} GPUs: assembling batches on the host, to train and to validate", f"{assembling:.0f} s"),
        ("entries of the finest level, of 2,147,483,647", f"{work.levels[0].entries:,}"),
    ]
    found = [f"| 1 billion edges, {RANKS} × H200 | |" if edges == 10**9 else f"| {edges:,} edges | |", "|---|---|"]
    found += [f"| {name} | {value} |" for name, value in rows]
    return [*found, "", f"First to break: {first_break(work, planned)}."]


def host_bytes(work: Workload) -> float:
    """Return the bytes of graph, features and coarser levels at their peak, by the measured one without features."""
    run = read_results("coarsening_large")[0]["runs"][0]
    coarsening: float = run["peak_bytes"] * (work.levels[0].entries - work.nodes) / (2 * run["edges"][0])
    return coarsening + work.features


def first_break(work: Workload, planned: MemoryPlan) -> str:
    """Return the limit that a growing graph meets first, in words."""
    edges = (work.levels[0].entries - work.nodes) / 2
    limits = {
        "the host memory of all ranks": edges * HOST_MEMORY / (RANKS * host_bytes(work)),
        "the GPU memory": edges * GPU_MEMORY / planned.on_gpu,
        "the 32-bit row pointers": edges * MOST_ENTRIES / work.levels[0].entries,
    }
    ordered = sorted(limits.items(), key=lambda limit: limit[1])
    return "; then ".join(f"{name}, at {limit / 1e6:,.0f} million edges" for name, limit in ordered)


if __name__ == "__main__":
    main()
