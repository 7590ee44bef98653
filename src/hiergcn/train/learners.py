"""What the training loop trains: a model with its optimiser.

`Adam` (Kingma & Ba, ICLR 2015) is torch's fused kernel, without `torch.optim.Adam` around it. The first optimiser of
`torch.optim` that is made imports `torch._dynamo`, the compiler, which takes about a second and compiles nothing here.
The numbers are the same to the last bit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.method import LEARNED, Features, Labelled, NodeModel, Optimiser, descend
from hiergcn.settings.fields import TrainConfig

_ADAM: dict[str, Any] = {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "amsgrad": False, "maximize": False}


class Adam:
    """Adam over groups of parameters, each with its own weight decay λ, which adds λθ to the gradient.

    Args:
        groups: a dictionary with `params` and `weight_decay` each.
        learning_rate: of every group.
    """

    def __init__(self, groups: Sequence[dict[str, Any]], learning_rate: float) -> None:
        self.param_groups = [group | {"lr": learning_rate} for group in groups]
        self.parameters: list[Tensor] = [parameter for group in groups for parameter in group["params"]]
        self.state: dict[Tensor, list[Tensor]] = {}
        """Mean and uncentred variance of the gradients of each parameter, and its number of steps."""

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            learned = [parameter for parameter in group["params"] if parameter.grad is not None]
            for parameter in learned:
                if parameter not in self.state:
                    zeros = [torch.zeros_like(parameter, memory_format=torch.preserve_format) for _ in range(2)]
                    self.state[parameter] = [*zeros, torch.zeros((), device=parameter.device)]
            if learned:
                gradients = [parameter.grad for parameter in learned]
                means, variances, steps = map(list, zip(*(self.state[parameter] for parameter in learned), strict=True))
                torch._foreach_add_(steps, 1)
                rates = {"lr": group["lr"], "weight_decay": group["weight_decay"]}
                torch._fused_adam_(learned, gradients, means, variances, [], steps, **rates, **_ADAM)

    def state_dict(self) -> dict[str, Tensor]:
        """Return means, variances and steps, by the number of their parameter."""
        states = enumerate(self.state.get(parameter, ()) for parameter in self.parameters)
        return {f"{k}.{part}": value for k, state in states for part, value in enumerate(state)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on from what `state_dict` returned."""
        for k, parameter in enumerate(self.parameters):
            if f"{k}.0" in state:
                self.state[parameter] = [state[f"{k}.{part}"].to(parameter.device) for part in range(3)]


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
        if task.target.kind == "numbers":
            raise InputError("Numbers have no classes to weigh; leave class_weight at none.")
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


class Learner:
    """A model in training, with its optimiser. Others learn in batches, or side by side.

    If it draws no random numbers, each forward pass serves an evaluation and the next step, which saves a quarter.
    """

    def __init__(self, model: NodeModel, features: Features, nodes: LearningNodes, config: TrainConfig) -> None:
        self.model, self.features, self.nodes = model, features, with_cached(model, nodes)
        self.optimiser = make_optimiser(model, dict(model.named_parameters()), config)
        self.next_loss: Tensor | None = None

    def step(self, epoch: int) -> Tensor:
        """Train for one epoch and return the loss of each model, (models,)."""
        if self.next_loss is not None:
            loss, self.next_loss = self.next_loss, None
            return descend(loss, self.optimiser).view(1)
        taken = self.model.train().step(self.features, self.nodes.train, self.optimiser, epoch)
        return torch.as_tensor(taken, device=self.nodes.train.nodes.device).view(1)

    def evaluate(self) -> Evaluation:
        """Return logits and scores of each model, in evaluation mode."""
        if not self.model.draws:
            logits, self.next_loss = self.model.train().forward_with_loss(self.features, self.nodes.train)
            return evaluation(logits.detach(), self.nodes)
        with torch.no_grad():
            return evaluation(self.model.eval()(self.features), self.nodes)

    def weights(self) -> dict[str, Tensor]:
        """Return the state to save, by name; the first axis is that of the models."""
        return {name: value.unsqueeze(0) for name, value in self.model.state_dict().items()}

    def logits(self, weights: dict[str, Tensor]) -> Tensor:
        """Return the logits of all nodes with these weights; for a learner that evaluates labelled nodes alone."""
        raise NotImplementedError

    def capture(self, epoch: Callable[[], None]) -> Callable[[], None]:
        """Return a function that does the same on a GPU, perhaps faster."""
        return epoch

    def training_state(self) -> dict[str, Tensor] | None:
        """Return model and optimiser, by name; None if there is more to them than tensors."""
        if type(self.model).step is not NodeModel.step:  # a model with its own step perhaps has a state, too
            return None
        optimiser = self.optimiser.state_dict() if isinstance(self.optimiser, Adam) else {}  # plain descent has none
        parts = {"model": self.model.state_dict(), "optimiser": optimiser}
        return {f"{part}.{name}": value for part, state in parts.items() for name, value in state.items()}

    def load_training_state(self, state: dict[str, Tensor]) -> None:
        """Go on from what `training_state` returned; other entries are left alone."""
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "optimiser": {}}
        for name, value in state.items():
            part, _, rest = name.partition(".")
            parts.get(part, {})[rest] = value
        self.next_loss = None
        self.model.load_state_dict(parts["model"])
        if isinstance(self.optimiser, Adam):
            self.optimiser.load_state_dict(parts["optimiser"])


def evaluation(logits: Tensor, nodes: LearningNodes) -> Evaluation:
    """Return the evaluation of a single model by its logits, (n, classes)."""
    return Evaluation(*(part.unsqueeze(0) for part in scores_of(logits, *nodes)))


def scores_of(logits: Tensor, train: Labelled, validation: Labelled) -> tuple[Tensor, ...]:
    """Return the parts of an `Evaluation` for one model."""
    return logits, validation.loss(logits), train.score(logits), validation.score(logits)


def with_cached(model: NodeModel, nodes: LearningNodes) -> LearningNodes:
    """Attach what the model precomputes from the training nodes and labels."""
    with torch.no_grad():
        return nodes._replace(train=replace(nodes.train, cached=model.precompute(nodes.train)))
