"""Seeds in processes of their own give what they give in one."""

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiergcn.datasets import planted_graph
from hiergcn.graph import Split
from hiergcn.run import trainer
from hiergcn.run.events import EpochDone, FitEvent
from hiergcn.run.fit import fit
from hiergcn.run.processes import interrupted_later
from hiergcn.run.settings import settings_for


def test_processes_give_the_same_seeds_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = planted_graph(160, seed=2)
    assert graph.labels is not None
    split = Split.random(graph.labels, per_class=5, validation=40, seed=0)
    settings = settings_for("hgcn", "paper").override({"levels": 2, "hidden": 8, "epochs": 60})
    monkeypatch.setattr(trainer, "_WORTH_PROCESSES", 0.0)
    events: list[FitEvent] = []
    shared = fit(graph, split, settings, [3, 0, 1], device="cpu", workers=2, on_event=events.append)
    alone = fit(graph, split, settings, [3, 0, 1], device="cpu")
    assert [outcome.seed for outcome in shared.outcomes] == [3, 0, 1]
    assert shared.history.equals(alone.history)
    np.testing.assert_array_equal(shared.probabilities, alone.probabilities)
    for name, value in alone.weights.items():
        np.testing.assert_array_equal(shared.weights[name].numpy(), value.numpy())
    assert 3 in {event.seed for event in events if isinstance(event, EpochDone)}


def test_ctrl_c_ends_the_processes_and_keeps_finished_seeds(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import signal
            from hiergcn.datasets import planted_graph
            from hiergcn.graph import Split
            from hiergcn.run import trainer
            from hiergcn.run.events import EpochDone
            from hiergcn.run.fit import fit
            from hiergcn.run.settings import settings_for

            def on_event(event):
                if isinstance(event, EpochDone) and event.seed > 0:
                    print("training", flush=True)

            if __name__ == "__main__":
                signal.signal(signal.SIGINT, signal.default_int_handler)
                graph = planted_graph(160, seed=2)
                split = Split.random(graph.labels, per_class=5, validation=40, seed=0)
                trainer._WORTH_PROCESSES = 0.0
                settings = settings_for("hgcn", "paper").override({"levels": 2, "hidden": 8, "epochs": 150})
                result = fit(graph, split, settings, range(300), device="cpu", workers=2, on_event=on_event)
                print(result.interrupted, 0 < len(result.outcomes) < 300)
            """
        ),
        encoding="utf-8",
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "training\n"
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        rest, _ = process.communicate(timeout=60)
    assert rest.splitlines()[-1] == "True True"
    assert process.returncode == 0
    assert time.monotonic() - began < 60


@pytest.fixture
def at_interrupt() -> Iterator[Callable[[Any], Any]]:
    """Sets what is done at Ctrl-C; it is put back in the end."""
    before = signal.getsignal(signal.SIGINT)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_until_processes_are_begun(at_interrupt: Callable[[Any], Any]) -> None:
    at_interrupt(signal.default_int_handler)
    reached = []

    def disturbed() -> None:
        with interrupted_later():
            signal.raise_signal(signal.SIGINT)
            reached.append("end")

    with pytest.raises(KeyboardInterrupt):
        disturbed()
    assert reached == ["end"]


@pytest.mark.parametrize("in_thread", [False, True])
def test_processes_that_are_begun_meanwhile_do_not_hear_it(in_thread: bool) -> None:
    """As in a terminal, where Ctrl-C goes to all of them. Python would refuse a handler in another thread."""
    waits = "import time; print('begun', flush=True); time.sleep(0.5); print('still here')"

    def begun() -> "subprocess.Popen[str]":
        with interrupted_later():
            return subprocess.Popen([sys.executable, "-c", waits], stdout=subprocess.PIPE, text=True)

    if in_thread:
        with ThreadPoolExecutor(1) as pool:
            process = pool.submit(begun).result()
    else:
        process = begun()
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "still here\n"
    assert process.returncode == 0
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


def test_a_process_deaf_to_interrupts_stays_so(at_interrupt: Callable[[Any], Any]) -> None:
    at_interrupt(signal.SIG_IGN)
    with interrupted_later():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
