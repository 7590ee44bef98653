"""What an experiment is: arms (methods) times datasets times columns (what is varied); each cell has its runs."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hiergcn.errors import InputError
from hiergcn.graph.split import PUBLIC, SplitSpec
from hiergcn.settings.settings import GROUPS, Settings, settings_for

NUMBERED = 0
"""As a number of seeds: one seed per split, equal to the number of the split."""


STORED_AS = {"hgcn-exchange": "hgcn"}
"""Methods under whose name results of another one are stored, of which it was a setting."""


@dataclass(frozen=True)
class Training:
    """One training run."""

    dataset: str
    settings: Settings
    split: SplitSpec
    seed: int

    def key(self) -> dict[str, Any]:
        """Return what identifies the run beside the data, as JSON values."""
        return {
            "kind": "training",
            "dataset": self.dataset,
            "method": STORED_AS.get(self.settings.method, self.settings.method),
            "settings": {group: vars(getattr(self.settings, group)) for group in GROUPS},
            "split": self.split.name,
            "seed": self.seed,
        }

    @property
    def about(self) -> str:
        """Name the kind of run; runs of one kind take about as long."""
        return f"{self.settings.method} {self.dataset}"


@dataclass(frozen=True)
class Measurement:
    """Something measured rather than trained; `arguments` go to the function of that name in `measures.py`."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = False
    """Nothing else may run at the same time, because it measures seconds."""
    on_device: bool = False
    """Runs on the given device, one process each; the function takes an argument `device`."""

    @property
    def dataset(self) -> str | None:
        return self.arguments.get("dataset")

    def key(self) -> dict[str, Any]:
        return {"kind": "measurement", "name": self.name, "arguments": dict(self.arguments)}

    @property
    def about(self) -> str:
        return f"{self.name} {self.arguments['task']}" if "task" in self.arguments else self.name


Job = Training | Measurement


def named_tasks(names: Iterable[str], tasks: Collection[str]) -> list[str]:
    """Return the tasks of a benchmark that a user names; all if none is named."""
    for name in (found := list(names)):
        if name not in tasks:
            raise InputError(f"--tasks {name}: choose some of {', '.join(tasks)}.")
    return found or list(tasks)


@dataclass(frozen=True)
class Arm:
    """A row of a table: a method with its settings, on all datasets and columns of the experiment or on some."""

    name: str
    method: str
    preset: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    datasets: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    seeds: int | None = None
    """Seeds per split, or NUMBERED; None: as the experiment says."""
    splits: int | None = None
    """Use only this many of a column's splits, the first ones; None: all of them."""


@dataclass(frozen=True)
class Column:
    """What is varied: settings, splits, or neither."""

    name: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    splits: tuple[SplitSpec, ...] = (PUBLIC,)
    seeds: int | None = None
    """Seeds per split for every arm; None: as the arm or the experiment says."""


@dataclass(frozen=True)
class Cell:
    """One figure of a table: the runs that it is the mean of."""

    experiment: str
    arm: str
    dataset: str
    column: str
    settings: Settings
    runs: tuple[tuple[SplitSpec, int], ...]
    """Every (split, seed)."""

    @property
    def place(self) -> tuple[str, str, str]:
        return self.arm, self.dataset, self.column

    def trainings(self) -> list[Training]:
        return [Training(self.dataset, self.settings, split, seed) for split, seed in self.runs]


@dataclass(frozen=True)
class Experiment:
    """A table or figure: trainings (arms, datasets, columns), measurements, or both."""

    name: str
    title: str = ""
    about: str = ""
    arms: tuple[Arm, ...] = ()
    datasets: tuple[str, ...] = ()
    columns: tuple[Column, ...] = (Column(),)
    seeds: int = 1
    """Seeds per split, or NUMBERED."""
    most_epochs: int | None = None
    """Upper limit on the epochs of every run, for quick versions."""
    measurements: tuple[Measurement, ...] = ()

    def cells(self) -> Iterator[Cell]:
        for arm in self.arms:
            for dataset in self.datasets:
                for column in self.columns:
                    if dataset in (arm.datasets or self.datasets) and column.name in (arm.columns or (column.name,)):
                        yield self._cell(arm, dataset, column)

    def jobs(self) -> list[Job]:
        trainings: list[Job] = [training for cell in self.cells() for training in cell.trainings()]
        return [*trainings, *self.measurements]

    def _cell(self, arm: Arm, dataset: str, column: Column) -> Cell:
        settings = settings_for(arm.method, arm.preset, dataset).override({**arm.changes, **column.changes})
        if self.most_epochs is not None:
            epochs = min(settings.train.epochs, self.most_epochs)
            settings = replace(settings, train=replace(settings.train, epochs=epochs))
        count = next(count for count in (column.seeds, arm.seeds, self.seeds) if count is not None)
        splits = column.splits[: arm.splits]
        runs = ((split, seed) for split in splits for seed in ([split.number] if count == NUMBERED else range(count)))
        return Cell(self.name, arm.name, dataset, column.name, settings, tuple(runs))
