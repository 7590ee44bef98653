"""`report.html`: one page that opens offline from a file, the verdict first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from hiergcn.coarsen import Hierarchy
from hiergcn.coarsen.receptive_field import reach
from hiergcn.files import written_whole
from hiergcn.report.class_map import map_figure
from hiergcn.report.classes import ClassFigures, class_figures
from hiergcn.report.explorer import explorer_data
from hiergcn.report.figures import confusion_figure, curves_figure, levels_figure, seeds_figure
from hiergcn.report.graph_layout import layout
from hiergcn.report.headline import verdict
from hiergcn.report.levels_picture import levels_picture
from hiergcn.report.palette import class_colours
from hiergcn.report.quality import classes_figure, reliability_figure
from hiergcn.report.reach import reach_figure
from hiergcn.report.svg import inline_svg
from hiergcn.report.template import explorer_script, in_script, rendered
from hiergcn.report.tree import Tree
from hiergcn.run.folder import LoadedRun, load_run
from hiergcn.run.recipes import recipe_files


def write_report(folder: Path) -> Path:
    """Make the page of a run folder, from the files in it."""
    page = render(load_run(folder))
    target = folder / "report.html"
    with written_whole(target) as part:
        part.write_text(page, encoding="utf-8")
    return target


def render(run: LoadedRun) -> str:
    classes = class_figures(run.predictions, run.config["class_names"])
    colours = class_colours(np.bincount(run.probabilities.argmax(axis=1), minlength=len(classes.rows)).tolist())
    return rendered(
        "run.html",
        **_hierarchy(run, colours),
        judged=any(row.judged for row in classes.rows),
        config=run.config,
        metrics=run.metrics,
        machine=run.environment,
        verdict=verdict(run.metrics, classes),
        classes=classes,
        seeds=_seed_rows(run.metrics),
        figures=_figures(run, classes, colours),
        sources=_sources(run.settings.method),
        settings={group: run.config[group] for group in ("model", "train", "coarsen")},
        reasons=run.config.get("reasons", {}),  # runs of older versions have none
    )


def _hierarchy(run: LoadedRun, colours: Sequence[str]) -> dict[str, Any]:
    """The explorer and the still picture that stands for it; nothing where the method has no hierarchy."""
    if run.hierarchy is None:  # nor does its folder hold the graph
        return {"explorer": None}
    tree = Tree.of(run.hierarchy)
    positions = layout(tree)
    explorer = explorer_data(run, tree, positions)
    predicted = run.probabilities.argmax(axis=1)[tree.order]
    return {
        "explorer": explorer,
        "manifest": in_script(explorer.manifest),
        "script": explorer_script(),
        "picture": inline_svg(
            levels_picture(tree, positions, predicted, colours),
            "picture",
            "Some levels, coarse to fine: each disc is a node or a hyper-node in the colour of its predicted class.",
        ),
    }


def _sources(method: str) -> list[str]:
    """Where the method and its settings come from, each source once."""
    texts = (recipe.get("source", {}).get("text") for recipe in recipe_files(method).values())
    return list(dict.fromkeys(text for text in texts if text))


def _seed_rows(metrics: dict[str, Any]) -> list[dict[str, Any]]:
    test = (metrics["test_accuracy"] or {"per_seed": [None] * len(metrics["seeds"])})["per_seed"]
    columns = zip(metrics["seeds"], test, metrics["val_accuracy"]["per_seed"], metrics["best_epoch"], strict=True)
    return [
        {
            "seed": seed,
            "test": score,
            "validation": validation,
            "epoch": epoch,
            "failure": metrics["failed_seeds"].get(str(seed)),
        }
        for seed, score, validation, epoch in columns
    ]


def _figures(run: LoadedRun, classes: ClassFigures, colours: Sequence[str]) -> dict[str, Markup]:
    """Every figure by its name in the template; one that the run has nothing for is left out."""
    figures = _seed_figures(run) | _model_figures(run, classes, colours)
    return figures if run.hierarchy is None else figures | _level_figures(run.hierarchy)


def _seed_figures(run: LoadedRun) -> dict[str, Markup]:
    metrics = run.metrics
    test = metrics["test_accuracy"]["per_seed"] if metrics["test_accuracy"] else [None] * len(metrics["seeds"])
    validation = metrics["val_accuracy"]["per_seed"]
    selected = metrics["selected_seed"]
    best_epoch = metrics["best_epoch"][metrics["seeds"].index(selected)]
    summed = metrics["split"]["train"] if run.settings.train.loss == "sum" else 1
    summed *= getattr(run.settings.model, "networks", 1)
    return {
        "seeds": inline_svg(
            seeds_figure(metrics["seeds"], test, validation, metrics["claim"]),
            "seeds",
            "Accuracy of each seed; the figures stand in the table below.",
        ),
        "curves": inline_svg(
            curves_figure(run.history, selected, best_epoch, summed),
            "curves",
            f"Loss and accuracy by epoch for training and validation; seed {selected} was kept at epoch {best_epoch}.",
        ),
    }


def _model_figures(run: LoadedRun, classes: ClassFigures, colours: Sequence[str]) -> dict[str, Markup]:
    hits = int(np.trace(classes.confusion))
    names = run.config["class_names"]
    figures = {
        "classes": inline_svg(
            classes_figure(classes.rows, classes.part),
            "classes",
            "Precision, recall and F1 of each class; the figures stand in the table below.",
        ),
        "confusion": inline_svg(
            confusion_figure(classes.confusion, [row.name for row in classes.rows]),
            "confusion",
            f"True against predicted class: {hits:,} of {classes.confusion.sum():,} {classes.part} nodes are right.",
        ),
        "map": inline_svg(
            map_figure(run.probabilities, names, colours),
            "map",
            "Nodes placed by their probabilities, in the colours of their predicted classes: each class forms a cloud.",
        ),
    }
    calibration = run.metrics.get("calibration")
    if calibration and calibration.get("reliability"):
        off = " and ".join(f"{100 * calibration[f'ece_{when}']:.1f} points {when}" for when in ("before", "after"))
        figures["reliability"] = inline_svg(
            reliability_figure(calibration),
            "reliability",
            f"Confidence against accuracy before and after calibration; the mean distance is {off}.",
        )
    return figures


def _level_figures(hierarchy: Hierarchy) -> dict[str, Markup]:
    nodes, edges = hierarchy.sizes()
    sizes = "; ".join(
        f"level {level}: {n:,} nodes, {m:,} edges" for level, (n, m) in enumerate(zip(nodes, edges, strict=True))
    )
    reached = reach(hierarchy)
    middle = ", ".join(f"{count:,.0f} with {level}" for level, count in enumerate(np.median(reached, axis=1)))
    return {
        "levels": inline_svg(levels_figure(nodes, edges), "levels", sizes),
        "reach": inline_svg(
            reach_figure(reached, nodes[0]),
            "reach",
            f"Nodes that reach a node, by levels down, in the median: {middle}.",
        ),
    }
