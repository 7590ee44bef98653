"""`hiergcn coarsen` and `hiergcn datasets`."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_shell import Command, N

from hiergcn.coarsen import Hierarchy, coarsen
from hiergcn.datasets import dataset_names, load_dataset


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_table_maps_own_ids_to_hyper_nodes(command: Command, own_files: Path, ending: str) -> None:
    outcome = command("coarsen", "edges.csv", "nodes.csv", "--id", "paper", "--levels", 2, "--out", f"levels.{ending}")
    assert outcome.code == 0, outcome.err
    path = own_files / f"levels.{ending}"
    table = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
    assert list(table.columns) == ["node", "level", "hyper_node"]
    assert len(table) == 2 * N
    for level in (1, 2):
        part = table[table["level"] == level]
        assert list(part["node"]) == [f"node {k}" for k in range(N)]
        groups = part["hyper_node"].nunique()
        heaviest = part["hyper_node"].value_counts().max()
        assert re.search(rf"^ +{level} +{groups} +\d+ +{heaviest} +{groups / N:.1%}$", outcome.out, re.MULTILINE)


def test_an_npz_is_the_hierarchy(command: Command, folder: Path) -> None:
    assert command("coarsen", "cora", "--levels", 3, "--out", "levels.npz").code == 0
    loaded = Hierarchy.load(folder / "levels.npz")
    direct = coarsen(load_dataset("cora").graph.adjacency, 3)
    assert loaded.sizes() == direct.sizes()
    assert np.array_equal(loaded.hyper_nodes(3), direct.hyper_nodes(3))


def test_levels_beyond_the_graph_are_said(command: Command) -> None:
    outcome = command("coarsen", "cora", "--levels", 1000)
    assert outcome.code == 0
    assert "times, not 1000" in outcome.out


def test_datasets_are_listed_with_their_place(command: Command) -> None:
    outcome = command("datasets")
    assert outcome.code == 0
    for name in dataset_names():
        assert re.search(rf"^{name} ", outcome.out, re.MULTILINE)
    assert re.search(r"^cora +2,708 +5,278 +1,433 +7 +embedded", outcome.out, re.MULTILINE)
    assert max(len(line.rstrip()) for line in outcome.out.splitlines()) <= 80


def test_an_embedded_dataset_needs_no_download(command: Command) -> None:
    assert "cora is in the package" in command("datasets", "get", "cora").out
