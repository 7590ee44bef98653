"""The results of a fit, as `hiergcn fit` prints them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from hiergcn.advise.label_check import caution
from hiergcn.choose.auto import NO_TIME
from hiergcn.cli.terminal import duration, percent, print_table, printable, warn_of_few_tests
from hiergcn.evaluate.calibration import describe_calibration
from hiergcn.evaluate.conformal import describe_intervals, describe_sets
from hiergcn.evaluate.metrics import METRICS, PartReport, Summary, metrics_for
from hiergcn.evaluate.report import NumberReport
from hiergcn.report.headline import headline
from hiergcn.report.leaderboard import leaderboard
from hiergcn.run.result import Candidate, RunResult
from hiergcn.settings.setting_table import method_facts

_FILES = {
    "Predictions": "predictions.csv",
    "Doubtful": "doubtful_labels.csv",
    "Label next": "suggestions.csv",
    "Report": "report.html",
    "Run folder": "",
}
TITLES = ("R²", "MAE", "RMSE")
MEANING = "R² is 1 for perfect predictions, 0 for the mean. MAE, RMSE: mean absolute and root mean squared error."
SHOWN_NOTES = 10
SHOWN_CLASSES = 30
SHOWN_NAMES = 4


def print_summary(out: Console, result: RunResult, folder: Path | None, asked: int) -> None:
    """Print every figure of a run; `asked` is the number of seeds that the user wanted."""
    out.print()
    if isinstance(result.report, NumberReport):
        _print_numbers(out, result, result.report)
    else:
        _print_class_figures(out, result)
    _print_end(out, result, folder, asked)


def _print_class_figures(out: Console, result: RunResult) -> None:
    _print_accuracy(out, result)
    if result.leaderboard is None:  # else seeds are of the first candidate alone
        out.print()
        _print_seeds(out, result)
    if result.hierarchy is not None and any(method_facts(one.settings.method).uses_hierarchy for one in result.members):
        rows = [(f"{k}", f"{level.n_nodes:,}", f"{level.n_edges:,}") for k, level in enumerate(result.hierarchy.levels)]
        out.print()
        print_table(out, ("level", "nodes", "edges"), rows, title="Hierarchy", words=())
    out.print()
    _print_classes(out, result)
    out.print()
    _print_methods(out, result)
    out.print(describe_calibration(result.delivered.calibration()))
    if result.delivered.sets is not None:
        few = result.delivered.sets.sets.holds_every_class
        out.print(describe_sets(result.delivered.sets.to_dict()), style="yellow" if few else None)
    _print_doubts(out, result)


def _print_end(out: Console, result: RunResult, folder: Path | None, asked: int) -> None:
    """Print times, notes and the paths of all files."""
    seconds = result.seconds
    first, *others = (one.uses_features for one in result.members)  # else labels are spread at once, without epochs
    epoch = f", {1000 * seconds['epoch']:.1f} ms per epoch" if first else ""
    times = f"coarsening {duration(seconds['coarsen'])}, training {duration(seconds['train'])}{epoch}"
    out.print(f"Time: {times} on {result.device}.")
    rule = f"{result.selection_rule}; no" if first or any(others) else "no"
    out.print(f"Selection: {rule} test label is read before the end.")
    for note in result.notes[:SHOWN_NOTES]:
        out.print(f"Note: {printable(note)}", style="yellow")
    if len(result.notes) > SHOWN_NOTES:
        out.print(f"Note: {len(result.notes) - SHOWN_NOTES} more notes are in metrics.json.", style="yellow")
    done = len(result.outcomes)
    if result.interrupted and result.leaderboard is not None:
        out.print("Stopped early: the answer is that of the candidates and seeds that were finished.", style="yellow")
    elif result.interrupted:
        out.print(f"Stopped early: the answer is that of {done} of {asked} seeds.", style="yellow")
    elif result.leaderboard is not None and done < asked and not method_facts(result.settings.method).relearns:
        out.print(f"There was time for {done} of {asked} seeds; a longer --time-limit trains the others.")
    out.print()
    none = result.doubtful is None or not len(result.doubtful)
    for title, name in _FILES.items():
        if folder is not None and (folder / name).exists() and not (title == "Doubtful" and none):
            out.print(f"{title + ':':12} {folder / name}", soft_wrap=True)
    out.print(f"\n{last_line(result)}", style="bold", soft_wrap=True)


def last_line(result: RunResult) -> str:
    """Return the headline of the run's page in a line, so that it is on the screen when a fit ends."""
    if isinstance(result.report, NumberReport):
        return _number_line(result, result.report)
    metrics = result.metrics()
    found = headline(metrics, leaderboard(metrics))
    sentences = [found.meaning, *(sentence for sentence in found.sentences if sentence != metrics["verdict"])]
    return printable(f"{found.title}: {found.figure}. {' '.join(sentences)}")


def _print_doubts(out: Console, result: RunResult) -> None:
    """Say how many labels are doubtful, and how many of them were dropped."""
    table = result.doubtful
    if table is None or not len(table):
        return
    dropped = int(table["dropped"].sum())
    left_out = f"; {dropped:,} of them did not train" if dropped else ""
    what = "1 label looks" if len(table) == 1 else f"{len(table):,} labels look"
    labels = len(result.split.train) + len(result.split.validation) + dropped
    them = "it" if len(table) == 1 else "them"
    out.print(f"{what} doubtful: other labels contradict {them}{left_out}.{caution(len(table), labels)}")


def _print_accuracy(out: Console, result: RunResult) -> None:
    count, answer = len(result.seeds), result.delivered
    seeds = f"{count} seed" + ("s" if count > 1 else "")
    how = f"{result.settings.method} on {printable(result.graph.name)}, preset {result.settings.preset}, {seeds}"
    title = how if result.leaderboard is None else f"Chosen for {printable(result.graph.name)}"
    delivered = [("predictions, test", percent(answer.accuracy), "", "", "")] if result.test else []
    delivered.append(("predictions, validation", percent(answer.validation_accuracy), "", "", ""))
    each = [("each seed, test", *_figures(result.test.accuracy))] if result.test else []
    each.append(("each seed, validation", *_figures(result.validation.accuracy)))
    each = each if count > 1 or result.leaderboard is None else []  # would repeat the delivered ones
    rows = each + delivered if result.claim is not None else delivered + each  # the paper reports means over seeds
    name, judged = ("test", result.test) if result.test else ("validation", result.validation)
    rows += [
        (f"{name}, {METRICS[metric].title}", *_figures(summary))
        for metric, summary in judged.items()
        if metric != "accuracy"
    ]
    if result.claim is not None:
        rows.append(("the paper's claim", percent(result.claim), "", "", ""))
        if result.test and result.test.accuracy.mean is not None:
            rows.append(("test minus claim", f"{100 * (result.test.accuracy.mean - result.claim):+.1f}", "", "", ""))
    print_table(out, ("accuracy in %", "mean", "spread", "lowest", "highest"), rows, title=title)
    models = len(result.members)
    if models > 1:
        out.print(f"The predictions are the mean of {models} models. Spread: sample standard deviation over seeds.")
    if result.verdict:
        out.print(result.verdict, style="bold")
    if not result.test:
        what = "the epoch" if result.leaderboard is None else "methods and epochs"
        words = f"There are no test labels. Validation also chose {what}, so its accuracy is optimistic."
        out.print(words, style="yellow")
    warn_of_few_tests(out, len(result.split.test))
    if result.failed_seeds:
        out.print(f"{len(result.failed_seeds)} of {count} seeds failed and are not in the mean.", style="yellow")


def _figures(summary: Summary) -> tuple[str, str, str, str]:
    values = summary.values
    spread = "-" if summary.std is None else f"± {percent(summary.std)}"
    return percent(summary.mean), spread, percent(min(values, default=None)), percent(max(values, default=None))


def _print_seeds(out: Console, result: RunResult) -> None:
    columns = ("seed", "test %", "validation %", "best epoch", "seconds")
    tests = result.test.accuracy.per_seed if result.test else (None,) * len(result.outcomes)
    rows = []
    for outcome, test in zip(result.outcomes, tests, strict=True):
        epoch = "-" if outcome.best_epoch is None else str(outcome.best_epoch)
        accuracies = percent(test), percent(outcome.validation_accuracy)
        rows.append((str(outcome.seed), *accuracies, epoch, f"{outcome.seconds:.1f}"))
    print_table(out, columns, rows, title="Seeds", words=())
    for outcome in result.outcomes:
        if outcome.failure:
            out.print(f"Seed {outcome.seed} failed: it {printable(outcome.failure)}.", style="yellow")


def _print_classes(out: Console, result: RunResult) -> None:
    """Print precision, recall and F1 of the selected seed's model."""
    kept = result.delivered
    columns, title = ("class", "precision %", "recall %", "F1 %", "nodes"), f"Classes, on {kept.on} nodes"
    rows = []
    for score in kept.per_class:
        known = score.support > 0  # a class without a node has no precision and no recall
        figures = [percent(figure if known else None) for figure in (score.precision, score.recall, score.f1)]
        rows.append((score.name, *figures, f"{score.support:,}"))
    print_table(out, columns, rows, title=title, letters=40, most=SHOWN_CLASSES, what="classes in metrics.json")


def _print_methods(out: Console, result: RunResult) -> None:
    """Print the methods side by side: every candidate of the automatic choice, or simpler methods and who is best."""
    on = result.delivered.on
    if result.leaderboard is not None:
        _print_leaderboard(out, result.leaderboard)
        return
    if result.baselines is None:
        return
    name = result.settings.method
    own = Candidate(name, name, len(result.seeds), result.validation, result.test, result.seconds["train"])
    methods = [(one, report) for one in (own, *result.baselines) if (report := getattr(one, on)) is not None]
    columns = ("method", *(f"{metric.title} %" for metric in metrics_for("classes").values()), "seeds", "time")
    rows = [(one.model, *_scores(report), str(one.seeds), duration(one.seconds or 0.0)) for one, report in methods]
    print_table(out, columns, rows, title=f"Other methods on the same split, on {on} nodes")
    for one in result.baselines:
        if one.left_out is not None:
            out.print(f"{one.model} was left out: it {printable(one.left_out)}")
    scored = [(report.accuracy, one.model) for one, report in methods]
    (ours, _), *others = scored
    if others:
        best, model = max(others, key=lambda pair: pair[0].mean)
        out.print(_verdict(own.model, ours, model, best))
    out.print()


def _print_leaderboard(out: Console, candidates: Sequence[Candidate]) -> None:
    rows = []
    for one in candidates:
        if one.validation is not None:
            test = percent(one.test.accuracy.mean) if one.test else "-"
            weight = f"{100 * one.weight:.0f}" if one.weight else ""
            figures = percent(one.validation.accuracy.mean), test, weight
            rows.append((one.name, *figures, str(one.seeds), duration(one.seconds or 0.0)))
    columns = ("candidate", "validation %", "test %", "weight %", "seeds", "time")
    print_table(out, columns, rows, title="Leaderboard: accuracy of each candidate, by the mean of its seeds")
    _print_left_out(out, candidates)
    out.print()


def _verdict(own: str, ours: Summary, other: str, theirs: Summary) -> str:
    points = 100 * ((ours.mean or 0.0) - (theirs.mean or 0.0))
    if not round(points, 1):
        return f"{own} is as good as {other}, the best of the others."
    side = "above" if points > 0 else "below"
    small = abs(points) < 100 * max(ours.std or 0.0, theirs.std or 0.0)
    caution = " That is less than the spread over seeds, so it says little." if small else ""
    return f"{own} is {abs(points):.1f} points {side} {other}, the best of the others.{caution}"


def _scores(report: PartReport) -> list[str]:
    """Return the mean of each metric, with its spread for accuracy."""
    spread = "" if report.accuracy.std is None else f" ± {percent(report.accuracy.std)}"
    accuracy, *others = (percent(report[name].mean) for name in metrics_for("classes"))
    return [accuracy + spread, *others]


def _print_numbers(out: Console, result: RunResult, report: NumberReport) -> None:
    """Print the scores of the answer and of each seed, and the other methods beside them."""
    count = len(result.seeds)
    seeds = f"{count} seed" + ("s" if count > 1 else "")
    of = f"{printable(result.graph.target_name)} of {printable(result.graph.name)}"
    title = f"{result.settings.method} for {of}, {seeds}" if result.leaderboard is None else f"Chosen for {of}"
    rows = [("predictions, test", *_shown(report.scores.values()))] if result.test else []
    rows.append(("predictions, validation", *_shown(report.validation_scores.values())))
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


def _number_line(result: RunResult, report: NumberReport) -> str:
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
        (one.name, *_means(report), f"{100 * one.weight:.0f}" if one.weight else "", duration(one.seconds or 0.0))
        for one in candidates
        if (report := getattr(one, on)) is not None
    ]
    if not rows:
        return
    title = "Leaderboard, best on validation first" if result.leaderboard else "Other methods on the same split"
    print_table(out, ("candidate", *TITLES, "weight %", "time"), rows, title=f"{title}; on {on} nodes")
    _print_left_out(out, candidates)
    out.print()


def _print_left_out(out: Console, candidates: Sequence[Candidate]) -> None:
    reasons: dict[str, list[str]] = {}
    for one in candidates:
        if one.left_out is not None:
            reasons.setdefault(one.left_out, []).append(one.name)
    for reason, names in reasons.items():
        hint = "; a longer --time-limit includes them" if reason == NO_TIME else ""
        more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
        out.print(f"Not in the table: {', '.join(names[:SHOWN_NAMES])}{more} ({printable(reason)}{hint}).")


def _means(report: PartReport) -> list[str]:
    return _shown(summary.mean for summary in report.values())


def _shown(scores: Iterable[float | None]) -> list[str]:
    return ["-" if score is None else f"{score:.4g}" for score in scores]
