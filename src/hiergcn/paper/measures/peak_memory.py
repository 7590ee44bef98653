"""Memory that training a method takes on the CPU, above what the process holds with the graph read.

Two epochs: the second one holds gradients and the optimiser's state as well as every later one does.
"""

from pathlib import Path
from typing import Any

import torch

from hiergcn.coarsen import coarsen
from hiergcn.datasets import load_dataset
from hiergcn.graph.task import Task
from hiergcn.model.registry import build_method
from hiergcn.run.settings import settings_for
from hiergcn.train.runs import train_runs

STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def measure(dataset: str, method: str) -> dict[str, Any]:
    """`bytes` is None where the system does not tell: it is Linux that does."""
    data = load_dataset(dataset)
    settings = settings_for(method, None, dataset).override({"epochs": 2})
    built = build_method(method, settings.model)
    hierarchy = coarsen(data.graph.adjacency, settings.model.levels, settings.coarsen) if built.uses_hierarchy else None
    task, cpu = Task.of(data.graph, data.split), torch.device("cpu")
    before = _peak_from_here()
    prepared = built.prepare(task, hierarchy, cpu)
    for _ in train_runs(built, prepared, [(task, 0)], settings.train, cpu):
        pass
    return {"dataset": dataset, "method": method, "bytes": None if before is None else (_peak() or 0) - before}


def _peak_from_here() -> int | None:
    """Bytes held now; the peak is counted from here on."""
    try:
        FORGET.write_text("5", encoding="ascii")  # the kernel's word for it
    except OSError:
        return None
    return _peak()


def _peak() -> int | None:
    for line in STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return None
