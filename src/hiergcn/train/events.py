"""Events that long-running functions pass to their `on_event` callback.

Every such function takes one callback, which gets one value per step. The shell shows its progress from them.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hiergcn.coarsening import Hierarchy
    from hiergcn.graph import Split
    from hiergcn.settings.settings import ChosenSettings
    from hiergcn.train.loop import SeedOutcome


class EpochDone(NamedTuple):
    """A seed has finished an epoch."""

    seed: int
    epoch: int
    best_validation_accuracy: float


class StopTraining(Exception):  # noqa: N818  (as StopIteration)
    """Raised by a callback to end training; the best epoch so far is kept."""


OnEpoch = Callable[[EpochDone], None]


class SplitChosen(NamedTuple):
    """The automatic choice begins on this split."""

    split: "Split"


class SettingsChosen(NamedTuple):
    """The split and the settings are known."""

    split: "Split"
    chosen: "ChosenSettings"


class Coarsened(NamedTuple):
    """The hierarchy is ready."""

    hierarchy: "Hierarchy"
    seconds: float


class MemoryPlanned(NamedTuple):
    """The memory that training needs was estimated, in bytes."""

    memory: int
    available: int | None


class SeedDone(NamedTuple):
    """A seed has finished or failed."""

    outcome: "SeedOutcome"


class BaselineStarted(NamedTuple):
    """A fit begins a simpler method on the same split."""

    model: str


class CandidateStarted(NamedTuple):
    """The automatic choice begins a candidate."""

    name: str


class CandidateDone(NamedTuple):
    """The automatic choice has finished a candidate; without an accuracy it was left out for a reason."""

    name: str
    validation_accuracy: float | None
    left_out: str | None


def describe(event: object) -> str | None:
    """Describe an event of a fit in one line; None for frequent or minor events."""
    match event:
        case CandidateDone(name, score, left_out):
            return f"{name}: {left_out if score is None else f'validation score {score:.3f}'}"
        case Coarsened(hierarchy, seconds):
            return f"Coarsened in {seconds:.1f} s: {' → '.join(f'{n:,}' for n in hierarchy.sizes().nodes)} nodes"
        case SettingsChosen(split, chosen):
            return f"Training {chosen.settings.method} on {len(split.train):,} nodes"
        case SplitChosen(split):
            return f"Choosing a method: {len(split.train):,} training nodes, {len(split.validation):,} validation nodes"
        case SeedDone(outcome) if outcome.failure is None:
            score, best = outcome.validation_accuracy or 0.0, outcome.best_epoch
            return f"seed {outcome.seed}: validation score {score:.3f} at epoch {best}, {outcome.seconds:.1f} s"
        case SeedDone(outcome):
            return f"seed {outcome.seed}: failed, it {outcome.failure}"
        case BaselineStarted(model):
            return f"Fitting {model} on the same split"
    return None


FitEvent = (
    SplitChosen
    | SettingsChosen
    | Coarsened
    | MemoryPlanned
    | EpochDone
    | SeedDone
    | BaselineStarted
    | CandidateStarted
    | CandidateDone
)
OnFitEvent = Callable[[FitEvent], None]
