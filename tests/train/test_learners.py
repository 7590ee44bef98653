"""A single model with its own training step."""

from typing import Any

import torch
from torch import Tensor, nn

from hiergcn.model.method import Labelled, NodeModel
from hiergcn.train.config import TrainConfig
from hiergcn.train.learners import LearningNodes, SingleLearner


class Counting(NodeModel):
    """A model whose loss is a Python number, as without gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def step(self, *_: Any) -> float:
        return 3.0

    def forward(self, features: Any) -> Tensor:
        return torch.as_tensor(features)


def test_the_loss_is_on_the_device_of_the_nodes() -> None:
    some = torch.zeros(2, dtype=torch.int64, device="meta")  # stands for a GPU
    nodes = LearningNodes(Labelled(some, some), Labelled(some, some))
    learner = SingleLearner(Counting(), torch.ones(2, 2), nodes, TrainConfig())
    loss = learner.step(1)
    assert loss.shape == (1,)
    assert loss.device.type == "meta"
