"""What an experiment is: variants (methods with settings) times datasets times conditions; each cell has its runs.

A study is a set of experiments with a page. Each module in `studies` holds one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hiergcn import Graph, InputError, Split
from hiergcn.research import GROUPS, PUBLIC, Settings, SplitSpec, first_of_each_class, settings_for, split_generator
from hiergcn_experiments.store import Record, identity

if TYPE_CHECKING:
    from hiergcn_experiments.page import Section

NUMBERED = 0
"""As a number of seeds: one seed per split, equal to the number of the split."""
STORED_AS = {"hgcn-exchange": "hgcn"}
"""Methods whose results are stored under the name of another one, of which they were a setting."""


@dataclass(frozen=True)
class FewLabels(SplitSpec):
    """Some training nodes of each class of the graph's own split.

    The draws of one number are nested: the 5 nodes of a class are among its 10. So numbers of labels can be compared
    without a change of nodes.
    """

    per_class: int = 0
    small_validation: bool = False
    """Whether validation keeps only `per_class` nodes of each class as well, instead of all."""

    @property
    def name(self) -> str:
        return f"few-{self.per_class}-draw-{self.number}{'-small' if self.small_validation else ''}"

    def split(self, graph: Graph, public: Split) -> Split:
        rng, labels, validation = split_generator(self.number), graph.strata, public.validation
        train = first_of_each_class(rng.permutation(public.train), labels, self.per_class)
        if self.small_validation:
            validation = first_of_each_class(rng.permutation(validation), labels, self.per_class)
        return Split(train, validation, public.test)


def few_labels(per_class: int, draws: int, *, small_validation: bool) -> tuple[FewLabels, ...]:
    """Return that many draws of `per_class` training nodes of each class."""
    few = FewLabels(per_class=per_class, small_validation=small_validation)
    return tuple(replace(few, number=draw) for draw in range(draws))


@dataclass(frozen=True)
class Training:
    """One training run."""

    dataset: str
    settings: Settings
    split: SplitSpec
    seed: int

    def key(self) -> dict[str, Any]:
        """Return what identifies the run beside the data, as JSON values."""
        method = self.settings.method
        return {
            "kind": "training",
            "dataset": self.dataset,
            "method": STORED_AS.get(method, method),
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
    """Something measured rather than trained; `arguments` go to the function of that name in a study's `measures`."""

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


@dataclass(frozen=True)
class Variant:
    """A row of a table: a method with its settings, on all datasets and conditions of the experiment or on some."""

    name: str
    method: str
    preset: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    datasets: tuple[str, ...] | None = None
    conditions: tuple[str, ...] | None = None
    seeds: int | None = None
    """Seeds per split, or NUMBERED; None: as the experiment says."""
    splits: int | None = None
    """Use only this many of a condition's splits, the first ones; None: all of them."""


@dataclass(frozen=True)
class Condition:
    """What is varied: settings, splits, or neither."""

    name: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    splits: tuple[SplitSpec, ...] = (PUBLIC,)
    seeds: int | None = None
    """Seeds per split for every variant; None: as the variant or the experiment says."""


@dataclass(frozen=True)
class Cell:
    """One figure of a table: the runs that it is the mean of."""

    experiment: str
    variant: str
    dataset: str
    condition: str
    settings: Settings
    runs: tuple[tuple[SplitSpec, int], ...]
    """Every (split, seed)."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.variant, self.dataset, self.condition

    def trainings(self) -> list[Training]:
        return [Training(self.dataset, self.settings, split, seed) for split, seed in self.runs]


@dataclass(frozen=True)
class Experiment:
    """A table or figure: trainings (variants, datasets, conditions), measurements, or both."""

    name: str
    title: str = ""
    about: str = ""
    variants: tuple[Variant, ...] = ()
    datasets: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = (Condition(),)
    seeds: int = 1
    """Seeds per split, or NUMBERED."""
    most_epochs: int | None = None
    """Upper limit on the epochs of every run, for quick versions."""
    measurements: tuple[Measurement, ...] = ()
    only_by_name: bool = False
    """Not run when the whole study is asked for."""

    def cells(self) -> Iterator[Cell]:
        for variant in self.variants:
            for dataset in self.datasets:
                for condition in self.conditions:
                    here = condition.name in (variant.conditions or (condition.name,))
                    if here and dataset in (variant.datasets or self.datasets):
                        yield self._cell(variant, dataset, condition)

    def jobs(self) -> list[Job]:
        trainings: list[Job] = [training for cell in self.cells() for training in cell.trainings()]
        return [*trainings, *self.measurements]

    def _cell(self, variant: Variant, dataset: str, condition: Condition) -> Cell:
        settings = settings_for(variant.method, variant.preset, dataset)
        settings = settings.override({**variant.changes, **condition.changes})
        if self.most_epochs is not None:
            epochs = min(settings.train.epochs, self.most_epochs)
            settings = replace(settings, train=replace(settings.train, epochs=epochs))
        count = next(count for count in (condition.seeds, variant.seeds, self.seeds) if count is not None)
        splits = condition.splits[: variant.splits]
        runs = ((split, seed) for split in splits for seed in ([split.number] if count == NUMBERED else range(count)))
        return Cell(self.name, variant.name, dataset, condition.name, settings, tuple(runs))


@dataclass(frozen=True)
class Scope:
    """How much of a study is asked for."""

    quick: bool = False
    tasks: Collection[str] = ()
    """Only these of its tasks; empty: all."""
    seconds: float | None = None
    """Time limit of an automatic choice; None: as the study says."""

    def some(self, tasks: Iterable[str]) -> list[str]:
        """Return those of a study's tasks that are asked for."""
        known = list(tasks)
        for name in self.tasks:
            if name not in known:
                raise InputError(f"--tasks {name}: choose some of {', '.join(known)}.")
        return list(self.tasks) or known


@dataclass(frozen=True)
class Study:
    """Experiments that share a page."""

    name: str
    """Of the page's folder, and of all experiments together on the command line."""
    title: str
    experiments: Callable[[Scope], Iterable[Experiment]]
    sections: "Callable[[Sequence[Record], bool], list[Section]]"
    """From the study's records, and whether they are those of a quick run."""
    measures: tuple[Callable[..., dict[str, Any]], ...] = ()
    """What its measurements call: the function of measurement `a-b` is `a_b`. Figures must be JSON values."""
    splits: tuple[str, ...] = ()
    """How the names of its splits begin, if no other study has such splits: then all their runs are its own."""

    def owns(self, record: Record) -> bool:
        """Return whether a record is a result of this study."""
        if record.key["kind"] == "measurement":
            return record.key["name"].replace("-", "_") in {measure.__name__ for measure in self.measures}
        return str(record.key["split"]).startswith(self.splits) if self.splits else record.about in self._trainings

    @cached_property
    def _trainings(self) -> set[str]:
        experiments = (one for quick in (False, True) for one in self.experiments(Scope(quick)) if one.variants)
        return {identity(run.key()) for one in experiments for cell in one.cells() for run in cell.trainings()}
