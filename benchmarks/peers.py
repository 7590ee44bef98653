"""PyTorch Geometric's networks as its users write them: `edge_index`, dense features, torch's Adam.

Widths and rates are those of PyG's examples `gcn.py`, `gat.py` and `graph_unet.py`; Graph U-Net has the depth of H-GCN.
On wide features, GCN and GAT spend most of their time on dropout of the dense input: one random number per entry, zero
or not. Both are therefore also measured without input dropout, which tells more about the convolutions.
"""

from collections.abc import Callable

import numpy as np
import torch
import torch_geometric.nn as layers
from sklearn.preprocessing import normalize
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.utils import dropout_edge

from hiergcn.graph import Graph, Split


class Network(nn.Module):
    """Base class with the learning rate and weight decay of PyG's example."""

    rate: float
    decay: float


class GCN(Network):
    """Two layers, 16 hidden units; the normalised adjacency is cached."""

    rate = 0.01
    decay = 5e-4
    input_dropout = 0.5

    def __init__(self, features: int, classes: int, nodes: int) -> None:  # noqa: ARG002
        super().__init__()
        self.first = layers.GCNConv(features, 16, cached=True)
        self.second = layers.GCNConv(16, classes, cached=True)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        x = functional.dropout(x, self.input_dropout, self.training)
        x = functional.dropout(self.first(x, edges).relu(), 0.5, self.training)
        logits: Tensor = self.second(x, edges)
        return logits


class GAT(Network):
    """Two layers, 8 heads of 8 units."""

    rate = 0.005
    decay = 5e-4
    input_dropout = 0.6

    def __init__(self, features: int, classes: int, nodes: int) -> None:  # noqa: ARG002
        super().__init__()
        self.first = layers.GATConv(features, 8, heads=8, dropout=0.6)
        self.second = layers.GATConv(64, classes, heads=1, concat=False, dropout=0.6)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        x = functional.dropout(x, self.input_dropout, self.training)
        x = functional.dropout(functional.elu(self.first(x, edges)), 0.6, self.training)
        logits: Tensor = self.second(x, edges)
        return logits


class GCNWithoutInputDropout(GCN):
    input_dropout = 0.0


class GATWithoutInputDropout(GAT):
    input_dropout = 0.0


class GraphUNet(Network):
    """Depth 4, 32 hidden units, 2000 nodes after the first pooling."""

    rate = 0.01
    decay = 1e-3

    def __init__(self, features: int, classes: int, nodes: int) -> None:
        super().__init__()
        self.unet = layers.GraphUNet(features, 32, classes, depth=4, pool_ratios=[2000 / nodes, 0.5, 0.5, 0.5])

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        edges, _ = dropout_edge(edges, p=0.2, force_undirected=True, training=self.training)
        x = functional.dropout(x, 0.92, self.training)
        with torch.sparse.check_sparse_tensor_invariants(enable=False):  # PyG does not set it, and torch warns
            logits: Tensor = self.unet(x, edges)
        return logits


PEERS: dict[str, type[Network]] = {
    "GAT": GAT,
    "GCN": GCN,
    "Graph U-Net": GraphUNet,
    "GAT without input dropout": GATWithoutInputDropout,
    "GCN without input dropout": GCNWithoutInputDropout,
}

Step = Callable[[], object]


def peer_steps(name: str, graph: Graph, split: Split) -> tuple[Step, Step]:
    """Return a training step and an evaluation of all nodes with the network of that name."""
    assert graph.features is not None
    rows = normalize(graph.features, norm="l1", axis=1)  # PyG's transform NormalizeFeatures
    x = torch.from_numpy(np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float32))
    y = torch.from_numpy(graph.truth.copy())
    coo = graph.adjacency.tocoo()
    edges = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64))
    train = torch.from_numpy(split.train.copy())
    torch.manual_seed(0)
    model = PEERS[name](graph.n_features, graph.n_classes, graph.n_nodes)
    optimiser = torch.optim.Adam(model.parameters(), lr=model.rate, weight_decay=model.decay)

    def step() -> object:
        model.train()
        optimiser.zero_grad()
        loss = functional.cross_entropy(model(x, edges)[train], y[train])
        loss.backward()
        optimiser.step()
        return loss.item()

    @torch.no_grad()
    def evaluate() -> object:
        model.eval()
        return model(x, edges)

    return step, evaluate
