"""One seed, trained: the only training loop there is. It sees training and validation labels only."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

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


def labelled_nodes(task: Task, device: torch.device) -> tuple[Labelled, Labelled]:
    """Training and validation nodes on the device."""

    def on_device(nodes: np.ndarray, classes: np.ndarray) -> Labelled:
        return Labelled(torch.tensor(nodes, device=device), torch.tensor(classes, device=device))

    return on_device(task.train, task.train_labels), on_device(task.validation, task.validation_labels)


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
    train, validation = labelled_nodes(task, device)
    generator = torch.Generator(device).manual_seed(seed)
    model = method.build(prepared, task.n_classes, generator).to(device)
    optimiser = _optimiser(model, config)
    history = np.empty((config.epochs, len(HISTORY)))
    best: tuple[float, float] | None = None
    best_epoch, best_weights, best_logits = None, None, None
    for epoch in range(1, config.epochs + 1):
        loss = _step(model, optimiser, prepared, train, config, epoch)
        if not math.isfinite(loss):
            reason = f"diverged at epoch {epoch}: the training loss became {loss}"
            return SeedOutcome(seed, history[: epoch - 1], None, None, None, time.perf_counter() - began, reason)
        logits = _evaluate(model, prepared)
        row = (
            loss,
            validation.cross_entropy(logits).item(),
            train.accuracy(logits).item(),
            validation.accuracy(logits).item(),
        )
        history[epoch - 1] = row
        rank = (row[3], -row[1]) if config.selection == "accuracy" else (-row[1], row[3])
        if best is None or rank > best:
            best, best_epoch, best_logits = rank, epoch, logits
            best_weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
        if on_epoch:
            on_epoch(epoch, history[best_epoch - 1, 3] if best_epoch else math.nan)
    if best_logits is None or best_weights is None:
        raise RuntimeError("no epoch was trained")
    probabilities = torch.softmax(best_logits, dim=1).cpu().numpy()
    weights = {name: value.cpu() for name, value in best_weights.items()}
    return SeedOutcome(seed, history, best_epoch, probabilities, weights, time.perf_counter() - began)


def _optimiser(model: NodeModel, config: TrainConfig) -> torch.optim.Optimizer:
    """Adam, whose weight decay adds λθ to the gradient: that of λ/2 ‖θ‖²."""
    regularised = {id(parameter) for parameter in model.regularised()}
    groups = [
        {"params": [p for p in model.parameters() if id(p) in regularised], "weight_decay": config.l2},
        {"params": [p for p in model.parameters() if id(p) not in regularised], "weight_decay": 0.0},
    ]
    return torch.optim.Adam(groups, lr=config.learning_rate)


def _step(
    model: NodeModel,
    optimiser: torch.optim.Optimizer,
    prepared: Prepared,
    train: Labelled,
    config: TrainConfig,
    epoch: int,
) -> float:
    model.train()
    optimiser.zero_grad()
    loss = model.objective(prepared.features, train, config.loss, epoch)
    loss.backward()
    optimiser.step()
    return loss.item()


@torch.no_grad()
def _evaluate(model: NodeModel, prepared: Prepared) -> Tensor:
    model.eval()
    logits: Tensor = model(prepared.features)
    return logits
