"""How much faster is `compare` with a second Ray worker, and how long does Ray take for a unit of work?

    python benchmarks/ray_speed.py            # pairs of runs, one worker and then two; a minute or two
    python benchmarks/ray_speed.py --quick    # a smoke test; writes nothing

GCN and H-GCN on Cora, a unit per seed, on a cluster of one machine. Its workers have imported everything before the
clock starts. Both runs of a pair see about the same load. The overhead is the time of many empty units, one after the
other on one worker, per unit.
"""

import argparse
import logging
import os
import time
from contextlib import closing
from typing import Any

from harness import environment, write_result, write_table
from hiergcn.comparison.compare import compare
from hiergcn.datasets import load_dataset
from hiergcn.settings.settings import settings_for
from hiergcn.workers.pool import Request, Send, Work
from hiergcn.workers.ray_cluster import RayEngine

METHODS = ("gcn", "hgcn")


def empty() -> Work:
    def do(_: Send, job: int) -> int:
        return job

    return do


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--units", type=int, default=300)
    parser.add_argument("--quick", action="store_true", help="one pair of short runs; write nothing")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.pairs, arguments.seeds, arguments.epochs, arguments.units = 1, 2, 3, 20
    at = environment(["hiergcn", "torch", "ray"])
    sizes = (arguments.seeds, arguments.epochs, arguments.units)
    pairs = [[timed_run(workers, *sizes) for workers in (1, 2)] for _ in range(arguments.pairs)]
    result = {"environment": at, "seeds": arguments.seeds, "epochs": arguments.epochs, "pairs": pairs}
    print("\n".join(table(result)))
    if not arguments.quick:
        print(write_result("ray_speed", result))
        write_table("ray_speed", table(result))


def timed_run(workers: int, seeds: int, epochs: int, units: int) -> dict[str, Any]:
    """Return the seconds of `compare` and of an empty unit, with so many workers."""
    import ray

    data = load_dataset("cora")
    methods = {name: settings_for(name).override({"epochs": epochs}) for name in METHODS}
    short = {name: settings_for(name).override({"epochs": 1}) for name in METHODS}
    ray.init(
        address="local", num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR
    )
    try:
        with closing(RayEngine()) as engine:
            compare(data.graph, data.split, short, range(2 * workers), device="cpu", engine=engine)
            load, began = os.getloadavg()[0], time.perf_counter()
            found = compare(data.graph, data.split, methods, range(seeds), device="cpu", engine=engine)
            seconds = time.perf_counter() - began
            with engine.pool(empty) as pool:
                began = time.perf_counter()
                count = sum(reply.kind == "result" for _, reply in pool.replies((k, Request()) for k in range(units)))
                overhead = (time.perf_counter() - began) / count
    finally:
        ray.shutdown()
    accuracies = [run.test_accuracy.mean for run in found.runs]
    print(f"{workers} workers: {seconds:.1f} s, {1000 * overhead:.1f} ms per empty unit, load {load:.1f}", flush=True)
    return {"workers": workers, "seconds": seconds, "unit_seconds": overhead, "load": load, "accuracy": accuracies}


def table(result: dict[str, Any]) -> list[str]:
    """Return the table of all pairs."""
    lines = [
        "| pair | one worker | two workers | ratio | empty unit, one worker | load average |",
        "|---|---|---|---|---|---|",
    ]
    for number, (one, two) in enumerate(result["pairs"], 1):
        lines.append(
            f"| {number} | {one['seconds']:.1f} s | {two['seconds']:.1f} s | {one['seconds'] / two['seconds']:.2f} | "
            f"{1000 * one['unit_seconds']:.1f} ms | {one['load']:.1f} and {two['load']:.1f} |"
        )
    return lines


if __name__ == "__main__":
    main()
