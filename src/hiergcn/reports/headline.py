"""The top of a run's page: the answer, how far to trust it, next steps, and warnings."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from hiergcn.datasets.dataset_info import dataset_info
from hiergcn.evaluate.calibration import describe_promise
from hiergcn.evaluate.metrics import accuracy_interval
from hiergcn.reports.classes import ClassSection
from hiergcn.reports.leaderboard import Board
from hiergcn.reports.template import mean_and_std
from hiergcn.settings.registry import method_title
from hiergcn.settings.settings import AUTO

if TYPE_CHECKING:
    from hiergcn.run.run import Run

FEW_NODES = 10
"""A class with fewer evaluated nodes gets a warning."""
ENOUGH_TO_JUDGE = 20
"""With fewer evaluated nodes the headline is not the accuracy."""
FEW_LABELS = 5
"""Training labels of a class below which more are advised."""
UNSURE = 0.5
"""Confidence below which a prediction counts as unsure."""
DOUBTED_JUDGES = 4
"""If more than one label in so many is doubtful, the judges may be wrong rather than the labels."""
MAX_NAMES = 5
WITHOUT_CHANCE = (AUTO, "label-propagation", "harmonic", "constant")
"""Models for which one seed is enough: several methods, or nothing is drawn."""


class Headline(NamedTuple):
    """The answer in words."""

    title: str
    kicker: str
    figure: str
    """The main score, or that it cannot be judged."""
    sentences: tuple[str, ...]
    """What was chosen, and how it compares."""
    warnings: tuple[str, ...]
    judged: bool = True
    meaning: str = ""
    """What the figure is."""


class Step(NamedTuple):
    """A recommended next step, and the nodes that the explorer shows for it."""

    title: str
    text: str
    show: str = ""


def headline(metrics: Mapping[str, Any], board: Board) -> Headline:
    """Return the top of the page, from `metrics.json`."""
    about = "automatic choice" if metrics["model"] == AUTO else method_title(metrics["model"])
    title, warnings = title_of(metrics["dataset"]), tuple(_warnings(metrics, board))
    sentences, claim = [metrics["verdict"]], metrics["claim"]
    if board.metric == "r2":
        errors = (f"{metric.title} {board.text(board.ours, name)}" for name, metric in board.metrics.items())
        figure, about = next(errors), f"{about} · {metrics['target']}"
        meaning = f"{board.on.capitalize()} R² of the predicted {metrics['target']} on {board.nodes:,} nodes."
        sentences = [f"{', '.join(errors)}.", *sentences, board.comparison()]
        if metrics["prediction_intervals"]:
            sentences.append(describe_promise(metrics["prediction_intervals"]))
        return Headline(title, f"hiergcn · {about}", figure, tuple(filter(None, sentences)), warnings, meaning=meaning)
    delivered = metrics["delivered_accuracy" if metrics["test_accuracy"] else "delivered_val_accuracy"]
    accuracy, judged = metrics["test_accuracy"] or metrics["val_accuracy"], board.nodes >= ENOUGH_TO_JUDGE
    figure, kind = f"{mean_and_std(accuracy)} %", f"{board.on.capitalize()} accuracy"
    if claim is not None and metrics["test_accuracy"]:
        points = round(100 * (accuracy["mean"] - claim), 1)
        relation = "equal" if points == 0 else f"{abs(points):.1f} points {'higher' if points > 0 else 'lower'}"
        sentences.append(f"The paper reports {100 * claim:.1f} %; this run is {relation}.")
    if not judged:
        correct = f"{round(delivered * board.nodes)} of {board.nodes} {board.on} nodes correct"
        figure, meaning = "Too few labels to judge", f"{correct}; that says little."
    elif claim is not None:  # the paper reports means over seeds
        done = sum(score is not None for score in accuracy["per_seed"])
        over = "one seed" if done == 1 else f"mean ± standard deviation over {done} seeds"
        meaning = f"{kind} on {board.nodes:,} nodes, {over}."
    else:
        low, high = (f"{100 * end:.0f}" for end in accuracy_interval(delivered, board.nodes))
        within = f"{kind} of the predictions on {board.nodes:,} nodes; 95 % interval {low} to {high} %."
        each, figure = figure, f"{100 * delivered:.1f} %"
        meaning = within + (f" Each seed alone: {each}." if each != figure else "")
    sentences += [board.comparison()] if judged else []
    preset = "" if metrics["preset"] in (None, "default") or board.automatic else f" · preset {metrics['preset']}"
    shown = tuple(filter(None, sentences))
    return Headline(title, f"hiergcn · {about}{preset}", figure, shown, warnings, judged, meaning)


def title_of(dataset: str) -> str:
    """Return the title of a named dataset, or the name of a file without a word for edges: `shops` of `shops-edges`."""
    if info := dataset_info(dataset):
        return info.title.split(",")[0]
    return re.sub(r"(?i)[-_. ](edges?|links?)$", "", dataset)


def next_steps(run: "Run", board: Board, classes: ClassSection) -> list[Step]:
    """Return what to do next, the most useful first."""
    steps = []
    if run.suggestions is not None and not run.suggestions.empty:
        names = _listed(run.suggestions["id"].astype(str).tolist())
        text = f"Spread over the graph, more of them where the answer is unsure: {names}."
        steps.append(Step("Label these nodes next", text, "only=suggested"))
    if run.doubtful is not None and not run.doubtful.empty:
        first = run.doubtful.iloc[0]
        text = f"{first['id']} is labelled {first['label']} but looks like {first['likely']}."
        text = f"Given labels that disagree with the rest: {len(run.doubtful):,}, most of all this one: {text}"
        steps.append(Step("Double-check these labels", text + doubt_caution(run)[1], "only=doubtful"))

    few = sorted((row for row in classes.rows if row.trained < FEW_LABELS), key=lambda row: row.trained)
    if board.nodes < ENOUGH_TO_JUDGE or run.scores["split"]["val"] < ENOUGH_TO_JUDGE:
        text = f"At least {ENOUGH_TO_JUDGE} labels each for validation and test show how good the answer is."
        steps.append(Step("Label more nodes", text))
    elif few:
        names = _listed([f"{row.name} ({row.trained})" for row in few])
        text = f"They have fewer than {FEW_LABELS} training labels: {names}."
        steps.append(Step("Label more of the rare classes", text))
    judged = [row for row in classes.rows if row.support >= FEW_NODES and row.f1 is not None]
    weakest = min(judged, key=lambda row: row.f1 or 0.0, default=None)
    if weakest and (lowest := weakest.f1 or 0.0) < 1:
        text = f"Of all classes it has the lowest F1, {100 * lowest:.0f} %."
        steps.append(Step(f"Look at class {weakest.name}", text, f"label={weakest.number}&only=wrong"))
    unseen = ~run.table["given"]
    unsure = int((unseen & (run.table["confidence"] < UNSURE)).sum())
    if unsure:
        which = f"{unsure:,} of {int(unseen.sum()):,} nodes without a given label"
        text = f"Confidence is below {100 * UNSURE:.0f} % for {which}."
        steps.append(Step("Check unsure predictions", text, "only=unsure"))
    return [*steps, *_compare(board)]


def next_steps_for_numbers(metrics: Mapping[str, Any], board: Board, judged: pd.DataFrame) -> list[Step]:
    """Return the same for numbers; `judged` are the evaluated nodes with their errors."""
    steps, rmse, error = [], board.score(board.ours, "rmse") or 0.0, judged["error"].abs()
    if large := int((error > rmse).sum()):
        worst = judged.iloc[int(error.to_numpy().argmax())]
        most = f"{worst['id']} is the worst: predicted {worst['predicted']:.4g}, true {worst['value']:.4g}"
        text = f"{large:,} of {len(judged):,} {board.on} nodes are off by more than {rmse:.3g}. {most}."
        steps.append(Step("Look at large errors", text, "only=wrong"))
    if not metrics["prediction_intervals"]:
        steps.append(Step("Ask for intervals", "With --coverage 0.9, nine in ten hold the true value of their node."))
    return [*steps, *_compare(board)]


def _compare(board: Board) -> list[Step]:
    text = "Add --baselines to the command; they are then shown side by side."
    return [Step("Compare with simple methods", text)] if len(board.rows) == 1 else []


def doubt_caution(run: "Run") -> tuple[int, str]:
    """Return how many doubtful labels were dropped, and a sentence if so many are doubtful that they may be right."""
    assert run.doubtful is not None
    doubtful, dropped = len(run.doubtful), int((run.doubtful["dropped"].astype(str) == "True").sum())  # text in a file
    labels = run.scores["split"]["train"] + run.scores["split"]["val"] + dropped
    if DOUBTED_JUDGES * doubtful <= labels:
        return dropped, ""
    why = "here labels hardly predict each other, so most of them may be right"
    return dropped, f" That is {doubtful:,} of {labels:,}: {why}."


def _listed(names: list[str]) -> str:
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def _warnings(metrics: Mapping[str, Any], board: Board) -> list[str]:
    warnings = []
    if board.on == "validation":
        warnings.append("No test nodes: scores are optimistic, since validation also chose methods or epochs.")
    if metrics["failed_seeds"]:
        failures = list(metrics["failed_seeds"].items())
        reasons = "; ".join(f"seed {seed} {reason}" for seed, reason in failures[:MAX_NAMES])
        warnings.append(f"{len(failures)} of {len(metrics['seeds'])} seeds failed and are not in the mean: {reasons}.")
    if metrics["interrupted"]:
        warnings.append("The run was stopped early: the answer is that of what was finished by then.")
    if len(metrics["seeds"]) == 1 and metrics["model"] not in WITHOUT_CHANCE:
        warnings.append("One seed gives no standard deviation; run several before comparing.")
    classes = metrics["per_class"]["classes"] if "per_class" in metrics else []
    if small := [row["name"] for row in classes if row["support"] < FEW_NODES]:
        which = f"fewer than {FEW_NODES} {board.on} nodes: {_listed(small)}"
        warnings.append(f"Scores are unreliable for classes with {which}.")
    notes = [note for note in metrics["notes"] if note not in metrics["reading"]]  # which the page shows elsewhere
    ended = [note if note.endswith((".", "!", "?")) else f"{note}." for note in warnings + notes]
    return [note[:1].upper() + note[1:] for note in ended]
