r"""Label propagation, Zhou et al., Learning with Local and Global Consistency (NIPS 2003): the graph without features.

.. math:: F^{(t+1)} = \alpha S F^{(t)} + (1 - \alpha) Y, \quad S = D^{-1/2} A D^{-1/2}

Y holds a 1 for the class of each training node. Nothing is drawn and nothing is learnt by gradients: one epoch sets Y,
and every seed gives the same model. A row of F, scaled to sum to 1, is the node's probabilities; a node that no label
reaches has them all equal.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import GraphOnlyMethod, OneStepModel
from hiergcn.model.config_checks import check_true_share, check_whole
from hiergcn.model.method import Features, Labelled, Prepared
from hiergcn.model.ops.sparse import csr_tensor

_FLOOR = 1e-12  # of a score, whose logarithm is the logit
_UNKNOWN = -1


@dataclass(frozen=True)
class LabelPropagationConfig:
    """The method's settings."""

    alpha: float = 0.9
    """Share of what a node takes over from its neighbours in each step."""
    steps: int = 50
    """Steps of the iteration."""

    def __post_init__(self) -> None:
        check_whole(self, steps=1)
        check_true_share(self, "alpha")


class LabelPropagation(OneStepModel):
    """The training labels of one graph, spread along its edges.

    Args:
        spread: S as a CSR tensor (n, n).
        n_classes: number of classes.
        config: the settings.
    """

    weighs_classes = False
    known: Tensor  # (n,) class of each training node, elsewhere -1

    def __init__(self, spread: Tensor, n_classes: int, config: LabelPropagationConfig) -> None:
        super().__init__()
        self.config, self.n_classes = config, n_classes
        self.spread = spread  # of the graph, not of the model: not a buffer, so not saved with the labels
        self.register_buffer("known", torch.full((spread.shape[0],), _UNKNOWN))

    def solve(self, labelled: Labelled) -> None:
        self.known[labelled.nodes] = labelled.classes

    @torch.no_grad()
    def forward(self, features: Features) -> Tensor:
        Y = torch.zeros(len(self.known), self.n_classes, device=self.known.device)
        nodes = torch.nonzero(self.known != _UNKNOWN).squeeze(1)
        Y[nodes, self.known[nodes]] = 1.0
        F = Y
        for _ in range(self.config.steps):
            F = self.config.alpha * (self.spread @ F) + (1.0 - self.config.alpha) * Y  # (n, classes)
        return torch.log(F + _FLOOR)


class LabelPropagationMethod(GraphOnlyMethod):
    """Label propagation as a method: S is made once."""

    def structure(self, task: Task, device: torch.device) -> Tensor:
        return csr_tensor(_spread(task.adjacency)).to(device)

    def build(
        self,
        prepared: Prepared,
        n_classes: int,
        generator: torch.Generator,
    ) -> LabelPropagation:
        return LabelPropagation(prepared.structure, n_classes, self.config)


def _spread(adjacency: sp.csr_array) -> sp.csr_array:
    """S = D^-1/2 A D^-1/2; the row of an isolated node is empty."""
    degree = adjacency.sum(axis=1)
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    return sp.csr_array(sp.diags_array(root) @ adjacency @ sp.diags_array(root))
