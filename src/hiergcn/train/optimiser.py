"""The optimisers."""

from collections.abc import Mapping

import torch
from torch import Tensor

from hiergcn.model.method import NodeModel
from hiergcn.train.config import TrainConfig


def make_optimiser(model: NodeModel, parameters: Mapping[str, Tensor], config: TrainConfig) -> torch.optim.Optimizer:
    """Adam or plain gradient descent, whose weight decay adds λθ to the gradient: that of λ/2 ‖θ‖².

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
