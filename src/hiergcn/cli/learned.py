"""What a fit teaches about one's own graph: the classes, what a confidence is worth, what simpler methods give."""

from rich.console import Console

from hiergcn.cli.terminal import duration, new_table, percent, printable
from hiergcn.evaluate.metrics import METRICS, Summary
from hiergcn.run.result import Baseline, RunResult

CLASSES = 30  # rows of the table; metrics.json has all


def print_classes(out: Console, result: RunResult) -> None:
    """Precision, recall and F1 of the model that was kept."""
    kept = result.kept
    title = f"Classes, on {kept.on} nodes"
    table = new_table(out, "class", "precision %", "recall %", "F1 %", "nodes", title=title)
    for score in kept.per_class[:CLASSES]:
        known = score.support > 0  # without a node of the class there is nothing to be right or wrong about
        figures = [percent(figure if known else None) for figure in (score.precision, score.recall, score.f1)]
        table.add_row(printable(score.name)[:40], *figures, f"{score.support:,}")
    out.print(table)
    if len(kept.per_class) > CLASSES:
        out.print(f"{len(kept.per_class) - CLASSES} more classes are in metrics.json.")


def print_calibration(out: Console, result: RunResult) -> None:
    """Nothing where there was too little to learn a temperature from: a note says so."""
    kept = result.kept
    if kept.temperature.note is None:
        out.print(
            f"Confidence: off by {percent(kept.before.error)} points on average on {kept.on} nodes, after calibration "
            f"by {percent(kept.after.error)} (temperature {kept.temperature.value:.2f}, learned on validation)."
        )


def print_baselines(out: Console, result: RunResult) -> None:
    """The methods side by side, and what follows."""
    if result.baselines is None:
        return
    on = result.kept.on
    columns = ("method", *(f"{metric.title} %" for metric in METRICS.values()), "seeds", "time")
    table = new_table(out, *columns, title=f"The same split by other methods, on {on} nodes")
    own = Baseline(result.settings.method, len(result.seeds), result.validation, result.test, result.seconds["train"])
    for one in (own, *result.baselines):
        if one.left_out is None:
            table.add_row(one.model, *_figures(one, on), str(one.seeds), duration(one.seconds or 0.0))
    out.print(table)
    for one in result.baselines:
        if one.left_out is not None:
            out.print(f"{one.model} was left out: it {printable(one.left_out)}")
    best = max(
        (one for one in result.baselines if _accuracy(one, on) is not None),
        key=lambda one: _accuracy(one, on) or 0.0,
        default=None,
    )
    if best is not None:
        out.print(_verdict(own, best, on))
    out.print()


def _verdict(own: Baseline, best: Baseline, on: str) -> str:
    ours, theirs = _accuracy(own, on), _accuracy(best, on)
    if ours is None or theirs is None:
        return ""
    points = 100 * (ours - theirs)
    against = f"{abs(points):.1f} points {'above' if points > 0 else 'below'} {best.model}"
    what = f"{own.model} is {against}" if round(points, 1) else f"{own.model} and {best.model} are equal"
    return f"{what}, the best of the others; a difference smaller than the spread over seeds says little."


def _report(one: Baseline, on: str, name: str) -> Summary | None:
    part = one.test if on == "test" else one.validation
    return None if part is None else part[name]


def _accuracy(one: Baseline, on: str) -> float | None:
    summary = _report(one, on, "accuracy")
    return None if summary is None else summary.mean


def _figures(one: Baseline, on: str) -> list[str]:
    found = [_report(one, on, name) for name in METRICS]
    cells = [percent(None if summary is None else summary.mean) for summary in found]
    spread = None if found[0] is None else found[0].std
    return [cells[0] + ("" if spread is None else f" ± {percent(spread)}"), *cells[1:]]
