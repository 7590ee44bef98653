"""The interface of all methods: `Method` prepares a graph and builds a `NodeModel` for each seed."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from hiergcn.coarsening import Hierarchy
from hiergcn.graph.target import Kind
from hiergcn.graph.task import Task
from hiergcn.model.memory_cost import MemoryPlan, Workload, flat_memory
from hiergcn.model.ops.replicas import under_vmap
from hiergcn.model.ops.sparse import Features as Features

Weights = Mapping[str, Tensor]


def activated(logits: Tensor) -> Tensor:
    """Return the probabilities of classes, the softmax over the last axis. A single column is a number and stays."""
    if logits.shape[-1] == 1:
        return logits
    if logits.is_cuda or logits.stride(-1) == 1:
        return torch.softmax(logits, dim=-1)
    return torch.softmax(logits.movedim(-1, 0), dim=0).movedim(0, -1)  # in this layout it takes a fifth of the time


def mean_logits(logits: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of mean probabilities, (n, classes), or the mean of numbers, (n, 1)."""
    each = torch.stack(list(logits))  # (models, n, classes)
    if each.shape[2] == 1:
        return each.mean(dim=0)
    return torch.logsumexp(torch.log_softmax(each, dim=2), dim=0) - math.log(len(logits))


@dataclass(frozen=True, eq=False)
class Labelled:
    """Some nodes with their classes, on the device."""

    nodes: Tensor  # (m,)
    classes: Tensor  # (m,); of `Measured`, numbers
    class_weights: Tensor | None = None  # (classes,) weight of each class in the loss; None weighs all alike
    reduction: str = field(default="mean", kw_only=True)  # of the loss over the nodes: mean or sum
    total: int | None = field(default=None, kw_only=True)  # such nodes in the whole graph, if these are a batch's
    cached: Any = field(default=None, kw_only=True)  # result of the model's `precompute`

    def count(self) -> int:
        """Return the number of such nodes in the whole graph."""
        return len(self.nodes) if self.total is None else self.total

    def loss(self, logits: Tensor, reduction: str | None = None) -> Tensor:
        """Return the loss over the nodes; `logits` (n, classes) are those of all nodes."""
        return self.loss_of_rows(logits.index_select(0, self.nodes), reduction)

    def loss_of_rows(self, logits: Tensor, reduction: str | None = None) -> Tensor:
        """Return the cross-entropy over the nodes; `logits` (m, classes) are those of these nodes."""
        how = reduction or self.reduction
        if not under_vmap():
            return nn.functional.cross_entropy(logits, self.classes, weight=self.class_weights, reduction=how)
        losses = -torch.log_softmax(logits, dim=1).gather(1, self.classes.unsqueeze(1)).squeeze(1)
        if self.class_weights is None:  # under `torch.vmap`, torch's own is in Python and imports sympy: half a second
            return losses.sum() if how == "sum" else losses.mean()
        weights = self.class_weights[self.classes]
        total = (losses * weights).sum()
        return total if how == "sum" else total / weights.sum()

    def score(self, logits: Tensor) -> Tensor:
        """Return the accuracy: the share of the nodes whose largest logit is that of their class."""
        return (logits.index_select(0, self.nodes).argmax(dim=1) == self.classes).double().mean()


class Measured(Labelled):
    """Some nodes with numbers, in units of the training values' standard deviation from their mean."""

    def loss_of_rows(self, logits: Tensor, reduction: str | None = None) -> Tensor:
        """Return the squared error over the nodes; `logits` (m, 1) are their numbers."""
        return nn.functional.mse_loss(logits.squeeze(1), self.classes, reduction=reduction or self.reduction)

    def score(self, logits: Tensor) -> Tensor:
        """Return 1 less the mean squared error: 1 is perfect, and the mean of the training values gives about 0."""
        return 1.0 - self.loss(logits, "mean").double()


LEARNED: Mapping[Kind, type[Labelled]] = {"classes": Labelled, "numbers": Measured}
"""How a network learns each kind of target."""


class Optimiser(Protocol):
    """What a training step needs of an optimiser."""

    param_groups: list[dict[str, Any]]

    def zero_grad(self) -> None: ...

    def step(self) -> object: ...


def descend(loss: Tensor, optimiser: Optimiser) -> Tensor:
    """Take one step along the gradient of the loss, and return the loss."""
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.detach()


class NodeModel(nn.Module):
    """A network over one graph that returns the logits of every node.

    The one loop in `train` trains every model. Most need only `forward`; a model with a loss of its own overrides
    `objective`, and one that does not take one gradient step per epoch overrides `step`.
    """

    weighs_classes: bool = True
    """Whether the objective is `Labelled.loss`, and so takes class weights."""
    draws: bool = True
    """Whether a training pass draws random numbers, as dropout does. If not, it is the same as an evaluation: one call
    of `forward_with_loss` serves both, and the model must inherit `step`."""

    @property
    def title(self) -> str:
        """The model's name in messages."""
        return type(self).__name__

    def forward(self, features: Features) -> Tensor:
        """Return the logits; (n, f) -> (n, classes)."""
        raise NotImplementedError

    def forward_with_loss(self, features: Features, labelled: Labelled) -> tuple[Tensor, Tensor]:
        """Return the logits and their objective."""
        logits = self(features)
        return logits, labelled.loss(logits)

    def objective(self, features: Features, labelled: Labelled, epoch: int) -> Tensor:
        """Return the loss of one training step, without the L2 penalty. Called in training mode."""
        return labelled.loss(self(features))

    def step(self, features: Features, labelled: Labelled, optimiser: Optimiser, epoch: int) -> Tensor | float:
        """Train for one epoch and return the loss."""
        return descend(self.objective(features, labelled, epoch), optimiser)

    def precompute(self, labelled: Labelled) -> Any:
        """Return what the objective derives once from the training nodes and labels; None if nothing.

        The objective finds it in `labelled.cached`. Replicas of several splits find tensors alone.
        """
        return None

    def receptive_field(self, nodes: Tensor) -> Any:
        """Return what `logits_of` needs to compute the logits of these nodes alone; None if it computes all."""
        return None

    def logits_of(self, features: Features, field: Any) -> Tensor:
        """Return the logits of the nodes of a receptive field; (n, f) -> (m, classes)."""
        raise NotImplementedError

    def recompute_layers(self, on: bool = True) -> bool:
        """Compute layers again in the backward pass, to save memory. Return False if that is not supported."""
        return False

    def regularised(self) -> list[nn.Parameter]:
        """Return the parameters under the L2 penalty."""
        return list(self.parameters())


@dataclass(frozen=True, eq=False)
class Prepared:
    """All tensors that depend on the graph alone; made once and shared by all seeds."""

    features: Features
    structure: Any
    """The graph in the method's own form: adjacency, levels, ..."""


class Method(ABC):
    """A way to classify nodes: prepares a graph once, then builds a model for each seed.

    What is known of a method without importing torch is in its settings, see `MethodConfig`.
    """

    replicates: bool = False
    """Whether its models can train side by side under `torch.vmap`. They must inherit `step`, their objective must be
    the same in every epoch, and their products and dropout must come from `ops`."""
    inductive: bool = True
    """Whether a trained model applies to other nodes; False if it has parameters for each node."""

    uses_labels: bool = False
    """Whether `prepare` uses the training labels, so that each split is prepared by itself."""
    needs_whole: bool = False
    """Whether its inputs come from all over the graph, which a batch does not have."""

    @abstractmethod
    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        """Return the tensors that depend on the graph alone. `weights` are those of a trained model to restore."""

    def statistics(self, task: Task, hierarchy: Hierarchy | None) -> dict[str, Tensor]:
        """Return those weights of a model that come from its graph, by name; `prepare` takes them from `weights`."""
        return {}

    @abstractmethod
    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> NodeModel:
        """Return a new model. The generator supplies every random draw: initial weights and dropout."""

    def memory(self, work: Workload) -> MemoryPlan:
        """Return the bytes that training one seed takes; unless overridden, by a rule of thumb."""
        return flat_memory(work, hidden=32)

    def redraw(self, model: NodeModel, generator: torch.Generator) -> bool:
        """Draw new initial weights for a built model, which is cheaper than building another one.

        The model draws from the generator from then on. Return False, and do nothing, if that is not supported.
        """
        return False


class WrappedMethod(Method):
    """A method around another one, whose properties it takes over."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.replicates, self.inductive = method.replicates, method.inductive
        self.uses_labels, self.needs_whole = method.uses_labels, method.needs_whole

    def statistics(self, task: Task, hierarchy: Hierarchy | None) -> dict[str, Tensor]:
        return self.method.statistics(task, hierarchy)

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> NodeModel:
        return self.method.build(prepared, n_classes, generator)

    def memory(self, work: Workload) -> MemoryPlan:
        return self.method.memory(work)

    def redraw(self, model: NodeModel, generator: torch.Generator) -> bool:
        return self.method.redraw(model, generator)


def with_weights(
    method: Method, prepared: Prepared, weights: Weights, n_classes: int, device: torch.device
) -> NodeModel:
    """Build a model, give it trained weights and set it to evaluation mode."""
    with device:
        model = method.build(prepared, n_classes, torch.Generator(device)).to(device)
    model.load_state_dict(dict(weights))
    return model.eval()
