"""The paper's tables: our figures beside the paper's."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from hiergcn_experiments.display import cell_table
from hiergcn_experiments.page import Row, Table, Text, mean_and_std, points
from hiergcn_experiments.paper.evidence import TABLE1, Evidence, PaperCell, compare_cells, probability
from hiergcn_experiments.paper.experiments import DATASET_TITLES, TEXTS, variant_title

METHODS = (
    *("deepwalk", "planetoid-t", "planetoid-i", "gcn", "gat", "dgcn", "hgcn", "hgcn-nell"),  # of the paper
    *("appnp", "grand", "graph-unet", "mlp", "label-propagation"),
)
Cells = Mapping[tuple[str, str, str], PaperCell]
"""By (variant, dataset, condition)."""


def accuracy_text(
    cell: PaperCell | None, strong: bool = False, before: Iterable[str] = (), after: Iterable[str] = ()
) -> Text:
    """Format mean ± spread; below it the number of runs if some are missing, the paper's figure, the difference.

    Lines `before` and `after` stand around these.
    """
    if cell is None:
        return Text("–")
    below: tuple[str, ...] = () if cell.printed is None else (f"paper {mean_and_std(cell.printed)}",)
    if cell.done == 0:
        return Text("not run" if cell.missing else f"all {cell.failed} failed", (*before, *below, *after))
    main = mean_and_std(cell.accuracy) + (f", {cell.failed} failed" if cell.failed else "")
    if cell.missing:
        below = (f"{cell.done + cell.failed} of {len(cell.records)} runs", *below)
    if found := cell.to_paper:
        below += (f"{points(found.difference)}, {probability(found.p)}",)
    return Text(main, (*before, *below, *after), strong=strong)


def titles_of(arms: Iterable[str]) -> dict[str, str]:
    """Return variants by their titles."""
    return {variant_title(arm): arm for arm in arms}


def datasets_of(names: Iterable[str]) -> dict[str, str]:
    """Return datasets by their titles."""
    return {DATASET_TITLES[name]: name for name in names}


def accuracy_table(
    cells: Cells, arms: Iterable[str], datasets: Sequence[str], best: Literal["column", ""] = ""
) -> Table:
    """Return a row per arm that has cells, and a column per dataset."""
    return cell_table(
        "method",
        titles_of(arms),
        datasets_of(datasets),
        lambda arm, name: cells.get((arm, name, "")),
        lambda _, cell, strong: accuracy_text(cell, strong),
        best=best,
    )


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
    return Table.from_rows(("", *datasets_of(found)), rows), reasons


def _reasons(name: str, one: dict[str, Any]) -> list[str]:
    """Explain differing counts, using only the counts themselves and the dataset's files."""
    printed, listed, texts = TABLE1[name], one["listed_edges"], dict(TEXTS["reasons"])
    if listed is None or listed == printed["edges"]:
        texts["edges"] = texts["edges_unlisted" if listed is None else "edges_as_listed"]
    entries, relations = 2 * (listed or 0), one["features"] - printed["features"]
    words = {**one, "title": DATASET_TITLES[name], "printed": printed, "entries": entries, "relations": relations}
    return [texts[what].format(**words) for what in ("edges", "classes", "features") if one[what] != printed[what]]


def table3(evidence: Evidence, end: str, caption: str) -> Table:
    """Return accuracies by labels per class, with the spreads of draws and of seeds; `end` is the conditions'."""

    def text(_: str, cell: PaperCell | None, strong: bool) -> Text:
        parts = []
        if cell and cell.std_of_draws is not None:
            parts.append(f"{len(cell.by_split)} draws ± {points(cell.std_of_draws, False)}")
            if cell.std_of_seeds is not None:
                seeds = max(len(one.per_seed) for one in cell.by_split.values())
                parts.append(f"{seeds} seeds ± {points(cell.std_of_seeds, False)}")
        return accuracy_text(cell, strong, parts)

    columns = {f"{count} per class": f"{count}{end}" for count in evidence.scale.labels}
    arms = titles_of(("gcn", "gat", "dgcn", "hgcn", "appnp", "grand"))
    return cell_table("method", arms, columns, evidence.table3, text, caption=caption)


def varied_table(evidence: Evidence, experiment: str, what: str) -> Table:
    """Return accuracy by dataset over the values of a varied setting."""
    cells = evidence.cells[experiment]

    def text(_: str, cell: PaperCell | None, strong: bool) -> Text:
        fewer = cell and what == "levels" and cell.depth is not None and cell.depth < int(cell.cell.condition)
        return accuracy_text(cell, strong, after=(f"{cell.depth} levels",) if cell and fewer else ())

    values = {value: value for _, _, value in cells}
    rows = datasets_of(evidence.scale.datasets)
    return cell_table(what, rows, values, lambda name, value: cells["hgcn", name, value], text, best="row")


def random_table(evidence: Evidence) -> Table:
    """Return accuracy on random splits. No figure is marked as best: means of 10 and of 100 splits do not compare."""
    cells, datasets = evidence.cells["random-splits"], evidence.scale.citation
    leads: dict[tuple[str, str], list[str]] = {}  # each method's difference from H-GCN on the same splits
    for dataset in datasets:
        theirs = cells["hgcn", dataset, ""]
        pairs = [(arm, one, theirs) for (arm, name, _), one in cells.items() if name == dataset and arm != "hgcn"]
        for one in compare_cells(pairs):  # Holm's correction within the dataset
            leads[one.name, dataset] = [f"to H-GCN {points(one.found.mean)} ({probability(one.p)})"] if one.run else []

    def text(arm: str, cell: PaperCell | None, _: bool) -> Text:
        splits = (f"{len(cell.by_split)} splits",) if cell and not cell.missing and cell.by_split else ()
        return accuracy_text(cell, before=splits, after=leads.get((arm, cell.cell.dataset), ()) if cell else ())

    arms = titles_of(arm for arm in METHODS if all((arm, name, "") in cells for name in datasets))
    return cell_table("method", arms, datasets_of(datasets), lambda arm, name: cells[arm, name, ""], text)


def field_table(evidence: Evidence) -> Table:
    """Return the median receptive field by dataset and levels."""
    levels = range(evidence.scale.field_levels + 1)
    rows: list[Row] = []
    for name, one in evidence.by_dataset("figure-receptive-field").items():
        texts = ["not run"] * (len(levels) + 2)
        if one is not None:
            networks = [one["gcn"], *one["hgcn"][: one["depth"] + 1]]
            shares = [f"{100 * network['median'] / one['nodes']:.3g}" for network in networks]
            texts = [*shares, *["–"] * (len(levels) - one["depth"] - 1), f"{one['distance']['mean']:.2f}"]
        rows.append((DATASET_TITLES[name], *texts))
    columns = ("dataset", "GCN, 2 layers", *map(str, levels), "steps to a label")
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
        edges, seconds = f"degree {measurement.arguments['degree']}", ["not run"] * len(names)
        if one is not None:
            edges, seconds = f"{one['edges']:,}", [f"{one[name]:.3g}" if name in one else "–" for name in names]
        rows.append((f"{measurement.arguments['nodes']:,}", edges, *seconds))
    caption = "Seconds. Preparation is done once per fit and does not include coarsening."
    return Table.from_rows(("nodes", "edges", *names.values()), rows, caption)
