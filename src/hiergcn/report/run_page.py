"""`report.html`: the page of a run."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from markupsafe import Markup

from hiergcn.coarsen import Hierarchy
from hiergcn.coarsen.receptive_field import receptive_field_sizes
from hiergcn.errors import InputError
from hiergcn.evaluate.calibration import describe_calibration
from hiergcn.evaluate.conformal import describe_sets
from hiergcn.evaluate.metrics import metrics_for, result_key
from hiergcn.files import write_text
from hiergcn.report import axes, figures
from hiergcn.report.classes import class_section
from hiergcn.report.explorer import explorer_data, value_ends
from hiergcn.report.headline import ENOUGH_TO_JUDGE, headline, next_steps
from hiergcn.report.leaderboard import leaderboard, leaderboard_plots
from hiergcn.report.marks import PlotColumn
from hiergcn.report.number_page import render_numbers
from hiergcn.report.palette import EDGE, FIRST, INK, VALUE_COLOURS, class_colours
from hiergcn.report.still import class_map, levels_pictures
from hiergcn.report.template import in_script, rendered, script, settings_rows
from hiergcn.report.tree_layout import Tree, layout
from hiergcn.run.folder import LoadedRun, load_run, run_config
from hiergcn.run.result import RunResult
from hiergcn.settings.settings import recipe_files
from hiergcn.workers.machine import environment

SHOWN_SIZES = 8
"""Sizes of prediction sets that have a row of their own."""
SHOWN_ROWS = 10
"""Doubtful labels and suggestions on the page; the files have more."""


def write_report(folder: Path, result: RunResult | None = None) -> Path:
    """Write `report.html` into a run folder. `result` spares reading the run if it was just written there."""
    page = _render_loaded(load_run(folder)) if result is None else render(_in_memory(folder, result))
    return write_text(folder / "report.html", page)


def loaded_result(result: RunResult, name: str = "run") -> LoadedRun:
    """Return a run that is in no folder as `load_run` would; `name` is the folder that its commands speak of."""
    return _loaded(Path(name), result, run_config(result), environment())


def _render_loaded(run: LoadedRun) -> str:
    """Return the page of a folder; only what `load_run` reads is checked, and `metrics.json` holds more."""
    try:
        return render(run)
    except (KeyError, TypeError, IndexError, AttributeError) as damage:
        raise InputError(f"The run folder {run.path} is damaged ({damage!s:.100}); run the fit again.") from damage


def page_of_result(result: RunResult, name: str = "run") -> str:
    """Return the page of a run that is in no folder; `name` is the folder that its commands speak of."""
    run = loaded_result(result, name)
    for table in ("doubtful", "suggestions"):  # else they would be looked for in the folder
        found = getattr(result, table)
        run.__dict__[table] = None if found is None else found.astype(str)
    return render(run)


def _in_memory(folder: Path, result: RunResult) -> LoadedRun:
    """Return what `load_run` would, without reading the large files and contracting the levels again."""
    config, machine = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("config", "environment")
    )
    return _loaded(folder, result, config, machine)


def _loaded(folder: Path, result: RunResult, config: dict[str, Any], machine: dict[str, Any]) -> LoadedRun:
    run = LoadedRun(
        path=folder,
        members=result.members,
        config=config,
        metrics=result.metrics(),
        environment=machine,
        history=result.history,
        predictions=result.predictions(),
        probabilities=result.probabilities,
        hierarchy=result.hierarchy,
        columns=result.graph.columns,
        answers=result.answers,
        votes=result.votes,
        coordinates=result.graph.coordinates,
    )
    run.__dict__["view"] = result.view  # else it would be read from the folder
    return run


def render(run: LoadedRun) -> str:
    shared: dict[str, Any] = {"levels": _level_rows(run.hierarchy), "sources": _sources(run.settings.method)}
    if run.answers.target.kind == "numbers":
        predicted = run.predictions["predicted"].to_numpy(float)
        ranges = np.searchsorted(value_ends(predicted)[1:-1], predicted, "right")
        return render_numbers(run, **shared, **_explorer(run, ranges, VALUE_COLOURS))
    metrics, names = run.metrics, run.config["class_names"]
    predicted = run.probabilities.argmax(axis=1)
    colours = class_colours(np.bincount(predicted, minlength=len(names)).tolist())
    board, classes = leaderboard(metrics), class_section(run, colours)
    column, plots, legend = leaderboard_plots(board)
    return rendered(
        "run.html",
        **_explorer(run, predicted, colours),
        **_label_advice(run),
        config=run.config,
        metrics=metrics,
        calibration=describe_calibration(metrics["calibration"]),
        machine=run.environment,
        headline=headline(metrics, board, classes.constant_accuracy),
        steps=next_steps(run, board, classes),
        board=board,
        board_plots=list(zip(board.rows, plots, strict=True)),
        board_axis=column.head(),
        board_legend=legend,
        classes=classes,
        class_names=names,
        evaluated=metrics["per_class"]["on"],
        scores=_metric_rows(metrics),
        seeds=_seed_rows(metrics),
        curves=_curves(run),
        reliability=_reliability(metrics["calibration"]) if board.nodes >= ENOUGH_TO_JUDGE else None,
        class_map=class_map(figures.principal_components(run.probabilities), predicted, names, colours)
        if len(names) > 2 and not classes.many
        else None,  # two classes have one probability, and many cannot be told apart
        **shared,
        settings=settings_rows(run.settings, run.config.get("reasons", {})),  # older runs have no reasons
    )


def _explorer(run: LoadedRun, group: npt.NDArray[np.integer], colours: Sequence[str]) -> dict[str, Any]:
    """Return the explorer's data and its still pictures; the page's own script alone if there is no hierarchy.

    `group` is the colour of each node: its predicted class, or the range of its predicted number.
    """
    if run.view is None:
        return {"explorer": None, "script": script("page")}
    tree = Tree.of(run.view, model_levels=len(run.hierarchy.levels) if run.hierarchy else 1)
    positions = layout(tree)
    explorer = explorer_data(run, tree, positions, colours)
    return {
        "explorer": explorer,
        "manifest": in_script(explorer.manifest),
        "script": script("explorer"),
        "pictures": levels_pictures(tree, positions, group[tree.order].astype(np.int64), colours),
    }


def _sources(method: str) -> list[str]:
    """Return the publications that a method and its settings come from, each once."""
    texts = (recipe.get("source", {}).get("text") for recipe in recipe_files(method).values())
    return list(dict.fromkeys(text for text in texts if text))


def _metric_rows(metrics: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the summaries of each metric on test and validation nodes; None if the run has none."""
    return [
        {"title": metric.title, "test": metrics.get(result_key(name)), "validation": metrics.get(f"val_{name}")}
        for name, metric in metrics_for("classes").items()
    ]


def _seed_rows(metrics: dict[str, Any]) -> list[dict[str, Any]]:
    tests = (metrics["test_accuracy"] or {}).get("per_seed", [None] * len(metrics["seeds"]))
    validation, failures = metrics["val_accuracy"]["per_seed"], metrics["failed_seeds"]
    columns = zip(metrics["seeds"], tests, validation, metrics["best_epoch"], strict=True)
    return [
        {"seed": seed, "test": test, "validation": val, "epoch": epoch, "failure": failures.get(str(seed))}
        for seed, test, val, epoch in columns
    ]


def _curves(run: LoadedRun) -> Markup | None:
    """Return the curves of training; None for a method that is done in one step."""
    metrics = run.metrics
    if run.history.empty or run.history["epoch"].max() < 2:
        return None
    selected = metrics["selected_seed"]
    best_epoch = metrics["best_epoch"][metrics["seeds"].index(selected)]
    loss_terms = metrics["split"]["train"] if run.settings.train.loss == "sum" else 1
    loss_terms *= getattr(run.settings.model, "networks", 1)
    text = f"per epoch, training and validation. Seed {selected}: epoch {best_epoch} was selected."
    return figures.curves_figure(run.history, selected, best_epoch, loss_terms).html(text)


def _reliability(calibration: dict[str, Any]) -> Markup | None:
    if not calibration.get("reliability"):
        return None
    text = f"accuracy against confidence on {calibration['on']} nodes; the sentence above gives its error."
    return figures.reliability_figure(calibration).html(text)


def _level_rows(hierarchy: Hierarchy | None) -> dict[str, Any] | None:
    """Return nodes, edges and receptive field of each level with their plots."""
    if hierarchy is None:
        return None
    nodes, edges = hierarchy.sizes()
    fields = 100 * receptive_field_sizes(hierarchy) / nodes[0]
    size = PlotColumn(axes.span([*nodes, *edges], zero=True, room=0.02))
    reach = PlotColumn(axes.powers([*fields.min(axis=1), 100.0], room=0.03))
    rows = []
    for n, m, field in zip(nodes, edges, fields, strict=True):
        low, median, high = np.quantile(field, [0.05, 0.5, 0.95])
        spread = f"median {_share(median)} %, middle 90 %: {_share(low)} to {_share(high)} %"
        sizes = size.cell(size.bar(m, EDGE, f"{m:,} edges"), size.mark(n, FIRST, "dot", 6, f"{n:,} nodes"))
        drawn = reach.interval(low, high, FIRST, 5), reach.mark(median, INK, "dot", 5, spread)
        rows.append((n, m, sizes, _share(median), reach.cell(*drawn)))
    return {"rows": rows, "size_axis": size.head(), "reach_axis": reach.head()}


def _share(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _label_advice(run: LoadedRun) -> dict[str, Any]:
    """Return the values of the template `labels.html`."""
    sets = run.metrics.get("prediction_sets")
    return {
        "sets": describe_sets(sets) if sets else None,
        "set_sizes": _size_rows(sets["sizes"]) if sets else (),
        "doubtful": _first_rows(run.doubtful),
        "suggestions": _first_rows(run.suggestions),
    }


def _first_rows(table: pd.DataFrame | None) -> list[dict[Any, str]]:
    return [] if table is None else table.head(SHOWN_ROWS).to_dict("records")


def _size_rows(sizes: list[int]) -> list[dict[str, Any]]:
    """Return a row for each size of prediction sets that occurs: name, nodes, share and bar; large sizes together."""
    rows = {str(size): nodes for size, nodes in enumerate(sizes[:SHOWN_SIZES], start=1)}
    rows[f"more than {SHOWN_SIZES}"] = sum(sizes[SHOWN_SIZES:])
    shares = {size: nodes / sum(sizes) for size, nodes in rows.items() if nodes}
    column = PlotColumn(axes.span([100 * share for share in shares.values()], zero=True, most=100))
    return [
        {
            "size": size,
            "nodes": rows[size],
            "share": share,
            "plot": column.cell(column.bar(100 * share, FIRST, f"{rows[size]:,} nodes")),
        }
        for size, share in shares.items()
    ]
