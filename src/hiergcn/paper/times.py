"""How long runs took, by what their records say."""

from collections.abc import Iterable
from datetime import datetime

from hiergcn.paper.store import Record
from hiergcn.paper.verdicts.evidence import Evidence

OF_THE_PAPER = ("table2", "table3", "table4", "figure-levels", "figure-channels")


def hgcn_time(evidence: Evidence) -> str:
    """H-GCN's part of Tables 2 to 4 and of the figures of levels and channels, in a sentence for each kind of device;
    empty where none of it was run."""
    found = {
        record.id: record
        for name in OF_THE_PAPER
        for cell in evidence.cells[name].values()
        for record in cell.records
        if record is not None and record.key["method"] == "hgcn" and record.finished
    }
    planned = {
        (cell.cell.dataset, cell.cell.settings, *run)
        for name in OF_THE_PAPER
        for cell in evidence.cells[name].values()
        if cell.cell.settings.method == "hgcn"
        for run in cell.cell.runs
    }
    on_gpu = [one for one in found.values() if str(one.made.get("device")).startswith("cuda")]
    on_cpu = [one for one in found.values() if one not in on_gpu]
    parts = [_sentence(on_gpu, "a GPU", len(planned)), _sentence(on_cpu, "CPUs", len(planned))]
    if not any(parts):
        return ""
    start = f"H-GCN's part of Tables 2 to 4 and of the figures of levels and channels, {len(planned):,} runs:"
    return " ".join([start, *filter(None, parts)])


def _sentence(records: list[Record], where: str, planned: int) -> str:
    if not records:
        return ""
    total = sum(float(record.made["seconds"]) for record in records)
    count = "all" if len(records) == planned else f"{len(records):,}"
    return (
        f"{count} on {where}, which trained at least one of them for {_minutes(busy_seconds(records))} and, "
        f"summed over the processes that shared it, for {_minutes(total)}."
    )


def busy_seconds(records: Iterable[Record]) -> float:
    """In how many seconds at least one of the records was being made. Runs that trained side by side have an equal
    share of the seconds that they took together."""
    spans = []
    for record in records:
        end = datetime.fromisoformat(record.finished).timestamp()
        spans.append((end - float(record.made["seconds"]) * int(record.made.get("side_by_side") or 1), end))
    busy, until = 0.0, float("-inf")
    for start, end in sorted(spans):
        busy += max(0.0, end - max(start, until))
        until = max(until, end)
    return busy


def _minutes(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60} s" if whole < 7200 else f"{seconds / 3600:.1f} hours"
