"""The harmonic function (Zhu et al., 2003): the labels alone, diffused over the edges to convergence; see `diffusion`.

As a method it uses no features and draws nothing: one epoch solves the system, and every seed gives the same model.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hiergcn.coarsen.diffusion import Diffusion
from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import GraphOnlyMethod, OneStepModel
from hiergcn.model.method import Features, Labelled

_FLOOR = 1e-12  # of a share, whose logarithm is the logit


@dataclass(frozen=True)
class HarmonicConfig:
    """There are no settings."""


class Harmonic(OneStepModel):
    """The shares of the classes at each node, once the labels are known."""

    weighs_classes = False
    shares: Tensor  # (n, classes)

    def __init__(
        self, diffusion: Diffusion, n_features: int, n_classes: int, config: HarmonicConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.diffusion = diffusion
        n = diffusion.adjacency.shape[0]
        self.register_buffer("shares", torch.full((n, n_classes), 1.0 / n_classes, device=generator.device))

    def solve(self, labelled: Labelled) -> None:
        nodes, classes = labelled.nodes.cpu().numpy(), labelled.classes.cpu().numpy()
        shares = self.diffusion.harmonic(nodes, classes, self.shares.shape[1])
        self.shares.copy_(torch.from_numpy(shares))

    def forward(self, features: Features) -> Tensor:
        return torch.log(self.shares + _FLOOR)


class HarmonicMethod(GraphOnlyMethod):
    """The harmonic function as a method."""

    network = Harmonic
    relearns = True

    def structure(self, task: Task, device: torch.device) -> Diffusion:
        return Diffusion(task.adjacency)
