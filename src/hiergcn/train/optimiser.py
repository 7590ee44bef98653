"""The optimiser and its learning rate."""

from collections.abc import Mapping

import torch
from torch import Tensor

from hiergcn.model.method import NodeModel
from hiergcn.train.config import TrainConfig


def make_optimiser(model: NodeModel, parameters: Mapping[str, Tensor], config: TrainConfig) -> torch.optim.Optimizer:
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
    on_gpu = any(parameter.is_cuda for parameter in parameters.values())
    return torch.optim.Adam(groups, lr=config.learning_rate, fused=True, capturable=on_gpu)


def learning_rate(config: TrainConfig, epoch: int) -> float:  # noqa: ARG001
    """Return the rate of an epoch, counted from 1. It is constant, as in the paper; a schedule goes here."""
    return config.learning_rate


def set_learning_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Set the rate of the next step.

    Epochs of replicas on a GPU are CUDA graphs, which see a new rate only if it is a tensor: a schedule needs
    `lr=torch.tensor(...)` there.
    """
    for group in optimiser.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate
