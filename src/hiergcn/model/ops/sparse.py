"""The sparse matrix of the models, for adjacencies and features, and maps whose gradients need no transposing.

`torch.sparse` transposes a CSR matrix in every backward pass. Here that is not needed: the normalised adjacency is
symmetric, a grouping matrix is an index, and the transpose of features is kept. Products repeat bit for bit on every
device. The kernels are in `cpu` and `triton`.
"""

from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.overrides import handle_torch_function, has_torch_function

from hiergcn.model.ops import cpu, gpu_kernels
from hiergcn.model.ops.dense import dense_product
from hiergcn.model.ops.dropout import AnyGenerator, Mask, ReplicaGenerator, draw_mask, dropout
from hiergcn.model.ops.replicas import apply, on_replicas, under_vmap

if TYPE_CHECKING:
    from hiergcn.model.ops.row_chunks import RowChunks

Map = Callable[[Tensor], Tensor]

_CHUNK = 2**18  # entries whose two rows are multiplied at a time
_SMALL = 2**15  # entries of sparse features that dropout sets to zero instead of leaving them out


@dataclass(frozen=True, eq=False)
class Pattern:
    """Positions of the entries of a sparse matrix (n, f), and what products derive from them once."""

    shape: tuple[int, int]
    row_start: Tensor
    column: Tensor

    def rows(self) -> Tensor:
        """Return the row of each entry."""
        return torch.repeat_interleave(torch.arange(self.shape[0], device=self.column.device), self.row_start.diff())

    @cached_property
    def chunks(self) -> "RowChunks":
        """Its rows, cut for a GPU."""
        from hiergcn.model.ops.row_chunks import row_chunks

        return row_chunks(self.row_start)

    @cached_property
    def transpose(self) -> "tuple[Pattern, Tensor]":
        """The transpose's pattern, and the order in which it takes the values."""
        order = torch.argsort(self.column, stable=True)
        start = nn.functional.pad(torch.bincount(self.column, minlength=self.shape[1]).cumsum(0), (1, 0))
        there = Pattern(self.shape[::-1], *(part.to(self.column.dtype) for part in (start, self.rows()[order])))
        return there, order.to(self.column.dtype)


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A sparse matrix X (n, f). `X @ W` is differentiable in both; `product` is the same for a fixed X, faster."""

    values: Tensor
    pattern: Pattern

    @classmethod
    def from_scipy(cls, matrix: sp.csr_array, device: torch.device | str = "cpu") -> Self:
        """Return the matrix on the device, in single precision; its indices have 32 bits if they fit."""
        dtype = np.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else np.int64
        parts = (torch.from_numpy(part.astype(dtype)).to(device) for part in (matrix.indptr, matrix.indices))
        shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        return cls(torch.from_numpy(matrix.data.astype(np.float32)).to(device), Pattern(shape, *parts))

    def moved(self, move: Map) -> Self:
        """Return the matrix of tensors that `move` returns, such as those on another device."""
        pattern = Pattern(self.shape, move(self.pattern.row_start), move(self.pattern.column))
        return replace(self, values=move(self.values), pattern=pattern)

    @property
    def shape(self) -> tuple[int, int]:
        return self.pattern.shape

    @cached_property
    def scipy(self) -> sp.csr_array:
        """The matrix for scipy and numba, over the same memory if it is on a CPU."""
        parts = self.values.detach(), self.pattern.column, self.pattern.row_start
        return sp.csr_array(tuple(part.cpu().numpy() for part in parts), shape=self.shape)

    def to_dense(self) -> Tensor:
        dense = self.values.new_zeros(self.shape)
        return dense.index_put((self.pattern.rows(), self.pattern.column.long()), self.values, accumulate=True)

    def __mul__(self, factor: float) -> Self:
        return replace(self, values=self.values * factor)

    def __matmul__(self, weight: Tensor) -> Tensor:
        if under_vmap():
            return on_replicas(_product_of_replicas, self.values, weight, self)
        return apply(_Product, self.values, weight, self)

    def product(self, dense: Tensor, plus: Tensor | None = None) -> Tensor:
        """Return X @ dense (+ plus) without a gradient. The order of additions is fixed on a GPU too."""
        if has_torch_function((dense,)):  # what records operations, as the export does, sees the product as one
            recorded: Tensor = handle_torch_function(SparseMatrix.product, (dense,), self, dense)
            return recorded if plus is None else recorded + plus
        if not dense.is_cuda:
            return cpu.csr_product(self.scipy, dense, plus)
        if kernels := gpu_kernels():
            product: Tensor = kernels.csr_product(self.pattern.chunks, self.pattern.column, self.values, dense, plus)
            return product
        product = self._plain_product(dense)
        return product if plus is None else product.add_(plus)

    def _plain_product(self, dense: Tensor) -> Tensor:
        """Return X @ dense by an operation of torch that repeats bit for bit, as its sparse product does not."""
        product: Tensor = nn.functional.embedding_bag(
            self.pattern.column, dense, self.pattern.row_start, mode="sum", per_sample_weights=self.values,
            include_last_offset=True,
        )  # fmt: skip
        return product

    def transpose_product(self, dense: Tensor) -> Tensor:
        """Return Xᵀ @ dense without a gradient."""
        if not dense.is_cuda:
            return cpu.transpose_product(self.scipy, dense)
        there, order = self.pattern.transpose
        return SparseMatrix(self.values[order], there).product(dense)

    def dropped(self, rate: float, generator: AnyGenerator = None) -> Self:
        """Return X with dropout on its entries: without those that become 0, or with zeros, which products skip."""
        if kept := self.dropped_beside(self.values.new_empty(self.shape[0], 0), rate, generator):
            return replace(self, values=kept[0].values, pattern=kept[0].pattern)
        return replace(self, values=dropout(self.values, rate, generator))

    def dropped_beside(
        self, right: Tensor, rate: float, generator: AnyGenerator = None
    ) -> "tuple[SparseMatrix, Mask] | None":
        """Return [X ‖ right] without the entries that dropout makes 0, and the mask of `right`.

        None if X is small or not on a CPU, has replicas or needs a gradient: then drop both apart, with the same draws.
        """
        values = self.values
        if values.numel() < _SMALL or values.requires_grad or isinstance(generator, ReplicaGenerator):
            return None
        if values.is_cuda or (mask := draw_mask(rate, values.shape, values.device, generator)) is None:
            return None
        beside = draw_mask(rate, right.shape, right.device, generator) if right.numel() else mask
        assert beside is not None
        kept = cpu.kept_entries(self.scipy, mask.cpu_bits, right, beside.cpu_bits, mask.limit, mask.scale)
        column, start = torch.from_numpy(kept.indices), torch.from_numpy(kept.indptr)
        return SparseMatrix(torch.from_numpy(kept.data), Pattern(kept.shape, start, column)), beside


Features = Tensor | SparseMatrix


class _Product(torch.autograd.Function):
    """X W; the gradient by an entry (i, j) of X is that of (XW)_i times W_j."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, X: SparseMatrix) -> Tensor:  # noqa: ARG004
        ctx.X, ctx.context = X, copy_context()
        ctx.save_for_backward(weight)
        return X.product(weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (weight,), X, (by_values, by_weight, _) = ctx.saved_tensors, ctx.X, ctx.needs_input_grad
        entries = zip(X.pattern.rows().split(_CHUNK), X.pattern.column.split(_CHUNK), strict=True) if by_values else ()
        parts = [(grads[0].index_select(0, i) * weight.index_select(0, j)).sum(dim=1) for i, j in entries]
        return (
            torch.cat(parts) if parts else X.values.new_empty(0) if by_values else None,
            ctx.context.run(X.transpose_product, grads[0].contiguous()) if by_weight else None,
            None,
        )


def _product_of_replicas(values: Tensor, weight: Tensor, X: SparseMatrix) -> Tensor:
    if weight.is_cuda and (kernels := gpu_kernels()):
        product: Tensor = kernels.SparseProduct.apply(values, weight, X.pattern)
        return product
    return torch.stack([replace(X, values=dropped) @ W for dropped, W in zip(values, weight, strict=True)])


def propagate(adjacency: SparseMatrix, dense: Tensor, transposed: SparseMatrix | None = None) -> Tensor:
    """Return Â H for a fixed Â; its gradient is Âᵀ times the incoming one. Without `transposed`, Â is symmetric."""
    return linear_map(dense, adjacency.product, (transposed or adjacency).product)


def linear_map(dense: Tensor, there: Map, back: Map) -> Tensor:
    """Return `there(dense)`; the gradient is `back` of the incoming one. (n, d) -> (m, d)."""
    if under_vmap():
        return on_replicas(_map_of_replicas, dense, there, back)
    return apply(_LinearMap, dense, there, back) if torch.is_grad_enabled() else there(dense)


def _map_of_replicas(dense: Tensor, there: Map, back: Map) -> Tensor:
    """Replicas become additional columns, so that one product computes them all."""
    wide = dense.transpose(0, 1).flatten(1)  # (n, replicas * d)
    product: Tensor = linear_map(wide, there, back).unflatten(1, (len(dense), -1))
    return product.transpose(0, 1)


class _LinearMap(torch.autograd.Function):
    """A fixed linear map of the columns of a matrix."""

    @staticmethod
    def forward(ctx: Any, dense: Tensor, there: Map, back: Map) -> Tensor:
        ctx.back, ctx.context = back, copy_context()  # torch's threads know nothing of `kernels_if_worthwhile`
        return there(dense).detach()  # autograd forbids in-place updates of views that a custom Function returns

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return ctx.context.run(ctx.back, grads[0].contiguous()), None, None


def normalised_adjacency(adjacency: sp.csr_array) -> sp.csr_array:
    """Return Â = D̃^-1/2 (A + I) D̃^-1/2 of Eq. 1, where D̃ holds the row sums of A + I."""
    return symmetrically_normalised(sp.csr_array(adjacency + sp.eye_array(adjacency.shape[0], format="csr")))


def symmetrically_normalised(matrix: sp.csr_array) -> sp.csr_array:
    """Return D^-1/2 A D^-1/2, where D holds the row sums; an empty row stays empty."""
    degree = np.asarray(matrix.sum(axis=1), dtype=np.float64)
    inverse_root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    rows = np.repeat(inverse_root, np.diff(matrix.indptr))
    values = matrix.data * (rows * inverse_root[matrix.indices])  # this order keeps (i, j) equal to (j, i)
    return sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def feature_dropout(features: Features, rate: float, generator: AnyGenerator = None) -> Features:
    """Return the features with dropout; on sparse ones it draws for stored entries alone."""
    if isinstance(features, SparseMatrix):
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
