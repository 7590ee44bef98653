"""Sparse feature matrices: products with dense weights, dropout on stored entries, selected rows."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.model.ops import cpu, gpu_kernels
from hiergcn.model.ops.dense import dense_product
from hiergcn.model.ops.dropout import AnyGenerator, dropout, dropped_entries
from hiergcn.model.ops.row_chunks import RowChunks, row_chunks
from hiergcn.model.ops.sparse import csr, csr_indices, plain_product
from hiergcn.model.ops.vmap import InDims, ReplicaRule, apply, replicas_first, under_vmap

_CHUNK = 2**18  # entries whose two rows are multiplied at a time


@dataclass(frozen=True, eq=False)
class Pattern:
    """Positions of the entries of a sparse matrix (n, f). Its transpose is computed once, not in every backward."""

    shape: tuple[int, int]
    row_start: Tensor
    column: Tensor

    def rows(self) -> Tensor:
        """Return the row of each entry."""
        return torch.repeat_interleave(torch.arange(self.shape[0], device=self.column.device), self.row_start.diff())

    @cached_property
    def chunks(self) -> RowChunks:
        return row_chunks(self.row_start)

    @cached_property
    def transpose(self) -> "tuple[Pattern, Tensor]":
        """The transpose's pattern, and the order in which it takes the values."""
        order = torch.argsort(self.column, stable=True)
        start = _offsets(torch.bincount(self.column, minlength=self.shape[1]))
        there = Pattern(self.shape[::-1], *(part.to(self.column.dtype) for part in (start, self.rows()[order])))
        return there, order.to(self.column.dtype)

    def product(self, values: Tensor, dense: Tensor) -> Tensor:
        """Return X @ dense, X having these values."""
        if not dense.is_cuda:
            return cpu.csr_product(self.row_start, self.column, values, dense)
        if not gpu_kernels():
            return plain_product(self.row_start, self.column, values, dense)
        product: Tensor = gpu_kernels().csr_product(self.chunks, self.column, values, dense)
        return product

    def transpose_product(self, values: Tensor, dense: Tensor) -> Tensor:
        """Return Xᵀ @ dense."""
        if not dense.is_cuda:
            return cpu.transpose_product(self.row_start, self.column, values, dense, self.shape[1])
        there, order = self.transpose
        return there.product(values[order], dense)

    def entry_products(self, left: Tensor, right: Tensor) -> Tensor:
        """Return left_i · right_j for each entry (i, j)."""
        parts = [
            (left.index_select(0, i) * right.index_select(0, j)).sum(dim=1)
            for i, j in zip(self.rows().split(_CHUNK), self.column.split(_CHUNK), strict=True)
        ]
        return torch.cat(parts) if parts else left.new_empty(0)


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """A sparse feature matrix X (n, f). `X @ W` multiplies; `X.dropped(rate, generator)` drops stored entries."""

    values: Tensor
    pattern: Pattern

    @classmethod
    def from_scipy(cls, matrix: sp.csr_array, device: torch.device | str = "cpu") -> Self:
        """Return the matrix on the device, in single precision."""
        row_start, column = csr_indices(matrix)
        shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        values = torch.from_numpy(matrix.data.astype(np.float32))
        return cls(values.to(device), Pattern(shape, row_start.to(device), column.to(device)))

    @property
    def shape(self) -> tuple[int, int]:
        return self.pattern.shape

    def dropped(self, rate: float, generator: AnyGenerator = None) -> Self:
        """Return X with dropout on its entries: without those that become 0, or with zeros, which products skip."""
        entries = dropped_entries(self.parts(), self.shape[1], rate, generator)
        if entries is None:
            return replace(self, values=dropout(self.values, rate, generator))
        row_start, column, values = entries.matrix
        return replace(self, values=values, pattern=Pattern(self.shape, row_start, column))

    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return row starts, columns and values."""
        return self.pattern.row_start, self.pattern.column, self.values

    def to_dense(self) -> Tensor:
        return csr(self.pattern.row_start, self.pattern.column, self.values, self.shape).to_dense()

    def __mul__(self, factor: float) -> Self:
        return replace(self, values=self.values * factor)

    def __matmul__(self, weight: Tensor) -> Tensor:
        return _product(self.values, weight, self.pattern)


Features = Tensor | SparseFeatures


def feature_dropout(features: Features, rate: float, generator: AnyGenerator = None) -> Features:
    """Return the features with dropout; on sparse ones it draws for stored entries alone."""
    if isinstance(features, SparseFeatures):
        return features.dropped(rate, generator)
    return dropout(features, rate, generator)


class FeatureLinear(nn.Module):
    """X W without a bias, with dropout on X in training. The generator draws W (Glorot), then the dropout masks."""

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
        X = feature_dropout(features, rate, self.generator)
        return dense_product(X, self.weight) if isinstance(X, Tensor) else X @ self.weight  # (n, fan_out)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, {self.weight.shape[1]})"


def _product(values: Tensor, weight: Tensor, pattern: Pattern) -> Tensor:
    return apply(_ProductOfReplicas if under_vmap() else _Product, values, weight, pattern)


class _Product(torch.autograd.Function):
    """X W; the gradient by an entry (i, j) of X is that of (XW)_i times W_j."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, pattern: Pattern) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(values, weight)
        return pattern.product(values, weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        values, weight = ctx.saved_tensors
        by_values, by_weight, _ = ctx.needs_input_grad
        return (
            ctx.pattern.entry_products(grads[0], weight) if by_values else None,
            ctx.pattern.transpose_product(values, grads[0].contiguous()) if by_weight else None,
            None,
        )


class _ProductOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(info: Any, in_dims: InDims, values: Tensor, weight: Tensor, pattern: Pattern) -> tuple[Tensor, int]:
        each = replicas_first(info, in_dims, values, weight)
        if weight.is_cuda and gpu_kernels():
            dropped = in_dims[0] is not None
            return apply(_ProductOnGPU, *each, pattern, dropped), 0
        return torch.stack([_product(one, own, pattern) for one, own in zip(*each, strict=True)]), 0


class _ProductOnGPU(torch.autograd.Function):
    """X W of replicas: values (replicas, entries), weights (replicas, f, out)."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, pattern: Pattern, dropped: bool) -> Tensor:
        ctx.values, ctx.pattern, ctx.dropped = values, pattern, dropped
        product: Tensor = gpu_kernels().csr_product_of_replicas(
            pattern.chunks, pattern.column, values, weight, mostly_zero=dropped
        )
        return product

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, None, None]:
        if ctx.needs_input_grad[0]:
            raise NotImplementedError("Replicas on a GPU have no gradient by the entries of sparse features.")
        there, order = ctx.pattern.transpose
        by_weight: Tensor = gpu_kernels().csr_product_of_replicas(
            there.chunks, there.column, ctx.values, grads[0], order, mostly_zero=ctx.dropped
        )
        return None, by_weight, None, None


@dataclass(frozen=True, eq=False)
class FewColumns:
    """Rows with entries in few of many columns: `X @ W` reads only the rows of W that they need.

    The gradient by W is sparse too, so that a step of plain gradient descent costs as little as the entries.
    """

    inner: SparseFeatures  # (rows, columns in use)
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


def _entries(features: SparseFeatures, nodes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return values and columns of the nodes' entries, and each node's number of entries."""
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
