"""Made-up results: records for the cells of an experiment, with accuracies that a test chooses."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from hiergcn_experiments.experiment import Cell, Experiment
from hiergcn_experiments.paper.experiments import QUICK
from hiergcn_experiments.store import Record

TINY = replace(QUICK, name="tiny", most_epochs=2, seeds=2, levels=(1, 2), channels=(1, 2), splits=2)

Accuracy = Callable[[Cell, int, int], float | None]
"""From (cell, place of the split, seed); None for a run that failed."""


def record_of(cell: Cell, place: int, accuracy: float | None, finished: str = "2026-01-01") -> Record:
    result = {
        "test_accuracy": accuracy,
        "macro_f1": accuracy,
        "validation_accuracy": accuracy,
        "train_accuracy": accuracy,
        "best_epoch": None if accuracy is None else 1,
        "epochs": 2,
        "failure": "diverged at epoch 2" if accuracy is None else None,
        "depth": None,
    }
    made = {"seconds": 1.0, "device": "cpu", "processor": "a chip", "commit": "abc", "finished": finished}
    return Record(cell.trainings()[place].key(), "data", result, made)


def records_of(experiments: Iterable[Experiment], accuracy: Accuracy) -> list[Record]:
    found = {}
    for experiment in experiments:
        for cell in experiment.cells():
            splits = list(dict.fromkeys(split for split, _ in cell.runs))
            for place, (split, seed) in enumerate(cell.runs):
                record = record_of(cell, place, accuracy(cell, splits.index(split), seed))
                found[record.id] = record
    return list(found.values())


def measured_record(
    name: str, arguments: dict[str, Any], result: dict[str, Any], finished: str = "2026-01-01"
) -> Record:
    """Return the record of a measurement."""
    made = {"commit": "abc", "device": "cpu", "processor": "a chip", "seconds": 1.0, "finished": finished}
    return Record({"kind": "measurement", "name": name, "arguments": arguments}, None, result, made)
