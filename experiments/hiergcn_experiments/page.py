"""The pages of the paper's and of H-GCN+'s experiments: Markdown, HTML, figures, and tables of all runs."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from hiergcn.evaluate.metrics import metrics_for, result_key
from hiergcn.files import write_text, written_whole
from hiergcn.report.template import rendered, script
from hiergcn_experiments.choosing_results import choosing_records
from hiergcn_experiments.choosing_tables import choosing_sections
from hiergcn_experiments.claims import Verdict, verdicts_on
from hiergcn_experiments.collect import CellResult, Evidence, Results
from hiergcn_experiments.experiments import TEXTS, Scale
from hiergcn_experiments.labels_page import labels_records, labels_sections
from hiergcn_experiments.long_range_results import range_records
from hiergcn_experiments.long_range_tables import range_sections
from hiergcn_experiments.numbers import numbers_records, numbers_sections
from hiergcn_experiments.sections import Picture, Section, claim_counts, overview_table, paper_sections, plus_sections
from hiergcn_experiments.significance import to_paper
from hiergcn_experiments.store import PACKED, Record, read_records, write_packed
from hiergcn_experiments.tables import Table, Text

WIDTH = 900
"""Pixels of a figure's file."""


@dataclass(frozen=True)
class Page:
    """A page before it is written."""

    title: str
    sections: list[Section]
    provenance: list[str]
    """Runs, machines and commits; they stand at the end."""
    summary: str = ""
    """The result in a sentence."""
    verdicts: Sequence[Verdict] = ()

    @property
    def pictures(self) -> list[Picture]:
        return [block for part in self.sections for block in part.blocks if isinstance(block, Picture)]


def paper_page(evidence: Evidence) -> Page:
    found = verdicts_on(evidence)
    sections, provenance = paper_sections(evidence, found), _runs(evidence, list(evidence.paper))
    return Page("The H-GCN paper, run again", sections, provenance, claim_counts(found), found)


def plus_page(evidence: Evidence) -> Page:
    overview = Section("overview", "Overview", "Public splits.", [overview_table(evidence)], is_experiment=False)
    return Page("H-GCN+: all results", [overview, *plus_sections(evidence)], _runs(evidence, list(evidence.plus)))


BENCHMARKS = {
    "choosing": ("The automatic choice", choosing_records, choosing_sections),
    "labels": ("Spending labels well", labels_records, labels_sections),
    "numbers": ("Numeric targets", numbers_records, numbers_sections),
    "range": ("Graphs of large diameter", range_records, range_sections),
}
"""Title of the page, its runs among all, and its sections."""


def benchmark_page(name: str, records: Sequence[Record], quick: bool = False) -> Page:
    title, _, sections_of = BENCHMARKS[name]
    small = quick and name == "range"
    sections = range_sections(records, quick=True) if small else sections_of(records)
    again = f"`hiergcn reproduce page{' --quick' if small else ''} --store {PACKED}` makes this page again"
    return Page(title, sections, [_provenance(list(records)), f"{again} from the stored runs."])


def write_pages(place: Path, folder: Path, scale: Scale) -> list[Path]:
    """Write the pages and tables of all runs from a store or a packed file; return the HTML files.

    The pages of H-GCN+ and of the benchmarks (the automatic choice, labels, numbers) are written only if there are runs
    of them, the others not if there are runs of the benchmarks alone.
    """
    records = read_records(place)
    pages, others = [], len(records)
    for name, (_, select, _) in BENCHMARKS.items():
        if found := select(records):
            pages.append(write_page(benchmark_page(name, found, scale.name == "quick"), folder / name))
            write_packed(found, folder / name / PACKED)
            others -= len(found)
    if pages and others <= 0:
        return pages
    evidence = Evidence(Results(records), scale)
    paper = paper_page(evidence)
    pages.append(write_page(paper, folder / "paper"))
    if any(record.key.get("method") == "hgcn-plus" for record in evidence.used(evidence.plus)):
        pages.append(write_page(plus_page(evidence), folder / "plus", "results.md"))
    write_results(evidence, paper.verdicts, folder)
    return pages


def write_page(page: Page, folder: Path, name: str = "README.md") -> Path:
    """Write the page as Markdown and HTML with its figures; return the path of the HTML file."""
    folder.mkdir(parents=True, exist_ok=True)
    for picture in page.pictures:
        (folder / "figures").mkdir(exist_ok=True)
        picture.figure.save(folder / "figures" / f"{picture.name}.svg", WIDTH)
    write_text(folder / name, markdown(page))
    return write_text(folder / "index.html", _html(page))


# Runs, machines and commits


def _runs(evidence: Evidence, experiments: list[str]) -> list[str]:
    used = evidence.used(experiments)
    cells = [cell for name in experiments for cell in evidence.cells[name].values()]
    planned, missing = sum(len(cell.records) for cell in cells), sum(cell.missing for cell in cells)
    failed = sum(record.result.get("failure") is not None for record in used)
    text, scale = TEXTS["introduction"], evidence.scale.name
    are_missing = f"{missing:,} of the {planned:,} planned are" if missing else f"none of the {planned:,} planned is"
    parts = [text["runs"].format(runs=len(used), failed=failed or "none", are_missing=are_missing), _provenance(used)]
    parts += [] if scale == "full" else [text["smaller"].format(scale=scale)]
    option = "" if scale == "full" else f" --{scale}"
    return [*parts, f"`hiergcn reproduce page{option} --store {PACKED}` makes this page again from the stored runs."]


def _provenance(used: list[Record]) -> str:
    if not used:
        return "Nothing has been run yet."
    made = [record.made for record in used]
    commits = {str(one.get("commit") or "unknown")[:10] for one in made}
    chips = {str(one.get("processor" if one.get("device") == "cpu" else "gpu") or "unknown") for one in made}
    return f"Commits: {', '.join(sorted(commits))}. Processors: {', '.join(sorted(chips))}."


# Markdown and HTML


def markdown(page: Page) -> str:
    lines = [f"# {page.title}", "", *([page.summary, ""] if page.summary else [])]
    for part in page.sections:
        experiment = f" (`{part.name}`)" if part.is_experiment else ""
        lines += [f"## {part.title}{experiment}", "", part.about, ""]
        for block in part.blocks:
            if isinstance(block, Picture):
                lines += [f"![{block.description}](figures/{block.name}.svg)", ""]
            else:
                lines += [*([block.caption, ""] if block.caption else []), *table_lines(block), ""]
        lines += [f"- {note}" for note in part.notes]
        lines += [""] if part.notes else []
    lines += ["## Where the figures come from", "", *(line for text in page.provenance for line in (text, ""))]
    return "\n".join(lines).rstrip() + "\n"


def table_lines(table: Table) -> list[str]:
    head = "| " + " | ".join(table.columns) + " |"
    rows = ["| " + " | ".join(_cell_text(cell) for cell in row) + " |" for row in table.rows]
    return [head, "|" + "---|" * len(table.columns), *rows]


def _cell_text(text: Text) -> str:
    main = f"**{_escaped(text.main)}**" if text.strong else _escaped(text.main)
    return main + "".join(f"<br><sub>{_escaped(line)}</sub>" for line in text.below)


def _escaped(text: str) -> str:
    return re.sub(r"([|<>])", lambda found: {"|": "\\|", "<": "&lt;", ">": "&gt;"}[found.group()], text)


def _html(page: Page) -> str:
    drawn = {picture.name: picture.figure.html(picture.description) for picture in page.pictures}
    count = Counter(one.finding.word for one in page.verdicts)
    return rendered("paper.html", script=script("page"), page=page, drawn=drawn, count=count)


# Tables of all runs

_FIGURES = (
    *map(result_key, metrics_for("classes")),
    *("validation_accuracy", "best_epoch", "epochs", "depth", "failure"),
)


def write_results(evidence: Evidence, verdicts: Sequence[Verdict], folder: Path) -> None:
    """Write the packed runs, `runs.csv`, `cells.csv` and `verdicts.json`."""
    write_packed(evidence.used(evidence.experiments), folder / PACKED)
    cells = [cell for by_place in evidence.cells.values() for cell in by_place.values()]
    _write_csv(folder / "runs.csv", [row for cell in cells for row in _run_rows(cell)])
    _write_csv(folder / "cells.csv", [_cell_row(cell) for cell in cells])
    found = [{"place": one.claim.place, "quote": one.claim.quote, **asdict(one.finding)} for one in verdicts]
    write_text(folder / "verdicts.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def _run_rows(cell: CellResult) -> Iterator[dict[str, Any]]:
    for (split, seed), record in zip(cell.cell.runs, cell.records, strict=True):
        if record is not None:
            yield {
                **_place(cell),
                "split": split.name,
                "seed": seed,
                **{name: record.result.get(name) for name in _FIGURES},
                **{name: record.made.get(name) for name in ("seconds", "device", "commit")},
                "id": record.id,
            }


def _cell_row(cell: CellResult) -> dict[str, Any]:
    printed, found = cell.printed, to_paper(cell)
    return {
        **_place(cell),
        "runs": len(cell.records),
        "missing": cell.missing,
        "failed": cell.failed,
        "mean": cell.accuracy.mean,
        "std": cell.accuracy.std,
        "std_of_draws": cell.spread_of_draws,
        "std_of_seeds": cell.spread_of_seeds,
        "validation": cell.summary("validation_accuracy").mean,
        "paper": printed and printed.mean,
        "difference": found and found.difference,
        "p": found and found.p,
        "seconds": cell.seconds,
    }


def _place(cell: CellResult) -> dict[str, Any]:
    return {name: getattr(cell.cell, name) for name in ("experiment", "arm", "dataset", "column")}


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with written_whole(path) as part:
        if rows:
            pd.DataFrame(rows, dtype=object).to_csv(part, index=False, lineterminator="\n")
