"""The results in short, for a README: Table 2 with the paper's figures in brackets, and the verdicts that matter most.

They are put between two marks, so that the words around them stay as they are written.
"""

from collections import Counter
from pathlib import Path

from hiergcn.errors import InputError
from hiergcn.files import written_whole
from hiergcn.paper.collect import CellResult
from hiergcn.paper.names import NAMES, TITLES
from hiergcn.paper.published import TABLE2, Printed
from hiergcn.paper.tables import BESIDE, OF_THE_PAPER
from hiergcn.paper.verdicts.evidence import Evidence
from hiergcn.paper.verdicts.statements import HEADLINES
from hiergcn.paper.verdicts.verdict import Verdict, points

BEGIN, END = "<!-- paper: hiergcn reproduce page --readme -->", "<!-- end of paper -->"


def fill_readme(path: Path, evidence: Evidence, found: list[Verdict]) -> None:
    """Put the results between the marks of the file."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text.count(BEGIN) != 1 or END not in text.split(BEGIN)[1]:
        raise InputError(f"{path} lacks the two lines that the results go between: put {BEGIN} and {END} there.")
    before, rest = text.split(BEGIN)
    block = "\n".join([BEGIN, *in_short(evidence, found), END])
    with written_whole(path) as part:
        part.write_text(before + block + rest.split(END, 1)[1], encoding="utf-8")


def in_short(evidence: Evidence, found: list[Verdict]) -> list[str]:
    count = Counter(one.word for one in found)
    datasets = evidence.scale.datasets
    rows = [_row(evidence, arm, datasets) for arm in (*OF_THE_PAPER, *BESIDE)]
    headlines = [f"| “{one.quote}” | {one.word} |" for one in found if one.quote in HEADLINES]
    summary = (
        f"Of {len(found)} statements of the paper {count['holds']} hold, {count['does not hold']} do not, "
        f"{count['not decided']} are not decided and {count['not run']} not run. Those that matter most:"
    )
    return [
        "| accuracy in %, ours (the paper's) | " + " | ".join(TITLES[name] for name in datasets) + " |",
        "|---|" + "---|" * len(datasets),
        *rows,
        "",
        summary,
        "",
        "| the paper says | our runs say |",
        "|---|---|",
        *headlines,
    ]


def _row(evidence: Evidence, arm: str, datasets: tuple[str, ...]) -> str:
    printed = TABLE2.get("hgcn" if arm == "hgcn-nell" else arm, {})
    cells = [(evidence.cells["table2"].get((arm, name, "")), printed.get(name)) for name in datasets]
    return f"| {NAMES[arm]} | " + " | ".join(_figure(cell, theirs) for cell, theirs in cells) + " |"


def _figure(cell: CellResult | None, printed: Printed | None) -> str:
    if cell is None:
        return ""
    mean, std = cell.accuracy.mean, cell.accuracy.std
    ours = "not run" if mean is None else points(mean, False) + ("" if std is None else f" ± {points(std, False)}")
    few = f", {cell.done} seeds" if cell.done and cell.missing else ""
    return ours + few + ("" if printed is None else f" ({points(printed.mean, False)})")
