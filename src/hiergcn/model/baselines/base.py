"""What most methods are: the features, one structure made of the graph, and a network over both."""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor

from hiergcn.coarsen import Hierarchy
from hiergcn.graph.task import Task
from hiergcn.model.features import feature_tensor
from hiergcn.model.method import Features, Labelled, Method, NodeModel, Prepared, Weights
from hiergcn.model.ops.sparse import csr_tensor, normalised_adjacency


class OneStepModel(NodeModel):
    """A model that learns everything in its first step, without gradients."""

    @abstractmethod
    def solve(self, labelled: Labelled) -> None:
        """Learn from the training nodes."""

    def step(self, features: Features, labelled: Labelled, optimiser: torch.optim.Optimizer, epoch: int) -> float:
        self.solve(labelled)
        return labelled.cross_entropy(self(features)).item()


class PlainMethod(Method):
    """A method without hierarchy: structure and features are made once, each seed gets its own network.

    Args:
        config: its settings.
    """

    network: type[Any]
    """Built of the structure, the number of features, the number of classes, the settings and the generator."""

    def __init__(self, config: Any) -> None:
        self.config = config

    @abstractmethod
    def structure(self, task: Task, device: torch.device) -> Any:
        """What the network needs of the graph."""

    def features(self, task: Task, device: torch.device) -> Features:
        return feature_tensor(task, self.config.scaling, device)

    def prepare(
        self,
        task: Task,
        hierarchy: Hierarchy | None,
        device: torch.device,
        weights: Weights | None = None,
    ) -> Prepared:
        return Prepared(self.features(task, device), self.structure(task, device))

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> NodeModel:
        width = prepared.features.shape[1]
        model: NodeModel = self.network(prepared.structure, width, n_classes, self.config, generator)
        return model


class OverAdjacency(PlainMethod):
    """A network over Â."""

    def structure(self, task: Task, device: torch.device) -> Tensor:
        return csr_tensor(normalised_adjacency(task.adjacency)).to(device)


class WithoutFeatures(PlainMethod):
    """A method that knows the graph and the labels alone, and learns all there is in one step."""

    inductive = False
    learns_at_once = True

    def features(self, task: Task, device: torch.device) -> Tensor:
        return torch.empty(task.n_nodes, 0, device=device)
