"""Progress: a bar on a terminal, lines elsewhere."""

import io

import numpy as np
import pytest
from rich.console import Console

from hiergcn.cli.compare import CompareProgress
from hiergcn.cli.progress import FitProgress, Progress, download_progress
from hiergcn.comparison.compare import Comparison, MethodDone, MethodRun, MethodStarted, RunDone, Score
from hiergcn.comparison.splits import PUBLIC
from hiergcn.graph import Split
from hiergcn.settings.settings import ChosenSettings, settings_for
from hiergcn.train.events import EpochDone, MemoryPlanned, SeedDone, SettingsChosen
from hiergcn.train.loop import SeedOutcome
from hiergcn.workers.machine import Peak


def outcome(seed: int, accuracy: float, failure: str | None = None) -> SeedOutcome:
    history = np.array([[1.0, 1.0, 0.5, accuracy]])
    best = None if failure else 1
    return SeedOutcome(seed, history, best, None, None, 0.1, failure)


def chosen(epochs: int) -> SettingsChosen:
    nodes = np.arange(3)
    settings = settings_for("gcn").override({"epochs": epochs})
    return SettingsChosen(Split(nodes[:1], nodes[1:2], nodes[2:]), ChosenSettings(settings))


def drive(out: Console) -> None:
    with Progress(out) as progress:
        show = FitProgress(progress, seeds=2)
        show(chosen(epochs=1))
        show(MemoryPlanned(int(2e9), int(8e9)))
        for seed, done in enumerate((outcome(0, 0.75), outcome(1, 0.5, "diverged at epoch 1"))):
            show(EpochDone(seed, 1, 0.75))
            show(SeedDone(done))


def test_lines_if_there_is_no_terminal() -> None:
    text = io.StringIO()
    drive(Console(file=text, width=80))
    memory, first, second = text.getvalue().splitlines()
    assert memory == "Training needs about 2.0 GB of memory; 8.0 GB are free"
    assert first.startswith("seed 0: validation 75.0 % at epoch 1 (1 of 2 done, ")
    assert second == "seed 1: failed: it diverged at epoch 1 (2 of 2 done)"


def test_a_bar_on_a_terminal() -> None:
    text = io.StringIO()
    drive(Console(file=text, width=100, force_terminal=True))
    for words in ("training", "━", "2 of 2 seeds"):
        assert words in text.getvalue()
    assert "seed 0: validation" not in text.getvalue()


def test_a_long_seed_prints_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("hiergcn.cli.progress.time.monotonic", lambda: now)
    text = io.StringIO()
    show = FitProgress(Progress(Console(file=text, width=80)), seeds=1)
    show(chosen(epochs=100))
    show(MemoryPlanned(0, None))
    for epoch in range(1, 51):
        now += 1.0
        show(EpochDone(0, epoch, 0.5))
    lines = text.getvalue().splitlines()
    assert lines[0] == "seed 0: epoch 20 of 100, best validation 50.0 %, 1 min 20 s left"
    assert len(lines) == 2


def test_seeds_that_train_at_once_share_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("hiergcn.cli.progress.time.monotonic", lambda: now)
    progress = Progress(Console(file=io.StringIO()))
    show = FitProgress(progress, seeds=4)
    show(chosen(epochs=10))
    show(MemoryPlanned(0, None))
    now = 30.0
    for seed in (0, 1):
        show(EpochDone(seed, 5, 0.5))
    assert progress.left() == "1 min 30 s left"


def test_the_time_left_follows_a_changed_total(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("hiergcn.cli.progress.time.monotonic", lambda: now)
    text = io.StringIO()
    progress = Progress(Console(file=text, width=80))
    progress.start("runs", 10, line="10 runs to do.")
    now = 30.0
    progress.advance(3, "3 of 8 runs", total=8)
    progress.note("gat cora: not run.", style="yellow")
    assert text.getvalue().splitlines() == ["10 runs to do.", "3 of 8 runs, 50 s left", "gat cora: not run."]


def test_a_comparison_prints_a_line_per_method_and_failure() -> None:
    text = io.StringIO()
    with Progress(Console(file=text, width=80)) as progress:
        show = CompareProgress(progress)
        show(MethodStarted("gcn", 2))
        show(RunDone("gcn", 0, 0, None))
        show(RunDone("gcn", 0, 1, "diverged at epoch 3"))
        scores = (Score("gcn", 0, 0, {"accuracy": 0.8}, seconds=2.0), Score("gcn", 0, 1, failure="diverged at epoch 3"))
        so_far = Comparison("toy", (PUBLIC,), (0, 1), "gcn", (), ())
        show(MethodDone(MethodRun("gcn", settings_for("gcn"), scores, Peak(None, None), None), so_far))
        show(MethodDone(MethodRun("gat", settings_for("gcn"), scores, Peak(None, None), None, "It needs PyG."), so_far))
    assert text.getvalue().splitlines() == [
        "gcn, split 0, seed 1: failed, it diverged at epoch 3",
        "gcn: test 80.0 % over 2 runs, 2.0 s each",
        "gat: failed. It needs PyG.",
    ]


def test_a_download_is_announced_with_its_first_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    with download_progress("nell") as show:
        assert capsys.readouterr().err == ""
        show(1_000_000, 2_500_000)
        show(2_500_000, 2_500_000)
    assert capsys.readouterr().err == "downloading nell (2.5 MB)\n"
