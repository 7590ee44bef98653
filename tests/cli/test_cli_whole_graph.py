"""A graph in one file, npz or GraphML, in the place of the CSV files."""

from pathlib import Path

import pandas as pd
import pytest
from cli_shell import FEW_EPOCHS, Command

from hiergcn.graph import Graph


@pytest.fixture
def graph(own_files: Path) -> Graph:
    return Graph.from_csv("edges.csv", "nodes.csv", id="paper", label="topic")


@pytest.mark.parametrize("name", ["graph.npz", "GRAPH.NPZ", "graph.graphml"])
def test_fit_and_predict(command: Command, graph: Graph, name: str) -> None:
    if name.endswith("graphml"):
        graph.to_graphml(name)
    else:
        graph.to_npz(name)
    outcome = command("fit", name, *FEW_EPOCHS, "--seeds", 1, "--no-baselines", "--out", "run")
    assert outcome.code == 0, outcome.err
    written = pd.read_csv("run/predictions.csv")
    assert written["id"].tolist() == graph.ids.tolist()
    assert command("predict", "run").code == 0
    assert command("coarsen", name).code == 0
    checked = command("check", name, "--no-estimate").out
    assert "90 nodes" in checked
    assert checked.rstrip().endswith("A fit would work.")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("graph.npz", "nodes.csv"), "holds the whole graph"),
        (("graph.npz", "--drop", "x"), "leave out --label"),
        (("graph.npz", "--label", "topic"), "leave out --label"),
        (("bare.npz",), "bare.npz has no labels to learn from; add them with Graph.with_labels"),
        (("bare.graphml",), "bare.graphml has no labels to learn from; name the node attribute"),
    ],
)
@pytest.mark.parametrize("verb", ["check", "fit"])
def test_refused(command: Command, graph: Graph, verb: str, words: tuple[str, ...], expected: str) -> None:
    graph.to_npz("graph.npz")
    graph.with_labels(None).to_npz("bare.npz")
    graph.with_labels(None).to_graphml("bare.graphml")
    outcome = command(verb, *words)
    assert outcome.code == 2
    assert expected in outcome.err
    assert not Path("runs").exists()
