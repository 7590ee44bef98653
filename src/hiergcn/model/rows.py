"""Some rows of the features, sparse if the features are."""

import torch
from torch import Tensor

from hiergcn.model.method import Features
from hiergcn.model.sparse import Pattern, SparseFeatures


def feature_rows(features: Features, nodes: Tensor) -> Features:
    """X[nodes]."""
    if isinstance(features, Tensor):
        return features.index_select(0, nodes)
    pattern = features.pattern
    first = pattern.row_start[nodes]
    length = pattern.row_start[nodes + 1] - first
    row_start = _offsets(length)
    places = torch.arange(int(row_start[-1]), device=nodes.device)
    places = places + torch.repeat_interleave(first - row_start[:-1], length)
    column = pattern.column[places]
    order = torch.argsort(column, stable=True)
    row = torch.repeat_interleave(torch.arange(len(nodes), device=nodes.device), length)
    transpose_start = _offsets(torch.bincount(column, minlength=features.shape[1]))
    chosen = Pattern((len(nodes), features.shape[1]), row_start, column, order, transpose_start, row[order])
    return SparseFeatures(features.values[places], chosen)


def _offsets(length: Tensor) -> Tensor:
    return torch.cat([length.new_zeros(1), length.cumsum(0)])
