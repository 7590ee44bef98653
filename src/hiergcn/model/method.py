"""The one small interface that every way of classifying nodes goes through."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from hiergcn.coarsen import Hierarchy
from hiergcn.graph.task import Task
from hiergcn.model.ops.sparse import SparseFeatures

Features = Tensor | SparseFeatures
Weights = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Some nodes and their classes, on the device."""

    nodes: Tensor  # (m,)
    classes: Tensor  # (m,)
    class_weights: Tensor | None = None  # (classes,) what a node of each counts in the loss; all the same where None
    whole: int | None = field(default=None, kw_only=True)  # how many the graph has, where these are those of a part
    said: Tensor | None = field(default=None, kw_only=True)  # what a model's `said_by_labels` gave of them

    def count(self) -> int:
        """Such nodes of the whole graph."""
        return len(self.nodes) if self.whole is None else self.whole

    def cross_entropy(self, logits: Tensor, reduction: str = "mean") -> Tensor:
        return nn.functional.cross_entropy(
            logits.index_select(0, self.nodes), self.classes, weight=self.class_weights, reduction=reduction
        )

    def accuracy(self, logits: Tensor) -> Tensor:
        return (logits.index_select(0, self.nodes).argmax(dim=1) == self.classes).double().mean()


class NodeModel(nn.Module):
    """A network over one graph that gives the logits of every node. All are trained by the one loop of `train`."""

    weighs_classes: bool = True
    """Whether it learns by `Labelled.cross_entropy`, and so with weights of the classes if they are asked for."""

    recompute: bool | None = None
    """Whether layers are computed once more in the backward pass instead of being kept; None where a model cannot."""

    @property
    def title(self) -> str:
        """What a sentence to the user calls it."""
        return type(self).__name__

    def forward(self, features: Features) -> Tensor:
        """(n, f) -> (n, classes)"""
        raise NotImplementedError

    def step(
        self, features: Features, labelled: Labelled, optimiser: torch.optim.Optimizer, reduction: str, epoch: int
    ) -> Tensor | float:
        """One epoch of training; gives its loss. A method that learns in another way than by gradients overrides it."""
        optimiser.zero_grad()
        loss = self.objective(features, labelled, reduction, epoch)
        loss.backward()
        optimiser.step()
        return loss.detach()

    def objective(self, features: Features, labelled: Labelled, reduction: str, epoch: int) -> Tensor:
        """What one step of training makes smaller, the L2 penalty apart; called in training mode."""
        return labelled.cross_entropy(self(features), reduction)

    def said_by_labels(self, labelled: Labelled) -> Tensor | None:
        """What the objective needs of the training labels and is the same in every step; None where it needs nothing.

        It is computed once, before training, and handed to the objective as `Labelled.said`."""
        return None

    def regularised(self) -> list[nn.Parameter]:
        """What the L2 penalty falls on."""
        return list(self.parameters())


@dataclass(frozen=True, eq=False)
class Prepared:
    """What depends on the graph alone: made once, shared by all seeds."""

    features: Features
    structure: Any
    """The graph as the method wants it: adjacency, levels, ..."""


class Method(ABC):
    """A named way of classifying nodes: prepares once for a graph, then builds a model for each seed."""

    uses_hierarchy: bool = False
    replicates: bool = False
    """Whether its models can train side by side: by the `step` that they inherit, with an objective that is the same
    in every epoch, on products and dropout that `torch.vmap` can take."""
    learns_at_once: bool = False
    """Whether its first step learns everything, without gradients: then no setting of the training has a meaning."""
    inductive: bool = True
    """Whether what is learned can be used on other nodes; False where something is learned for each node."""

    @abstractmethod
    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        """Everything that depends on the graph alone. `weights` are those of a trained model that is to be restored."""

    @abstractmethod
    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> NodeModel:
        """A fresh model whose every random draw, initial weights and dropout alike, comes from the generator."""

    def redraw(self, model: NodeModel, generator: torch.Generator) -> bool:
        """Draw the initial weights of a model anew, as `build` would draw those of a further one, and let it draw from
        the generator from now on: that is less work. False where a method cannot, and nothing is done."""
        return False
