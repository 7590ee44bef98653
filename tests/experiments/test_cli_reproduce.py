"""`hiergcn reproduce`."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_shell import Command
from test_cli_interrupt import heed_interrupts

from hiergcn.settings import registry
from hiergcn_experiments.paper.experiments import FULL, paper_experiments, plus_experiments


def test_the_list_names_every_experiment(command: Command) -> None:
    outcome = command("reproduce", "list")
    assert outcome.code == 0, outcome.err
    every = paper_experiments(FULL) | plus_experiments(FULL)
    assert all(f"\n{name}" in outcome.out for name in every)


def test_an_experiment_is_run_once_and_its_page_written(command: Command, folder: Path) -> None:
    words = ("reproduce", "figure-coarsening", "table1", "--quick", "--workers", 1, "--device", "cpu")
    outcome = command(*words)
    assert outcome.code == 0, outcome.err
    assert "2 runs done" in outcome.out
    page = folder / "runs" / "reproduce-quick" / "pages"
    assert "Our coarsening groups it as A, BD, CE." in (page / "paper" / "README.md").read_text(encoding="utf-8")
    assert (page / "paper" / "figures" / "coarsening.svg").exists()
    again = command(*words)
    assert again.code == 0
    assert "0 runs done" in again.out
    assert "2 were done before" in again.out
    assert "2 runs done" in command(*words, "--again").out
    made = command("reproduce", "page", "--quick", "--store", page / "runs.json.gz", "--out", "again")
    assert made.code == 0, made.err
    assert (folder / "again" / "paper" / "README.md").read_bytes() == (page / "paper" / "README.md").read_bytes()


def test_bad_arguments_are_refused_before_any_work(command: Command, folder: Path) -> None:
    (folder / "file").write_text("{}", encoding="utf-8")
    for words, sentence in (
        (("table9",), "no experiment named 'table9'"),
        (("table2", "--models", "gcnn"), "no model named 'gcnn'"),
        (("table2", "--datasets", "corra"), "--datasets corra"),
        (("table2", "--device", "cpu", "--workers", "0"), "--workers 0"),
        (("table2", "--store", "file"), "only `page` can read"),
        (("page", "--store", "nowhere"), "There are no results in nowhere"),
        (("page", "--store", "file"), "is not a file of results"),
    ):
        outcome = command("reproduce", *words)
        assert outcome.code == 2, outcome
        assert sentence in outcome.err
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_ctrl_c_keeps_what_is_done_and_the_page_says_what_is_missing(folder: Path) -> None:
    code = "from hiergcn.cli import main; main()"
    words = ["reproduce", "figure-coarsening", "table2", "--quick", "--workers", "1", "--device", "cpu"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    try:
        store = folder / "runs" / "reproduce-quick"
        while not list(store.glob("runs/*/*.json")):
            assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "Stopped. Finished runs are kept; run the same command to continue." in out
    page = (store / "pages" / "paper" / "README.md").read_text(encoding="utf-8")
    assert "| not run |" in page


def test_without_the_experiments_one_sentence_says_where_to_get_them(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hiergcn.cli.plugins", lambda _: {})
    monkeypatch.setattr("hiergcn.cli._ADDED", {})
    outcome = command("reproduce", "table2")
    assert outcome.code == 2
    assert outcome.err.startswith("hiergcn reproduce is part of hiergcn-experiments. In a clone")
    assert outcome.err.endswith(" run pip install ./experiments.\n")
    registry.method_names()
    monkeypatch.delitem(registry._METHODS, "deepwalk")
    monkeypatch.setattr(registry, "plugins", lambda _: {})
    assert "pip install ./experiments adds more" in command("fit", "cora", "--model", "deepwalk").err
