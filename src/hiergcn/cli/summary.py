"""The results of a fit, as `hiergcn fit` prints them."""

from pathlib import Path

from rich.console import Console

from hiergcn.cli.terminal import duration, new_table, percent, print_rows, printable, warn_of_few_tests
from hiergcn.evaluate.metrics import METRICS, Summary
from hiergcn.run.result import Baseline, RunResult

SHOWN_NOTES = 10
SHOWN_CLASSES = 30


def print_summary(out: Console, result: RunResult, folder: Path, asked: int) -> None:
    """Print every figure of a run; `asked` is the number of seeds that the user wanted."""
    out.print()
    _print_accuracy(out, result)
    out.print()
    _print_seeds(out, result)
    _print_levels(out, result)
    out.print()
    _print_classes(out, result)
    out.print()
    _print_baselines(out, result)
    _print_calibration(out, result)
    seconds = result.seconds
    out.print(
        f"Time: coarsening {duration(seconds['coarsen'])}, training {duration(seconds['train'])}, "
        f"{1000 * seconds['epoch']:.1f} ms per epoch on {result.device}."
    )
    out.print(f"Selection: {result.settings.train.selection_rule}; no test label is read before the end.")
    for note in result.notes[:SHOWN_NOTES]:
        out.print(f"Note: {printable(note)}", style="yellow")
    if len(result.notes) > SHOWN_NOTES:
        out.print(f"Note: {len(result.notes) - SHOWN_NOTES} more notes are in metrics.json.", style="yellow")
    if result.interrupted:
        done = len(result.outcomes)
        out.print(f"Stopped early: the {done} of {asked} seeds that were finished are kept.", style="yellow")
    out.print()
    out.print(f"Predictions: {folder / 'predictions.csv'}", soft_wrap=True)
    out.print(f"Report:      {folder / 'report.html'}", soft_wrap=True)
    out.print(f"Run folder:  {folder}", soft_wrap=True)


def _print_accuracy(out: Console, result: RunResult) -> None:
    settings, count = result.settings, len(result.seeds)
    seeds = f"{count} seed" + ("s" if count > 1 else "")
    title = f"{settings.method} on {printable(result.graph.name)}, preset {settings.preset}, {seeds}"
    table = new_table(out, "accuracy in %", "mean", "spread", "lowest", "highest", title=title)
    if result.test:
        table.add_row("test", *_figures(result.test.accuracy))
    table.add_row("validation", *_figures(result.validation_accuracy))
    name, judged = ("test", result.test) if result.test else ("validation", result.validation)
    for metric, summary in judged.items():
        if metric != "accuracy":
            table.add_row(f"{name}, {METRICS[metric].title}", *_figures(summary))
    if result.claim is not None:
        table.add_row("the paper's claim", percent(result.claim), "", "", "")
        if result.test and result.test.accuracy.mean is not None:
            table.add_row("test minus claim", f"{100 * (result.test.accuracy.mean - result.claim):+.1f}", "", "", "")
    out.print(table)
    out.print("Spread: sample standard deviation over seeds." if count > 1 else "One seed has no spread.")
    if not result.test:
        words = "There are no test labels. Validation also chose the epoch, so its accuracy is optimistic."
        out.print(words, style="yellow")
    warn_of_few_tests(out, len(result.split.test))
    if result.failed_seeds:
        words = f"{len(result.failed_seeds)} of {count} seeds failed and are not in the mean."
        out.print(words, style="yellow")


def _figures(summary: Summary) -> tuple[str, str, str, str]:
    values = summary.values
    spread = "-" if summary.std is None else f"± {percent(summary.std)}"
    return percent(summary.mean), spread, percent(min(values, default=None)), percent(max(values, default=None))


def _print_seeds(out: Console, result: RunResult) -> None:
    table = new_table(out, "seed", "test %", "validation %", "best epoch", "seconds", title="Seeds", left=0)
    tests = result.test.accuracy.per_seed if result.test else (None,) * len(result.outcomes)
    for outcome, test in zip(result.outcomes, tests, strict=True):
        epoch = "-" if outcome.best_epoch is None else str(outcome.best_epoch)
        validation = percent(outcome.validation_accuracy)
        table.add_row(str(outcome.seed), percent(test), validation, epoch, f"{outcome.seconds:.1f}")
    out.print(table)
    for outcome in result.outcomes:
        if outcome.failure:
            out.print(f"Seed {outcome.seed} failed: it {printable(outcome.failure)}.", style="yellow")


def _print_levels(out: Console, result: RunResult) -> None:
    if result.hierarchy is None:
        return
    out.print()
    table = new_table(out, "level", "nodes", "edges", title="Hierarchy", left=0)
    sizes = result.hierarchy.sizes()
    for level, (nodes, edges) in enumerate(zip(sizes.nodes, sizes.edges, strict=True)):
        table.add_row(str(level), f"{nodes:,}", f"{edges:,}")
    out.print(table)


def _print_classes(out: Console, result: RunResult) -> None:
    """Print precision, recall and F1 of the selected seed's model."""
    kept = result.kept
    table = new_table(out, "class", "precision %", "recall %", "F1 %", "nodes", title=f"Classes, on {kept.on} nodes")
    rows = []
    for score in kept.per_class:
        known = score.support > 0  # a class without a node has no precision and no recall
        figures = [percent(figure if known else None) for figure in (score.precision, score.recall, score.f1)]
        rows.append((score.name[:40], *figures, f"{score.support:,}"))
    print_rows(out, table, rows, SHOWN_CLASSES, "classes in metrics.json")


def _print_calibration(out: Console, result: RunResult) -> None:
    """Print the calibration error; a note replaces it if too few nodes validate to learn a temperature."""
    kept = result.kept
    if kept.temperature.note is None:
        out.print(
            f"Confidence: off by {percent(kept.before.error)} points on average on {kept.on} nodes, after calibration "
            f"by {percent(kept.after.error)} (temperature {kept.temperature.value:.2f}, learned on validation)."
        )


def _print_baselines(out: Console, result: RunResult) -> None:
    """Print the methods side by side, and which one is best."""
    if result.baselines is None:
        return
    on = result.kept.on
    columns = ("method", *(f"{metric.title} %" for metric in METRICS.values()), "seeds", "time")
    table = new_table(out, *columns, title=f"Other methods on the same split, on {on} nodes")
    own = Baseline(result.settings.method, len(result.seeds), result.validation, result.test, result.seconds["train"])
    for one in (own, *result.baselines):
        if one.left_out is None:
            table.add_row(one.model, *_scores(one, on), str(one.seeds), duration(one.seconds or 0.0))
    out.print(table)
    for one in result.baselines:
        if one.left_out is not None:
            out.print(f"{one.model} was left out: it {printable(one.left_out)}")
    scored = [(mean, one.model) for one in result.baselines if (mean := _accuracy(one, on)) is not None]
    ours = _accuracy(own, on)
    if scored and ours is not None:
        best, model = max(scored, key=lambda pair: pair[0])
        out.print(_verdict(own.model, ours, model, best))
    out.print()


def _verdict(own: str, ours: float, other: str, theirs: float) -> str:
    points = 100 * (ours - theirs)
    if not round(points, 1):
        return f"{own} and {other}, the best of the others, are equal."
    side = "above" if points > 0 else "below"
    caution = "A difference smaller than the spread over seeds says little."
    return f"{own} is {abs(points):.1f} points {side} {other}, the best of the others. {caution}"


def _summary(one: Baseline, on: str, name: str) -> Summary | None:
    part = one.test if on == "test" else one.validation
    return None if part is None else part[name]


def _accuracy(one: Baseline, on: str) -> float | None:
    summary = _summary(one, on, "accuracy")
    return None if summary is None else summary.mean


def _scores(one: Baseline, on: str) -> list[str]:
    found = [_summary(one, on, name) for name in METRICS]
    cells = [percent(None if summary is None else summary.mean) for summary in found]
    spread = None if found[0] is None else found[0].std
    return [cells[0] + ("" if spread is None else f" ± {percent(spread)}"), *cells[1:]]
