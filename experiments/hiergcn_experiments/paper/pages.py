"""The pages of the paper and of H-GCN+, and the table of all their runs. Their texts are in texts.toml."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from hiergcn.research import TEST, Figure, metrics_for, result_key, written_whole
from hiergcn_experiments.page import (
    Columns,
    Page,
    Picture,
    Row,
    Section,
    Table,
    Text,
    mean_and_std,
    points,
    provenance,
    write_page,
)
from hiergcn_experiments.paper import charts, tables
from hiergcn_experiments.paper.claims import Verdict, verdicts_on
from hiergcn_experiments.paper.evidence import LEVEL, Compared, Evidence, PaperCell, compare_cells, least_p, probability
from hiergcn_experiments.paper.experiments import DATASET_TITLES, FULL, NELL, RIVALS, TEXTS, Scale, variant_title
from hiergcn_experiments.results import Results
from hiergcn_experiments.store import PACKED, Record, write_packed

MODELS = ("hgcn-plus", *RIVALS)


def write_paper(records: Sequence[Record], folder: Path, scale: Scale = FULL) -> list[Path]:
    """Write the page of the paper, that of H-GCN+ if there are runs of it, and the table of all runs."""
    evidence = Evidence(Results(records), scale)
    found = verdicts_on(evidence)
    pages = [write_page(paper_page(evidence, found), folder / "paper")]
    if any(record.key.get("method") == "hgcn-plus" for record in evidence.used(evidence.plus)):
        pages.append(write_page(plus_page(evidence), folder / "plus", "results.md"))
    write_results(evidence, folder)
    return pages


def paper_page(evidence: Evidence, found: list[Verdict]) -> Page:
    """Return the page of the paper; its summary says in a sentence how many claims hold."""
    words = [one.finding.word for one in found]
    count: Counter[str] = Counter(words)
    phrases = {"holds": ("hold in our runs", "holds in our runs"), "does not hold": ("do not", "does not")}
    phrases |= {"undecided": ("are undecided", "is undecided"), "not run": ("were not run", "was not run")}
    *first, last = (
        f"{count[word]} {phrase[count[word] == 1]}"
        for word, phrase in phrases.items()
        if count[word] or word != "not run"
    )
    summary = f"Of the paper's {len(words)} claims, {', '.join(first)} and {last}."
    runs = _runs(evidence, list(evidence.paper))
    return Page("The H-GCN paper, run again", paper_sections(evidence, found), runs, summary, words)


def plus_page(evidence: Evidence) -> Page:
    overview = Section("overview", "Overview", "Public splits.", [overview_table(evidence)], is_experiment=False)
    return Page("H-GCN+: all results", [overview, *plus_sections(evidence)], _runs(evidence, list(evidence.plus)))


def paper_sections(evidence: Evidence, found: list[Verdict]) -> list[Section]:
    def shown(name: str, figure: Figure) -> Picture:
        return Picture(name, figure, TEXTS["pictures"][name])

    statistics, reasons = tables.table1(evidence)
    cells, scale = evidence.cells, evidence.scale
    ablated = [name + end for end in ("", "-nell") for name in ("no-coarsening", "no-embedding", "hgcn")]
    by_levels = tables.varied_table(evidence, "figure-levels", "levels")
    blocks: dict[str, list[Table | Picture]] = {
        "table1": [statistics],
        "table2": [
            shown("table2", charts.table2_figure(evidence)),
            tables.accuracy_table(cells["table2"], tables.METHODS, scale.datasets, "column"),
        ],
        "table3": [
            tables.table3(evidence, "", "All 500 validation labels select the epoch, as in the paper."),
            tables.table3(evidence, " small", "As many labels select the epoch as there are for training."),
            shown("few-labels", charts.few_labels_figure(evidence)),
        ],
        "table4": [tables.accuracy_table(cells["table4"], ablated, scale.datasets)],
        "figure-levels": [
            shown("levels", charts.varied_figure(evidence, "figure-levels", "coarsening layers")),
            by_levels,
        ],
        "figure-channels": [
            shown("channels", charts.varied_figure(evidence, "figure-channels", "channels")),
            tables.varied_table(evidence, "figure-channels", "channels"),
        ],
        "figure-coarsening": [shown("coarsening", charts.toy_figure(evidence))],
        "figure-receptive-field": [
            shown("receptive-field", charts.field_figure(evidence)),
            tables.field_table(evidence),
        ],
        "complexity": [shown("complexity", charts.cost_figure(evidence)), tables.cost_table(evidence)],
        "random-splits": [shown("random-splits", charts.random_figure(evidence)), tables.random_table(evidence)],
    }
    ended_early = any("levels" in line for row in by_levels.rows for cell in row for line in cell.below)
    further = {
        "table1": reasons,
        "table2": [TEXTS["table2"]["on_nell"]] if NELL in scale.datasets else [],
        "table3": [  # comparisons with too few draws to be significant
            f"With {draws} draws the signed-rank test cannot give a p below {least_p(draws):.2f}, so no difference to "
            f"{' and '.join(variant_title(arm) for arm, n in scale.fewer_draws.items() if n == draws)} can be "
            "significant."
            for draws in sorted(set(scale.fewer_draws.values()))
            if least_p(draws) > LEVEL
        ],
        "figure-levels": [TEXTS["figure-levels"]["ended_early"]] if ended_early else [],
        "random-splits": [
            f"Means over {count} and over {scale.splits} splits are not of the same splits: compare methods by their "
            "differences to H-GCN."
            for count in sorted(scale.fewer_splits.values())[:1]
        ],
    }
    parts = {name: section_of(evidence, name, some, further.get(name, ())) for name, some in blocks.items()}
    return [parts.pop("table2"), _claims(found), *parts.values()]


def section_of(
    evidence: Evidence, name: str, blocks: Sequence[Table | Picture], further: Iterable[str] = ()
) -> Section:
    """Return the section of an experiment: its notes, further ones, and failed runs with the reason of the first."""
    experiment = evidence.experiments[name]
    notes = [note.format(test=TEST, most_labels=max(evidence.scale.labels)) for note in TEXTS[name].get("notes", [])]
    notes += further
    for one in (one for one in evidence.cells[name].values() if one.failed):
        where = f"{variant_title(one.cell.variant)} on {DATASET_TITLES[one.cell.dataset]}"
        where += f", {one.cell.condition}" if one.cell.condition else ""
        reason = next(run.result["failure"] for run in one.found if run.result["failure"])
        notes.append(f"{where}: {one.failed} of {len(one.records)} runs failed; the first {reason}.")
    return Section(name, experiment.title, experiment.about, blocks, notes)


def _claims(found: list[Verdict]) -> Section:
    columns: Columns[Verdict] = {
        "where": lambda one: one.claim.place,
        "the paper says": lambda one: f"“{one.claim.quote}”",
        "verdict": lambda one: Text(one.finding.word, mark=one.finding.word),
        "our runs": lambda one: Text(one.finding.reading, one.finding.details),
    }
    text, table = TEXTS["claims"], Table.from_items(found, columns, wordy=True)
    return Section("claims", text["title"], text["about"].format(level=LEVEL), [table], is_experiment=False)


# H-GCN+'s page


def overview_table(evidence: Evidence) -> Table:
    """Return H-GCN, H-GCN+, GCN and GRAND on the public splits."""
    table2, public = evidence.cells["table2"], evidence.cells["plus-public"]
    rows = {"H-GCN (paper)": (table2, "hgcn"), "H-GCN+": (public, "hgcn-plus")}
    rows |= {"GCN": (public, "gcn"), "GRAND": (public, "grand")}
    figures = [
        (title, *(mean_and_std(cells[arm, name, ""].accuracy) for name in evidence.scale.datasets))
        for title, (cells, arm) in rows.items()
    ]
    return Table.from_rows(("test accuracy in %", *tables.datasets_of(evidence.scale.datasets)), figures)


def plus_sections(evidence: Evidence) -> list[Section]:
    public, variants = evidence.cells["plus-public"], evidence.experiments["variants"]
    datasets, names = evidence.scale.datasets, [one.name for one in variants.variants]

    def validation(arm: str, name: str) -> str:
        return points(public[arm, name, ""].summary("validation_accuracy").mean, False)

    validated = [(variant_title(arm), *(validation(arm, name) for name in datasets)) for arm in MODELS]
    about = "Mean validation accuracy in per cent."
    blocks: dict[str, list[Table | Picture]] = {
        "plus-public": [
            tables.accuracy_table(public, (*MODELS, "hgcn-plus-4", "grand-4"), datasets),
            Table.from_rows(("method", *tables.datasets_of(datasets)), validated, about),
            _differences(evidence),
        ],
        "plus-few-labels": [_with_differences(evidence, "plus-few-labels", "labels per class")],
        "plus-random-splits": [_with_differences(evidence, "plus-random-splits", "dataset")],
        "variants": [tables.accuracy_table(evidence.cells["variants"], names, variants.datasets)],
    }
    return [section_of(evidence, name, shown) for name, shown in blocks.items()]


def _differences(evidence: Evidence) -> Table:
    listed = [(name, one) for name in evidence.scale.datasets for one in _against_rivals(evidence, "plus-public", name)]
    columns: Columns[tuple[str, Compared]] = {
        "dataset": lambda one: DATASET_TITLES[one[0]],
        "H-GCN+ minus": lambda one: one[1].name,
        "difference": lambda one: points(one[1].found.mean),
        "95 % interval": lambda one: f"{points(one[1].found.low)} to {points(one[1].found.high)}",
        "p": lambda one: probability(one[1].found.p),
        "seeds": lambda one: str(one[1].found.units),
    }
    shown = [one for one in listed if one[1].found.mean is not None]
    return Table.from_items(shown, columns, "Differences, seed by seed on the public split.")


def _with_differences(evidence: Evidence, name: str, first: str) -> Table:
    """Return a row for each dataset and column: the models' accuracies, and H-GCN+ minus each rival."""
    experiment, cells = evidence.experiments[name], evidence.cells[name]
    usual = max(cell.splits for cell in cells.values())
    rows: list[Row] = []
    for dataset, column in product(experiment.datasets, (condition.name for condition in experiment.conditions)):
        title = f"{DATASET_TITLES[dataset]}, {column}" if column else DATASET_TITLES[dataset]
        leads = (one.found for one in _against_rivals(evidence, name, dataset, column))
        minus = ("–" if one.mean is None else f"{points(one.mean)}, {probability(one.p)}" for one in leads)
        rows.append((title, *(_over_splits(cells[arm, dataset, column], usual) for arm in MODELS), *minus))
    columns = (first, *map(variant_title, MODELS), *(f"minus {variant_title(arm)}" for arm in RIVALS))
    return Table.from_rows(columns, rows)


def _over_splits(cell: PaperCell, usual: int) -> Text:
    """Format the mean ± standard deviation of the splits' means; say how many splits if not as many as usual."""
    if cell.std_of_draws is None:
        return tables.accuracy_text(cell)
    few = (f"{len(cell.by_split)} splits",) if len(cell.by_split) < usual else ()
    return Text(f"{points(cell.accuracy.mean, False)} ± {points(cell.std_of_draws, False)}", few)


def _against_rivals(evidence: Evidence, name: str, dataset: str, column: str = "") -> list[Compared]:
    cells = evidence.cells[name]
    ours = cells["hgcn-plus", dataset, column]
    return compare_cells([(variant_title(arm), ours, cells[arm, dataset, column]) for arm in RIVALS])


# Runs, machines and commits


def _runs(evidence: Evidence, experiments: list[str]) -> list[str]:
    used = evidence.used(experiments)
    cells = [cell for name in experiments for cell in evidence.cells[name].values()]
    planned, missing = sum(len(cell.records) for cell in cells), sum(cell.missing for cell in cells)
    failed = sum(record.result.get("failure") is not None for record in used)
    text, scale = TEXTS["introduction"], evidence.scale.name
    are_missing = f"{missing:,} of the {planned:,} planned are" if missing else f"none of the {planned:,} planned is"
    parts = [text["runs"].format(runs=len(used), failed=failed or "none", are_missing=are_missing), provenance(used)]
    parts += [] if scale == "full" else [text["smaller"].format(scale=scale)]
    option = "" if scale == "full" else f" --{scale}"
    return [*parts, f"`hiergcn reproduce page{option} --store {PACKED}` makes this page again from the stored runs."]


# The table of all runs

_FIGURES = (
    *map(result_key, metrics_for("classes")),
    *("validation_accuracy", "best_epoch", "epochs", "depth", "failure"),
)


def write_results(evidence: Evidence, folder: Path) -> None:
    """Write the packed runs, and `runs.csv` with a row for each."""
    write_packed(evidence.used(evidence.experiments), folder / PACKED)
    rows: list[dict[str, Any]] = []
    for cell in (cell for by_key in evidence.cells.values() for cell in by_key.values()):
        one = cell.cell
        named = {"experiment": one.experiment, "arm": one.variant, "dataset": one.dataset, "column": one.condition}
        for (split, seed), record in zip(one.runs, cell.records, strict=True):
            if record is not None:
                figures = {name: record.result.get(name) for name in _FIGURES}
                made = {name: record.made.get(name) for name in ("seconds", "device", "commit")}
                rows.append({**named, "split": split.name, "seed": seed, **figures, **made, "id": record.id})
    with written_whole(folder / "runs.csv") as part:
        pd.DataFrame(rows, dtype=object).to_csv(part, index=False, lineterminator="\n")
