r"""Nearness of labels: a perceptron over the hops to the nearest training node of each class, beside any network.

.. math:: p = (1 - w) \operatorname{softmax}(f(X, A)) + w \operatorname{softmax}(Z), \quad
    Z = \operatorname{ReLU}(C W_0 + b_0) W_1 + b_1

f is the network, w is `nearness_weight`. C has two columns for each class k, 5 exp(-d/3) and 5 exp(-d/10), where d is
the number of hops from a node to the nearest training node of class k other than itself. Labels that change slowly
along the edges, as any distance does, are bounded by a label d hops away; the harmonic function averages that away.

The columns are not passed along the edges: those of a neighbour hold the node's own label, and a network that sees them
learns to read it off. The loss is the sum of that of the network and that of the perceptron, not the loss of p: a
network that knows its training nodes by heart would leave the perceptron nothing to learn.

With `nearness_shares` C also has the shares of the classes among the other training nodes around, weighted by
exp(-d/s) for four spreads s: with nothing learned, a kernel estimate (Nadaraya & Watson, 1964). With `hop_counts` it
has these, too.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hiergcn.coarsening import Hierarchy
from hiergcn.graph.neighbourhoods import within_hops
from hiergcn.graph.task import Task
from hiergcn.model.inputs import NEARNESS, hop_counts, nearness_columns
from hiergcn.model.method import Features, Labelled, Method, NodeModel, Prepared, Weights, WrappedMethod
from hiergcn.model.ops.sparse import FeatureLinear

HIDDEN = 64
"""Width of the perceptron."""
SPREADS = (0.7, 1.5, 3.0, 6.0)
"""Hops over which the weight of a label falls to 1/e in the shares of the classes."""
SHARE_HOPS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
"""Radii between which labels count as equally far, in the middle."""
DROPOUT = 0.3
"""Rate of the perceptron's hidden layer if it sees more than the hops to the nearest labels."""
_NETWORK = "network."
_MEAN, _SPREAD = "count_mean", "count_spread"


def share_columns(task: Task) -> np.ndarray:
    """Return the shares of the classes among the labels around each node, (n, spreads * classes); 0 if none is near."""
    labels = np.zeros((task.n_nodes, task.n_classes))
    labels[task.train, task.train_labels] = 1.0
    counts, means = within_hops(task.adjacency, SHARE_HOPS, labels)
    others = np.rint(means * counts[:, :, None]) - labels[:, None, :]  # (n, radii, classes)
    shells = np.diff(others, axis=1, prepend=0.0)
    middle = (np.array((0, *SHARE_HOPS[:-1])) + 1 + np.array(SHARE_HOPS)) / 2
    weights = np.exp(-middle / np.array(SPREADS)[:, None])  # (spreads, radii)
    near = np.einsum("sr,nrk->nsk", weights, shells)
    total = near.sum(axis=2, keepdims=True)
    shares = np.divide(near, total, out=np.zeros_like(near), where=total > 0)
    columns: np.ndarray = (NEARNESS * shares).reshape(task.n_nodes, -1).astype(np.float32)
    return columns


class NearnessModel(NodeModel):
    """A network and a perceptron that learn side by side; the mean of their probabilities predicts.

    `columns` (n, columns) are the perceptron's inputs, `weight` is its weight in the mean, `dropout` the rate of its
    hidden layer. The generator draws its initial weights, then its dropout masks.
    """

    def __init__(
        self,
        network: NodeModel,
        columns: Tensor,
        n_classes: int,
        generator: torch.Generator,
        weight: float,
        dropout: float,
    ) -> None:
        super().__init__()
        self.network, self.weight, self.weighs_classes = network, weight, network.weighs_classes
        self.title = network.title  # users ask for nearness=true, not for another model
        self.draws = network.draws or dropout > 0
        self.columns = columns  # of the graph, not of the model: not saved with the weights
        self.first = FeatureLinear(columns.shape[1], HIDDEN, 0.0, generator)
        self.first_bias = nn.Parameter(torch.zeros(HIDDEN))
        self.second = FeatureLinear(HIDDEN, n_classes, dropout, generator)
        self.second_bias = nn.Parameter(torch.zeros(n_classes))

    def forward(self, features: Features) -> Tensor:
        """Return the logarithm of the mean probabilities, (n, classes)."""
        return self._mean(self.network(features), self._by_nearness())

    def forward_with_loss(self, features: Features, labelled: Labelled) -> tuple[Tensor, Tensor]:
        (logits, loss), near = self.network.forward_with_loss(features, labelled), self._by_nearness()
        return self._mean(logits.detach(), near.detach()), loss + labelled.loss(near)

    def _mean(self, logits: Tensor, near: Tensor) -> Tensor:
        return torch.logaddexp(
            torch.log_softmax(logits, dim=1) + math.log(1.0 - self.weight),
            torch.log_softmax(near, dim=1) + math.log(self.weight),
        )

    def _by_nearness(self) -> Tensor:
        H = torch.relu(self.first(self.columns) + self.first_bias)  # (n, HIDDEN)
        logits: Tensor = self.second(H) + self.second_bias
        return logits

    def objective(self, features: Features, labelled: Labelled, epoch: int) -> Tensor:
        return self.network.objective(features, labelled, epoch) + labelled.loss(self._by_nearness())

    def embed(self, features: Features) -> Tensor:
        """Return the network's embedding."""
        network: Any = self.network
        embedding: Tensor = network.embed(features)
        return embedding

    def precompute(self, labelled: Labelled) -> Any:
        return self.network.precompute(labelled)

    def recompute_layers(self, on: bool = True) -> bool:
        return self.network.recompute_layers(on)

    def regularised(self) -> list[nn.Parameter]:
        return [*self.network.regularised(), self.first.weight, self.second.weight]


class NearnessMethod(WrappedMethod):
    """Any method whose models inherit `NodeModel.step` and objective, with nearness of labels beside it.

    The perceptron has this weight in the mean, and may see the shares of the classes around a node and the hop counts.
    """

    def __init__(self, method: Method, weight: float = 0.5, shares: bool = False, counts: bool = False) -> None:
        super().__init__(method)
        self.weight, self.shares, self.counts = weight, shares, counts
        self.uses_labels = self.needs_whole = True

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        inner = weights and {name.removeprefix(_NETWORK): value for name, value in weights.items()}
        prepared = self.method.prepare(task, hierarchy, device, inner)
        columns, statistics = [nearness_columns(task)], {}
        columns += [share_columns(task)] if self.shares else []
        if self.counts:
            counts = hop_counts(task)
            scales = {_MEAN: counts.mean(axis=0), _SPREAD: np.maximum(counts.std(axis=0), 1e-6)}
            if weights is not None:  # on another graph, scale as on the training graph
                scales = {name: weights[name].numpy(force=True) for name in scales}
            columns += [(counts - scales[_MEAN]) / scales[_SPREAD]]
            statistics = {name: torch.from_numpy(value).to(device) for name, value in scales.items()}
        together = torch.from_numpy(np.hstack(columns)).to(device)
        return replace(prepared, structure=(prepared.structure, together, statistics))

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> NearnessModel:
        structure, columns, statistics = prepared.structure
        network = self.method.build(Prepared(prepared.features, structure), n_classes, generator)
        dropout = DROPOUT if self.shares or self.counts else 0.0
        model = NearnessModel(network, columns, n_classes, generator, self.weight, dropout)
        for name, statistic in statistics.items():
            model.register_buffer(name, statistic)
        return model

    def redraw(self, model: NodeModel, generator: torch.Generator) -> bool:
        assert isinstance(model, NearnessModel)
        if not self.method.redraw(model.network, generator):
            return False
        for layer in (model.first, model.second):
            layer.generator = generator
            layer.reset_parameters()
        nn.init.zeros_(model.first_bias)
        nn.init.zeros_(model.second_bias)
        return True
