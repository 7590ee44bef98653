"""What came out of a fit, as the closing words of the command."""

from pathlib import Path

from rich.console import Console

from hiergcn.cli.learned import print_baselines, print_calibration, print_classes
from hiergcn.cli.terminal import duration, new_table, percent, printable, warn_of_few_tests
from hiergcn.evaluate.metrics import METRICS, Summary
from hiergcn.run.result import RunResult

NOTES = 10


def print_summary(out: Console, result: RunResult, folder: Path, asked: int) -> None:
    out.print()
    _verdict(out, result)
    out.print()
    _seeds(out, result)
    _levels(out, result)
    out.print()
    print_classes(out, result)
    out.print()
    print_baselines(out, result)
    print_calibration(out, result)
    seconds = result.seconds
    out.print(
        f"Time: coarsening {duration(seconds['coarsen'])}, training {duration(seconds['train'])}, "
        f"{1000 * seconds['epoch']:.1f} ms an epoch on {result.device}."
    )
    out.print(f"Selection: {result.settings.train.selection_rule}; no test label is read before the end.")
    for note in result.notes[:NOTES]:
        out.print(f"Note: {printable(note)}", style="yellow")
    if len(result.notes) > NOTES:
        out.print(f"Note: {len(result.notes) - NOTES} more notes are in metrics.json.", style="yellow")
    if result.interrupted:
        done = len(result.outcomes)
        out.print(f"Stopped early: the {done} of {asked} seeds that were finished are kept.", style="yellow")
    out.print()
    out.print(f"Predictions: {folder / 'predictions.csv'}", soft_wrap=True)
    out.print(f"Report:      {folder / 'report.html'}", soft_wrap=True)
    out.print(f"Run folder:  {folder}", soft_wrap=True)


def _verdict(out: Console, result: RunResult) -> None:
    settings = result.settings
    title = (
        f"{settings.method} on {printable(result.graph.name)}, preset {settings.preset}, {_count(len(result.seeds))}"
    )
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
    out.print("Spread: sample standard deviation over seeds." if len(result.seeds) > 1 else "One seed has no spread.")
    if not result.test:
        out.print("There are no test labels; validation chose the epoch, so its figure flatters.", style="yellow")
    warn_of_few_tests(out, len(result.split.test))
    if result.failed_seeds:
        words = f"{len(result.failed_seeds)} of {len(result.seeds)} seeds failed and are not in the mean."
        out.print(words, style="yellow")


def _count(seeds: int) -> str:
    return f"{seeds} seed" + ("s" if seeds > 1 else "")


def _figures(summary: Summary) -> tuple[str, str, str, str]:
    values = summary.values
    spread = "-" if summary.std is None else f"± {percent(summary.std)}"
    return percent(summary.mean), spread, percent(min(values, default=None)), percent(max(values, default=None))


def _seeds(out: Console, result: RunResult) -> None:
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


def _levels(out: Console, result: RunResult) -> None:
    if result.hierarchy is None:
        return
    out.print()
    table = new_table(out, "level", "nodes", "edges", title="Hierarchy", left=0)
    sizes = result.hierarchy.sizes()
    for level, (nodes, edges) in enumerate(zip(sizes.nodes, sizes.edges, strict=True)):
        table.add_row(str(level), f"{nodes:,}", f"{edges:,}")
    out.print(table)
