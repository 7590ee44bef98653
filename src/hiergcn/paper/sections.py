"""The parts of the paper's page, in order."""

from collections import Counter
from collections.abc import Sequence

from matplotlib.figure import Figure

from hiergcn.evaluate.paired import TEST
from hiergcn.paper import charts, tables
from hiergcn.paper.blocks import Picture, Section, Table, Text, words
from hiergcn.paper.claims import Verdict
from hiergcn.paper.collect import Evidence
from hiergcn.paper.experiments import DATASET_TITLES, NELL, arm_title
from hiergcn.paper.published import BEST_CHANNELS, BEST_LEVELS
from hiergcn.paper.significance import BETWEEN_OURS, LEVEL, TO_PAPER, least_p
from hiergcn.paper.verdicts import Word

SPREAD = (
    "Mean ± sample standard deviation over runs, in per cent. Failed runs are counted and are not part of the mean."
)
NELL_NOTE = (
    "With the paper's dropout of 0.85 H-GCN does not learn on NELL, as the row of the paper's settings shows. Claims "
    "about NELL are judged by our recipe, which was chosen on validation."
)


def paper_sections(evidence: Evidence, found: list[Verdict]) -> list[Section]:
    makers = (_table1, _table2, _table3, _table4, _levels, _channels, _toy, _field, _complexity, _random)
    return [_claims(found), *(maker(evidence) for maker in makers)]


def claim_counts(found: list[Verdict]) -> str:
    """Say in a sentence how many claims hold."""
    count = Counter(one.finding.word for one in found)

    def part(word: Word, one: str, several: str) -> str:
        return f"{count[word]} {one if count[word] == 1 else several}"

    parts = [part("holds", "holds in our runs", "hold in our runs"), part("does not hold", "does not", "do not")]
    parts += [part("undecided", "is undecided", "are undecided")]
    parts += [part("not run", "was not run", "were not run")] if count["not run"] else []
    return f"Of the paper's {len(found)} claims, {', '.join(parts[:-1])} and {parts[-1]}."


def _claims(found: list[Verdict]) -> Section:
    rows = tuple(
        (
            *words(one.claim.place, f"“{one.claim.quote}”"),
            Text(one.finding.word, mark=one.finding.word),
            Text(one.finding.reading, one.finding.details),
        )
        for one in found
    )
    return Section(
        "claims",
        "Which claims hold",
        "Every sentence of the paper that claims a result, and what our runs say. A difference counts if its p, after "
        f"Holm's correction within the claim, is below {LEVEL}. “Undecided” means that there are too few runs, or that "
        "chance may explain the difference.",
        [Table(("where", "the paper says", "verdict", "our runs"), rows, wordy=True)],
    )


def section_of(evidence: Evidence, name: str, blocks: Sequence[Table | Picture | None], notes: list[str]) -> Section:
    """Return the section of an experiment; its failed runs are listed after the notes."""
    experiment = evidence.experiments[name]
    shown = [block for block in blocks if block is not None]
    return Section(name, experiment.title, experiment.about, shown, [*notes, *_failures(evidence, name)])


def _picture(name: str, figure: Figure | None, description: str) -> Picture | None:
    return None if figure is None else Picture(name, figure, description)


def _table1(evidence: Evidence) -> Section:
    table, reasons = tables.table1(evidence)
    return section_of(evidence, "table1", [table], reasons)


def _table2(evidence: Evidence) -> Section:
    notes = [
        f"{SPREAD} The best of a column is bold.",
        f"Test {TO_PAPER}. Test {BETWEEN_OURS}.",
        "The methods below H-GCN are not in the paper's table.",
        "Planetoid has two forms; the paper prints the better one of each dataset.",
    ]
    notes += [NELL_NOTE] if NELL in evidence.scale.datasets else []
    return section_of(evidence, "table2", [tables.table2(evidence)], notes)


def _table3(evidence: Evidence) -> Section:
    blocks: list[Table | Picture | None] = [
        tables.table3(evidence, False, "All 500 validation labels select the epoch, as in the paper."),
        tables.table3(evidence, True, "As many labels select the epoch as there are for training."),
        _picture(
            "few-labels",
            charts.few_labels_figure(evidence),
            "Test accuracy over labels per class; bars: one standard deviation over all runs.",
        ),
    ]
    notes = [
        "Draws: standard deviation of the draws' means. Seeds: standard deviation over the seeds of a draw, pooled.",
        f"With all {max(evidence.scale.labels)} labels there is one draw, the public split.",
        "500 validation labels are not few labels: the second table shows what a user with so few labels would get.",
    ]
    fewer = evidence.scale.fewer_draws
    notes += [
        f"With {draws} draws the signed-rank test cannot give a p below {least_p(draws):.2f}, so no difference to "
        f"{' and '.join(arm_title(arm) for arm, count in fewer.items() if count == draws)} can be significant."
        for draws in sorted(set(fewer.values()))
        if least_p(draws) > LEVEL
    ]
    return section_of(evidence, "table3", blocks, notes)


def _table4(evidence: Evidence) -> Section:
    note = "Without coarsening every level is the input graph; layers and short-cuts stay, as in the paper."
    return section_of(evidence, "table4", [tables.table4(evidence)], [note])


def _levels(evidence: Evidence) -> Section:
    figure = charts.varied_figure(evidence, "figure-levels", "coarsening layers", BEST_LEVELS)
    description = "Test accuracy over coarsening layers; star: the paper's best, from its Table 2."
    table = tables.varied_table(evidence, "figure-levels", "levels")
    ended = any("levels" in line for row in table.rows for cell in row for line in cell.below)
    note = "If coarsening ended early, the number of levels is given below the figure."
    return section_of(
        evidence, "figure-levels", [_picture("levels", figure, description), table], [note] if ended else []
    )


def _channels(evidence: Evidence) -> Section:
    figure = charts.varied_figure(evidence, "figure-channels", "channels", BEST_CHANNELS)
    picture = _picture("channels", figure, "Test accuracy over channels; star: the paper's best, from its Table 2.")
    table = tables.varied_table(evidence, "figure-channels", "channels")
    return section_of(evidence, "figure-channels", [picture, table], [])


def _toy(evidence: Evidence) -> Section:
    found = evidence.measured("figure-coarsening")[0]
    figure = None if found is None else charts.toy_figure(found)
    picture = _picture("coarsening", figure, "The toy graph, its groups after each step, and the coarser graph.")
    note = "The edge weights are ours, since the text gives none. The groups are computed from them."
    return section_of(evidence, "figure-coarsening", [picture], [note])


def _field(evidence: Evidence) -> Section:
    description = "Share of the nodes in a node's receptive field, by levels."
    notes = [
        "A network of k levels convolves 2k + 1 times; the dashed line has as many layers without coarsening.",
        "Median over 64 evenly spaced nodes; the band goes from the 5th to the 95th percentile.",
        "Steps to a label: mean distance of a test node to the nearest training node.",
    ]
    blocks = [_picture("receptive-field", charts.field_figure(evidence), description), tables.field_table(evidence)]
    return section_of(evidence, "figure-receptive-field", blocks, notes)


def _complexity(evidence: Evidence) -> Section:
    picture = _picture("complexity", charts.cost_figure(evidence), "Seconds of coarsening and of an epoch over nodes.")
    note = "Planted graphs of average degree 10 and 16 features, one thread; dotted lines grow as n."
    return section_of(evidence, "complexity", [picture, tables.cost_table(evidence)], [note])


def _random(evidence: Evidence) -> Section:
    description = "Mean and standard deviation over random splits; diamond: the public split."
    notes = [
        "20 labels per class for training, 500 for validation, the rest for testing.",
        "Splits share nodes, so they are not independent.",
        f"Test to H-GCN: {TEST}, over the splits that both were run on; Holm's correction within a dataset.",
    ]
    if fewer := evidence.scale.fewer_splits:
        notes.append(
            f"Means over {min(fewer.values())} and over {evidence.scale.splits} splits are not of the same splits: "
            "compare methods by their differences to H-GCN."
        )
    picture = _picture("random-splits", charts.random_figure(evidence), description)
    return section_of(evidence, "random-splits", [picture, tables.random_table(evidence)], notes)


def _failures(evidence: Evidence, name: str) -> list[str]:
    """Describe failed runs, with the reason of the first."""
    found = []
    for cell in evidence.cells[name].values():
        if cell.failed:
            one = cell.cell
            where = f"{arm_title(one.arm)} on {DATASET_TITLES[one.dataset]}{f', {one.column}' if one.column else ''}"
            reason = next(run.result["failure"] for run in cell.records if run is not None and run.result["failure"])
            found.append(f"{where}: {cell.failed} of {len(cell.records)} runs failed; the first {reason}.")
    return found
