"""The figures of a fit that predicts numbers, as `hiergcn fit` prints them."""

from collections.abc import Iterable, Sequence

from rich.console import Console

from hiergcn.cli.terminal import duration, print_table, printable
from hiergcn.evaluate.metrics import PartReport
from hiergcn.evaluate.number_report import NumberReport, describe_intervals
from hiergcn.run.result import Candidate, RunResult

TITLES = ("R²", "MAE", "RMSE")
MEANING = "R² is 1 for perfect predictions, 0 for the mean. MAE, RMSE: mean absolute and root mean squared error."


def print_numbers(out: Console, result: RunResult, report: NumberReport) -> None:
    """Print the scores of the answer and of each seed, and the other methods beside them."""
    count = len(result.seeds)
    seeds = f"{count} seed" + ("s" if count > 1 else "")
    of = f"{printable(result.graph.target_name)} of {printable(result.graph.name)}"
    title = f"{result.settings.method} for {of}, {seeds}" if result.leaderboard is None else f"Chosen for {of}"
    rows = [("delivered, test", *_shown(report.scores.values()))] if result.test else []
    rows.append(("delivered, validation", *_shown(report.validation_scores.values())))
    if count > 1:
        rows += [("single seeds, test", *_means(result.test))] if result.test else []
        rows.append(("single seeds, validation", *_means(result.validation)))
    print_table(out, ("", *TITLES), rows, title=title)
    out.print(MEANING)
    if result.verdict:
        out.print(result.verdict, style="bold")
    if not result.test:
        words = "There are no test values. Validation also chose the epoch, so its scores are optimistic."
        out.print(words, style="yellow")
    if result.failed_seeds:
        out.print(f"{len(result.failed_seeds)} of {count} seeds failed and are not in the mean.", style="yellow")
    out.print()
    _print_candidates(out, result)
    intervals = report.metrics()["prediction_intervals"]
    if intervals is not None:
        out.print(describe_intervals(intervals), style="yellow" if intervals["half_width"] is None else None)


def number_line(result: RunResult, report: NumberReport) -> str:
    """Return the scores of the answer in a line."""
    on, scores = ("test", report.scores) if result.test else ("validation", report.validation_scores)
    nodes = len(result.split.test if result.test else result.split.validation)
    shown = ", ".join(f"{title} {value}" for title, value in zip(TITLES, _shown(scores.values()), strict=True))
    name = printable(result.graph.target_name)
    return f"{printable(result.graph.name)}: {shown}. Scores of the predicted {name} on {nodes:,} {on} nodes."


def _print_candidates(out: Console, result: RunResult) -> None:
    """Print every candidate of the automatic choice, or simpler methods on the same split."""
    candidates = result.leaderboard or result.baselines or ()
    on = "test" if result.test else "validation"
    rows = [
        (one.name, *_means(report), f"{one.weight:.0%}" if one.weight else "", duration(one.seconds or 0.0))
        for one in candidates
        if (report := getattr(one, on)) is not None
    ]
    if not rows:
        return
    title = "Leaderboard, best on validation first" if result.leaderboard else "Other methods on the same split"
    print_table(out, ("candidate", *TITLES, "weight", "time"), rows, title=f"{title}; on {on} nodes")
    _print_left_out(out, candidates)
    out.print()


def _print_left_out(out: Console, candidates: Sequence[Candidate]) -> None:
    reasons: dict[str, list[str]] = {}
    for one in candidates:
        if one.left_out is not None:
            reasons.setdefault(one.left_out, []).append(one.name)
    for reason, names in reasons.items():
        out.print(f"Not in the table: {', '.join(names)} ({printable(reason)}).", soft_wrap=True)


def _means(report: PartReport) -> list[str]:
    return _shown(summary.mean for summary in report.values())


def _shown(scores: Iterable[float | None]) -> list[str]:
    return ["-" if score is None else f"{score:.4g}" for score in scores]
