"""Rows of a feature matrix that may be sparse, for steps on a few nodes."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hiergcn.extend import Features, Pattern, SparseMatrix


@dataclass(frozen=True, eq=False)
class FewColumns:
    """Rows with entries in few of many columns: `X @ W` reads only the rows of W that they need.

    The gradient by W is sparse too, so that a step of plain gradient descent costs as little as the entries.
    """

    inner: SparseMatrix  # (rows, columns in use)
    columns: Tensor  # (columns in use,), ascending

    def __matmul__(self, weight: Tensor) -> Tensor:
        return self.inner @ nn.functional.embedding(self.columns, weight, sparse=True)


def feature_rows(features: Features, nodes: Tensor) -> Features:
    """Return X[nodes], sparse if X is."""
    if isinstance(features, Tensor):
        return features.index_select(0, nodes)
    values, column, length = _entries(features, nodes)
    return _assembled(values, column, length, features.shape[1])


def few_rows(features: Features, nodes: Tensor) -> Features | FewColumns:
    """Return X[nodes] with a sparse gradient, for plain gradient descent; other optimisers need `feature_rows`."""
    if isinstance(features, Tensor):
        return features.index_select(0, nodes)
    values, column, length = _entries(features, nodes)
    columns, place = torch.unique(column, return_inverse=True)
    return FewColumns(_assembled(values, place, length, len(columns)), columns)


def _entries(features: SparseMatrix, nodes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return values and columns of the nodes' entries, and each node's number of entries."""
    pattern = features.pattern
    first = pattern.row_start[nodes]
    length = pattern.row_start[nodes + 1] - first
    row_start = _offsets(length)
    places = torch.arange(int(row_start[-1]), device=nodes.device)
    places = places + torch.repeat_interleave(first - row_start[:-1], length)
    return features.values[places], pattern.column[places], length


def _assembled(values: Tensor, column: Tensor, length: Tensor, width: int) -> SparseMatrix:
    return SparseMatrix(values, Pattern((len(length), width), _offsets(length), column))


def _offsets(length: Tensor) -> Tensor:
    return torch.cat([length.new_zeros(1), length.cumsum(0)])
