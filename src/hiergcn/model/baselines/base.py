"""Base classes and helpers of the methods that use no hierarchy."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hiergcn.coarsening import Hierarchy
from hiergcn.graph.task import Task
from hiergcn.model.inputs import feature_tensor
from hiergcn.model.method import (
    Features,
    Labelled,
    MemoryPlan,
    Method,
    NodeModel,
    Optimiser,
    Prepared,
    Weights,
    Workload,
    flat_memory,
)
from hiergcn.model.ops.sparse import SparseMatrix, normalised_adjacency


class OneStepModel(NodeModel):
    """A model that learns everything in its first step, without gradients."""

    @abstractmethod
    def solve(self, labelled: Labelled) -> None:
        """Learn from the training nodes."""

    def step(self, features: Features, labelled: Labelled, optimiser: Optimiser, epoch: int) -> float:
        self.solve(labelled)
        return labelled.loss(self(features)).item()


class LabelModel(OneStepModel):
    """A model of labels alone: at each node, the shares of the classes are a weighted mean of the training labels."""

    weighs_classes = False
    known: Tensor  # (n,) class or number of each training node; -1 or NaN for all others

    def __init__(self, n_nodes: int, n_classes: int, saved: bool = False) -> None:
        super().__init__()
        known = torch.full((n_nodes,), torch.nan) if n_classes == 1 else torch.full((n_nodes,), -1)
        self.register_buffer("known", known, persistent=saved)

    def solve(self, labelled: Labelled) -> None:
        self.known[labelled.nodes] = labelled.classes

    @property
    def is_known(self) -> Tensor:
        """Whether each node trains, (n,)."""
        return ~self.known.isnan() if self.known.is_floating_point() else self.known >= 0

    @abstractmethod
    def label_weights(self, node: int) -> Tensor:
        """Return the weight of each training node's label at a node, up to a common factor, (training nodes,)."""


class FlatMethod(Method):
    """A method over the input graph alone: features and structure are made once, each seed gets its own network."""

    @abstractmethod
    def structure(self, task: Task, device: torch.device) -> Any:
        """Return the graph in the form that the network needs."""

    def features(self, task: Task, device: torch.device) -> Features:
        return feature_tensor(task, self.config.scaling, device)

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        return Prepared(self.features(task, device), self.structure(task, device))

    def memory(self, work: Workload) -> MemoryPlan:
        hidden, layers = getattr(self.config, "hidden", 32), getattr(self.config, "layers", 2)
        return flat_memory(work, hidden, layers=layers)


class AdjacencyMethod(FlatMethod):
    """A network over the normalised adjacency Â, (n, n)."""

    def structure(self, task: Task, device: torch.device) -> Any:
        return SparseMatrix.from_scipy(normalised_adjacency(task.adjacency), device)


class GraphOnlyMethod(FlatMethod):
    """A method that uses edges and labels but no features, and learns everything in one step."""

    inductive = False

    def features(self, task: Task, device: torch.device) -> Tensor:
        return torch.empty(task.n_nodes, 0, device=device)


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Make torch's global draws follow from the generator, for libraries that take none; restore their state after."""
    seed = _drawn_seed(generator)
    devices = [generator.device] if generator.device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        yield


def numpy_generator(generator: torch.Generator) -> np.random.Generator:
    """Return a numpy generator that follows from torch's, for sampling outside of torch."""
    return np.random.default_rng(_drawn_seed(generator))


def _drawn_seed(generator: torch.Generator) -> int:
    return int(torch.randint(2**62, (), generator=generator, device=generator.device, dtype=torch.int64))
