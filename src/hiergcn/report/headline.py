"""Text at the top of a run's page: the main figure, what it means, and warnings."""

from typing import Any

from hiergcn.report.template import mean_and_std

FEW_NODES = 10
"""A class with fewer evaluated nodes gets a warning."""
MAX_NAMES = 5


def headline(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the main figure of `metrics.json` in per cent, what it measures, comparisons with it, and warnings."""
    test = metrics["test_accuracy"]
    accuracy = test or metrics["val_accuracy"]
    nodes = metrics["split"]["test" if test else "val"]
    done = sum(score is not None for score in accuracy["per_seed"])
    over = "one seed" if done == 1 else f"mean ± standard deviation over {done} seeds"
    figure, kind = f"{mean_and_std(accuracy)} %", "Test" if test else "Validation"
    meaning = f"{kind} accuracy on {nodes:,} nodes, {over}."
    delivered = metrics.get("delivered_accuracy" if test else "delivered_val_accuracy")
    if delivered is not None and metrics["claim"] is None:  # runs of earlier versions delivered their best seed
        seeds = f"; each seed alone: {figure}" if done > 1 else ""
        figure, meaning = f"{100 * delivered:.1f} %", f"{kind} accuracy of the predictions on {nodes:,} nodes{seeds}."
    return {
        "figure": figure,
        "meaning": meaning,
        "verdict": metrics.get("verdict"),
        "claim": _claim(metrics),
        "baselines": _baselines(metrics, "test" if test else "validation"),
        "warnings": _warnings(metrics),
    }


def _baselines(metrics: dict[str, Any], part: str) -> str | None:
    words = [
        f"{one['model']} {mean_and_std(accuracy)} %"
        for one in metrics.get("baselines") or ()
        if (accuracy := one[part]["accuracy"]) and accuracy["mean"] is not None
    ]
    return f"Baselines on the same split: {', '.join(words)}." if words else None


def _claim(metrics: dict[str, Any]) -> str | None:
    claim = metrics["claim"]
    if claim is None or metrics["test_accuracy"] is None:
        return None
    points = round(100 * (metrics["test_accuracy"]["mean"] - claim), 1)
    relation = "equal" if points == 0 else f"{abs(points):.1f} points {'higher' if points > 0 else 'lower'}"
    return f"The paper reports {100 * claim:.1f} %; this run is {relation}."


def _warnings(metrics: dict[str, Any]) -> list[str]:
    warnings = []
    if metrics["test_accuracy"] is None:
        warnings.append("There are no test labels. Validation accuracy is optimistic: it chose the epoch.")
    if metrics["failed_seeds"]:
        failures = list(metrics["failed_seeds"].items())
        reasons = "; ".join(f"seed {seed} {reason}" for seed, reason in failures[:MAX_NAMES])
        warnings.append(f"{len(failures)} of {len(metrics['seeds'])} seeds failed and are not in the mean: {reasons}.")
    if metrics["interrupted"]:
        warnings.append(f"The run was stopped early, after {len(metrics['seeds'])} seeds.")
    if len(metrics["seeds"]) == 1:
        warnings.append("One seed gives no standard deviation; run several before comparing.")
    evaluated = metrics["per_class"]
    small = [row["name"] for row in evaluated["classes"] if row["support"] < FEW_NODES]
    if small:
        names = ", ".join(small[:MAX_NAMES])
        names += f" and {len(small) - MAX_NAMES} more" if len(small) > MAX_NAMES else ""
        warnings.append(f"Classes with fewer than {FEW_NODES} {evaluated['on']} nodes have unreliable scores: {names}.")
    reading = metrics.get("reading", [])  # shown under "How the data was read"
    return warnings + [note for note in metrics["notes"] if note not in reading]
