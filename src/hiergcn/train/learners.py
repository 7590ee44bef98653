"""What the training loop trains: one model, or replicas side by side, with their optimiser.

Replicas are models of one method over one graph that differ in their seed, and perhaps in their training nodes. The
network itself does not know that it has replicas; the rules for products and dropout are in `model.ops`.

`Adam` (Kingma & Ba, ICLR 2015) is torch's fused kernel, without `torch.optim.Adam` around it. The first optimiser of
`torch.optim` that is made imports `torch._dynamo`, the compiler, which takes about a second and compiles nothing here.
The numbers are the same to the last bit.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from hiergcn.graph.task import Task
from hiergcn.model.method import LEARNED, Features, Labelled, NodeModel, Optimiser, descend
from hiergcn.model.ops.dropout import ReplicaGenerator
from hiergcn.model.ops.replicas import vmap
from hiergcn.settings.fields import TrainConfig

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Torch's defaults."""


class Adam:
    """Adam over groups of parameters, each with its own weight decay λ, which adds λθ to the gradient.

    Args:
        groups: a dictionary with `params` and `weight_decay` each.
        learning_rate: of every group.
    """

    def __init__(self, groups: Sequence[dict[str, Any]], learning_rate: float) -> None:
        self.param_groups = [group | {"lr": learning_rate} for group in groups]
        self.state: dict[Tensor, tuple[Tensor, Tensor, Tensor]] = {}
        """Mean and uncentred variance of the gradients of each parameter, and its number of steps."""

    def zero_grad(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            learned = [parameter for parameter in group["params"] if parameter.grad is not None]
            if not learned:
                continue
            for parameter in learned:
                if parameter not in self.state:
                    zeros = [torch.zeros_like(parameter, memory_format=torch.preserve_format) for _ in range(2)]
                    self.state[parameter] = (zeros[0], zeros[1], torch.zeros((), device=parameter.device))
            means, variances, steps = map(list, zip(*(self.state[parameter] for parameter in learned), strict=True))
            torch._foreach_add_(steps, 1)
            torch._fused_adam_(
                learned,
                [parameter.grad for parameter in learned],
                means,
                variances,
                [],
                steps,
                lr=group["lr"],
                beta1=BETA1,
                beta2=BETA2,
                weight_decay=group["weight_decay"],
                eps=EPSILON,
                amsgrad=False,
                maximize=False,
            )

    def state_dict(self) -> dict[str, Tensor]:
        """Return means, variances and steps, by the place of their parameter."""
        every = [parameter for group in self.param_groups for parameter in group["params"]]
        kept = {place: self.state[one] for place, one in enumerate(every) if one in self.state}
        return {f"{place}.{part}": value for place, parts in kept.items() for part, value in enumerate(parts)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on from what `state_dict` returned."""
        every = [parameter for group in self.param_groups for parameter in group["params"]]
        for place in {int(name.partition(".")[0]) for name in state}:
            parts = [state[f"{place}.{part}"].to(every[place].device) for part in range(3)]
            self.state[every[place]] = (parts[0], parts[1], parts[2])


NODES_PER_LABEL = 8
"""Nodes for each labelled one from which on replicas are evaluated on the labelled nodes alone. It saves more than the
last evaluation, of all nodes, costs."""


class LearningNodes(NamedTuple):
    """Training and validation nodes."""

    train: Labelled
    validation: Labelled


def labelled_nodes(
    task: Task,
    device: torch.device,
    class_weight: Literal["none", "balanced"] = "none",
    loss: Literal["sum", "mean"] = "mean",
) -> LearningNodes:
    """Return training and validation nodes on the device; `loss` is the reduction over the training nodes."""
    kind, weights = LEARNED[task.target.kind], None
    if class_weight == "balanced":
        weights = torch.tensor(balanced_weights(task.train_labels, task.n_classes), device=device)
    train, train_labels, validation, validation_labels = (
        torch.tensor(array, device=device)
        for array in (task.train, task.train_labels, task.validation, task.validation_labels)
    )
    return LearningNodes(
        kind(train, train_labels, weights, reduction=loss), kind(validation, validation_labels, weights)
    )


def balanced_weights(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Return n / (classes * nodes of the class), as in scikit-learn; 1 for a class without nodes."""
    count = np.bincount(labels, minlength=n_classes)
    present = np.count_nonzero(count)
    return np.where(count > 0, labels.size / (present * np.maximum(count, 1)), 1.0).astype(np.float32)


def make_optimiser(model: NodeModel, parameters: Mapping[str, Tensor], config: TrainConfig) -> Optimiser:
    """Return Adam or plain gradient descent. Weight decay adds λθ to the gradient: the penalty is λ/2 ‖θ‖².

    `parameters` are the model's, by name, or those of several replicas of it.
    """
    regularised = {id(parameter) for parameter in model.regularised()}
    penalised = {name for name, parameter in model.named_parameters() if id(parameter) in regularised}
    groups = [
        {"params": [p for name, p in parameters.items() if name in penalised], "weight_decay": config.l2},
        {"params": [p for name, p in parameters.items() if name not in penalised], "weight_decay": 0.0},
    ]
    if config.optimiser == "sgd":
        return torch.optim.SGD(groups, lr=config.learning_rate)
    return Adam(groups, config.learning_rate)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Logits and scores after an epoch; the first axis is that of the models. See `Labelled.score` for accuracies."""

    logits: Tensor | None  # (models, n, classes); None if those of labelled nodes alone were computed
    validation_loss: Tensor  # (models,)
    train_accuracy: Tensor
    validation_accuracy: Tensor


class Learner(ABC):
    """Models in training, with their optimiser."""

    optimiser: Optimiser

    @abstractmethod
    def step(self, epoch: int) -> Tensor:
        """Train for one epoch and return the loss of each model, (models,)."""

    @abstractmethod
    def evaluate(self) -> Evaluation:
        """Return logits and scores of each model, in evaluation mode."""

    @abstractmethod
    def weights(self) -> dict[str, Tensor]:
        """Return the state to save, by name; the first axis is that of the models."""

    def logits(self, weights: dict[str, Tensor]) -> Tensor:
        """Return the logits of all nodes with these weights; for a learner that evaluates labelled nodes alone."""
        raise NotImplementedError

    def training_state(self) -> dict[str, Tensor] | None:
        """Return model and optimiser, by name; None if there is more to them than tensors."""
        return None

    def load_training_state(self, state: dict[str, Tensor]) -> None:
        """Go on from what `training_state` returned."""
        raise NotImplementedError


class OneModel(Learner):
    """A learner of a single model."""

    model: NodeModel

    def weights(self) -> dict[str, Tensor]:
        return {name: value.unsqueeze(0) for name, value in self.model.state_dict().items()}

    def training_state(self) -> dict[str, Tensor] | None:
        if type(self.model).step is not NodeModel.step:  # a model with its own step perhaps has a state, too
            return None
        learned = self.optimiser.state_dict() if isinstance(self.optimiser, Adam) else {}  # plain descent has no state
        return {f"model.{name}": value for name, value in self.model.state_dict().items()} | {
            f"optimiser.{name}": value for name, value in learned.items()
        }

    def load_training_state(self, state: dict[str, Tensor]) -> None:
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "optimiser": {}}
        for name, value in state.items():
            part, _, name_in_part = name.partition(".")
            parts.get(part, {})[name_in_part] = value  # the state of a selection is in the same file
        self.model.load_state_dict(parts["model"])
        if isinstance(self.optimiser, Adam):
            self.optimiser.load_state_dict(parts["optimiser"])


class SingleLearner(OneModel):
    """One model, trained by its own `step`.

    If it draws no random numbers, each forward pass serves an evaluation and the next step, which saves a quarter.
    """

    def __init__(self, model: NodeModel, features: Features, nodes: LearningNodes, config: TrainConfig) -> None:
        self.model, self.features, self.nodes = model, features, _with_cached(model, nodes)
        self.optimiser = make_optimiser(model, dict(model.named_parameters()), config)
        self.next_loss: Tensor | None = None

    def step(self, epoch: int) -> Tensor:
        if self.next_loss is not None:
            loss, self.next_loss = self.next_loss, None
            return descend(loss, self.optimiser).view(1)
        taken = self.model.train().step(self.features, self.nodes.train, self.optimiser, epoch)
        return torch.as_tensor(taken, device=self.nodes.train.nodes.device).view(1)

    def evaluate(self) -> Evaluation:
        if not self.model.draws:
            logits, self.next_loss = self.model.train().forward_with_loss(self.features, self.nodes.train)
            return evaluation(logits.detach(), self.nodes)
        with torch.no_grad():
            return evaluation(self.model.eval()(self.features), self.nodes)

    def load_training_state(self, state: dict[str, Tensor]) -> None:
        self.next_loss = None
        super().load_training_state(state)


class Replicas(Learner):
    """Models trained in parallel. Each draws the same random numbers as alone; results differ by rounding only.

    There is one module, `model`, and the parameters and buffers of all replicas: `state` holds each of them stacked,
    with the replicas on the first axis. `torch.vmap` calls the module for every replica at once: it hands each call its
    row of `state` and of everything else that differs between replicas, which are the replica's number, from which
    dropout draws, and its nodes. What all share, the features and the graph, is inside the module or closed over.
    The sum of all losses has the gradient of each loss in its own row, so one backward pass and one optimiser serve
    all, and a step launches as many kernels for 64 replicas as for one.

    If all share one split, and the model can, a step computes the receptive field of the training nodes alone, and an
    evaluation that of the labelled nodes. Then the logits of all nodes are computed once, after training.

    Args:
        models: new models, read one after the other, so they may be one object with new weights.
        nodes: of each model.
    """

    def __init__(
        self, models: Iterable[NodeModel], features: Features, nodes: Sequence[LearningNodes], config: TrainConfig
    ) -> None:
        generators, states = [], []
        for model in models:
            drawing = [vars(module) for module in model.modules() if "generator" in vars(module)]
            generators += [attributes["generator"] for attributes in drawing[:1]]
            states.append({name: value.clone() for name, value in model.state_dict().items()})
        self.model = model
        self.generator = ReplicaGenerator(generators)
        for attributes in drawing:
            attributes["generator"] = self.generator

        learned = {name for name, _ in self.model.named_parameters()}
        self.features = features
        self.state = {name: torch.stack([state[name] for state in states]) for name in states[0]}
        self.parameters = {name: self.state[name].requires_grad_() for name in self.state if name in learned}
        self.optimiser = make_optimiser(self.model, self.parameters, config)
        self.replica = torch.arange(len(states), device=next(iter(self.state.values())).device)

        cached = {id(pair): _with_cached(self.model, pair) for pair in {id(pair): pair for pair in nodes}.values()}
        self.labelled, self.reduction = type(nodes[0].train), nodes[0].train.reduction
        self.train, self.validation = (_stacked([cached[id(pair)][part] for pair in nodes]) for part in (0, 1))
        self.evaluated, self.field = (self.train, self.validation), None
        self.shared: dict[str, Any] = {}  # of one split, what the model precomputed if that is no tensor
        if len(cached) == 1:
            split = cached[id(nodes[0])]
            if "cached" not in self.train:
                self.shared = {"cached": split.train.cached}
            labelled = torch.unique(torch.cat([split.train.nodes, split.validation.nodes]))
            if NODES_PER_LABEL * len(labelled) <= features.shape[0]:
                self.field = self.model.receptive_field(labelled)
            if self.field is not None:  # rows of the logits that are computed take the place of nodes
                rows = [
                    part | {"nodes": torch.bucketize(part["nodes"].contiguous(), labelled)} for part in self.evaluated
                ]
                self.evaluated = (rows[0], rows[1])

    def step(self, epoch: int) -> Tensor:
        self.model.train()
        self.optimiser.zero_grad()

        def loss_of_replica(state: dict[str, Tensor], replica: Tensor, train: dict[str, Any]) -> Tensor:
            self.generator.replica = replica
            nodes = self.labelled(**train, **self.shared, reduction=self.reduction)
            return self._call("objective", state, self.features, nodes, epoch)

        losses: Tensor = vmap(loss_of_replica, randomness="error")(self.state, self.replica, self.train)
        losses.sum().backward()
        self.optimiser.step()
        return losses.detach()

    @torch.no_grad()
    def evaluate(self) -> Evaluation:
        self.model.eval()

        def scores_of_replica(state: dict[str, Tensor], *nodes: dict[str, Any]) -> tuple[Tensor, ...]:
            if self.field is None:
                logits = self._call("forward", state, self.features)
            else:
                logits = self._call("logits_of", state, self.features, self.field)
            return _scores(logits, *(self.labelled(**part) for part in nodes))

        logits, *scores = vmap(scores_of_replica)(self.state, *self.evaluated)
        return Evaluation(logits if self.field is None else None, *scores)

    @torch.no_grad()
    def logits(self, weights: dict[str, Tensor]) -> Tensor:
        self.model.eval()
        logits: Tensor = vmap(lambda state: self._call("forward", state, self.features))(weights)
        return logits

    def _call(self, method: str, state: dict[str, Tensor], *given: Any) -> Tensor:
        """Call a method of the model with the parameters and buffers of one replica."""
        named = {f"model.{name}": value for name, value in state.items()}
        result: Tensor = functional_call(_Calls(self.model), named, (method, *given), tie_weights=False)
        return result

    def weights(self) -> dict[str, Tensor]:
        return {name: value.detach() for name, value in self.state.items()}


class _Calls(nn.Module):
    """A module whose forward calls any method of the model, for `functional_call`."""

    def __init__(self, model: NodeModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, method: str, *given: Any) -> Tensor:
        result: Tensor = getattr(self.model, method)(*given)
        return result


def evaluation(logits: Tensor, nodes: LearningNodes) -> Evaluation:
    """Return the evaluation of a single model by its logits, (n, classes)."""
    return Evaluation(*(part.unsqueeze(0) for part in _scores(logits, *nodes)))


def _scores(logits: Tensor, train: Labelled, validation: Labelled) -> tuple[Tensor, ...]:
    return logits, validation.loss(logits), train.score(logits), validation.score(logits)


def _with_cached(model: NodeModel, nodes: LearningNodes) -> LearningNodes:
    """Attach what the model precomputes from the training nodes and labels."""
    with torch.no_grad():
        return nodes._replace(train=replace(nodes.train, cached=model.precompute(nodes.train)))


def _stacked(parts: Sequence[Labelled]) -> dict[str, Tensor]:
    """Return the tensors of the parts, stacked, by name; a tensor that all parts share is expanded instead."""
    stacked = {}
    for name, first in vars(parts[0]).items():
        if isinstance(first, Tensor):
            column = [getattr(part, name) for part in parts]
            same = all(tensor is first for tensor in column)
            stacked[name] = first.expand(len(parts), *first.shape) if same else torch.stack(column)
    return stacked
