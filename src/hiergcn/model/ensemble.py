r"""Several networks of one method as one model: each learns as it would alone, and all of them predict together.

.. math:: p(c \mid i) = \frac1M \sum_{m=1}^{M} \operatorname{softmax}(Z^{(m)}_i)_c

where Z are the logits of one network. With few labels much depends on the initial weights: networks that agree on most
nodes differ on whole groups of the others. Their mean leans on none of them. The objective is the sum of theirs, so
that no weight knows of another network; the epoch is chosen by validation for the mean. It costs M times as much.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from hiergcn.coarsen import Hierarchy
from hiergcn.graph.task import Task
from hiergcn.model.memory_cost import MemoryPlan, Workload
from hiergcn.model.method import Features, Labelled, Method, NodeModel, Prepared, Weights

_FIRST = "members.0."


class Ensemble(NodeModel):
    """Networks over one graph that predict by the mean of their probabilities."""

    def __init__(self, members: Sequence[NodeModel]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.weighs_classes = members[0].weighs_classes

    @property
    def each(self) -> list[Any]:
        """The networks."""
        return list(self.members)

    @property
    def title(self) -> str:
        """That of its networks: the user has asked for some of them, not for a committee."""
        title: str = self.each[0].title
        return title

    def forward(self, features: Features) -> Tensor:
        """The logarithm of the mean probabilities."""
        each = torch.stack([torch.log_softmax(member(features), dim=1) for member in self.each])  # (M, n, classes)
        return torch.logsumexp(each, dim=0) - math.log(len(self.members))

    def embed(self, features: Features) -> Tensor:
        """What the members' last layers take in, side by side; (n, M hidden)."""
        return torch.cat([member.embed(features) for member in self.each], dim=1)

    def objective(self, features: Features, labelled: Labelled, epoch: int) -> Tensor:
        return torch.stack([one.objective(features, labelled, epoch) for one in self.each]).sum()

    def precompute(self, labelled: Labelled) -> Tensor | None:
        cached: Tensor | None = self.each[0].precompute(labelled)
        return cached

    def recompute_layers(self, on: bool = True) -> bool:
        return all(member.recompute_layers(on) for member in self.each)

    def regularised(self) -> list[nn.Parameter]:
        return [parameter for member in self.each for parameter in member.regularised()]


class EnsembleMethod(Method):
    """Any method that learns by the step that all models inherit, with several networks in the place of one.

    Args:
        method: whose networks they are.
        networks: how many.
    """

    def __init__(self, method: Method, networks: int) -> None:
        self.method, self.networks = method, networks
        self.uses_hierarchy, self.inductive = method.uses_hierarchy, method.inductive
        self.replicates = method.replicates

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
        drawn = [self.method.redraw(member, generator) for member in model.each]
        return all(drawn)


def first_member_weights(weights: Weights) -> Weights:
    """Those of the first network, where there are several: what belongs to the graph is the same in all."""
    own = {name.removeprefix(_FIRST): value for name, value in weights.items() if name.startswith(_FIRST)}
    return own or weights
