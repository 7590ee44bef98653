"""The first words of the page: how good, what the figure is, what to mind."""

from dataclasses import dataclass
from typing import Any

from hiergcn.report.classes import ClassFigures

FEW = 10  # nodes of a class below which its figures say little


@dataclass(frozen=True)
class Verdict:
    headline: str
    """Mean and spread in per cent."""
    meaning: str
    """What the headline is."""
    claim: str | None
    """How it stands to the paper."""
    baselines: str | None
    """How it stands to the simpler methods that were run beside it."""
    warnings: tuple[str, ...]


def verdict(metrics: dict[str, Any], classes: ClassFigures) -> Verdict:
    test = metrics["test_accuracy"]
    figure = test or metrics["val_accuracy"]
    mean, std = figure["mean"], figure["std"]
    headline = f"{100 * mean:.1f}" + ("" if std is None else f" ± {100 * std:.1f}") + " %"
    nodes = metrics["split"]["test" if test else "val"]
    done = sum(score is not None for score in figure["per_seed"])
    over = "one seed" if done == 1 else f"mean and standard deviation over {done} seeds"
    what = "Test accuracy" if test else "Validation accuracy"
    return Verdict(
        headline,
        f"{what} on {nodes:,} nodes, {over}.",
        _claim(metrics),
        _baselines(metrics, "test" if test else "validation"),
        tuple(_warnings(metrics, classes)),
    )


def _baselines(metrics: dict[str, Any], part: str) -> str | None:
    """Simpler methods on the same split, in words."""
    words = []
    for one in metrics.get("baselines") or ():
        accuracy = one[part]["accuracy"]
        if accuracy is not None and accuracy["mean"] is not None:
            spread = "" if accuracy["std"] is None else f" ± {100 * accuracy['std']:.1f}"
            words.append(f"{one['model']} {100 * accuracy['mean']:.1f}{spread} %")
    return f"On the same split: {', '.join(words)}." if words else None


def _claim(metrics: dict[str, Any]) -> str | None:
    claim = metrics["claim"]
    if claim is None or metrics["test_accuracy"] is None:
        return None
    points = round(100 * (metrics["test_accuracy"]["mean"] - claim), 1)
    relation = "the same" if points == 0 else f"{abs(points):.1f} points {'above' if points > 0 else 'below'} it"
    return f"The paper claims {100 * claim:.1f} %; this run is {relation}."


def _warnings(metrics: dict[str, Any], classes: ClassFigures) -> list[str]:
    warnings = []
    if metrics["test_accuracy"] is None:
        warnings.append("There are no test labels. Validation chose the epoch, so its accuracy flatters the model.")
    if metrics["failed_seeds"]:
        reasons = "; ".join(f"seed {seed} {reason}" for seed, reason in list(metrics["failed_seeds"].items())[:5])
        failed, total = len(metrics["failed_seeds"]), len(metrics["seeds"])
        warnings.append(f"{failed} of {total} seeds failed and are not in the mean: {reasons}.")
    if metrics["interrupted"]:
        warnings.append(f"The run was stopped early: it holds the {len(metrics['seeds'])} seeds that were finished.")
    if len(metrics["seeds"]) == 1:
        warnings.append("One seed shows no spread; run several before comparing.")
    small = [row.name for row in classes.rows if row.judged < FEW]
    if small:
        names = ", ".join(small[:5]) + (f" and {len(small) - 5} more" if len(small) > 5 else "")
        warnings.append(f"Fewer than {FEW} {classes.part} nodes: {names}. Figures of such classes say little.")
    reading = metrics.get("reading", [])  # what was done on the way in has a place of its own
    return warnings + [note for note in metrics["notes"] if note not in reading]
