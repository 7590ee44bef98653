"""The results of a fit, as `hiergcn fit` prints them: the values of its page, in a terminal."""

from pathlib import Path

from rich.console import Console

from hiergcn.choose.portfolio import NO_TIME
from hiergcn.cli.terminal import duration, percent, print_table, printable, warn_of_few_tests
from hiergcn.evaluate.calibration import describe_calibration, describe_promise
from hiergcn.evaluate.metrics import METRICS, Metric, Summary
from hiergcn.reports.headline import doubt_caution, headline
from hiergcn.reports.leaderboard import Board, board_of
from hiergcn.run.run import Run

_FILES = {
    "Predictions": "predictions.csv",
    "Doubtful": "doubtful_labels.csv",
    "Label next": "suggestions.csv",
    "Report": "report.html",
    "Run folder": "",
}
SHOWN_NOTES = 10
SHOWN_CLASSES = 30
SHOWN_NAMES = 4


def print_summary(out: Console, run: Run, folder: Path | None, asked: int) -> None:
    """Print every figure of a run; `asked` is the number of seeds that the user wanted."""
    board, scores, count = board_of(run.scores), run.scores, len(run.seeds)
    about, of, labels = f"on {printable(scores['dataset'])}, preset {run.settings.preset}", "", "labels"
    if numbers := board.metric == "r2":
        of, labels = f"{printable(scores['target'])} of ", "values"
        about = f"for {of}{printable(scores['dataset'])}"
    title = f"{run.settings.method} {about}, {count} seed{'s' if count > 1 else ''}"
    if board.automatic:
        title = f"Chosen for {of}{printable(scores['dataset'])}"
    out.print()
    (_print_numbers if numbers else _print_accuracies)(out, run, board, title)
    if run.verdict:
        out.print(run.verdict, style="bold")
    if not run.test:
        what = "methods and epochs" if board.automatic else "the epoch"
        optimistic = f"There are no test {labels}. Validation also chose {what}, so its scores are optimistic."
        out.print(optimistic, style="yellow")
    for seed, failure in scores["failed_seeds"].items():
        out.print(f"Seed {seed} failed: it {printable(failure)}. It is not in the mean.", style="yellow")
    if not numbers:
        _print_classes(out, run, board)
    out.print()
    _print_methods(out, board)
    if not numbers:
        out.print(describe_calibration(scores["calibration"]))
    if promise := scores["prediction_intervals" if numbers else "prediction_sets"]:
        is_kept = promise["half_width" if numbers else "threshold"] is not None
        out.print(describe_promise(promise), style=None if is_kept else "yellow")
    if run.doubtful is not None and len(run.doubtful):
        number, (dropped, caution) = len(run.doubtful), doubt_caution(run)
        left_out = f"; {dropped:,} of them did not train" if dropped else ""
        looks, them = ("1 label looks", "it") if number == 1 else (f"{number:,} labels look", "them")
        out.print(f"{looks} doubtful: other labels contradict {them}{left_out}.{caution}")
    _print_end(out, run, board, folder, asked)


def _print_accuracies(out: Console, run: Run, board: Board, title: str) -> None:
    """Print the accuracy of the answer and of each seed."""
    metrics, test, validation = run.scores, run.test, run.validation
    delivered = [("predictions, test", percent(metrics["delivered_accuracy"]), "", "", "")] if test else []
    delivered.append(("predictions, validation", percent(metrics["delivered_val_accuracy"]), "", "", ""))
    accuracy = METRICS["accuracy"]
    each = [("each seed, test", *_figures(test.accuracy, accuracy))] if test else []
    each.append(("each seed, validation", *_figures(validation.accuracy, accuracy)))
    each = each if len(run.seeds) > 1 or not board.automatic else []  # would repeat the delivered ones
    rows = each + delivered if board.claim is not None else delivered + each  # the paper reports means over seeds
    rows += [
        (f"{board.on}, {metric.description}", *_figures((test or validation)[name], metric))
        for name, metric in board.metrics.items()
        if name != board.metric
    ]
    if board.claim is not None:
        rows.append(("the paper's claim", percent(board.claim), "", "", ""))
        if test and test.accuracy.mean is not None:
            rows.append(("test minus claim", f"{100 * (test.accuracy.mean - board.claim):+.1f}", "", "", ""))
    print_table(out, ("accuracy in %", "mean", "spread", "lowest", "highest"), rows, title=title)
    if len(run.members) > 1:
        models = f"The predictions are the mean of {len(run.members)} models."
        out.print(f"{models} Spread: sample standard deviation over seeds.")


def _print_classes(out: Console, run: Run, board: Board) -> None:
    """Print the scores of each class."""
    warn_of_few_tests(out, run.scores["split"]["test"])
    cells = []
    for row in run.scores["per_class"]["classes"]:  # a class without a node has no precision and no recall
        scores = (percent(row[figure] if row["support"] else None) for figure in ("precision", "recall", "f1"))
        cells.append((row["name"], *scores, f"{row['support']:,}"))
    columns, title = ("class", "precision %", "recall %", "F1 %", "nodes"), f"Classes, on {board.on} nodes"
    out.print()
    print_table(out, columns, cells, title=title, letters=40, most=SHOWN_CLASSES, what="classes in metrics.json")


def _print_numbers(out: Console, run: Run, board: Board, title: str) -> None:
    """Print the scores of the answer and of each seed."""
    parts = ("test", "validation") if run.test else ("validation",)
    reports = {f"predictions, {part}": getattr(board.ours, part) for part in parts}
    if len(run.seeds) > 1:
        reports |= {f"single seeds, {part}": getattr(run, part) for part in parts}
    rows = []
    for what, report in reports.items():
        means = {name: report[name].mean if name in report else None for name in board.metrics}
        rows.append((what, *(board.shown(mean, name) for name, mean in means.items())))
    headings = (metric.heading for metric in board.metrics.values())
    print_table(out, ("", *headings), rows, title=title)
    short = [f"{metric.short}: {metric.description}." for metric in board.metrics.values() if metric.short]
    out.print(" ".join(["R² is 1 for perfect predictions, 0 for the mean.", *short]))


def _print_end(out: Console, run: Run, board: Board, folder: Path | None, asked: int) -> None:
    """Print times, notes and the paths of all files."""
    seconds = run.seconds
    first, *others = (member.uses_features for member in run.members)  # else labels are spread at once, without epochs
    epoch = f", {1000 * seconds['epoch']:.1f} ms per epoch" if first else ""
    times = f"coarsening {duration(seconds['coarsen'])}, training {duration(seconds['train'])}{epoch}"
    out.print(f"Time: {times} on {run.scores['device']}.")
    rule = f"{run.scores['selection']}; no" if first or any(others) else "no"
    out.print(f"Selection: {rule} test label is read before the end.")
    for note in run.notes[:SHOWN_NOTES]:
        out.print(f"Note: {printable(note)}", style="yellow")
    if len(run.notes) > SHOWN_NOTES:
        out.print(f"Note: {len(run.notes) - SHOWN_NOTES} more notes are in metrics.json.", style="yellow")
    done = len(run.seeds)
    if run.interrupted:
        those = "the candidates and seeds that were finished" if board.automatic else f"{done} of {asked} seeds"
        out.print(f"Stopped early: the answer is that of {those}.", style="yellow")
    elif board.automatic and done < asked and not run.settings.model.label_only:
        out.print(f"There was time for {done} of {asked} seeds; a longer --time-limit trains the others.")
    out.print()
    none = run.doubtful is None or not len(run.doubtful)
    for title, name in _FILES.items():
        if folder is not None and (folder / name).exists() and not (title == "Doubtful" and none):
            out.print(f"{title + ':':12} {folder / name}", soft_wrap=True)
    if board.metric == "r2":
        shown = ", ".join(f"{metric.heading} {board.text(board.ours, name)}" for name, metric in board.metrics.items())
        about = f"Scores of the predicted {run.scores['target']} on {board.nodes:,} {board.on} nodes."
        line = f"{run.scores['dataset']}: {shown}. {about}"
    else:  # the headline of the page, so that it is on the screen when a fit ends
        top = headline(run.scores, board)
        sentences = [top.meaning, *(sentence for sentence in top.sentences if sentence != run.verdict)]
        line = f"{top.title}: {top.figure}. {' '.join(sentences)}"
    out.print(f"\n{printable(line)}", style="bold", soft_wrap=True)


def _figures(summary: Summary, metric: Metric) -> tuple[str, str, str, str]:
    values = summary.values
    if not len(values):
        return "-", "-", "-", "-"
    spread = "-" if summary.std is None else f"± {metric.text(summary.std)}"
    return metric.text(values.mean()), spread, metric.text(min(values)), metric.text(max(values))


def _print_methods(out: Console, board: Board) -> None:
    """Print the methods side by side: candidates of the automatic choice, or simpler methods; and those left out."""
    if len(board.rows) + len(board.left_out) < 2:
        return
    on, columns = f"on {board.on} nodes", board.columns
    best_first = "Leaderboard, best on validation first" + (f"; {on}" if board.metric == "r2" else "")
    title = best_first if board.automatic else f"Other methods on the same split, {on}"
    rows = [(row.name, *(column.cell(row) for column in columns)) for row in board.rows if row.name]
    print_table(out, ("method", *(column.title for column in columns)), rows, title=title)
    reasons: dict[str, list[str]] = {}
    for name, reason in board.left_out:
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        hint = "; a longer --time-limit includes them" if reason == NO_TIME else ""
        more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
        out.print(f"Not in the table: {', '.join(names[:SHOWN_NAMES])}{more} ({printable(reason)}{hint}).")
    out.print()
