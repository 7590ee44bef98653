"""Progress: bars on a terminal, lines elsewhere."""

import io

import numpy as np
import pytest
from rich.console import Console

from hiergcn.cli.progress import BarProgress, PlainProgress, fit_progress
from hiergcn.cli.terminal import duration
from hiergcn.train.loop import SeedOutcome


def outcome(seed: int, accuracy: float, failure: str | None = None) -> SeedOutcome:
    history = np.array([[1.0, 1.0, 0.5, accuracy]])
    best = None if failure else 1
    return SeedOutcome(seed, history, best, None, None, 0.1, failure)


def drive(out: Console) -> None:
    with fit_progress(out, seeds=2, epochs=1) as progress:
        for seed, done in enumerate((outcome(0, 0.75), outcome(1, 0.5, "diverged at epoch 1"))):
            progress.epoch_done(seed, 1, 0.75)
            progress.seed_finished(done)
        assert progress.mean == 0.75


def test_lines_where_there_is_no_terminal() -> None:
    text = io.StringIO()
    drive(Console(file=text, width=80))
    first, second = text.getvalue().splitlines()
    assert first.startswith("seed 0: validation 75.0 % at epoch 1 (1 of 2 done, ")
    assert second == "seed 1: failed: it diverged at epoch 1 (2 of 2 done)"


def test_bars_on_a_terminal() -> None:
    text = io.StringIO()
    drive(Console(file=text, width=100, force_terminal=True))
    for words in ("seeds", "epochs", "2/2", "best validation 75.0 %", "mean 75.0 %", "left"):
        assert words in text.getvalue()


def test_a_long_seed_speaks_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("hiergcn.cli.progress.time.monotonic", lambda: now)
    text = io.StringIO()
    progress = PlainProgress(Console(file=text, width=80), seeds=1, epochs=100)
    for epoch in range(1, 51):
        now += 1.0
        progress.epoch_done(0, epoch, 0.5)
    lines = text.getvalue().splitlines()
    assert lines[0] == "seed 0: epoch 20 of 100, best validation 50.0 %, 1 min 20 s left"
    assert len(lines) == 2


def test_the_terminal_decides() -> None:
    assert isinstance(fit_progress(Console(file=io.StringIO()), 1, 1), PlainProgress)
    assert isinstance(fit_progress(Console(file=io.StringIO(), force_terminal=True), 1, 1), BarProgress)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.7, "1 min 0 s"), (200, "3 min 20 s"), (3900, "1 h 5 min")],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words
