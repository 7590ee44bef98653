"""Some rows of the features, sparse if the features are."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hiergcn.model.method import Features
from hiergcn.model.ops.sparse import Pattern, SparseFeatures


def feature_rows(features: Features, nodes: Tensor) -> Features:
    """X[nodes]."""
    if isinstance(features, Tensor):
        return features.index_select(0, nodes)
    values, column, length = _entries(features, nodes)
    return _assembled(values, column, length, features.shape[1])


@dataclass(frozen=True, eq=False)
class FewColumns:
    """Rows with entries in few of many columns: `X @ W` touches only the rows of W that those meet.

    The gradient by W is sparse likewise, so that a step of plain gradient descent costs what the entries cost.
    """

    inner: SparseFeatures  # (rows, columns in use)
    columns: Tensor  # (columns in use,), ascending

    def __matmul__(self, weight: Tensor) -> Tensor:
        return self.inner @ nn.functional.embedding(self.columns, weight, sparse=True)


def few_rows(features: Features, nodes: Tensor) -> Features | FewColumns:
    """X[nodes] for a step of plain gradient descent; an optimiser that wants whole gradients needs `feature_rows`."""
    if isinstance(features, Tensor):
        return features.index_select(0, nodes)
    values, column, length = _entries(features, nodes)
    columns, place = torch.unique(column, return_inverse=True)
    return FewColumns(_assembled(values, place, length, len(columns)), columns)


def _entries(features: SparseFeatures, nodes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Values and columns of the nodes' entries, and how many each node has."""
    pattern = features.pattern
    first = pattern.row_start[nodes]
    length = pattern.row_start[nodes + 1] - first
    row_start = _offsets(length)
    places = torch.arange(int(row_start[-1]), device=nodes.device)
    places = places + torch.repeat_interleave(first - row_start[:-1], length)
    return features.values[places], pattern.column[places], length


def _assembled(values: Tensor, column: Tensor, length: Tensor, width: int) -> SparseFeatures:
    return SparseFeatures(values, Pattern((len(length), width), _offsets(length), column))


def _offsets(length: Tensor) -> Tensor:
    return torch.cat([length.new_zeros(1), length.cumsum(0)])
