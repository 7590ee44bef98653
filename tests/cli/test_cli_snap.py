"""Files in the form of SNAP, as the shell takes them: comments, names of columns in a comment, gzip."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_shell import FEW_EPOCHS, Command, N

from hiergcn.datasets import planted_graph


@pytest.fixture
def snap_files(folder: Path) -> Path:
    """email.txt.gz and departments.txt.gz, as in SNAP's email-Eu-core, with comments above."""
    graph = planted_graph(N, classes=3, depth=1, homophily=0.95, noise=1.0, seed=1)
    rows, columns = graph.adjacency.nonzero()
    edges = "# Email network\n# FromNodeId\tToNodeId\n" + "".join(
        f"{one}\t{other}\n" for one, other in zip(rows, columns, strict=True)
    )
    nodes = "# Departments\n# NodeId Department\n" + "".join(f"{k} {label}\n" for k, label in enumerate(graph.truth))
    for name, text in (("email.txt.gz", edges), ("departments.txt.gz", nodes)):
        (folder / name).write_bytes(gzip.compress(text.encode()))
    return folder


FILES = ("email.txt.gz", "departments.txt.gz", "--label", "Department")


def test_check_fit_and_predict(command: Command, snap_files: Path) -> None:
    checked = command("check", *FILES, "--no-estimate")
    assert "email.txt.gz: tab between columns, UTF-8, gzip, 2 comment lines" in checked.out
    assert "departments.txt.gz has the names of its columns in a comment: NodeId, Department" in checked.out
    fitted = command("fit", *FILES, "--seeds", 1, *FEW_EPOCHS, "--no-baselines", "--out", "run")
    assert fitted.code == 0, fitted.err
    assert pd.read_csv("run/predictions.csv")["id"].tolist() == list(range(N))
    assert command("predict", "run", "--out", "again.csv").code == 0
    assert command("predict", "run", "email.txt.gz", "departments.txt.gz", "--out", "newer.csv").code == 0
    assert np.array_equal(pd.read_csv("again.csv")["predicted"], pd.read_csv("newer.csv")["predicted"])
