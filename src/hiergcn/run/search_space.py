"""The search space of `hiergcn tune`."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import InputError
from hiergcn.model.config_types import SCALINGS
from hiergcn.run.settings import GROUPS, Settings

if TYPE_CHECKING:
    import optuna

MOST_LEVELS = 6


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, in steps or on a logarithmic scale."""

    low: float
    high: float
    step: float | None = None
    log: bool = False

    def holds(self, value: Any) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high

    def suggest(self, trial: "optuna.Trial", name: str) -> float:
        if isinstance(self.low, int) and isinstance(self.high, int):
            return trial.suggest_int(name, self.low, self.high)
        return trial.suggest_float(name, self.low, self.high, step=self.step, log=self.log)


@dataclass(frozen=True)
class Choices:
    """One of several values."""

    values: tuple[Any, ...]

    def holds(self, value: Any) -> bool:
        return value in self.values

    def suggest(self, trial: "optuna.Trial", name: str) -> Any:
        return trial.suggest_categorical(name, self.values)


Space = dict[str, Range | Choices]

SPACE: Space = {
    "levels": Range(1, MOST_LEVELS),
    "hidden": Choices((16, 32, 64, 128)),
    "dropout": Range(0.0, 0.9, step=0.05),
    "learning_rate": Range(1e-3, 5e-2, log=True),
    "l2": Range(1e-6, 1e-2, log=True),
    "pooling": Choices(("sum", "mean", "l2")),
    "scaling": Choices(SCALINGS),
    "channels": Range(1, 4),
    "share": Range(0.0, 0.6, step=0.1),
    "order": Range(1, 8),
    "drop_node": Range(0.0, 0.7, step=0.1),
    "input_dropout": Range(0.0, 0.8, step=0.1),
    "hidden_dropout": Range(0.0, 0.8, step=0.1),
}


def search_space(settings: Settings, fixed: Collection[str], coarsened: Callable[..., Hierarchy]) -> Space:
    """Return the method's settings that are not fixed, with at most as many levels as the graph has.

    `coarsened(levels, config)` makes the graph's hierarchy, such as `Trainer.coarsened`.
    """
    used = [group for group in GROUPS if settings.without_effect(group) is None]
    own = {field.name for group in used for field in fields(getattr(settings, group))}
    space = {name: part for name, part in SPACE.items() if name in own and name not in fixed}
    if "levels" in space:
        space["levels"] = Range(1, max(coarsened(MOST_LEVELS, settings.coarsen).depth, 1))
    if not space:
        raise InputError(f"{settings.method} has no setting left to search; fix fewer of them.")
    return space
