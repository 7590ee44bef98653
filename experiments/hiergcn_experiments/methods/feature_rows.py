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
    pattern = features.pattern
    first = pattern.row_start[nodes]
    length = pattern.row_start[nodes + 1] - first
    row_start = torch.cat([length.new_zeros(1), length.cumsum(0)])
    places = torch.arange(int(row_start[-1]), device=nodes.device)
    places = places + torch.repeat_interleave(first - row_start[:-1], length)
    kept = Pattern((len(nodes), features.shape[1]), row_start, pattern.column[places])
    return SparseMatrix(features.values[places], kept)


def few_rows(features: Features, nodes: Tensor) -> Features | FewColumns:
    """Return X[nodes] with a sparse gradient, for plain gradient descent; other optimisers need `feature_rows`."""
    rows = feature_rows(features, nodes)
    if isinstance(rows, Tensor):
        return rows
    columns, place = torch.unique(rows.pattern.column, return_inverse=True)
    used = Pattern((len(nodes), len(columns)), rows.pattern.row_start, place)
    return FewColumns(SparseMatrix(rows.values, used), columns)
