"""Sparse products that repeat bit for bit and cost one product in the backward pass too.

`torch.sparse` transposes a CSR matrix on every backward pass. Here the transpose is known beforehand: the normalised
adjacency is its own, a grouping matrix is an index, and the pattern of the features never changes.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.model.dropout import Noise, ReplicaNoise, dropout
from hiergcn.model.gpu import gpu_kernels

Map = Callable[[Tensor], Tensor]

_MUCH = 0.7  # dropout from which on it pays to leave out the zeros
_CHUNK = 2**18  # entries whose two rows are multiplied at a time


def csr(row_start: Tensor, column: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A torch CSR tensor of parts that are known to be right."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta|Sparse invariant checks")
        return torch.sparse_csr_tensor(row_start, column, values, shape, check_invariants=False)


def csr_tensor(matrix: sp.csr_array) -> Tensor:
    """A scipy CSR matrix as a torch CSR tensor of single precision."""
    return csr(
        torch.from_numpy(matrix.indptr.astype(np.int64)),
        torch.from_numpy(matrix.indices.astype(np.int64)),
        torch.from_numpy(matrix.data.astype(np.float32)),
        matrix.shape,
    )


def normalised_adjacency(adjacency: sp.csr_array) -> sp.csr_array:
    """D̃^-1/2 (A + I) D̃^-1/2 of Eq. 1, where D̃ holds the row sums of A + I."""
    with_loops = sp.csr_array(adjacency + sp.eye_array(adjacency.shape[0], format="csr"))
    inverse_root = 1.0 / np.sqrt(with_loops.sum(axis=1))
    rows = np.repeat(inverse_root, np.diff(with_loops.indptr))
    values = with_loops.data * (rows * inverse_root[with_loops.indices])  # this order keeps (i, j) equal to (j, i)
    return sp.csr_array((values, with_loops.indices, with_loops.indptr), shape=with_loops.shape)


class _LinearMap(torch.autograd.Function):
    """A fixed linear map of the columns of a matrix. Replicas are more columns, so that one product serves them all."""

    @staticmethod
    def forward(dense: Tensor, there: Map, back: Map) -> Tensor:  # noqa: ARG004
        return there(dense)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG004
        ctx.back = inputs[2]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return ctx.back(grads[0].contiguous()), None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, None, None], dense: Tensor, there: Map, back: Map) -> tuple[Tensor, int]:
        wide = dense.movedim(in_dims[0], 1)  # (n, replicas, d)
        return linear_map(wide.flatten(1), there, back).unflatten(1, (info.batch_size, -1)), 1


def linear_map(dense: Tensor, there: Map, back: Map) -> Tensor:
    """`there(dense)`, whose gradient is `back` of the incoming one; (n, d) -> (m, d)."""
    mapped: Tensor = _LinearMap.apply(dense, there, back)  # type: ignore[no-untyped-call]
    return mapped


def propagate(adjacency: Tensor, dense: Tensor) -> Tensor:
    """Â H for a fixed symmetric Â: the gradient is Â times the incoming one."""
    return linear_map(dense, product_with(adjacency), product_with(adjacency))


def product_with(matrix: Tensor) -> Map:
    """The product of a CSR matrix with a dense one, as a function of that."""
    return partial(csr_product, matrix)


def csr_product(matrix: Tensor, dense: Tensor) -> Tensor:
    """A CSR matrix times a dense one, in an order of additions that repeats on a GPU too."""
    if dense.is_cuda and gpu_kernels():
        parts = matrix.crow_indices(), matrix.col_indices(), matrix.values()
        product: Tensor = gpu_kernels().csr_product(*parts, dense)
        return product
    return matrix @ dense


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where the entries of a sparse matrix (n, f) and of its transpose are."""

    shape: tuple[int, int]
    row_start: Tensor
    column: Tensor
    transpose_order: Tensor  # values[transpose_order] are the values of the transpose
    transpose_start: Tensor
    transpose_column: Tensor

    def product(self, values: Tensor, dense: Tensor) -> Tensor:
        return csr_product(csr(self.row_start, self.column, values, self.shape), dense)

    def transpose_product(self, values: Tensor, dense: Tensor) -> Tensor:
        n, f = self.shape
        matrix = csr(self.transpose_start, self.transpose_column, values[self.transpose_order], (f, n))
        return csr_product(matrix, dense)

    def rows(self) -> Tensor:
        """The row of each entry."""
        return torch.repeat_interleave(torch.arange(self.shape[0], device=self.column.device), self.row_start.diff())

    def entry_products(self, left: Tensor, right: Tensor) -> Tensor:
        """left_i · right_j for each entry (i, j)."""
        parts = [
            (left.index_select(0, i) * right.index_select(0, j)).sum(dim=1)
            for i, j in zip(self.rows().split(_CHUNK), self.column.split(_CHUNK), strict=True)
        ]
        return torch.cat(parts) if parts else left.new_empty(0)

    def thinned(self, kept: Tensor) -> "Pattern":
        """Where the entries are of which `kept`, (entries,), is true."""
        before = torch.zeros(kept.numel() + 1, dtype=torch.int64)  # of how many entries each one comes after
        torch.cumsum(kept, 0, out=before[1:])
        kept_in_transpose = kept[self.transpose_order]
        before_in_transpose = torch.zeros_like(before)
        torch.cumsum(kept_in_transpose, 0, out=before_in_transpose[1:])
        return Pattern(
            self.shape,
            before[self.row_start],
            self.column[kept],
            before[self.transpose_order[kept_in_transpose]],
            before_in_transpose[self.transpose_start],
            self.transpose_column[kept_in_transpose],
        )

    def repeated(self, times: int) -> "Pattern":
        """The same matrix `times` over, along the diagonal of a larger one."""
        if times not in self._repeated:
            n, f = self.shape
            count = self.column.numel()
            self._repeated[times] = Pattern(
                (times * n, times * f),
                _repeated_starts(self.row_start, count, times),
                _repeated_indices(self.column, f, times),
                _repeated_indices(self.transpose_order, count, times),
                _repeated_starts(self.transpose_start, count, times),
                _repeated_indices(self.transpose_column, n, times),
            )
        return self._repeated[times]

    @cached_property
    def _repeated(self) -> "dict[int, Pattern]":
        return {}


def _repeated_indices(indices: Tensor, step: int, times: int) -> Tensor:
    offset = step * torch.arange(times, dtype=indices.dtype, device=indices.device)
    return (offset[:, None] + indices).flatten()


def _repeated_starts(starts: Tensor, count: int, times: int) -> Tensor:
    return torch.cat([starts[:1], _repeated_indices(starts[1:], count, times)])


class _FeatureProduct(torch.autograd.Function):
    """X W of sparse features; the gradient by an entry (i, j) of X is that of (XW)_i times W_j."""

    @staticmethod
    def forward(values: Tensor, weight: Tensor, pattern: Pattern) -> Tensor:
        return pattern.product(values, weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG004
        values, weight, ctx.pattern = inputs
        ctx.save_for_backward(values, weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        values, weight = ctx.saved_tensors
        by_values, by_weight, _ = ctx.needs_input_grad
        return (
            ctx.pattern.entry_products(grads[0], weight) if by_values else None,
            ctx.pattern.transpose_product(values, grads[0].contiguous()) if by_weight else None,
            None,
        )

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, int | None, None], values: Tensor, weight: Tensor, pattern: Pattern
    ) -> tuple[Tensor, int]:
        replicas = info.batch_size
        if in_dims[0] is None:  # the same features for all: their weights are more columns
            wide = weight.movedim(in_dims[1], 1).flatten(1)  # type: ignore[arg-type]  # (f, replicas * out)
            return feature_product(values, wide, pattern).unflatten(1, (replicas, -1)), 1
        rows = weight.expand(replicas, -1, -1) if in_dims[1] is None else weight.movedim(in_dims[1], 0)
        entries = values.movedim(in_dims[0], 0)
        if entries.is_cuda and gpu_kernels():
            return _FeaturesOnGPU.apply(entries, rows, pattern), 0  # type: ignore[no-untyped-call]
        stacked = feature_product(entries.flatten(), rows.flatten(0, 1), pattern.repeated(replicas))
        return stacked.unflatten(0, (replicas, -1)), 0


class _FeaturesOnGPU(torch.autograd.Function):
    """The same for replicas: values (replicas, entries), weights (replicas, f, out)."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, pattern: Pattern) -> Tensor:
        ctx.values, ctx.pattern = values, pattern
        product: Tensor = gpu_kernels().csr_product_of_replicas(pattern.row_start, pattern.column, values, weight)
        return product

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, None]:
        pattern, values = ctx.pattern, ctx.values[:, ctx.pattern.transpose_order]
        parts = pattern.transpose_start, pattern.transpose_column, values
        return None, gpu_kernels().csr_product_of_replicas(*parts, grads[0]), None


def feature_product(values: Tensor, weight: Tensor, pattern: Pattern) -> Tensor:
    product: Tensor = _FeatureProduct.apply(values, weight, pattern)  # type: ignore[no-untyped-call]
    return product


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """A sparse feature matrix X (n, f) that stays sparse, with the pattern of its transpose at hand.

    `X @ W` multiplies; `X.dropped(rate, generator)` is X with dropout on the entries that are stored.
    """

    values: Tensor
    pattern: Pattern

    @classmethod
    def from_scipy(cls, matrix: sp.csr_array, device: torch.device | str = "cpu") -> Self:
        positions = sp.csr_array((np.arange(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
        transpose = sp.csr_array(positions.T.tocsr())
        indices = (matrix.indptr, matrix.indices, transpose.data, transpose.indptr, transpose.indices)
        shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        return cls(
            torch.from_numpy(matrix.data.astype(np.float32)).to(device),
            Pattern(shape, *(torch.from_numpy(array.astype(np.int64)).to(device) for array in indices)),
        )

    @property
    def shape(self) -> tuple[int, int]:
        return self.pattern.shape

    def dropped(self, rate: float, generator: Noise = None) -> Self:
        """With dropout on the entries. A CPU leaves out what much dropout has zeroed: products then cost as little."""
        if not rate:
            return self
        values = dropout(self.values, rate, generator)
        if rate < _MUCH or values.is_cuda or isinstance(generator, ReplicaNoise):
            return replace(self, values=values)
        kept = values != 0
        return replace(self, values=values[kept], pattern=self.pattern.thinned(kept))

    def to_csr(self) -> Tensor:
        return csr(self.pattern.row_start, self.pattern.column, self.values, self.shape)

    def to_dense(self) -> Tensor:
        return self.to_csr().to_dense()

    def __matmul__(self, weight: Tensor) -> Tensor:
        return feature_product(self.values, weight, self.pattern)


class _DenseProduct(torch.autograd.Function):
    """H W of a tall H. Exists for its `vmap` rule: the gradient by W sums over many rows, which are shared out."""

    @staticmethod
    def forward(H: Tensor, weight: Tensor) -> Tensor:
        return H @ weight

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor]:
        H, weight = ctx.saved_tensors
        return grads[0] @ weight.T if ctx.needs_input_grad[0] else None, H.T @ grads[0]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, int | None], H: Tensor, weight: Tensor) -> tuple[Tensor, int]:
        each = H.expand(info.batch_size, *H.shape) if in_dims[0] is None else H.movedim(in_dims[0], 0)
        weights = weight.expand(info.batch_size, *weight.shape) if in_dims[1] is None else weight.movedim(in_dims[1], 0)
        if each.is_cuda and gpu_kernels():
            return _DenseOnGPU.apply(each, weights), 0  # type: ignore[no-untyped-call]
        return each @ weights, 0


class _DenseOnGPU(torch.autograd.Function):
    """The same for replicas: H (replicas, n, k), weights (replicas, k, m)."""

    @staticmethod
    def forward(ctx: Any, H: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(H, weight)
        return H @ weight

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor]:
        H, weight = ctx.saved_tensors
        by_H = grads[0] @ weight.transpose(1, 2) if ctx.needs_input_grad[0] else None
        return by_H, gpu_kernels().inner_products(H, grads[0])


def dense_product(H: Tensor, weight: Tensor) -> Tensor:
    """H W; (n, k) (k, m) -> (n, m)."""
    product: Tensor = _DenseProduct.apply(H, weight)  # type: ignore[no-untyped-call]
    return product
