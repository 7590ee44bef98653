"""The first product X W of a network, for features that may be sparse, with dropout on what is stored of them."""

import torch
from torch import Tensor, nn

from hiergcn.model.method import Features
from hiergcn.model.ops.dropout import dropout
from hiergcn.model.ops.sparse import SparseFeatures


class FeatureLinear(nn.Module):
    """X W without a bias, W Glorot-initialised. Sparse features stay sparse, and dropout draws for non-zeros alone.

    Args:
        fan_in: columns of the features.
        fan_out: columns of the product.
        rate: of dropout on X, while training.
        generator: draws W, then the dropout masks.
    """

    def __init__(self, fan_in: int, fan_out: int, rate: float, generator: torch.Generator | None) -> None:
        super().__init__()
        self.rate, self.generator = rate, generator
        device = None if generator is None else generator.device  # a generator draws on its own device alone
        self.weight = nn.Parameter(torch.empty(fan_in, fan_out, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.weight, generator=self.generator)

    def forward(self, features: Features) -> Tensor:
        rate = self.rate if self.training else 0.0
        if isinstance(features, SparseFeatures):
            return features.dropped(rate, self.generator) @ self.weight  # (n, fan_out)
        return dropout(features, rate, self.generator) @ self.weight

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, {self.weight.shape[1]})"
