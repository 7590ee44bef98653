"""What an experiment is: arms (methods) times datasets times columns (what is varied), each cell with its runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hiergcn.graph.split import PUBLIC, SplitSpec
from hiergcn.run.settings import Settings, settings_for


@dataclass(frozen=True)
class Arm:
    """A line of a table: a method with its settings, on all datasets of the experiment or on some."""

    name: str
    method: str
    preset: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    datasets: tuple[str, ...] | None = None
    seeds: int | None = None
    """On each split; None: as many as the experiment says."""
    splits: int | None = None
    """The first so many of a column's splits; None: all of them."""


@dataclass(frozen=True)
class Column:
    """What is varied: settings, splits, or neither."""

    name: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    splits: tuple[SplitSpec, ...] = (PUBLIC,)
    seeds: int | None = None
    """On each split, for every arm; None: as many as arm or experiment say."""


@dataclass(frozen=True)
class Cell:
    """One figure to be: the runs whose mean it is."""

    experiment: str
    arm: str
    dataset: str
    column: str
    settings: Settings
    runs: tuple[tuple[SplitSpec, int], ...]
    """Every (split, seed)."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.arm, self.dataset, self.column


@dataclass(frozen=True)
class Measurement:
    """Something to be measured rather than trained; `arguments` go to the function of that name in `measures`."""

    experiment: str
    name: str
    arguments: Mapping[str, Any]
    alone: bool = False
    """Nothing else may run meanwhile: it is a matter of time."""


@dataclass(frozen=True)
class Experiment:
    """A table or figure: trainings (arms, datasets, columns), measurements, or both."""

    name: str
    title: str
    about: str
    arms: tuple[Arm, ...] = ()
    datasets: tuple[str, ...] = ()
    columns: tuple[Column, ...] = (Column(),)
    seeds: int = 1
    most_epochs: int | None = None
    """Training ends here even where the settings would go on; for quick versions."""
    measurements: tuple[Measurement, ...] = ()

    def cells(self) -> Iterator[Cell]:
        for arm in self.arms:
            for dataset in self.datasets:
                if arm.datasets is None or dataset in arm.datasets:
                    for column in self.columns:
                        yield self._cell(arm, dataset, column)

    def _cell(self, arm: Arm, dataset: str, column: Column) -> Cell:
        settings = settings_for(arm.method, arm.preset, dataset).override({**arm.changes, **column.changes})
        if self.most_epochs is not None:
            epochs = min(settings.train.epochs, self.most_epochs)
            settings = replace(settings, train=replace(settings.train, epochs=epochs))
        seeds = column.seeds or arm.seeds or self.seeds
        runs = tuple((split, seed) for split in column.splits[: arm.splits] for seed in range(seeds))
        return Cell(self.name, arm.name, dataset, column.name, settings, runs)
