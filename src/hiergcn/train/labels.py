"""The labels that training and selection may use, on the device."""

from typing import Literal, NamedTuple

import numpy as np
import torch

from hiergcn.graph.task import Task
from hiergcn.model.method import Labelled


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
    weights = None
    if class_weight == "balanced":
        weights = torch.tensor(balanced_weights(task.train_labels, task.n_classes), device=device)

    def on_device(nodes: np.ndarray, classes: np.ndarray, reduction: str) -> Labelled:
        where, which = torch.tensor(nodes, device=device), torch.tensor(classes, device=device)
        return Labelled(where, which, weights, reduction=reduction)

    train = on_device(task.train, task.train_labels, loss)
    return LearningNodes(train, on_device(task.validation, task.validation_labels, "mean"))


def balanced_weights(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """n / (classes * nodes of the class), as scikit-learn has it; 1 for a class that no node has."""
    count = np.bincount(labels, minlength=n_classes)
    present = np.count_nonzero(count)
    return np.where(count > 0, labels.size / (present * np.maximum(count, 1)), 1.0).astype(np.float32)
