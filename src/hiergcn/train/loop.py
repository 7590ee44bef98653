"""One seed, trained: the only training loop there is. It sees training and validation labels only."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.method import Labelled, Method, NodeModel, Prepared
from hiergcn.train.config import TrainConfig

HISTORY = ("train_loss", "validation_loss", "train_accuracy", "validation_accuracy")


@dataclass(frozen=True, eq=False)
class SeedOutcome:
    """What one seed gave. A seed that failed keeps its history and says why; it has no probabilities and no weights."""

    seed: int
    history: np.ndarray  # (epochs done, 4), columns as in HISTORY
    best_epoch: int | None  # counted from 1
    probabilities: np.ndarray | None  # (n, classes) float32
    weights: dict[str, Tensor] | None
    seconds: float
    failure: str | None = None

    @property
    def validation_loss(self) -> float:
        return math.nan if self.best_epoch is None else float(self.history[self.best_epoch - 1, 1])

    @property
    def validation_accuracy(self) -> float:
        return math.nan if self.best_epoch is None else float(self.history[self.best_epoch - 1, 3])


def labelled_nodes(
    task: Task, device: torch.device, class_weight: Literal["none", "balanced"] = "none"
) -> tuple[Labelled, Labelled]:
    """Training and validation nodes on the device, both with the weights of the classes."""
    weights = None
    if class_weight == "balanced":
        weights = torch.tensor(balanced_weights(task.train_labels, task.n_classes), device=device)

    def on_device(nodes: np.ndarray, classes: np.ndarray) -> Labelled:
        return Labelled(torch.tensor(nodes, device=device), torch.tensor(classes, device=device), weights)

    return on_device(task.train, task.train_labels), on_device(task.validation, task.validation_labels)


def balanced_weights(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """n / (classes * nodes of the class), as scikit-learn has it; 1 for a class that no node has."""
    count = np.bincount(labels, minlength=n_classes)
    present = np.count_nonzero(count)
    return np.where(count > 0, labels.size / (present * np.maximum(count, 1)), 1.0).astype(np.float32)


def train_seed(
    method: Method,
    prepared: Prepared,
    task: Task,
    config: TrainConfig,
    seed: int,
    device: torch.device,
    on_epoch: Callable[[int, float], None] | None = None,
) -> SeedOutcome:
    """Train one model and keep the epoch that validation chooses. `on_epoch` gets the epoch and the best accuracy."""
    began = time.perf_counter()
    train, validation = labelled_nodes(task, device, config.class_weight)
    generator = torch.Generator(device).manual_seed(seed)
    with device:  # parameters are drawn where the generator lives
        model = method.build(prepared, task.n_classes, generator).to(device)
    if config.class_weight != "none" and not model.weighs_classes:
        raise InputError(f"{type(model).__name__} cannot weigh classes; leave class_weight at none.")
    optimiser = _optimiser(model, config)
    history = np.empty((config.epochs, len(HISTORY)))
    best = _Best(config.selection)
    epoch, failure = 0, None
    while epoch < config.epochs and failure is None and not best.waited_for(epoch, config.patience):
        epoch += 1
        model.train()
        loss = model.step(prepared.features, train, optimiser, config.loss, epoch)
        logits = _evaluate(model, prepared)
        losses = (loss, validation.cross_entropy(logits).item())
        history[epoch - 1] = (*losses, train.accuracy(logits).item(), validation.accuracy(logits).item())
        if not all(map(math.isfinite, losses)):
            failure = f"diverged at epoch {epoch} (training loss {losses[0]:g}, validation loss {losses[1]:g})"
        else:
            best.offer(epoch, history[epoch - 1], logits, model)
        if on_epoch:
            on_epoch(epoch, best.accuracy)
    seconds = time.perf_counter() - began
    if failure or best.logits is None:
        return SeedOutcome(seed, history[:epoch], None, None, None, seconds, failure)
    probabilities = torch.softmax(best.logits, dim=1).cpu().numpy()
    return SeedOutcome(seed, history[:epoch], best.epoch, probabilities, best.weights, seconds)


class _Best:
    """The best epoch so far by the selection rule, with its weights."""

    def __init__(self, selection: str) -> None:
        self.by_accuracy = selection == "accuracy"
        self.epoch = 0
        self.rank = (-math.inf, -math.inf)
        self.accuracy = math.nan
        self.logits: Tensor | None = None
        self.weights: dict[str, Tensor] = {}

    def offer(self, epoch: int, row: np.ndarray, logits: Tensor, model: NodeModel) -> None:
        loss, accuracy = float(row[1]), float(row[3])
        rank = (accuracy, -loss) if self.by_accuracy else (-loss, accuracy)
        if rank > self.rank:
            self.epoch, self.rank, self.accuracy, self.logits = epoch, rank, accuracy, logits
            self.weights = {name: value.detach().to("cpu", copy=True) for name, value in model.state_dict().items()}

    def waited_for(self, epoch: int, patience: int | None) -> bool:
        return patience is not None and epoch - self.epoch >= patience


def _optimiser(model: NodeModel, config: TrainConfig) -> torch.optim.Optimizer:
    """Adam or plain gradient descent, whose weight decay adds λθ to the gradient: that of λ/2 ‖θ‖²."""
    regularised = {id(parameter) for parameter in model.regularised()}
    groups = [
        {"params": [p for p in model.parameters() if id(p) in regularised], "weight_decay": config.l2},
        {"params": [p for p in model.parameters() if id(p) not in regularised], "weight_decay": 0.0},
    ]
    kind = torch.optim.Adam if config.optimiser == "adam" else torch.optim.SGD
    return kind(groups, lr=config.learning_rate)


@torch.no_grad()
def _evaluate(model: NodeModel, prepared: Prepared) -> Tensor:
    model.eval()
    logits: Tensor = model(prepared.features)
    return logits
