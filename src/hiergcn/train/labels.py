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
    task: Task, device: torch.device, class_weight: Literal["none", "balanced"] = "none"
) -> LearningNodes:
    """Training and validation nodes on the device, both with the weights of the classes."""
    weights = None
    if class_weight == "balanced":
        weights = torch.tensor(balanced_weights(task.train_labels, task.n_classes), device=device)

    def on_device(nodes: np.ndarray, classes: np.ndarray) -> Labelled:
        return Labelled(torch.tensor(nodes, device=device), torch.tensor(classes, device=device), weights)

    return LearningNodes(on_device(task.train, task.train_labels), on_device(task.validation, task.validation_labels))


def balanced_weights(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """n / (classes * nodes of the class), as scikit-learn has it; 1 for a class that no node has."""
    count = np.bincount(labels, minlength=n_classes)
    present = np.count_nonzero(count)
    return np.where(count > 0, labels.size / (present * np.maximum(count, 1)), 1.0).astype(np.float32)
