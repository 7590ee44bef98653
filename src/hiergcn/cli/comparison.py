"""What `hiergcn compare` says: a line for each method as it goes, the table at the end."""

from rich.console import Console

from hiergcn.cli.terminal import duration, new_table, percent, printable
from hiergcn.evaluate.paired import TEST
from hiergcn.run.compare import CompareListener
from hiergcn.run.comparison import Comparison, MethodRun

_PLAIN_WIDTH = 100  # a table in a file is not folded
_ENOUGH = 6  # pairs from which on p can fall below 0.05


class Lines(CompareListener):
    """A line for each method; on a terminal also the number of runs done."""

    def __init__(self, out: Console) -> None:
        self.out = out
        self.done = self.all = 0

    def method_started(self, model: str, splits: int, seeds: int) -> None:
        self.done, self.all = 0, splits * seeds
        self._count(model)

    def seed_finished(self, model: str, split: int, seed: int, failure: str | None) -> None:
        self.done += 1
        if failure:
            where = f"{model}, split {split}, seed {seed}"
            self.out.print(f"{where}: failed, it {printable(failure)}", style="yellow", soft_wrap=True)
        self._count(model)

    def method_finished(self, run: MethodRun) -> None:
        if run.failure:
            self.out.print(f"{run.model}: failed. {printable(run.failure)}", style="yellow", soft_wrap=True)
            return
        mean, spent = percent(run.test_accuracy.mean), duration(run.seconds or 0.0)
        self.out.print(f"{run.model}: {mean} % over {len(run.scores)} runs, {spent} each", soft_wrap=True)

    def _count(self, model: str) -> None:
        if self.out.is_terminal:
            self.out.print(f"{model}: {self.done} of {self.all} runs", end="\r")


def print_comparison(out: Console, comparison: Comparison) -> None:
    """The table, and what its figures mean."""
    columns = ("model", "mean ± spread", "failed", "s/seed", "memory", "difference, 95 %", "p")
    table = new_table(out, *columns, title=f"Test accuracy on {printable(comparison.dataset)}, %")
    for run in comparison.runs:
        table.add_row(*_row(run, comparison))
    out.print()
    out.print(table, width=None if out.is_terminal else _PLAIN_WIDTH, crop=False)
    for sentence in _explanations(comparison):
        out.print(sentence)
    for one in comparison.differences:
        if one.left_out:
            words = f"{one.model} and {one.against}: {one.left_out} pairs are left out, as one of the two failed there."
            out.print(words, style="yellow")
    if comparison.interrupted:
        out.print("Stopped early: only the methods that were finished are shown.", style="yellow")


def _row(run: MethodRun, comparison: Comparison) -> tuple[str, ...]:
    accuracy, peak = run.test_accuracy, run.peak.gpu or run.peak.resident
    spread = "" if accuracy.std is None else f" ± {percent(accuracy.std)}"
    seconds = "-" if run.seconds is None else f"{run.seconds:.1f}"
    memory = "-" if peak is None else f"{peak / 1e9:.2f} GB"
    failed = str(run.failed) if run.failed else "-"
    return run.model, percent(accuracy.mean) + spread, failed, seconds, memory, *_difference(run.model, comparison)


def _difference(model: str, comparison: Comparison) -> tuple[str, str]:
    """The difference with its interval, and the corrected p."""
    one = comparison.difference(model)
    if one is None or one.mean is None:
        return "", ""
    interval = "" if one.low is None or one.high is None else f" [{100 * one.low:+.1f}, {100 * one.high:+.1f}]"
    p = "-" if one.p_holm is None else "<0.001" if one.p_holm < 1e-3 else f"{one.p_holm:.3f}"
    return f"{100 * one.mean:+.1f}{interval}", p


def _explanations(comparison: Comparison) -> list[str]:
    several = comparison.plan.count is not None
    units = "splits, each the mean of its seeds" if several else "seeds, so it is about this split alone"
    on_gpu = any(run.peak.gpu for run in comparison.runs)
    memory = "peak on the GPU" if on_gpu else "peak of the method's own process, interpreter and libraries included"
    sentences = [
        f"Spread: sample standard deviation over runs. Memory: {memory}.",
        f"Difference: to {comparison.against} in points, mean and its interval (Student's t), over paired {units}.",
        f"p: {TEST}; corrected by Holm's method for {len(comparison.differences)} comparisons.",
    ]
    fewest = min((one.units for one in comparison.differences), default=_ENOUGH)
    if 1 < fewest < _ENOUGH:
        sentences.append(f"With {fewest} pairs p cannot fall below {2.0 ** (1 - fewest):g}: take more seeds or splits.")
    if several:
        sentences.append("Random splits share nodes, so interval and p are somewhat too sure of themselves.")
    return sentences
