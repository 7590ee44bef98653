"""The parts of the paper's page and of H-GCN+'s page, in order. Their texts are in texts.toml."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from hiergcn.evaluate.paired import TEST
from hiergcn.report.panels import Figure
from hiergcn_experiments import charts, tables
from hiergcn_experiments.claims import Verdict
from hiergcn_experiments.collect import BEST_CHANNELS, BEST_LEVELS, CellResult, Evidence
from hiergcn_experiments.experiments import DATASET_TITLES, NELL, RIVALS, TEXTS, Scale, arm_title
from hiergcn_experiments.significance import LEVEL, Compared, compare_cells, least_p, points, probability
from hiergcn_experiments.tables import Row, Table, Text
from hiergcn_experiments.verdicts import Word

MODELS = ("hgcn-plus", *RIVALS)
Blocks = Sequence["Table | Picture | None"]


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, the name of its file, and a sentence that describes it."""

    name: str
    figure: Figure
    description: str


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    name: str
    title: str
    about: str
    blocks: Sequence[Table | Picture] = ()
    notes: Sequence[str] = ()
    is_experiment: bool = True
    """Whether `hiergcn reproduce` knows an experiment of that name."""


def paper_sections(evidence: Evidence, found: list[Verdict]) -> list[Section]:
    statistics, reasons = tables.table1(evidence)
    by_levels = tables.varied_table(evidence, "figure-levels", "levels")
    toy = evidence.measured("figure-coarsening")[0]
    blocks: dict[str, Blocks] = {
        "table1": [statistics],
        "table2": [_picture("table2", charts.table2_figure(evidence)), tables.table2(evidence)],
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
        "random-splits": [
            f"Means over {count} and over {evidence.scale.splits} splits are not of the same splits: compare methods "
            "by their differences to H-GCN."
            for count in sorted(evidence.scale.fewer_splits.values())[:1]
        ],
    }
    parts = {name: section_of(evidence, name, shown, further.get(name, ())) for name, shown in blocks.items()}
    return [parts.pop("table2"), _claims(found), *parts.values()]


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
    rows: list[Row] = []
    for one in found:
        verdict = Text(one.finding.word, mark=one.finding.word)
        reading = Text(one.finding.reading, one.finding.details)
        rows.append((one.claim.place, f"“{one.claim.quote}”", verdict, reading))
    table = Table.of(("where", "the paper says", "verdict", "our runs"), rows, wordy=True)
    text = TEXTS["claims"]
    return Section("claims", text["title"], text["about"].format(level=LEVEL), [table], is_experiment=False)


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


# H-GCN+'s page


def overview_table(evidence: Evidence) -> Table:
    """Return H-GCN, H-GCN+, GCN and GRAND on the public splits."""
    table2, public = evidence.cells["table2"], evidence.cells["plus-public"]
    rows = {"H-GCN (paper)": (table2, "hgcn"), "H-GCN+": (public, "hgcn-plus")}
    rows |= {"GCN": (public, "gcn"), "GRAND": (public, "grand")}
    figures = [
        (title, *(tables.spread(cells[arm, name, ""].accuracy) for name in evidence.scale.datasets))
        for title, (cells, arm) in rows.items()
    ]
    return Table.of(tables.dataset_columns("test accuracy in %", evidence.scale.datasets), figures)


def plus_sections(evidence: Evidence) -> list[Section]:
    public, variants = evidence.cells["plus-public"], evidence.experiments["variants"]
    arms = [arm.name for arm in variants.arms]
    blocks = {
        "plus-public": [
            tables.accuracy_table(public, (*MODELS, "hgcn-plus-4", "grand-4"), evidence.scale.datasets),
            _validation(public, evidence.scale.datasets),
            _differences(evidence),
        ],
        "plus-few-labels": [_with_differences(evidence, "plus-few-labels", "labels per class")],
        "plus-random-splits": [_with_differences(evidence, "plus-random-splits", "dataset")],
        "variants": [tables.accuracy_table(evidence.cells["variants"], arms, variants.datasets)],
    }
    return [section_of(evidence, name, shown) for name, shown in blocks.items()]


def _validation(cells: tables.Cells, datasets: Sequence[str]) -> Table:
    rows: list[Row] = []
    for arm in MODELS:
        means = (cells[arm, name, ""].summary("validation_accuracy").mean for name in datasets)
        rows.append((arm_title(arm), *(points(mean, False) for mean in means)))
    return Table.of(tables.dataset_columns("method", datasets), rows, "Mean validation accuracy in per cent.")


def _differences(evidence: Evidence) -> Table:
    cells = evidence.cells["plus-public"]
    rows: list[Row] = []
    for dataset in evidence.scale.datasets:
        for one in _against_rivals(cells, dataset, ""):
            if one.found.mean is not None:
                interval = f"{points(one.found.low)} to {points(one.found.high)}"
                figures = (points(one.found.mean), interval, probability(one.found.p), str(one.found.units))
                rows.append((DATASET_TITLES[dataset], one.name, *figures))
    columns = ("dataset", "H-GCN+ minus", "difference", "95 % interval", "p", "seeds")
    return Table.of(columns, rows, "Differences, seed by seed on the public split.")


def _with_differences(evidence: Evidence, name: str, first: str) -> Table:
    """Return a row for each dataset and column: the models' accuracies, and H-GCN+ minus each rival."""
    experiment, cells = evidence.experiments[name], evidence.cells[name]
    usual = max(cell.splits for cell in cells.values())
    rows: list[Row] = []
    for dataset, column in product(experiment.datasets, (column.name for column in experiment.columns)):
        title = f"{DATASET_TITLES[dataset]}, {column}" if column else DATASET_TITLES[dataset]
        accuracies = [_over_splits(cells[arm, dataset, column], usual) for arm in MODELS]
        rows.append((title, *accuracies, *map(_difference, _against_rivals(cells, dataset, column))))
    minus = (f"minus {arm_title(arm)}" for arm in RIVALS)
    return Table.of((first, *map(arm_title, MODELS), *minus), rows)


def _over_splits(cell: CellResult, usual: int) -> Text:
    """Format the mean ± standard deviation of the splits' means; say how many splits if not as many as usual."""
    if cell.spread_of_draws is None:
        return tables.accuracy_text(cell)
    few = (f"{len(cell.by_split)} splits",) if len(cell.by_split) < usual else ()
    return Text(f"{points(cell.accuracy.mean, False)} ± {points(cell.spread_of_draws, False)}", few)


def _against_rivals(cells: tables.Cells, dataset: str, column: str) -> list[Compared]:
    ours = cells["hgcn-plus", dataset, column]
    return compare_cells([(arm_title(arm), ours, cells[arm, dataset, column]) for arm in RIVALS])


def _difference(one: Compared) -> str:
    return "–" if one.found.mean is None else f"{points(one.found.mean)}, {probability(one.found.p)}"
