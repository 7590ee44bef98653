"""What every benchmark needs: repeated timing, the machine and the commit, a JSON file and a table in the README."""

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

from hiergcn.files import written_whole

HERE = Path(__file__).resolve().parent


def timed(call: Callable[[], object], repeats: int, warm_up: int = 1) -> dict[str, Any]:
    """Seconds of `call`: the median, the spread and every run, after `warm_up` runs that do not count.

    `cpu` is the median of the seconds of all cores together, which other work on the machine disturbs less.
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


def circumstances(packages: list[str]) -> dict[str, Any]:
    """Machine, versions, commit and command: what a figure depends on."""
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


def write_result(name: str, result: dict[str, Any]) -> Path:
    """Write benchmarks/results/<name>.json."""
    path = HERE / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    with written_whole(path) as part:
        part.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return path


def read_results(beginning: str) -> list[dict[str, Any]]:
    """The results whose names begin so, in the order of the names."""
    return [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted((HERE / "results").glob(f"{beginning}*.json"))
    ]


def forget_peak() -> int:
    """Bytes that this process holds now; its peak is counted from here on."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the kernel's word for it
    return peak_since()


def peak_since() -> int:
    """The most bytes that this process held since `forget_peak`."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024


def write_table(name: str, lines: list[str]) -> None:
    """Put `lines` between the marks of this benchmark in benchmarks/README.md."""
    readme = HERE / "README.md"
    before, rest = readme.read_text(encoding="utf-8").split(f"<!-- {name} -->\n")
    _, after = rest.split(f"<!-- end of {name} -->\n")
    with written_whole(readme) as part:
        text = "\n".join(lines)
        part.write_text(f"{before}<!-- {name} -->\n{text}\n<!-- end of {name} -->\n{after}", encoding="utf-8")


def _commit() -> str:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    if "HIERGCN_COMMIT" in os.environ:  # of a copy without its history
        return os.environ["HIERGCN_COMMIT"]
    changed = git("status", "--porcelain", "--", "../src")
    return (git("rev-parse", "HEAD") or "unknown") + ("+changes" if changed else "")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # used from its source folder
        return str(import_module(package).__version__)


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()
