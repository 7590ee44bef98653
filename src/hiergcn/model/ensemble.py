r"""An ensemble: several networks of one method as one model, which predicts by their mean probabilities.

.. math:: p(c \mid i) = \frac1M \sum_{m=1}^{M} \operatorname{softmax}(Z^{(m)}_i)_c

Z are the logits of one network. With few labels, predictions depend much on the initial weights, and the mean does so
less. The objective is the sum of the members' objectives, so each trains as it would alone; validation selects the
epoch by the mean. An ensemble costs M times as much as one network.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from hiergcn.coarsening import Hierarchy
from hiergcn.graph.task import Task
from hiergcn.model.method import (
    Features,
    Labelled,
    MemoryPlan,
    Method,
    NodeModel,
    Prepared,
    Weights,
    Workload,
    WrappedMethod,
    mean_logits,
)

_FIRST = "members.0."


class Ensemble(NodeModel):
    """Networks over one graph that predict by the mean of their probabilities."""

    def __init__(self, members: Sequence[NodeModel]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.weighs_classes = members[0].weighs_classes
        self.draws = any(member.draws for member in members)
        self.title = members[0].title  # users ask for networks=4, not for an ensemble class

    @property
    def each(self) -> list[Any]:
        """The networks."""
        return list(self.members)

    def forward(self, features: Features) -> Tensor:
        """Return the logarithm of the mean probabilities, (n, classes), or the mean of numbers, (n, 1)."""
        return mean_logits([member(features) for member in self.each])

    def forward_with_loss(self, features: Features, labelled: Labelled) -> tuple[Tensor, Tensor]:
        logits, losses = zip(*(member.forward_with_loss(features, labelled) for member in self.each), strict=True)
        return mean_logits([each.detach() for each in logits]), torch.stack(losses).sum()

    def embed(self, features: Features) -> Tensor:
        """Return the members' embeddings, concatenated; (n, M * hidden)."""
        return torch.cat([member.embed(features) for member in self.each], dim=1)

    def objective(self, features: Features, labelled: Labelled, epoch: int) -> Tensor:
        return torch.stack([member.objective(features, labelled, epoch) for member in self.each]).sum()

    def precompute(self, labelled: Labelled) -> Any:
        return self.each[0].precompute(labelled)

    def receptive_field(self, nodes: Tensor) -> Any:
        return self.each[0].receptive_field(nodes)

    def logits_of(self, features: Features, field: Any) -> Tensor:
        return mean_logits([member.logits_of(features, field) for member in self.each])

    def recompute_layers(self, on: bool = True) -> bool:
        return all(member.recompute_layers(on) for member in self.each)

    def regularised(self) -> list[nn.Parameter]:
        return [parameter for member in self.each for parameter in member.regularised()]


class EnsembleMethod(WrappedMethod):
    """An ensemble of networks of any method whose models inherit `NodeModel.step`."""

    def __init__(self, method: Method, networks: int) -> None:
        super().__init__(method)
        self.networks = networks

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        return self.method.prepare(task, hierarchy, device, weights and first_member_weights(weights))

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> Ensemble:
        return Ensemble([self.method.build(prepared, n_classes, generator) for _ in range(self.networks)])

    def memory(self, work: Workload) -> MemoryPlan:
        return self.method.memory(replace(work, networks=self.networks))

    def redraw(self, model: NodeModel, generator: torch.Generator) -> bool:
        assert isinstance(model, Ensemble)
        return all(self.method.redraw(member, generator) for member in model.each)


def first_member_weights(weights: Weights) -> Weights:
    """Return the weights of an ensemble's first member, or of a single network: graph buffers are the same in all."""
    first = {name.removeprefix(_FIRST): value for name, value in weights.items() if name.startswith(_FIRST)}
    return first or weights
