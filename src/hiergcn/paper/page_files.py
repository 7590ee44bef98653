"""The files beside the page: figures, runs, means, verdicts."""

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hiergcn.files import written_whole
from hiergcn.paper.archive import write_archive
from hiergcn.paper.blocks import Picture
from hiergcn.paper.collect import CellResult
from hiergcn.paper.published import TABLE2, TABLE4, Printed
from hiergcn.paper.significance import to_paper
from hiergcn.paper.store import Record
from hiergcn.paper.verdicts.evidence import Evidence
from hiergcn.paper.verdicts.verdict import Verdict
from hiergcn.report.svg import save_figure

_RUN = (
    "test_accuracy",
    "validation_accuracy",
    "train_accuracy",
    "macro_f1",
    "best_epoch",
    "epochs",
    "depth",
    "failure",
)


def write_figures(pictures: Iterable[Picture], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for picture in pictures:
        save_figure(picture.figure, folder, picture.name)


def used_records(evidence: Evidence) -> list[Record]:
    """Every record that a cell or a measurement of the scale rests on, once."""
    found: dict[str, Record] = {}
    for cells in evidence.cells.values():
        for cell in cells.values():
            found |= {record.id: record for record in cell.records if record is not None}
    for experiment in evidence.experiments.values():
        for one in experiment.measurements:
            record = evidence.results.measured(one.name, one.arguments)
            if record is not None:
                found[record.id] = record
    return list(found.values())


def write_results(evidence: Evidence, verdicts: Sequence[Verdict], folder: Path) -> None:
    write_archive(used_records(evidence), folder / "results.json")
    cells = [cell for by_key in evidence.cells.values() for cell in by_key.values()]
    _write_csv(folder / "runs.csv", (_run(cell, place) for cell in cells for place in range(len(cell.records))))
    _write_csv(folder / "cells.csv", (_cell(cell, evidence) for cell in cells))
    with written_whole(folder / "verdicts.json") as part:
        text = json.dumps([asdict(verdict) for verdict in verdicts], indent=1, ensure_ascii=False)
        part.write_text(text + "\n", encoding="utf-8")


def _run(cell: CellResult, place: int) -> dict[str, Any] | None:
    record = cell.records[place]
    if record is None:
        return None
    split, seed = cell.cell.runs[place]
    return {
        **_head(cell),
        "split": split.name,
        "seed": seed,
        **{name: record.result.get(name) for name in _RUN},
        "seconds": record.made.get("seconds"),
        "device": record.made.get("device"),
        "commit": str(record.made.get("commit") or "")[:10],
        "id": record.id,
    }


def _cell(cell: CellResult, evidence: Evidence) -> dict[str, Any]:
    printed = printed_for(cell, evidence)
    difference = to_paper(cell, printed)
    return {
        **_head(cell),
        "runs": len(cell.records),
        "missing": cell.missing,
        "failed": cell.failed,
        "mean": cell.accuracy.mean,
        "std": cell.accuracy.std,
        "std_of_draws": cell.spread_of_draws,
        "std_of_seeds": cell.spread_of_seeds,
        "validation": cell.summary("validation_accuracy").mean,
        "paper": None if printed is None else printed.mean,
        "difference": None if difference is None else difference.difference,
        "p": None if difference is None else difference.p,
        "seconds": cell.seconds,
    }


def printed_for(cell: CellResult, evidence: Evidence) -> Printed | None:
    """The paper's figure for a cell, where it prints one."""
    one = cell.cell
    if one.experiment == "table2":
        return TABLE2.get("hgcn" if one.arm == "hgcn-nell" else one.arm, {}).get(one.dataset)
    if one.experiment == "table4":
        return TABLE4[one.arm.removesuffix("-nell")].get(one.dataset)
    if one.experiment == "table3" and one.column.isdecimal():
        return evidence.printed_few(one.arm, int(one.column))
    return None


def _head(cell: CellResult) -> dict[str, Any]:
    one = cell.cell
    return {"experiment": one.experiment, "arm": one.arm, "dataset": one.dataset, "column": one.column}


def _write_csv(path: Path, rows: Iterable[dict[str, Any] | None]) -> None:
    kept = [row for row in rows if row is not None]
    with written_whole(path) as part, part.open("w", encoding="utf-8", newline="") as lines:
        if kept:
            table = csv.DictWriter(lines, list(kept[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(kept)
