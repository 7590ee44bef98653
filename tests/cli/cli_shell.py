"""The shell's commands called as a shell would, in a folder of their own."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from hiergcn.cli import main
from hiergcn.datasets import planted_graph

N = 90
FEW_EPOCHS = ("--set", "epochs=8", "--set", "hidden=8")


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with no data folder and no cache of the user's in reach."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.delenv("HIERGCN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return work


@pytest.fixture
def command(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`command("fit", "cora")` is `hiergcn fit cora`."""

    def call(*words: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["hiergcn", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ending:
            main()
        code = ending.value.code
        assert isinstance(code, int)
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture
def own_files(folder: Path) -> Path:
    """edges.csv and nodes.csv: text ids, a third of the labels blank, names that must not be taken for HTML or TeX."""
    graph = planted_graph(N, classes=3, depth=1, homophily=0.95, noise=1.0, seed=1)
    ids = np.array([f"node {k}" for k in range(N)])
    rows, columns = graph.adjacency.nonzero()
    once = rows < columns
    pd.DataFrame({"source": ids[rows[once]], "target": ids[columns[once]]}).to_csv(folder / "edges.csv", index=False)
    assert isinstance(graph.features, np.ndarray)
    nodes = pd.DataFrame(graph.features, columns=[f"feature {k}" for k in range(graph.n_features)])
    nodes.insert(0, "paper", ids)
    names = np.array(["<b>maths</b>", "007", "$x_"], dtype=object)
    nodes["topic"] = np.where(np.arange(N) % 3 == 0, "", names[graph.truth])
    nodes.to_csv(folder / "nodes.csv", index=False)
    return folder
