"""`report.html`: the page of a run."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from sklearn.metrics import confusion_matrix

from hiergcn.coarsen import Hierarchy
from hiergcn.coarsen.receptive_field import receptive_field_sizes
from hiergcn.evaluate.calibration import describe_calibration
from hiergcn.evaluate.metrics import METRICS, result_key
from hiergcn.files import written_whole
from hiergcn.report import figures
from hiergcn.report.explorer import explorer_data, levels_picture
from hiergcn.report.graph_layout import layout
from hiergcn.report.headline import headline
from hiergcn.report.label_advice import label_advice
from hiergcn.report.svg import class_colours, inline_svg
from hiergcn.report.template import explorer_script, in_script, rendered, settings_rows
from hiergcn.report.tree import Tree
from hiergcn.run.folder import LoadedRun, load_run
from hiergcn.run.result import RunResult
from hiergcn.run.settings import recipe_files

Described = tuple[Figure, str]
"""A figure, and the text that screen readers read instead."""


def write_report(folder: Path, result: RunResult | None = None) -> Path:
    """Write `report.html` into a run folder. `result` spares reading the run if it was just written there."""
    page = render(load_run(folder) if result is None else _in_memory(folder, result))
    target = folder / "report.html"
    with written_whole(target) as part:
        part.write_text(page, encoding="utf-8")
    return target


def _in_memory(folder: Path, result: RunResult) -> LoadedRun:
    """Return what `load_run` would, without reading the large files and contracting the levels again."""
    config, environment = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("config", "environment")
    )
    return LoadedRun(
        path=folder,
        members=result.members,
        config=config,
        metrics=result.metrics(),
        environment=environment,
        history=result.history,
        predictions=result.predictions(),
        probabilities=result.probabilities,
        hierarchy=result.hierarchy,
        columns=result.graph.columns,
        temperature=result.delivered.temperature,
        votes=result.votes,
    )


def render(run: LoadedRun) -> str:
    """Return the HTML of the page."""
    counts = np.bincount(run.probabilities.argmax(axis=1), minlength=len(run.config["class_names"]))
    colours = class_colours(counts.tolist())
    labels = run.predictions.loc[run.predictions["split"] == "train", "label"].value_counts()
    return rendered(
        "run.html",
        **_explorer(run, colours),
        **label_advice(run),
        config=run.config,
        metrics=run.metrics,
        calibration=describe_calibration(run.metrics["calibration"]),
        machine=run.environment,
        headline=headline(run.metrics),
        leaderboard=run.metrics.get("leaderboard"),
        classes=run.metrics["per_class"]["classes"],
        evaluated=run.metrics["per_class"]["on"],
        training_labels={str(name): int(count) for name, count in labels.items()},
        scores=_metric_rows(run.metrics),
        seeds=_seed_rows(run.metrics),
        figures=_figures(run, colours),
        sources=_sources(run.settings.method),
        settings=settings_rows(run.settings, run.config.get("reasons", {})),  # older runs have no reasons
    )


def _explorer(run: LoadedRun, colours: Sequence[str]) -> dict[str, Any]:
    """Return the explorer's data and its still picture; nothing if the method has no hierarchy."""
    if run.hierarchy is None:
        return {"explorer": None}
    tree = Tree.of(run.hierarchy)
    positions = layout(tree)
    explorer = explorer_data(run, tree, positions, colours)
    predicted = run.probabilities.argmax(axis=1)[tree.order]
    return {
        "explorer": explorer,
        "manifest": in_script(explorer.manifest),
        "script": explorer_script(),
        "picture": inline_svg(
            levels_picture(tree, positions, predicted, colours),
            "picture",
            "Some levels, coarse to fine. Each disc is a node or hyper-node in the colour of its predicted class.",
        ),
    }


def _sources(method: str) -> list[str]:
    """Return the publications that a method and its settings come from, each once."""
    texts = (recipe.get("source", {}).get("text") for recipe in recipe_files(method).values())
    return list(dict.fromkeys(text for text in texts if text))


def _test_accuracies(metrics: dict[str, Any]) -> list[float | None]:
    """Return the test accuracy of each seed, None if the seed failed or there is no test."""
    accuracies: list[float | None] = (metrics["test_accuracy"] or {}).get("per_seed", [None] * len(metrics["seeds"]))
    return accuracies


def _metric_rows(metrics: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the summaries of each metric on test and validation nodes; None if the run has none."""
    return [
        {"title": metric.title, "test": metrics.get(result_key(name)), "validation": metrics.get(f"val_{name}")}
        for name, metric in METRICS.items()
    ]


def _seed_rows(metrics: dict[str, Any]) -> list[dict[str, Any]]:
    validation, failures = metrics["val_accuracy"]["per_seed"], metrics["failed_seeds"]
    columns = zip(metrics["seeds"], _test_accuracies(metrics), validation, metrics["best_epoch"], strict=True)
    return [
        {"seed": seed, "test": test, "validation": val, "epoch": epoch, "failure": failures.get(str(seed))}
        for seed, test, val, epoch in columns
    ]


def _figures(run: LoadedRun, colours: Sequence[str]) -> dict[str, Markup]:
    """Return the figures by their names in the template, without those that the run has no values for."""
    drawn = _seed_figures(run) | _class_figures(run, colours) | _level_figures(run.hierarchy)
    return {name: inline_svg(figure, name.replace("_", "-"), text) for name, (figure, text) in drawn.items()}


def _seed_figures(run: LoadedRun) -> dict[str, Described]:
    metrics = run.metrics
    selected = metrics["selected_seed"]
    best_epoch = metrics["best_epoch"][metrics["seeds"].index(selected)]
    loss_terms = metrics["split"]["train"] if run.settings.train.loss == "sum" else 1
    loss_terms *= getattr(run.settings.model, "networks", 1)
    accuracies = _test_accuracies(metrics), metrics["val_accuracy"]["per_seed"]
    return {
        "seeds": (
            figures.seeds_figure(metrics["seeds"], *accuracies, metrics["claim"]),
            "Accuracy of each seed, as in the table below.",
        ),
        "curves": (
            figures.curves_figure(run.history, selected, best_epoch, loss_terms),
            f"Loss and accuracy per epoch, training and validation. Seed {selected}: epoch {best_epoch} was selected.",
        ),
    }


def _class_figures(run: LoadedRun, colours: Sequence[str]) -> dict[str, Described]:
    scores, names = run.metrics["per_class"], run.config["class_names"]
    nodes = run.predictions[run.predictions["split"] == scores["on"]]
    number = {name: index for index, name in enumerate(names)}
    true, predicted = (nodes[column].map(number).to_numpy(np.int64) for column in ("label", "predicted"))
    matrix = confusion_matrix(true, predicted, labels=np.arange(len(names)))
    drawn = {
        "classes": (
            figures.classes_figure(scores["classes"], scores["on"]),
            "Precision, recall and F1 of each class, as in the table below.",
        ),
        "confusion": (
            figures.confusion_figure(matrix, names),
            f"Confusion matrix: {matrix.trace():,} of {len(nodes):,} {scores['on']} nodes are correct.",
        ),
        "map": (
            figures.class_map_figure(run.probabilities, names, colours),
            "Nodes placed by their probabilities and coloured by predicted class; each class forms a cloud.",
        ),
    }
    calibration = run.metrics["calibration"]
    if calibration.get("reliability"):
        text = f"Accuracy against confidence on {calibration['on']} nodes; the sentence above gives its error."
        drawn["reliability"] = figures.reliability_figure(calibration), text
    return drawn


def _level_figures(hierarchy: Hierarchy | None) -> dict[str, Described]:
    if hierarchy is None:
        return {}
    nodes, edges = hierarchy.sizes()
    sizes = [f"level {level}: {n:,} nodes, {m:,} edges" for level, (n, m) in enumerate(zip(nodes, edges, strict=True))]
    fields = receptive_field_sizes(hierarchy)
    medians = [f"{count:,.0f} with {depth} levels" for depth, count in enumerate(np.median(fields, axis=1))]
    return {
        "levels": (figures.levels_figure(nodes, edges), "; ".join(sizes)),
        "receptive_field": (
            figures.receptive_field_figure(fields, nodes[0]),
            f"Median receptive field in nodes: {', '.join(medians)}.",
        ),
    }
