r"""Label propagation, Zhou et al., Learning with Local and Global Consistency (NIPS 2003).

.. math:: F^{(t+1)} = \alpha S F^{(t)} + (1 - \alpha) Y, \quad S = D^{-1/2} A D^{-1/2}

Y holds a 1 for the class of each training node. The method uses no features, draws nothing and has no gradients: one
epoch sets Y, and every seed gives the same model. A row of F, scaled to sum to 1, holds the node's probabilities; they
are all equal if no label reaches the node.

The harmonic function (Zhu et al., 2003) is the other method of labels alone: they are diffused to convergence, see
`coarsening.diffusion`. One epoch solves the system, and every seed gives the same model.

Both predict numbers, too. Label propagation gives a node the mean of the training values, weighted by what reaches it
of each: the expected value, if every value were a class. The constant, which uses no edge either, is the floor.
"""

import torch
from torch import Tensor

from hiergcn.coarsening.diffusion import Diffusion, label_columns
from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import GraphOnlyMethod, LabelModel
from hiergcn.model.method import Features, Labelled
from hiergcn.model.ops.sparse import SparseMatrix, symmetrically_normalised
from hiergcn.settings.methods import LabelOnlyConfig, LabelPropagationConfig

_FLOOR = 1e-12  # of a score, whose logarithm is the logit


class LabelPropagation(LabelModel):
    """The training labels of one graph and S, (n, n)."""

    def __init__(
        self,
        S: SparseMatrix,
        n_features: int,
        n_classes: int,
        config: LabelPropagationConfig,
        generator: torch.Generator,
    ) -> None:
        super().__init__(S.shape[0], n_classes, saved=True)
        self.config, self.n_classes = config, n_classes
        self.S = S  # of the graph, not of the model: not a buffer, so not saved with the labels

    @torch.no_grad()
    def forward(self, features: Features) -> Tensor:
        if self.n_classes == 1:
            reached = self._propagated(torch.stack([self.known.nan_to_num(), self.is_known.float()], dim=1))  # (n, 2)
            return reached[:, :1] / reached[:, 1:].clamp_min(_FLOOR)  # 0, the mean of all, if nothing reaches the node
        Y = torch.zeros(len(self.known), self.n_classes, device=self.known.device)
        nodes = torch.nonzero(self.is_known).squeeze(1)
        Y[nodes, self.known[nodes]] = 1.0
        return torch.log(self._propagated(Y) + _FLOOR)

    @torch.no_grad()
    def label_weights(self, node: int) -> Tensor:
        Y = torch.zeros(len(self.known), 1, device=self.known.device)
        Y[node] = 1.0
        return self._propagated(Y)[self.is_known, 0]  # S is symmetric: a row is a column

    def _propagated(self, Y: Tensor) -> Tensor:
        F = Y
        for _ in range(self.config.steps):
            F = self.config.alpha * self.S.product(F) + (1.0 - self.config.alpha) * Y  # (n, columns)
        return F


class LabelPropagationMethod(GraphOnlyMethod):
    network = LabelPropagation

    def structure(self, task: Task, device: torch.device) -> SparseMatrix:
        return SparseMatrix.from_scipy(symmetrically_normalised(task.adjacency), device)


class Shares(LabelModel):
    """A model that keeps the shares of the classes, or the number, at each node."""

    shares: Tensor  # (n, classes); (1, classes) if they are the same at all nodes

    def forward(self, features: Features) -> Tensor:
        rows = self.shares.expand(len(self.known), -1)
        return rows if rows.shape[1] == 1 else torch.log(rows + _FLOOR)


class Harmonic(Shares):
    """The harmonic function, once the labels are known."""

    def __init__(
        self, diffusion: Diffusion, n_features: int, n_classes: int, config: LabelOnlyConfig, generator: torch.Generator
    ) -> None:
        n = diffusion.adjacency.shape[0]
        super().__init__(n, n_classes)
        self.diffusion = diffusion
        self.register_buffer("shares", torch.full((n, n_classes), 1.0 / n_classes, device=generator.device))

    def solve(self, labelled: Labelled) -> None:
        super().solve(labelled)
        nodes, classes = labelled.nodes.cpu().numpy(), labelled.classes.cpu().numpy()
        shares = self.diffusion.harmonic(nodes, classes, self.shares.shape[1])
        self.shares.copy_(torch.from_numpy(shares))

    def label_weights(self, node: int) -> Tensor:
        nodes = torch.nonzero(self.is_known).squeeze(1).cpu().numpy()
        return torch.from_numpy(self.diffusion.label_weights(node, nodes))


class HarmonicMethod(GraphOnlyMethod):
    network = Harmonic

    def structure(self, task: Task, device: torch.device) -> Diffusion:
        return Diffusion(task.adjacency)


class Constant(Shares):
    """The shares of the classes among the training nodes, or the mean of their numbers, for every node."""

    def __init__(
        self, n_nodes: int, n_features: int, n_classes: int, config: LabelOnlyConfig, generator: torch.Generator
    ) -> None:
        super().__init__(n_nodes, n_classes)
        self.register_buffer("shares", torch.zeros(1, n_classes, device=generator.device))

    def solve(self, labelled: Labelled) -> None:
        super().solve(labelled)
        columns = label_columns(labelled.classes.cpu().numpy(), self.shares.shape[1])
        if len(columns):
            self.shares.copy_(torch.from_numpy(columns.mean(axis=0, keepdims=True)))

    def label_weights(self, node: int) -> Tensor:
        return torch.ones(int(self.is_known.sum()))


class ConstantMethod(GraphOnlyMethod):
    network = Constant

    def structure(self, task: Task, device: torch.device) -> int:
        return task.n_nodes
