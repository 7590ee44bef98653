"""Run a command of hiergcn, and write down the most memory that its process held.

    python scripts/peak_memory.py docs/results/plus/memory/cora-plus.json fit cora --preset plus --seeds 4 --out run/

Seeds that other processes train are not counted.
"""

import atexit
import json
import runpy
import sys
import time
from pathlib import Path

from hiergcn.run.process import peak_memory


def write_down(target: Path, began: float) -> None:
    peak = peak_memory()
    measured = {"gpu_gb": gigabytes(peak.gpu), "resident_gb": gigabytes(peak.resident)}
    measured["wall_s"] = round(time.time() - began, 1)
    target.write_text(json.dumps(measured) + "\n", encoding="utf-8")


def gigabytes(taken: int | None) -> float | None:
    return None if taken is None else round(taken / 1e9, 2)


if __name__ == "__main__":
    atexit.register(write_down, Path(sys.argv.pop(1)), time.time())
    runpy.run_module("hiergcn", run_name="__main__", alter_sys=True)
