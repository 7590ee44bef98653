"""The parts of the paper's page, in order. Their texts are in texts.toml."""

from collections import Counter
from collections.abc import Iterable, Sequence

from matplotlib.figure import Figure

from hiergcn.evaluate.paired import TEST
from hiergcn.paper import charts, tables
from hiergcn.paper.blocks import Picture, Section, Table, Text, words
from hiergcn.paper.claims import Verdict
from hiergcn.paper.collect import Evidence
from hiergcn.paper.experiments import DATASET_TITLES, NELL, TEXTS, Scale, arm_title
from hiergcn.paper.published import BEST_CHANNELS, BEST_LEVELS
from hiergcn.paper.significance import LEVEL, least_p
from hiergcn.paper.verdicts import Word

Blocks = Sequence[Table | Picture | None]


def paper_sections(evidence: Evidence, found: list[Verdict]) -> list[Section]:
    statistics, reasons = tables.table1(evidence)
    by_levels = tables.varied_table(evidence, "figure-levels", "levels")
    toy = evidence.measured("figure-coarsening")[0]
    blocks: dict[str, Blocks] = {
        "table1": [statistics],
        "table2": [tables.table2(evidence)],
        "table3": [
            tables.table3(evidence, False, "All 500 validation labels select the epoch, as in the paper."),
            tables.table3(evidence, True, "As many labels select the epoch as there are for training."),
            _picture("few-labels", charts.few_labels_figure(evidence)),
        ],
        "table4": [tables.table4(evidence)],
        "figure-levels": [
            _picture("levels", charts.varied_figure(evidence, "figure-levels", "coarsening layers", BEST_LEVELS)),
            by_levels,
        ],
        "figure-channels": [
            _picture("channels", charts.varied_figure(evidence, "figure-channels", "channels", BEST_CHANNELS)),
            tables.varied_table(evidence, "figure-channels", "channels"),
        ],
        "figure-coarsening": [_picture("coarsening", charts.toy_figure(toy) if toy else None)],
        "figure-receptive-field": [
            _picture("receptive-field", charts.field_figure(evidence)),
            tables.field_table(evidence),
        ],
        "complexity": [_picture("complexity", charts.cost_figure(evidence)), tables.cost_table(evidence)],
        "random-splits": [_picture("random-splits", charts.random_figure(evidence)), tables.random_table(evidence)],
    }
    ended_early = any("levels" in line for row in by_levels.rows for cell in row for line in cell.below)
    further = {
        "table1": reasons,
        "table2": [TEXTS["table2"]["on_nell"]] if NELL in evidence.scale.datasets else [],
        "table3": _powerless(evidence.scale),
        "figure-levels": [TEXTS["figure-levels"]["ended_early"]] if ended_early else [],
        "random-splits": _not_the_same_splits(evidence.scale),
    }
    parts = (section_of(evidence, name, shown, further.get(name, ())) for name, shown in blocks.items())
    return [_claims(found), *parts]


def section_of(evidence: Evidence, name: str, blocks: Blocks, further: Iterable[str] = ()) -> Section:
    """Return the section of an experiment: its notes, then further ones, then its failed runs."""
    experiment = evidence.experiments[name]
    notes = [note.format(test=TEST, most_labels=max(evidence.scale.labels)) for note in TEXTS[name].get("notes", [])]
    shown = [block for block in blocks if block is not None]
    return Section(name, experiment.title, experiment.about, shown, [*notes, *further, *_failures(evidence, name)])


def _picture(name: str, figure: Figure | None) -> Picture | None:
    return None if figure is None else Picture(name, figure, TEXTS["pictures"][name])


def _powerless(scale: Scale) -> list[str]:
    """Say which comparisons have too few draws to be significant."""
    return [
        f"With {draws} draws the signed-rank test cannot give a p below {least_p(draws):.2f}, so no difference to "
        f"{' and '.join(arm_title(arm) for arm, count in scale.fewer_draws.items() if count == draws)} can be "
        "significant."
        for draws in sorted(set(scale.fewer_draws.values()))
        if least_p(draws) > LEVEL
    ]


def _not_the_same_splits(scale: Scale) -> list[str]:
    return [
        f"Means over {count} and over {scale.splits} splits are not of the same splits: compare methods by their "
        "differences to H-GCN."
        for count in sorted(scale.fewer_splits.values())[:1]
    ]


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
    rows = []
    for one in found:
        verdict = Text(one.finding.word, mark=one.finding.word)
        reading = Text(one.finding.reading, one.finding.details)
        rows.append((*words(one.claim.place, f"“{one.claim.quote}”"), verdict, reading))
    table = Table(("where", "the paper says", "verdict", "our runs"), tuple(rows), wordy=True)
    text = TEXTS["claims"]
    return Section("claims", text["title"], text["about"].format(level=LEVEL), [table])


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
