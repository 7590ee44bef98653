"""Data objects of PyTorch Geometric."""

import subprocess
import sys

import numpy as np
import pytest
import torch

pytest.importorskip("torch_geometric", reason="PyG is not installed")

from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import GCNConv

from hiergcn.errors import InputError
from hiergcn.graph import Graph

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def test_one_direction_is_enough_and_weights_are_kept() -> None:
    data = Data(edge_index=PATH[:, [0, 2]], edge_attr=torch.tensor([[0.5], [2.0]]), num_nodes=4)
    graph = Graph.from_pyg(data)
    assert graph.n_nodes == 4
    assert graph.adjacency.toarray()[:3, :3].tolist() == [[0, 0.5, 0], [0.5, 0, 2], [0, 2, 0]]
    assert graph.features is None
    again = graph.to_pyg()
    assert again.is_undirected()
    assert again.edge_weight.tolist() == [0.5, 0.5, 2, 2]


def test_numbers_have_the_type_that_layers_expect() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [0.1, 0.2], features=np.full((3, 2), 0.1))
    data = graph.to_pyg()
    assert data.x.dtype == data.edge_weight.dtype == torch.float32
    assert GCNConv(2, 1)(data.x, data.edge_index, data.edge_weight).shape == (3, 1)
    assert graph.to_pyg(exact=True).x.dtype == torch.float64


def test_labels_of_other_shapes() -> None:
    assert Graph.from_pyg(Data(edge_index=PATH, y=torch.tensor([[1], [0], [1]]), num_nodes=3)).labelled.size == 3
    known = Graph.from_pyg(Data(edge_index=PATH, y=torch.tensor([1.0, np.nan, 0.0]), num_nodes=3)).truth
    assert known.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Data(edge_index=PATH, y=torch.ones(3, 4), num_nodes=3), "y has 4 columns"),
        (Data(x=torch.ones(3, 1)), "has no edge_index"),
        (Data(edge_index=PATH, x=torch.ones(2, 1)), "An edge ends in node 2, but the graph has 2 nodes"),
        (Data(edge_index=PATH.T, num_nodes=3), r"edge_index has shape \(4, 2\)"),
        (HeteroData(), "A HeteroData is not a graph with one type of nodes"),
        ("cora", "A str is not a graph"),
    ],
)
def test_defects(data: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Graph.from_pyg(data)


def test_torch_is_imported_only_when_needed() -> None:
    code = "import sys; from hiergcn import Graph; Graph.from_edges([0], [1]); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
