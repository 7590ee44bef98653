"""What the loop trains: one model, or several side by side as if each were alone.

Replicas are models of one method over one graph that differ in their seed, and perhaps in the nodes that they learn
from. Their parameters are stacked on a first axis and `torch.vmap` runs the network over all of them at once, so that
the network itself knows nothing of it; the rules for products and dropout are in `model.sparse` and `model.dropout`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from hiergcn.model.method import Features, Labelled, NodeModel
from hiergcn.model.ops.dropout import ReplicaGenerator
from hiergcn.train.config import TrainConfig
from hiergcn.train.labels import LearningNodes
from hiergcn.train.optimiser import make_optimiser


@dataclass(frozen=True, eq=False)
class Measured:
    """What the models give for every node after an epoch, and how well; the first axis is that of the models."""

    logits: Tensor  # (models, n, classes)
    validation_loss: Tensor  # (models,)
    train_accuracy: Tensor
    validation_accuracy: Tensor


class Learners(ABC):
    """Models in training."""

    @abstractmethod
    def step(self, epoch: int) -> Tensor:
        """One epoch of training; the loss of each model, (models,)."""

    @abstractmethod
    def measure(self) -> Measured: ...

    @abstractmethod
    def weights(self) -> dict[str, Tensor]:
        """What there is to save of each model, by name; the first axis is that of the models."""


class OneLearner(Learners):
    """A single model, which may learn in any way it likes."""

    def __init__(self, model: NodeModel, features: Features, nodes: LearningNodes, config: TrainConfig) -> None:
        self.model, self.features, self.nodes = model, features, _with_cached(model, nodes)
        self.optimiser = make_optimiser(model, dict(model.named_parameters()), config)

    def step(self, epoch: int) -> Tensor:
        self.model.train()
        loss = self.model.step(self.features, self.nodes.train, self.optimiser, epoch)
        return torch.as_tensor(loss, device=self.nodes.train.nodes.device).view(1)

    @torch.no_grad()
    def measure(self) -> Measured:
        self.model.eval()
        return measured(self.model(self.features), self.nodes)

    def weights(self) -> dict[str, Tensor]:
        return {name: value.unsqueeze(0) for name, value in self.model.state_dict().items()}


class Replicas(Learners):
    """Models side by side. All draw what they would draw alone, and differ from it by rounding at most.

    Args:
        models: the fresh models; one need not outlast the next and may be the same, drawn anew.
        features: of every node.
        nodes: for each model, the labels.
        config: of the training.
    """

    def __init__(
        self, models: Iterable[NodeModel], features: Features, nodes: Sequence[LearningNodes], config: TrainConfig
    ) -> None:
        self.features, self.reduction = features, nodes[0].train.reduction
        self.noise, self.model, states = _one_for_all(models)
        learned = {name for name, _ in self.model.named_parameters()}
        self.state = {name: torch.stack([state[name] for state in states]) for name in states[0]}
        self.parameters = {name: self.state[name].requires_grad_() for name in self.state if name in learned}
        self.optimiser = make_optimiser(self.model, self.parameters, config)
        self.replica = torch.arange(len(states), device=next(iter(self.state.values())).device)
        distinct = {id(pair): pair for pair in nodes}  # replicas of one split share what its labels say
        cached = {key: _with_cached(self.model, pair) for key, pair in distinct.items()}
        self.train, self.validation = (_stacked([cached[id(pair)][part] for pair in nodes]) for part in (0, 1))

    def step(self, epoch: int) -> Tensor:
        self.model.train()
        self.optimiser.zero_grad()
        objective = _Objective(self.model)

        def one(state: dict[str, Tensor], replica: Tensor, train: dict[str, Any]) -> Tensor:
            self.noise.replica = replica
            named = {f"model.{name}": value for name, value in state.items()}
            given = (self.features, Labelled(**train, reduction=self.reduction), epoch)
            loss: Tensor = functional_call(objective, named, given, tie_weights=False)  # each has a value of its own
            return loss

        losses: Tensor = torch.vmap(one, randomness="error")(self.state, self.replica, self.train)
        losses.sum().backward()
        self.optimiser.step()
        return losses.detach()

    @torch.no_grad()
    def measure(self) -> Measured:
        self.model.eval()

        def one(state: dict[str, Tensor], *nodes: dict[str, Any]) -> tuple[Tensor, ...]:
            logits = functional_call(self.model, state, (self.features,), tie_weights=False)
            return _measure(logits, *(Labelled(**some) for some in nodes))

        return Measured(*torch.vmap(one)(self.state, self.train, self.validation))

    def weights(self) -> dict[str, Tensor]:
        return {name: value.detach() for name, value in self.state.items()}


class _Objective(nn.Module):
    """A model's objective as what a module does when it is called."""

    def __init__(self, model: NodeModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, *arguments: Any) -> Tensor:
        return self.model.objective(*arguments)


def measured(logits: Tensor, nodes: LearningNodes) -> Measured:
    """Of a single model that gave these logits, (n, classes)."""
    return Measured(*(part.unsqueeze(0) for part in _measure(logits, *nodes)))


def _measure(logits: Tensor, train: Labelled, validation: Labelled) -> tuple[Tensor, ...]:
    return logits, validation.cross_entropy(logits), train.accuracy(logits), validation.accuracy(logits)


def _one_for_all(models: Iterable[NodeModel]) -> tuple[ReplicaGenerator, NodeModel, list[dict[str, Tensor]]]:
    """One of the models, drawing for all of them wherever it drew for itself, and what there is to save of each."""
    generators, states = [], []
    for model in models:
        drawing = [vars(module) for module in model.modules() if "generator" in vars(module)]
        generators += [attributes["generator"] for attributes in drawing[:1]]
        states.append({name: value.clone() for name, value in model.state_dict().items()})
    noise = ReplicaGenerator(generators)
    for attributes in drawing:
        attributes["generator"] = noise
    return noise, model, states


def _with_cached(model: NodeModel, nodes: LearningNodes) -> LearningNodes:
    """Attach what the model precomputes from the training labels."""
    with torch.no_grad():
        return nodes._replace(train=replace(nodes.train, cached=model.precompute(nodes.train)))


def _stacked(parts: Sequence[Labelled]) -> dict[str, Tensor]:
    """What there is of nodes, classes, weights and so on, by name; what is the same for all lies there once."""
    stacked = {}
    for name, first in vars(parts[0]).items():
        if isinstance(first, Tensor):
            column = [getattr(part, name) for part in parts]
            same = all(one is first for one in column)
            stacked[name] = first.expand(len(parts), *first.shape) if same else torch.stack(column)
    return stacked
