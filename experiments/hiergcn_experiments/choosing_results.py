"""Results of the automatic choice by task: its accuracy beside that of every single candidate.

A candidate that has no result on a split, because it was not tried, was stopped or failed, counts there with the
accuracy of the automatic choice. So it neither gains nor loses, and the two are compared where the candidate ran.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hiergcn.evaluate.metrics import Summary
from hiergcn_experiments.choosing import NAME, RECIPES_NAME, TASKS
from hiergcn_experiments.store import Record, latest_by

SIMPLE = ("label-propagation", "mlp", "gcn")


@dataclass(frozen=True, eq=False)
class TaskResult:
    """The finished splits of a task."""

    name: str
    splits: Mapping[int, Mapping[str, Any]]
    """Figures by the number of the split, see `choosing.choosing`."""

    @property
    def title(self) -> str:
        return TASKS[self.name].title

    @cached_property
    def auto(self) -> Summary:
        """Test accuracy of the automatic choice on each split."""
        return Summary(tuple(one["test_accuracy"] for one in self.splits.values()))

    @property
    def accuracy(self) -> float:
        """Mean over splits of the automatic choice."""
        return self.mean("test_accuracy")

    @cached_property
    def single(self) -> dict[str, dict[int, float]]:
        """Test accuracy of each candidate by split. A method that was fitted by name counts with all its seeds."""
        found: dict[str, dict[int, float]] = {}
        for split, one in self.splits.items():
            of_candidates = {each["name"]: each["test"] for each in one["candidates"]}
            by_name = {name: each["test_accuracy"] for name, each in one["named"].items() if not each["failure"]}
            for name, accuracy in (of_candidates | by_name).items():
                if accuracy is not None:
                    found.setdefault(name, {})[split] = accuracy
        return found

    def of(self, name: str) -> Summary:
        """Return the accuracies of a candidate on the splits where it finished."""
        return Summary(tuple(self.single.get(name, {}).values()))

    def counted(self, name: str) -> float:
        """Return the mean accuracy of a candidate; without a result it counts as the automatic choice."""
        own = self.single.get(name, {})
        return float(np.mean([own.get(split, one["test_accuracy"]) for split, one in self.splits.items()]))

    @cached_property
    def best_of_each_split(self) -> float:
        """Mean over splits of the highest accuracy of any candidate on that split."""
        best = [max(own[split] for own in self.single.values() if split in own) for split in self.splits]
        return float(np.mean(best))

    @cached_property
    def best_on_average(self) -> str:
        return max(self.single, key=self.counted)

    @property
    def lead(self) -> float:
        """The automatic choice minus the best candidate on average."""
        return self.accuracy - self.counted(self.best_on_average)

    def lead_over(self, name: str) -> float | None:
        """Return the automatic choice minus a candidate, on the splits where that finished."""
        own = self.single.get(name, {})
        leads = [self.splits[split]["test_accuracy"] - accuracy for split, accuracy in own.items()]
        return float(np.mean(leads)) if leads else None

    def leads_over_simple(self) -> dict[str, float]:
        return {name: lead for name in SIMPLE if (lead := self.lead_over(name)) is not None}

    def mean(self, figure: str) -> float:
        """Return the mean of a figure over the splits."""
        return float(np.mean([one[figure] for one in self.splits.values()]))


def choosing_records(records: Iterable[Record]) -> list[Record]:
    """Return the records of this benchmark; of several on one split the latest."""
    return latest_by(place_of, (one for one in records if one.key.get("name") in (NAME, RECIPES_NAME)))


def results_by_task(records: Iterable[Record]) -> dict[str, TaskResult]:
    """Return the results by task, in the order of `TASKS`."""
    found: dict[str, dict[int, Mapping[str, Any]]] = {}
    for record in records:
        about = record.key["arguments"]
        found.setdefault(about["task"], {})[about["split"]] = record.result
    return {name: TaskResult(name, dict(sorted(found[name].items()))) for name in TASKS if name in found}


def place_of(record: Record) -> tuple[str, str, int]:
    about = record.key["arguments"]
    return record.key["name"], about["task"], about["split"]
