"""`hiergcn coarsen`."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_shell import Command, N

from hiergcn.coarsening import Hierarchy, coarsen
from hiergcn.datasets import load_dataset


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_table_maps_ids_to_hyper_nodes(command: Command, own_files: Path, ending: str) -> None:
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


def test_the_npz_file_holds_the_hierarchy(command: Command, folder: Path) -> None:
    outcome = command("coarsen", "cora", "--levels", 1000, "--out", "levels.npz")
    assert "times, not 1000" in outcome.out
    loaded = Hierarchy.load(folder / "levels.npz")
    direct = coarsen(load_dataset("cora").graph.adjacency, 1000)
    assert loaded.sizes() == direct.sizes()
    assert np.array_equal(loaded.hyper_nodes(3), direct.hyper_nodes(3))


def test_duckdb_gives_the_groups_of_memory(command: Command, own_files: Path) -> None:
    pytest.importorskip("duckdb", reason="duckdb is not installed")
    pd.read_csv(own_files / "edges.csv").to_parquet(own_files / "e.parquet")
    ways = {"a.csv": ("--strategy", "handshake"), "b.csv": ("--engine", "duckdb", "--memory", "200MB")}
    outcomes = [command("coarsen", "e.parquet", "--levels", 2, "--out", out, *way) for out, way in ways.items()]
    assert [one.code for one in outcomes] == [0, 0], outcomes[1].err
    assert (own_files / "a.csv").read_text() == (own_files / "b.csv").read_text()
    assert "Level 2: " in outcomes[1].out


def test_what_duckdb_does_not_take(command: Command, own_files: Path) -> None:
    assert "leave out the others" in command("coarsen", "edges.csv", "nodes.csv", "--engine", "duckdb").err
    assert "neither Parquet nor a DuckDB table" in command("coarsen", "edges.csv", "--engine", "duckdb").err
    assert "give --engine duckdb" in command("coarsen", "edges.csv", "--memory", "1GB").err
    assert "no engine 'spark'" in command("coarsen", "edges.csv", "--engine", "spark").err
