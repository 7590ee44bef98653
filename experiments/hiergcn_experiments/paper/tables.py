"""The paper's tables: our figures beside the paper's."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hiergcn_experiments.page import Row, Table, Text, mean_and_std, points
from hiergcn_experiments.paper.evidence import TABLE1, Evidence, PaperCell, compare_cells, probability, to_paper
from hiergcn_experiments.paper.experiments import DATASET_TITLES, TEXTS, variant_title

METHODS = (
    *("deepwalk", "planetoid-t", "planetoid-i", "gcn", "gat", "dgcn", "hgcn", "hgcn-nell"),  # of the paper
    *("appnp", "grand", "graph-unet", "mlp", "label-propagation"),
)
Cells = Mapping[tuple[str, str, str], PaperCell]
"""By (variant, dataset, condition)."""


def accuracy_text(
    result: PaperCell | None, best: float | None = None, before: Iterable[str] = (), after: Iterable[str] = ()
) -> Text:
    """Format mean ± spread; below it the number of runs if some are missing, the paper's figure, the difference.

    Lines `before` and `after` stand around these.
    """
    if result is None:
        return Text("–")
    printed = result.printed
    below: tuple[str, ...] = () if printed is None else (f"paper {mean_and_std(printed)}",)
    if result.done == 0:
        return Text("not run" if result.missing else f"all {result.failed} failed", (*before, *below, *after))
    main = mean_and_std(result.accuracy)
    if result.failed:
        main += f", {result.failed} failed"
    if result.missing:
        below = (f"{result.done + result.failed} of {len(result.records)} runs", *below)
    found = to_paper(result)
    if found is not None:
        below += (f"{points(found.difference)}, {probability(found.p)}",)
    strong = best is not None and result.accuracy.mean == best
    return Text(main, (*before, *below, *after), strong=strong)


def accuracy_table(cells: Cells, arms: Iterable[str], datasets: Sequence[str], *, mark_best: bool = False) -> Table:
    """Return a row per arm that has cells, and a column per dataset."""
    best = {name: _best(cell for (_, where, _), cell in cells.items() if where == name) for name in datasets}
    rows: list[Row] = []
    for arm in arms:
        shown = {name: cells.get((arm, name, "")) for name in datasets}
        if any(shown.values()):
            texts = (accuracy_text(cell, best[name] if mark_best else None) for name, cell in shown.items())
            rows.append((variant_title(arm), *texts))
    return Table.from_rows(dataset_columns("method", datasets), rows)


def dataset_columns(first: str, datasets: Sequence[str]) -> tuple[str, ...]:
    return first, *(DATASET_TITLES[name] for name in datasets)


def table1(evidence: Evidence) -> tuple[Table, list[str]]:
    """Return the statistics of the datasets, and the reasons for differences from the paper's."""
    found = evidence.by_dataset("table1")
    titles = {"nodes": "vertices", "labelling": "labelling rate"}

    def text(one: dict[str, Any] | None, what: str, printed: float) -> Text:
        if one is None:
            return Text("not run", (f"paper {printed:,}",))
        value = round(one["train"] / one["nodes"], 3) if what == "labelling" else one[what]
        return Text(f"{value:,}", ("as in the paper" if value == printed else f"paper {printed:,}",))

    rows: list[Row] = [
        (titles.get(what, what), *(text(one, what, TABLE1[name][what]) for name, one in found.items()))
        for what in ("nodes", "edges", "classes", "features", "labelling")
    ]
    reasons = [note for name, one in found.items() if one is not None for note in _reasons(name, one)]
    return Table.from_rows(dataset_columns("", list(found)), rows), reasons


def _reasons(name: str, one: dict[str, Any]) -> list[str]:
    """Explain differing counts, using only the counts themselves and the dataset's files."""
    printed, listed, texts = TABLE1[name], one["listed_edges"], dict(TEXTS["reasons"])
    if listed is None or listed == printed["edges"]:
        texts["edges"] = texts["edges_unlisted" if listed is None else "edges_as_listed"]
    entries, relations = 2 * (listed or 0), one["features"] - printed["features"]
    words = {**one, "title": DATASET_TITLES[name], "printed": printed, "entries": entries, "relations": relations}
    return [texts[what].format(**words) for what in ("edges", "classes", "features") if one[what] != printed[what]]


def table3(evidence: Evidence, small: bool, caption: str) -> Table:
    counts = evidence.scale.labels
    columns = [f"{count} small" if small else str(count) for count in counts]
    arms = ("gcn", "gat", "dgcn", "hgcn", "appnp", "grand")
    best = {column: _best([evidence.table3(arm, column) for arm in arms]) for column in columns}

    def text(arm: str, column: str) -> Text:
        """Format an accuracy with the spreads of draws and of seeds below it."""
        result, parts = evidence.table3(arm, column), []
        if result.std_of_draws is not None:
            parts.append(f"{len(result.by_split)} draws ± {points(result.std_of_draws, False)}")
            if result.std_of_seeds is not None:
                seeds = max(len(values) for values in result.by_split.values())
                parts.append(f"{seeds} seeds ± {points(result.std_of_seeds, False)}")
        return accuracy_text(result, best[column], parts)

    rows: list[Row] = [(variant_title(arm), *(text(arm, column) for column in columns)) for arm in arms]
    return Table.from_rows(("method", *(f"{count} per class" for count in counts)), rows, caption)


def varied_table(evidence: Evidence, experiment: str, what: str) -> Table:
    """Return accuracy by dataset over the values of a varied setting."""
    cells = evidence.cells[experiment]
    values = list(dict.fromkeys(column for _, _, column in cells))
    rows: list[Row] = []
    for name in evidence.scale.datasets:
        shown = [cells["hgcn", name, value] for value in values]
        best = _best(shown)
        depths = [
            (f"{depth} levels",)
            if what == "levels" and (depth := cell.depth) is not None and depth < int(cell.cell.condition)
            else ()
            for cell in shown
        ]
        texts = (accuracy_text(cell, best, after=depth) for cell, depth in zip(shown, depths, strict=True))
        rows.append((DATASET_TITLES[name], *texts))
    return Table.from_rows((what, *values), rows)


def random_table(evidence: Evidence) -> Table:
    """Return accuracy on random splits. No figure is marked as best: means of 10 and of 100 splits do not compare."""
    cells, datasets = evidence.cells["random-splits"], evidence.scale.citation
    leads: dict[tuple[str, str], list[str]] = {}  # each method's difference from H-GCN on the same splits
    for dataset in datasets:
        theirs = cells["hgcn", dataset, ""]
        pairs = [(arm, one, theirs) for (arm, name, _), one in cells.items() if name == dataset and arm != "hgcn"]
        for one in compare_cells(pairs):  # Holm's correction within the dataset
            leads[one.name, dataset] = [f"to H-GCN {points(one.found.mean)} ({probability(one.p)})"] if one.run else []

    def text(arm: str, dataset: str) -> Text:
        cell = cells[arm, dataset, ""]
        splits = () if cell.missing or not cell.by_split else (f"{len(cell.by_split)} splits",)
        return accuracy_text(cell, None, splits, leads.get((arm, dataset), ()))

    arms = [arm for arm in METHODS if all((arm, name, "") in cells for name in datasets)]
    rows: list[Row] = [(variant_title(arm), *(text(arm, name) for name in datasets)) for arm in arms]
    return Table.from_rows(dataset_columns("method", datasets), rows)


def field_table(evidence: Evidence) -> Table:
    """Return the median receptive field by dataset and levels."""
    levels = range(evidence.scale.field_levels + 1)
    rows: list[Row] = []
    for name, one in evidence.by_dataset("figure-receptive-field").items():
        if one is None:
            rows.append((DATASET_TITLES[name], *["not run"] * (len(levels) + 2)))
            continue
        shares = [
            f"{100 * one['hgcn'][level]['median'] / one['nodes']:.3g}" if level <= one["depth"] else "–"
            for level in levels
        ]
        gcn, steps = f"{100 * one['gcn']['median'] / one['nodes']:.3g}", f"{one['distance']['mean']:.2f}"
        rows.append((DATASET_TITLES[name], gcn, *shares, steps))
    columns = ("dataset", "GCN, 2 layers", *(f"{level}" for level in levels), "steps to a label")
    return Table.from_rows(columns, rows, "Median receptive field in per cent of the nodes, by levels.")


def cost_table(evidence: Evidence) -> Table:
    """Return seconds by size of the graph."""
    names = {
        "coarsen": "coarsening",
        "hgcn_prepare": "H-GCN, preparation",
        "hgcn_epoch": "H-GCN, epoch",
        "gcn_prepare": "GCN, preparation",
        "gcn_epoch": "GCN, epoch",
        "gat_epoch": "GAT, epoch",
    }
    rows: list[Row] = []
    measurements = evidence.experiments["complexity"].measurements
    for measurement, one in zip(measurements, evidence.measured("complexity"), strict=True):
        size = f"{measurement.arguments['nodes']:,}"
        if one is None:
            rows.append((size, f"degree {measurement.arguments['degree']}", *["not run"] * len(names)))
        else:
            seconds = [f"{one[name]:.3g}" if name in one else "–" for name in names]
            rows.append((size, f"{one['edges']:,}", *seconds))
    caption = "Seconds. Preparation is done once per fit and does not include coarsening."
    return Table.from_rows(("nodes", "edges", *names.values()), rows, caption)


def _best(cells: Iterable[PaperCell]) -> float | None:
    return max((cell.accuracy.mean for cell in cells if cell.accuracy.mean is not None), default=None)
