"""The pages of the paper and of H-GCN+, and the tables of all their runs. Their texts are in texts.toml."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from hiergcn.research import TEST, Figure, metrics_for, result_key, write_text, written_whole
from hiergcn_experiments.page import (
    Page,
    Picture,
    Row,
    Section,
    Table,
    Text,
    mean_and_std,
    picture,
    points,
    provenance,
    write_page,
)
from hiergcn_experiments.paper import charts, tables
from hiergcn_experiments.paper.claims import Verdict, Word, verdicts_on
from hiergcn_experiments.paper.evidence import (
    BEST_CHANNELS,
    BEST_LEVELS,
    LEVEL,
    Compared,
    Evidence,
    PaperCell,
    compare_cells,
    least_p,
    probability,
    to_paper,
)
from hiergcn_experiments.paper.experiments import DATASET_TITLES, FULL, NELL, RIVALS, TEXTS, Scale, variant_title
from hiergcn_experiments.results import Results
from hiergcn_experiments.store import PACKED, Record, write_packed

MODELS = ("hgcn-plus", *RIVALS)
Blocks = Sequence["Table | Picture | None"]


def write_paper(records: Sequence[Record], folder: Path, scale: Scale = FULL) -> list[Path]:
    """Write the page of the paper, that of H-GCN+ if there are runs of it, and the tables of all runs."""
    evidence = Evidence(Results(records), scale)
    found = verdicts_on(evidence)
    pages = [write_page(paper_page(evidence, found), folder / "paper")]
    if any(record.key.get("method") == "hgcn-plus" for record in evidence.used(evidence.plus)):
        pages.append(write_page(plus_page(evidence), folder / "plus", "results.md"))
    write_results(evidence, found, folder)
    return pages


def paper_page(evidence: Evidence, found: list[Verdict]) -> Page:
    """Return the page of the paper; its summary says in a sentence how many claims hold."""
    words = [one.finding.word for one in found]
    count = Counter(words)
    phrases: dict[Word, tuple[str, str]] = {
        "holds": ("hold in our runs", "holds in our runs"),
        "does not hold": ("do not", "does not"),
        "undecided": ("are undecided", "is undecided"),
        "not run": ("were not run", "was not run"),
    }
    said = [
        f"{count[word]} {phrase[count[word] == 1]}"
        for word, phrase in phrases.items()
        if count[word] or word != "not run"
    ]
    summary = f"Of the paper's {len(words)} claims, {', '.join(said[:-1])} and {said[-1]}."
    runs = _runs(evidence, list(evidence.paper))
    return Page("The H-GCN paper, run again", paper_sections(evidence, found), runs, summary, words)


def plus_page(evidence: Evidence) -> Page:
    overview = Section("overview", "Overview", "Public splits.", [overview_table(evidence)], is_experiment=False)
    return Page("H-GCN+: all results", [overview, *plus_sections(evidence)], _runs(evidence, list(evidence.plus)))


def paper_sections(evidence: Evidence, found: list[Verdict]) -> list[Section]:
    statistics, reasons = tables.table1(evidence)
    cells, datasets = evidence.cells, evidence.scale.datasets
    ablated = [name + end for end in ("", "-nell") for name in ("no-coarsening", "no-embedding", "hgcn")]
    by_levels = tables.varied_table(evidence, "figure-levels", "levels")
    toy = evidence.measured("figure-coarsening")[0]
    blocks: dict[str, Blocks] = {
        "table1": [statistics],
        "table2": [
            _shown("table2", charts.table2_figure(evidence)),
            tables.accuracy_table(cells["table2"], tables.METHODS, datasets, mark_best=True),
        ],
        "table3": [
            tables.table3(evidence, False, "All 500 validation labels select the epoch, as in the paper."),
            tables.table3(evidence, True, "As many labels select the epoch as there are for training."),
            _shown("few-labels", charts.few_labels_figure(evidence)),
        ],
        "table4": [tables.accuracy_table(cells["table4"], ablated, datasets)],
        "figure-levels": [
            _shown("levels", charts.varied_figure(evidence, "figure-levels", "coarsening layers", BEST_LEVELS)),
            by_levels,
        ],
        "figure-channels": [
            _shown("channels", charts.varied_figure(evidence, "figure-channels", "channels", BEST_CHANNELS)),
            tables.varied_table(evidence, "figure-channels", "channels"),
        ],
        "figure-coarsening": [_shown("coarsening", charts.toy_figure(toy) if toy else None)],
        "figure-receptive-field": [
            _shown("receptive-field", charts.field_figure(evidence)),
            tables.field_table(evidence),
        ],
        "complexity": [_shown("complexity", charts.cost_figure(evidence)), tables.cost_table(evidence)],
        "random-splits": [_shown("random-splits", charts.random_figure(evidence)), tables.random_table(evidence)],
    }
    ended_early = any("levels" in line for row in by_levels.rows for cell in row for line in cell.below)
    fewer = evidence.scale.fewer_draws
    further = {
        "table1": reasons,
        "table2": [TEXTS["table2"]["on_nell"]] if NELL in evidence.scale.datasets else [],
        "table3": [  # comparisons with too few draws to be significant
            f"With {draws} draws the signed-rank test cannot give a p below {least_p(draws):.2f}, so no difference to "
            f"{' and '.join(variant_title(arm) for arm, count in fewer.items() if count == draws)} can be significant."
            for draws in sorted(set(fewer.values()))
            if least_p(draws) > LEVEL
        ],
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
    """Return the section of an experiment: its notes, further ones, and failed runs with the reason of the first."""
    experiment = evidence.experiments[name]
    notes = [note.format(test=TEST, most_labels=max(evidence.scale.labels)) for note in TEXTS[name].get("notes", [])]
    notes += further
    for cell in evidence.cells[name].values():
        if cell.failed:
            one = cell.cell
            where = f"{variant_title(one.variant)} on {DATASET_TITLES[one.dataset]}"
            where += f", {one.condition}" if one.condition else ""
            reason = next(run.result["failure"] for run in cell.records if run is not None and run.result["failure"])
            notes.append(f"{where}: {cell.failed} of {len(cell.records)} runs failed; the first {reason}.")
    shown = [block for block in blocks if block is not None]
    return Section(name, experiment.title, experiment.about, shown, notes)


def _shown(name: str, figure: Figure | None) -> Picture | None:
    return picture(name, figure, TEXTS["pictures"][name])


def _claims(found: list[Verdict]) -> Section:
    rows: list[Row] = []
    for one in found:
        verdict = Text(one.finding.word, mark=one.finding.word)
        reading = Text(one.finding.reading, one.finding.details)
        rows.append((one.claim.place, f"“{one.claim.quote}”", verdict, reading))
    table = Table.from_rows(("where", "the paper says", "verdict", "our runs"), rows, wordy=True)
    text = TEXTS["claims"]
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
    return Table.from_rows(tables.dataset_columns("test accuracy in %", evidence.scale.datasets), figures)


def plus_sections(evidence: Evidence) -> list[Section]:
    public, variants = evidence.cells["plus-public"], evidence.experiments["variants"]
    datasets, names = evidence.scale.datasets, [one.name for one in variants.variants]
    validated = [
        (
            variant_title(arm),
            *(points(public[arm, name, ""].summary("validation_accuracy").mean, False) for name in datasets),
        )
        for arm in MODELS
    ]
    about = "Mean validation accuracy in per cent."
    blocks = {
        "plus-public": [
            tables.accuracy_table(public, (*MODELS, "hgcn-plus-4", "grand-4"), datasets),
            Table.from_rows(tables.dataset_columns("method", datasets), validated, about),
            _differences(evidence),
        ],
        "plus-few-labels": [_with_differences(evidence, "plus-few-labels", "labels per class")],
        "plus-random-splits": [_with_differences(evidence, "plus-random-splits", "dataset")],
        "variants": [tables.accuracy_table(evidence.cells["variants"], names, variants.datasets)],
    }
    return [section_of(evidence, name, shown) for name, shown in blocks.items()]


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
    return Table.from_rows(columns, rows, "Differences, seed by seed on the public split.")


def _with_differences(evidence: Evidence, name: str, first: str) -> Table:
    """Return a row for each dataset and column: the models' accuracies, and H-GCN+ minus each rival."""
    experiment, cells = evidence.experiments[name], evidence.cells[name]
    usual = max(cell.splits for cell in cells.values())
    rows: list[Row] = []
    for dataset, column in product(experiment.datasets, (condition.name for condition in experiment.conditions)):
        title = f"{DATASET_TITLES[dataset]}, {column}" if column else DATASET_TITLES[dataset]
        accuracies = [_over_splits(cells[arm, dataset, column], usual) for arm in MODELS]
        leads = [
            "–" if one.found.mean is None else f"{points(one.found.mean)}, {probability(one.found.p)}"
            for one in _against_rivals(cells, dataset, column)
        ]
        rows.append((title, *accuracies, *leads))
    minus = (f"minus {variant_title(arm)}" for arm in RIVALS)
    return Table.from_rows((first, *map(variant_title, MODELS), *minus), rows)


def _over_splits(cell: PaperCell, usual: int) -> Text:
    """Format the mean ± standard deviation of the splits' means; say how many splits if not as many as usual."""
    if cell.std_of_draws is None:
        return tables.accuracy_text(cell)
    few = (f"{len(cell.by_split)} splits",) if len(cell.by_split) < usual else ()
    return Text(f"{points(cell.accuracy.mean, False)} ± {points(cell.std_of_draws, False)}", few)


def _against_rivals(cells: tables.Cells, dataset: str, column: str) -> list[Compared]:
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


# Tables of all runs

_FIGURES = (
    *map(result_key, metrics_for("classes")),
    *("validation_accuracy", "best_epoch", "epochs", "depth", "failure"),
)


def write_results(evidence: Evidence, verdicts: Sequence[Verdict], folder: Path) -> None:
    """Write the packed runs, `runs.csv`, `cells.csv` and `verdicts.json`."""
    write_packed(evidence.used(evidence.experiments), folder / PACKED)
    runs: list[dict[str, Any]] = []
    means: list[dict[str, Any]] = []
    for cell in (cell for by_key in evidence.cells.values() for cell in by_key.values()):
        one, printed, found = cell.cell, cell.printed, to_paper(cell)
        named = {"experiment": one.experiment, "arm": one.variant, "dataset": one.dataset, "column": one.condition}
        runs += [
            {
                **named,
                "split": split.name,
                "seed": seed,
                **{name: record.result.get(name) for name in _FIGURES},
                **{name: record.made.get(name) for name in ("seconds", "device", "commit")},
                "id": record.id,
            }
            for (split, seed), record in zip(one.runs, cell.records, strict=True)
            if record is not None
        ]
        means.append(
            {
                **named,
                "runs": len(cell.records),
                "missing": cell.missing,
                "failed": cell.failed,
                "mean": cell.accuracy.mean,
                "std": cell.accuracy.std,
                "std_of_draws": cell.std_of_draws,
                "std_of_seeds": cell.std_of_seeds,
                "validation": cell.summary("validation_accuracy").mean,
                "paper": printed and printed.mean,
                "difference": found and found.difference,
                "p": found and found.p,
                "seconds": cell.seconds,
            }
        )
    for name, rows in (("runs.csv", runs), ("cells.csv", means)):
        with written_whole(folder / name) as part:
            if rows:
                pd.DataFrame(rows, dtype=object).to_csv(part, index=False, lineterminator="\n")
    judged = [{"place": one.claim.place, "quote": one.claim.quote, **asdict(one.finding)} for one in verdicts]
    write_text(folder / "verdicts.json", json.dumps(judged, indent=1, ensure_ascii=False) + "\n")
