"""Exported networks give what the run gives, with numpy and onnxruntime alone."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hiergcn
from hiergcn import Graph
from hiergcn.datasets import planted_graph
from hiergcn.datasets.planted import planted_numbers
from hiergcn.errors import InputError
from hiergcn.run.onnx import Exported, export_onnx, largest_difference
from hiergcn.run.run import Run

EXAMPLE = Path(__file__).parents[2] / "examples" / "onnx_runtime.py"
NETWORKS: dict[str, tuple[str, dict[str, Any], bool]] = {  # method, settings, whether any nodes will do
    "mlp": ("mlp", {}, True),
    "grand": ("grand", {}, True),
    "gcn": ("gcn", {"harmonic": True, "scaling": "standard"}, False),
    "graphsage": ("graphsage", {}, False),
    "appnp": ("appnp", {}, False),
    "gcnii": ("gcnii", {"layers": 3}, False),
    "hgcn": ("hgcn", {}, False),
    "hgcn reference": ("hgcn", {"channel_mix": "before_relu", "pooling": "l2", "own_weights": True}, False),
    "hgcn-plus": ("hgcn-plus", {"networks": 2, "batch_norm": True, "input_dropout_on": "propagated"}, True),
    "hgcn-plus balanced": ("hgcn-plus", {"prediction_balance": 0.5, "input_dropout_on": "propagated"}, True),
    "mlp degrees": ("mlp", {"degrees": True}, True),
    "mlp nearness": ("mlp", {"nearness": True}, False),
    "hgcn nearness": ("hgcn", {"nearness": True}, False),
    "mlp hops": ("mlp", {"hop_counts": True, "hop_means": True}, True),
    "hgcn hops": ("hgcn", {"hop_counts": True, "nearness": True, "nearness_shares": True}, False),
}
pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def graph() -> Graph:
    planted = planted_graph(80, classes=3, seed=2)
    labels = np.where(np.arange(80) % 2 == 0, planted.truth, -1)
    ids = np.array([f"n{k}" for k in range(80)])  # n10 comes before n2 in canonical order
    return Graph(planted.adjacency, planted.features, labels, ids, ("a", "b", "c"), "mine")


def same_outputs(graph: Graph, folder: Path, scale: float = 1.0) -> tuple[Run, Exported]:
    """Export the run in a folder, and compare its outputs with those of the file."""
    run = Run.load(folder / "run")
    exported = export_onnx(run, graph, folder / "model.onnx")
    difference = largest_difference(exported, run)
    assert difference is not None
    assert difference < 1e-5 * scale
    return run, exported


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str, graph: Graph, tmp_path: Path) -> None:
    method, settings, any_nodes = NETWORKS[name]
    hiergcn.fit(graph, method, seeds=2, device="cpu", epochs=4, **settings).save(tmp_path / "run")
    run, exported = same_outputs(graph, tmp_path)
    assert exported.any_nodes == any_nodes
    with pytest.raises(InputError, match="exists already"):
        export_onnx(run, graph, tmp_path / "model.onnx")


def test_the_automatic_choice_and_the_example(tmp_path: Path) -> None:
    planted = planted_graph(80, classes=3, homophily=0.34, noise=0.5, seed=2)  # labels alone would fail here
    graph = planted.with_labels(np.where(np.arange(80) % 2 == 0, planted.truth, -1), ("a", "b", "c"))
    hiergcn.fit(graph, seeds=1, device="cpu", time_limit=5).save(tmp_path / "run")
    run, exported = same_outputs(graph, tmp_path)
    assert len(run.model.members) > 1
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE), str(exported.model)], capture_output=True, text=True, check=True, env={}
    )
    table = run.table.set_index("id")
    for line in ran.stdout.splitlines():
        node, predicted, _ = line.split()
        assert table.loc[node, "predicted"] == predicted


def test_numbers(tmp_path: Path) -> None:
    numbers = planted_numbers(60, seed=1)
    hiergcn.fit(numbers, "gcn", seeds=1, device="cpu", epochs=4).save(tmp_path / "run")
    _, exported = same_outputs(numbers, tmp_path, float(np.abs(numbers.truth).max()))
    assert exported.output == "numbers"


def test_labels_alone_cannot_be_exported(graph: Graph, tmp_path: Path) -> None:
    hiergcn.fit(graph, "label-propagation", seeds=1, device="cpu").save(tmp_path / "run")
    with pytest.raises(InputError, match="answers with labels alone"):
        export_onnx(Run.load(tmp_path / "run"), graph, tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()
