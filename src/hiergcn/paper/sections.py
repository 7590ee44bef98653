"""The parts of the page, in its order."""

from matplotlib.figure import Figure

from hiergcn.evaluate.paired import TEST
from hiergcn.paper import charts, tables
from hiergcn.paper.blocks import Picture, Section, Table
from hiergcn.paper.collect import CellResult
from hiergcn.paper.names import NAMES, TITLES
from hiergcn.paper.published import BEST_CHANNELS, BEST_LEVELS
from hiergcn.paper.significance import BETWEEN_OURS, LEVEL, TO_PAPER, least_p
from hiergcn.paper.toy_figure import toy_figure
from hiergcn.paper.verdicts.evidence import Evidence

SPREAD = "Mean ± sample standard deviation over runs, in per cent; failed runs are counted and have no part in it."
NELL_NOTE = (
    "With the paper's dropout of 0.85 H-GCN does not learn on NELL. The row of the paper's settings shows it; "
    "statements about NELL are judged by our recipe, which was chosen on validation."
)


def sections(evidence: Evidence) -> list[Section]:
    makers = (_table1, _table2, _table3, _table4, _levels, _channels, _toy, _reach, _complexity, _random)
    return [maker(evidence) for maker in makers]


def _section(evidence: Evidence, name: str, blocks: list[Table | Picture | None], notes: list[str]) -> Section:
    experiment = evidence.experiments[name]
    shown = [block for block in blocks if block is not None]
    return Section(name, experiment.title, experiment.about, shown, [*notes, *_failures(evidence, name)])


def _picture(name: str, figure: Figure | None, description: str) -> Picture | None:
    return None if figure is None else Picture(name, figure, description)


def _table1(evidence: Evidence) -> Section:
    table, reasons = tables.table1(evidence)
    return _section(evidence, "table1", [table], reasons)


def _table2(evidence: Evidence) -> Section:
    notes = [
        f"{SPREAD} The best of a column is bold.",
        f"Test {TO_PAPER}. Test {BETWEEN_OURS}.",
        "Below H-GCN stand methods that the paper's table has not.",
        "Planetoid has two forms; the paper prints the better one of each dataset.",
    ]
    if "nell" in evidence.scale.datasets:
        notes.append(NELL_NOTE)
    return _section(evidence, "table2", [tables.table2(evidence)], notes)


def _table3(evidence: Evidence) -> Section:
    picture = _picture(
        "few-labels",
        charts.few_labels_figure(evidence),
        "Test accuracy over labels a class; bars: one deviation over all runs.",
    )
    few, small = tables.table3(evidence, small=False), tables.table3(evidence, small=True)
    blocks: list[Table | Picture | None] = [
        Table(few.columns, few.rows, "All 500 validation labels choose the epoch, as in the paper."),
        Table(small.columns, small.rows, "As many labels choose the epoch as train."),
        picture,
    ]
    notes = [
        "Draws: standard deviation of the means of the draws. Seeds: that over the seeds of one draw, pooled.",
        f"With all {max(evidence.scale.labels)} labels there is one draw, the public split.",
        "500 validation labels are not few labels: the second table is what a person with so few labels would see.",
    ]
    notes += [
        f"With {draws} draws the signed-rank test gives no p below {least_p(draws):.2f}: in differences to "
        f"{' and '.join(NAMES[arm] for arm, count in evidence.scale.fewer_draws.items() if count == draws)} chance may "
        "always be all there is."
        for draws in sorted(set(evidence.scale.fewer_draws.values()))
        if least_p(draws) > LEVEL
    ]
    return _section(evidence, "table3", blocks, notes)


def _table4(evidence: Evidence) -> Section:
    note = "Without coarsening every level is the input graph; layers and short-cuts stay, as in the paper."
    return _section(evidence, "table4", [tables.table4(evidence)], [note])


def _levels(evidence: Evidence) -> Section:
    figure = charts.varied_figure(evidence, "figure-levels", "coarsening layers", BEST_LEVELS)
    picture = _picture(
        "levels",
        figure,
        "Test accuracy over coarsening layers; star: the paper's best, from its Table 2.",
    )
    table = tables.varied_table(evidence, "figure-levels", "levels")
    ended = any("levels" in line for row in table.rows for cell in row for line in cell.below)
    note = "Where coarsening ended before the number asked for, the levels there are stand below the figure."
    return _section(evidence, "figure-levels", [picture, table], [note] if ended else [])


def _channels(evidence: Evidence) -> Section:
    best = dict.fromkeys(BEST_LEVELS, BEST_CHANNELS)
    figure = charts.varied_figure(evidence, "figure-channels", "channels", best)
    picture = _picture("channels", figure, "Test accuracy over channels; star: the paper's best, from its Table 2.")
    return _section(
        evidence, "figure-channels", [picture, tables.varied_table(evidence, "figure-channels", "channels")], []
    )


def _toy(evidence: Evidence) -> Section:
    found = evidence.measured("figure-coarsening")[0]
    figure = None if found is None else toy_figure(found)
    picture = _picture("coarsening", figure, "The toy graph, its groups after either step, and the coarser graph.")
    note = "The edge weights are ours: the text gives none. What it says of the groups is computed from them."
    return _section(evidence, "figure-coarsening", [picture], [note])


def _reach(evidence: Evidence) -> Section:
    figure = charts.reach_figure(evidence)
    picture = _picture("receptive-field", figure, "Share of the nodes that reach a node's output, by levels.")
    notes = [
        "A network of k levels convolves 2k + 1 times; one of as many layers without coarsening is the dashed line.",
        "Median over 64 nodes spread evenly; the band goes from the 5th to the 95th percentile.",
        "Steps to a label: mean distance of a test node to the nearest training node.",
    ]
    return _section(evidence, "figure-receptive-field", [picture, tables.reach_table(evidence)], notes)


def _complexity(evidence: Evidence) -> Section:
    picture = _picture("complexity", charts.cost_figure(evidence), "Seconds of coarsening and of an epoch over nodes.")
    note = "Planted graphs of average degree 10 and 16 features, one thread; dotted lines grow as n."
    return _section(evidence, "complexity", [picture, tables.cost_table(evidence)], [note])


def _random(evidence: Evidence) -> Section:
    picture = _picture(
        "random-splits",
        charts.random_figure(evidence),
        "Mean and deviation over random splits; diamond: the public split.",
    )
    notes = [
        "20 labels a class train, 500 validate, the rest test; splits share nodes, so they are not independent.",
        f"Test to H-GCN: {TEST}, over the splits that both were run on; Holm's correction within a dataset.",
    ]
    if fewer := evidence.scale.fewer_splits:
        counts = f"{min(fewer.values())} splits and over {evidence.scale.splits}"
        notes.append(f"Means over {counts} are not of the same splits: compare methods by their differences to H-GCN.")
    return _section(evidence, "random-splits", [picture, tables.random_table(evidence)], notes)


def _failures(evidence: Evidence, name: str) -> list[str]:
    """Failed runs in words, with the reason of the first."""
    failed = [cell for cell in evidence.cells[name].values() if cell.failed]
    return [
        f"{_where(cell)}: {cell.failed} of {len(cell.records)} runs failed, the first one {_reason(cell)}."
        for cell in failed
    ]


def _where(cell: CellResult) -> str:
    column = f", {cell.cell.column}" if cell.cell.column else ""
    return f"{NAMES[cell.cell.arm]} on {TITLES[cell.cell.dataset]}{column}"


def _reason(cell: CellResult) -> str:
    return next(str(one.result["failure"]) for one in cell.records if one is not None and one.result["failure"])
