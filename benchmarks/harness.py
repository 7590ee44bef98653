"""Shared by all benchmarks: timing, peak memory, provenance, result files and the tables of the README."""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hiergcn.coarsening import Hierarchy
from hiergcn.files import written_whole
from hiergcn.workers.machine import Peak, peak_memory
from hiergcn.workers.pool import Pool, Send, Work, WorkFailedError

HERE = Path(__file__).resolve().parent


def timed(call: Callable[[], object], repeats: int, warm_up: int = 1) -> dict[str, Any]:
    """Return the seconds of `call`: median, least, most and every run, after `warm_up` runs that are not counted.

    `cpu` is the median CPU time of all cores together, which depends less on the machine's load.
    """
    for _ in range(warm_up):
        call()
    seconds, cpu = [], []
    for _ in range(repeats):
        start, cpu_start = time.perf_counter(), time.process_time()
        call()
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
    median = statistics.median
    return {
        "median": median(seconds),
        "least": min(seconds),
        "most": max(seconds),
        "cpu": median(cpu),
        "seconds": seconds,
    }


def in_own_process(work: Callable[..., Any], *arguments: Any, limit: float | None = None) -> tuple[Any, Peak]:
    """Call `work(*arguments)` in a separate process, for at most `limit` seconds; return its result and peak memory."""
    with Pool(_one_call, work) as pool:
        pool.start(None, arguments)
        for _, reply in pool.wait(limit):
            if reply.kind == "result":
                return reply.content, reply.peak
            raise WorkFailedError(reply.content)
    raise WorkFailedError(f"The worker process was ended after {limit:g} s.")


def _one_call(work: Callable[..., Any]) -> Work:
    def call(_: Send, arguments: tuple[Any, ...]) -> Any:
        return work(*arguments)

    return call


def environment(packages: list[str]) -> dict[str, Any]:
    """Return machine, versions, commit and command."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python", *sys.orig_argv[1:]]),
        "commit": _commit(),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "load_before": os.getloadavg()[0],
        "platform": platform.platform(),
        "python": platform.python_version(),
        "packages": {package: _version(package) for package in packages},
    }


def provenance(at: dict[str, Any]) -> str:
    """Describe an environment in one line; the command's options are part of it."""
    options = str(at["command"]).partition(".py")[2].strip()
    machine = at.get("gpu") or f"{at['cores']} cores of {at['cpu']}"
    line = f"{machine}, {at['when'][:10]}, commit {at['commit'][:10]}, load average {at['load_before']:.1f}"
    return f"{line}, options `{options}`." if options else f"{line}."


def write_result(name: str, result: dict[str, Any]) -> Path:
    """Write benchmarks/results/<name>.json."""
    path = HERE / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    with written_whole(path) as part:
        part.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return path


def read_results(prefix: str) -> list[dict[str, Any]]:
    """Return the results whose file names have this prefix, sorted by name."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((HERE / "results").glob(f"{prefix}*"))]


def reset_peak() -> int:
    """Reset the peak memory of this process, and return the bytes it holds now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # Linux: resets VmHWM
    return peak_bytes()


def peak_bytes() -> int:
    """Return the peak resident memory of this process since `reset_peak` or its start."""
    return peak_memory().resident or 0


def write_table(name: str, lines: list[str], page: Path = HERE / "README.md") -> None:
    """Replace the block of this name in a page."""
    before, rest = page.read_text(encoding="utf-8").split(f"<!-- {name} -->\n")
    _, after = rest.split(f"<!-- end of {name} -->\n")
    with written_whole(page) as part:
        text = "\n".join(lines)
        part.write_text(f"{before}<!-- {name} -->\n{text}\n<!-- end of {name} -->\n{after}", encoding="utf-8")


def _commit() -> str:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    if "HIERGCN_COMMIT" in os.environ:  # a copy without its git history
        return os.environ["HIERGCN_COMMIT"]
    changed = git("status", "--porcelain", "--", "../src")
    return (git("rev-parse", "HEAD") or "unknown") + ("+changes" if changed else "")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # imported from its source folder
        return str(import_module(package).__version__)


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def held_bytes(hierarchy: Hierarchy) -> int:
    """Return the memory of all arrays of a hierarchy; weights that are all 1 take none."""
    total = 0
    for level in hierarchy.levels:
        A = level.adjacency
        arrays = (A.indptr, A.indices, A.data, level.node_weight, level.group)
        total += sum(array.nbytes for array in arrays if array is not None and array.strides != (0,))
    return total
