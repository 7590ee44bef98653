"""`report.html`: the page of a run."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from hiergcn.coarsening import Hierarchy
from hiergcn.coarsening.receptive_field import receptive_field_sizes
from hiergcn.evaluate.calibration import describe_calibration, describe_promise
from hiergcn.evaluate.metrics import result_key
from hiergcn.fragments import duration
from hiergcn.reports import figures
from hiergcn.reports.classes import class_section
from hiergcn.reports.explorer import Tree, explorer_data, layout, principal_components
from hiergcn.reports.headline import ENOUGH_TO_JUDGE, headline, next_steps, next_steps_for_numbers
from hiergcn.reports.leaderboard import Board, board_of
from hiergcn.reports.palette import VALUE_COLOURS, class_colours, value_ends
from hiergcn.reports.panels import Entry, legend_html
from hiergcn.reports.template import in_script, mean_and_std, rendered, script, settings_rows
from hiergcn.settings.settings import recipe_files

if TYPE_CHECKING:
    from hiergcn.run.run import Run

SHOWN_SIZES = 8
"""Sizes of prediction sets that have a row of their own."""
SHOWN_ROWS = 10
"""Doubtful labels, suggestions and errors on the page; the files have more."""


def render(run: "Run") -> str:
    """Return the page: what every run has, and the sections of classes or of numbers."""
    metrics, board = run.scores, board_of(run.scores)
    numbers, split = board.metric == "r2", metrics["split"]
    if numbers:
        predicted = run.table["predicted"].to_numpy(float)
        group, colours = np.searchsorted(value_ends(predicted)[1:-1], predicted, "right"), list(VALUE_COLOURS)
        values = _number_values(run, board)
    else:
        group = run.probabilities.argmax(axis=1)
        colours = class_colours(np.bincount(group, minlength=run.probabilities.shape[1]).tolist())
        values = _class_values(run, board, group, colours)
    values |= {"explorer": None, "script": script("page")}
    if run.view is not None:
        tree = Tree.from_hierarchy(run.view, len(run.hierarchy.levels) if run.hierarchy else 1)
        positions = layout(tree)
        explorer = explorer_data(run, tree, positions, colours)
        pictures = figures.levels_pictures(tree, positions, group[tree.order].astype(np.int64), colours)
        values |= {"explorer": explorer, "manifest": in_script(explorer.manifest)}
        values |= {"script": script("explorer"), "pictures": pictures}
    given = f"{split['train']:,} / {split['val']:,} / {split['test']:,}"
    facts = {
        "nodes": f"{metrics['hierarchy']['nodes'][0]:,}",
        "edges": f"{metrics['hierarchy']['edges'][0]:,}",
        "features": f"{run.config['n_features']:,}",
        "classes": None if numbers else str(len(run.config["class_names"])),
        f"{'values' if numbers else 'labels'}: training / validation / test": given,
        "for the intervals": f"{split['calibration']:,}" if numbers and split["calibration"] else None,
        "training": duration(metrics["seconds"]["train"]),
    }
    sources = (recipe.get("source", {}).get("text") for recipe in recipe_files(run.settings.method).values())
    head, plots, legend = board.plots()
    return rendered(
        "run.html",
        config=run.config,
        metrics=metrics,
        machine=run.environment,
        facts={name: figure for name, figure in facts.items() if figure is not None},
        board=board,
        board_plots=list(zip(board.rows, plots, strict=True)),
        board_axis=head,
        board_legend=legend,
        curves=_curves(run, numbers),
        levels=_level_rows(run.hierarchy) if run.hierarchy else None,
        sources=list(dict.fromkeys(text for text in sources if text)),
        settings=settings_rows(run.settings, run.config["reasons"]),
        **values,
    )


def _curves(run: "Run", numbers: bool) -> Markup | None:
    """Return the figure of training; None if all is learned in one step."""
    metrics, selected = run.scores, run.scores["selected_seed"]
    history = run.history[run.history["seed"] == selected] if numbers else run.history
    if history.empty or history["epoch"].max() < 2:
        return None
    best_epoch = metrics["best_epoch"][metrics["seeds"].index(selected)]
    terms = metrics["split"]["train"] if run.settings.train.loss == "sum" else 1
    terms *= getattr(run.settings.model, "networks", 1)
    text = f"per epoch, training and validation. Seed {selected}: epoch {best_epoch} was selected."
    return figures.curves_figure(history, selected, best_epoch, terms, numbers=numbers).html(text)


def _class_values(run: "Run", board: Board, predicted: npt.NDArray[np.int64], colours: Sequence[str]) -> dict[str, Any]:
    """Return the values of the templates that are about classes."""
    metrics, names = run.scores, run.config["class_names"]
    classes, sets, calibration = class_section(run, colours), metrics["prediction_sets"], metrics["calibration"]
    reliability, class_map = None, None
    if board.nodes >= ENOUGH_TO_JUDGE and calibration["reliability"]:
        text = f"accuracy against confidence on {calibration['on']} nodes; the sentence above gives its error."
        reliability = figures.reliability_figure(calibration).html(text)
    if len(names) > 2 and not classes.many:  # two classes have one probability, and many cannot be told apart
        places = principal_components(run.probabilities) @ np.array([1, -1j])
        about = "Nodes by their class probabilities, coloured by predicted class."
        legend = legend_html([Entry(row.name, row.colour) for row in classes.rows])
        class_map = legend + figures.place_map(places, predicted, colours, about).svg
    tests = (metrics["test_accuracy"] or {}).get("per_seed", [None] * len(metrics["seeds"]))
    columns = metrics["seeds"], tests, metrics["val_accuracy"]["per_seed"], metrics["best_epoch"]
    return {
        "headline": headline(metrics, board),
        "steps": next_steps(run, board, classes),
        "classes": classes,
        "class_names": names,
        "calibration": describe_calibration(calibration),
        "reliability": reliability,
        "class_map": class_map,
        "sets": describe_promise(sets) if sets else None,
        "set_sizes": _size_rows(sets["sizes"]) if sets else (),
        **{
            name: [] if advice is None else advice.head(SHOWN_ROWS).astype(str).to_dict("records")
            for name, advice in (("doubtful", run.doubtful), ("suggestions", run.suggestions))
        },
        "scores": [  # on test and validation nodes
            {"title": metric.description}
            | {"test": mean_and_std(metrics[result_key(name)], metric.text)}
            | {"validation": mean_and_std(metrics[f"val_{name}"], metric.text)}
            for name, metric in board.metrics.items()
        ],
        "seeds": list(zip(*columns, strict=True)),
    }


def _number_values(run: "Run", board: Board) -> dict[str, Any]:
    """Return the values of the templates that are about numbers."""
    metrics, rmse = run.scores, board.score(board.ours, "rmse")
    judged = run.table[run.table["split"] == board.on]
    judged = judged.assign(error=judged["predicted"] - judged["value"])
    about = f"{len(judged):,} {board.on} nodes"
    worst = judged.sort_values("error", key=abs, ascending=False, kind="stable")
    scatter = figures.scatter_figure(judged, metrics["target"])
    return {
        "classes": None,
        "headline": headline(metrics, board),
        "steps": next_steps_for_numbers(metrics, board, judged),
        "target": metrics["target"],
        "digits": max(0, 2 - math.floor(math.log10(rmse))) if rmse else 2,  # so that the error is seen
        "scatter": scatter.html(f"predicted against true values of {about}"),
        "errors": figures.error_figure(judged, metrics).html(f"predicted minus true value of {about}"),
        "largest": worst.head(SHOWN_ROWS).to_dict("records"),
        "map": figures.number_map(run),
    }


def _level_rows(hierarchy: Hierarchy) -> list[tuple[int | str, ...]]:
    """Return nodes, edges and receptive field of each level: in per cent its median and the ends of its middle 90 %."""
    nodes, edges = hierarchy.sizes()
    ends = np.quantile(100 * receptive_field_sizes(hierarchy) / nodes[0], [0.5, 0.05, 0.95], axis=1)
    shown = [[f"{share:.0f}" if share >= 10 else f"{share:.2g}" for share in row] for row in ends]
    return list(zip(nodes, edges, *shown, strict=True))


def _size_rows(sizes: list[int]) -> list[tuple[str, int, float]]:
    """Return name, nodes and share of each size of prediction sets that occurs; large sizes together."""
    counts = {str(size): nodes for size, nodes in enumerate(sizes[:SHOWN_SIZES], start=1)}
    counts[f"more than {SHOWN_SIZES}"] = sum(sizes[SHOWN_SIZES:])
    return [(size, nodes, nodes / sum(sizes)) for size, nodes in counts.items() if nodes]
