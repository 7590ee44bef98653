"""Markdown and HTML from the store."""

from collections import Counter
from pathlib import Path
from typing import Any

from hiergcn.files import written_whole
from hiergcn.paper.archive import read_records
from hiergcn.paper.blocks import Picture, Section, Table, Text, words
from hiergcn.paper.collect import Results
from hiergcn.paper.experiments import Scale
from hiergcn.paper.markdown import markdown
from hiergcn.paper.names import NAMES
from hiergcn.paper.page_files import used_records, write_figures, write_results
from hiergcn.paper.readme import fill_readme
from hiergcn.paper.sections import sections
from hiergcn.paper.store import Record
from hiergcn.paper.times import hgcn_time
from hiergcn.paper.verdicts.evidence import Evidence
from hiergcn.paper.verdicts.statements import verdicts
from hiergcn.paper.verdicts.verdict import Verdict
from hiergcn.report.svg import inline_svg
from hiergcn.report.template import rendered

TITLE = "The H-GCN paper, run again"


def write_paper_page(place: Path, folder: Path, scale: Scale, readme: Path | None = None) -> Path:
    """Make the page of the results in `place`, a store's folder or a results.json; gives the path of the HTML page.

    `readme` is a file that gets the results in short.
    """
    evidence = Evidence(Results(read_records(place)), scale)
    found = verdicts(evidence)
    parts = [reading(found), *sections(evidence)]
    used = used_records(evidence)
    intro = introduction(evidence, used, found)
    folder.mkdir(parents=True, exist_ok=True)
    write_figures((block for part in parts for block in part.blocks if isinstance(block, Picture)), folder / "figures")
    write_results(evidence, found, folder)
    with written_whole(folder / "README.md") as part:
        part.write_text(markdown(TITLE, intro, parts), encoding="utf-8")
    if readme is not None:
        fill_readme(readme, evidence, found)
    target = folder / "index.html"
    with written_whole(target) as part:
        part.write_text(_html(intro, parts, found), encoding="utf-8")
    return target


def introduction(evidence: Evidence, used: list[Record], found: list[Verdict]) -> list[str]:
    """What was run, by which code and machines, and what came of it, in a few sentences."""
    count = Counter(one.word for one in found)
    planned = sum(len(cell.records) for cells in evidence.cells.values() for cell in cells.values())
    missing = sum(cell.missing for cells in evidence.cells.values() for cell in cells.values())
    failed = sum(record.result.get("failure") is not None for record in used)
    summary = (
        f"{len(found)} statements of the paper: {count['holds']} hold, {count['does not hold']} do not hold, "
        f"{count['not decided']} not decided, {count['not run']} not run."
    )
    fate = f"{failed} of which diverged" if failed else "none of which failed"
    runs = (
        f"{len(used):,} runs, {fate}; {_missing(missing, planned)}. Every model was chosen on validation; test labels "
        f"were read once, after that. Every seed that was run is in the means."
    )
    parts = [text for text in (summary, runs, hgcn_time(evidence), _provenance(used)) if text]
    if evidence.scale.name != "full":
        parts.append(
            f"This is the {evidence.scale.name} version: fewer datasets, seeds and epochs. It shows that everything "
            f"runs; its figures are not those to compare with the paper."
        )
    repeat = "" if evidence.scale.name == "full" else f" --{evidence.scale.name}"
    parts.append(
        f"`hiergcn reproduce all{repeat}` makes this page; `hiergcn reproduce page{repeat} --store results.json` makes "
        f"it again from the runs beside it. `runs.csv` has every run, `cells.csv` every mean."
    )
    return parts


def _missing(missing: int, planned: int) -> str:
    if not missing:
        return f"none of the {planned:,} planned is missing (a run that two tables show counts twice here)"
    return f"{missing:,} of the {planned:,} planned are missing (a run that two tables show counts twice here)"


def _provenance(used: list[Record]) -> str:
    if not used:
        return "Nothing has been run yet."

    def several(values: list[str]) -> str:
        return ", ".join(sorted(set(values)))

    made = [record.made for record in used]
    commits = several([str(one.get("commit") or "unknown")[:10] for one in made])
    chips = several([str(one["gpu"] if one.get("device") != "cpu" else one.get("processor")) for one in made])
    by_method: dict[str, set[str]] = {}
    for record in used:
        name = record.key.get("method") or record.key["name"]
        by_method.setdefault(name, set()).add(record.key["code"])
    mixed = sorted(name for name, codes in by_method.items() if len(codes) > 1)
    text = f"Commits: {commits}. Processors: {chips}."
    adopted = sum(record.key["code"].startswith("commit ") for record in used)
    if adopted:
        text += f" {adopted:,} runs of Table 2 were not run again but taken over from earlier runs of `hiergcn fit`."
    if mixed:
        text += f" Results of {', '.join(_named(mixed))} come from more than one version of the code that decides them."
    return text


def _named(methods: list[str]) -> list[str]:
    """As people read them, in the order of the tables; a measurement keeps its name."""
    return [NAMES[name] for name in NAMES if name in methods] + [name for name in methods if name not in NAMES]


def reading(found: list[Verdict]) -> Section:
    rows = tuple(
        (*words(one.place, f"“{one.quote}”"), Text(one.word, mark=one.word), Text(one.reading, one.details))
        for one in found
    )
    return Section(
        "reading",
        "Which statements hold",
        "Every sentence of the paper that claims a result, and what our runs say. A difference counts where its p, "
        "after Holm's correction within the statement, is below 0.05; “not decided” says that there are too few runs, "
        "or that chance may be all there is.",
        [Table(("where", "the paper says", "verdict", "our runs"), rows, wordy=True)],
    )


def _html(intro: list[str], parts: list[Section], found: list[Verdict]) -> str:
    drawn: dict[str, Any] = {
        block.name: inline_svg(block.figure, block.name, block.description)
        for part in parts
        for block in part.blocks
        if isinstance(block, Picture)
    }
    count = Counter(one.word for one in found)
    return rendered("paper.html", title=TITLE, intro=intro, parts=parts, drawn=drawn, count=count, total=len(found))
