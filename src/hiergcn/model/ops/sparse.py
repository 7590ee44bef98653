"""Sparse products that repeat bit for bit and cost one product in the backward pass too.

`torch.sparse` transposes a CSR matrix on every backward pass. Here that is not needed: the normalised adjacency is its
own transpose, a grouping matrix is an index, and the pattern of the features never changes. The products themselves
are in `loops` for a CPU and in `kernels` for a GPU.
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

from hiergcn.model.ops import cpu as loops
from hiergcn.model.ops.dropout import dropout
from hiergcn.model.ops.gpu import gpu_kernels
from hiergcn.model.ops.philox import Noise
from hiergcn.model.ops.row_chunks import Pieces, pieces_of, pieces_of_matrix
from hiergcn.model.ops.vmap import ReplicaRule, replicas_first, side_by_side

Map = Callable[[Tensor], Tensor]

_CHUNK = 2**18  # entries whose two rows are multiplied at a time


def csr(row_start: Tensor, column: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A torch CSR tensor of parts that are known to be right."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta|Sparse invariant checks")
        return torch.sparse_csr_tensor(row_start, column, values, shape, check_invariants=False)


def csr_tensor(matrix: sp.csr_array) -> Tensor:
    """A scipy CSR matrix as a torch CSR tensor of single precision."""
    return csr(*_indices(matrix), torch.from_numpy(matrix.data.astype(np.float32)), matrix.shape)


def _indices(matrix: sp.csr_array) -> tuple[Tensor, Tensor]:
    """Row starts and columns, in 32 bits where they fit."""
    dtype = np.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else np.int64
    return torch.from_numpy(matrix.indptr.astype(dtype)), torch.from_numpy(matrix.indices.astype(dtype))


def normalised_adjacency(adjacency: sp.csr_array) -> sp.csr_array:
    """D̃^-1/2 (A + I) D̃^-1/2 of Eq. 1, where D̃ holds the row sums of A + I."""
    with_loops = sp.csr_array(adjacency + sp.eye_array(adjacency.shape[0], format="csr"))
    inverse_root = 1.0 / np.sqrt(with_loops.sum(axis=1))
    rows = np.repeat(inverse_root, np.diff(with_loops.indptr))
    values = with_loops.data * (rows * inverse_root[with_loops.indices])  # this order keeps (i, j) equal to (j, i)
    return sp.csr_array((values, with_loops.indices, with_loops.indptr), shape=with_loops.shape)


class _LinearMap(torch.autograd.Function):
    """A fixed linear map of the columns of a matrix."""

    @staticmethod
    def forward(ctx: Any, dense: Tensor, there: Map, back: Map) -> Tensor:
        ctx.back = back
        return there(dense).detach()  # where it is part of something larger, autograd would let nobody add to it

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return ctx.back(grads[0].contiguous()), None, None


class _LinearMapOfReplicas(ReplicaRule):
    """Replicas are more columns, so that one product serves them all."""

    @staticmethod
    def forward(dense: Tensor, there: Map, back: Map) -> Tensor:  # noqa: ARG004
        return there(dense)  # of what all replicas share: features, which need no gradient

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, None, None], dense: Tensor, there: Map, back: Map) -> tuple[Tensor, int]:
        wide = dense.movedim(in_dims[0], 1)  # (n, replicas, d)
        return linear_map(wide.flatten(1), there, back).unflatten(1, (info.batch_size, -1)), 1


def linear_map(dense: Tensor, there: Map, back: Map) -> Tensor:
    """`there(dense)`, whose gradient is `back` of the incoming one; (n, d) -> (m, d)."""
    replicas = side_by_side()
    if not replicas and not torch.is_grad_enabled():
        return there(dense)
    rule = _LinearMapOfReplicas if replicas else _LinearMap
    mapped: Tensor = rule.apply(dense, there, back)  # type: ignore[no-untyped-call]
    return mapped


def propagate(adjacency: Tensor, dense: Tensor) -> Tensor:
    """Â H for a fixed symmetric Â: the gradient is Â times the incoming one."""
    return linear_map(dense, product_with(adjacency), product_with(adjacency))


def product_with(matrix: Tensor) -> Map:
    """The product of a CSR matrix with a dense one, as a function of that."""
    return partial(csr_product, matrix)


def csr_product(matrix: Tensor, dense: Tensor, plus: Tensor | None = None) -> Tensor:
    """A CSR matrix times a dense one, and another added to that, in an order of additions that repeats on a GPU too."""
    if dense.is_cuda and gpu_kernels():
        parts = matrix.col_indices(), matrix.values(), dense, plus
        product: Tensor = gpu_kernels().csr_product(pieces_of_matrix(matrix), *parts)
        return product
    if dense.is_cuda:
        product = matrix @ dense
    else:
        product = loops.csr_product(matrix.crow_indices(), matrix.col_indices(), matrix.values(), dense)
    return product if plus is None else product.add_(plus)


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where the entries of a sparse matrix (n, f) are."""

    shape: tuple[int, int]
    row_start: Tensor
    column: Tensor

    def rows(self) -> Tensor:
        """The row of each entry."""
        return torch.repeat_interleave(torch.arange(self.shape[0], device=self.column.device), self.row_start.diff())

    @cached_property
    def pieces(self) -> Pieces:
        return pieces_of(self.row_start)

    @cached_property
    def transpose(self) -> "tuple[Pattern, Tensor]":
        """The pattern of the transpose, and the order in which it takes the values."""
        order = torch.argsort(self.column, stable=True)
        length = torch.bincount(self.column, minlength=self.shape[1])
        start = torch.cat([length.new_zeros(1), length.cumsum(0)])
        there = Pattern(self.shape[::-1], *(part.to(self.column.dtype) for part in (start, self.rows()[order])))
        return there, order.to(self.column.dtype)

    def product(self, values: Tensor, dense: Tensor) -> Tensor:
        if not dense.is_cuda:
            return loops.csr_product(self.row_start, self.column, values, dense)
        if not gpu_kernels():
            return csr(self.row_start, self.column, values, self.shape) @ dense
        product: Tensor = gpu_kernels().csr_product(self.pieces, self.column, values, dense)
        return product

    def transpose_product(self, values: Tensor, dense: Tensor) -> Tensor:
        if not dense.is_cuda:
            return loops.transpose_product(self.row_start, self.column, values, dense, self.shape[1])
        there, order = self.transpose
        return there.product(values[order], dense)

    def entry_products(self, left: Tensor, right: Tensor) -> Tensor:
        """left_i · right_j for each entry (i, j)."""
        parts = [
            (left.index_select(0, i) * right.index_select(0, j)).sum(dim=1)
            for i, j in zip(self.rows().split(_CHUNK), self.column.split(_CHUNK), strict=True)
        ]
        return torch.cat(parts) if parts else left.new_empty(0)


class _FeatureProduct(torch.autograd.Function):
    """X W of sparse features; the gradient by an entry (i, j) of X is that of (XW)_i times W_j."""

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


class _FeatureProductOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, int | None, None], values: Tensor, weight: Tensor, pattern: Pattern
    ) -> tuple[Tensor, int]:
        entries = replicas_first(values, in_dims[0], info.batch_size)
        weights = replicas_first(weight, in_dims[1], info.batch_size)
        if weight.is_cuda and gpu_kernels():
            dropped = in_dims[0] is not None
            return _FeaturesOnGPU.apply(entries, weights, pattern, dropped), 0  # type: ignore[no-untyped-call]
        each = zip(entries.unbind(), weights.unbind(), strict=True)
        return torch.stack([feature_product(one, own, pattern) for one, own in each]), 0


class _FeaturesOnGPU(torch.autograd.Function):
    """The same for replicas: values (replicas, entries), weights (replicas, f, out)."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, pattern: Pattern, dropped: bool) -> Tensor:
        ctx.values, ctx.pattern, ctx.dropped = values, pattern, dropped
        product: Tensor = gpu_kernels().csr_product_of_replicas(
            pattern.pieces, pattern.column, values, weight, thinned=dropped
        )
        return product

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, None, None]:
        if ctx.needs_input_grad[0]:
            raise NotImplementedError("replicas on a GPU have no gradient by the entries of sparse features")
        there, order = ctx.pattern.transpose
        by_weight: Tensor = gpu_kernels().csr_product_of_replicas(
            there.pieces, there.column, ctx.values, grads[0], order, thinned=ctx.dropped
        )
        return None, by_weight, None, None


def feature_product(values: Tensor, weight: Tensor, pattern: Pattern) -> Tensor:
    rule = _FeatureProductOfReplicas if side_by_side() else _FeatureProduct
    product: Tensor = rule.apply(values, weight, pattern)  # type: ignore[no-untyped-call]
    return product


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """A sparse feature matrix X (n, f) that stays sparse.

    `X @ W` multiplies; `X.dropped(rate, generator)` is X with dropout on the entries that are stored.
    """

    values: Tensor
    pattern: Pattern

    @classmethod
    def from_scipy(cls, matrix: sp.csr_array, device: torch.device | str = "cpu") -> Self:
        row_start, column = _indices(matrix)
        shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        values = torch.from_numpy(matrix.data.astype(np.float32))
        return cls(values.to(device), Pattern(shape, row_start.to(device), column.to(device)))

    @property
    def shape(self) -> tuple[int, int]:
        return self.pattern.shape

    def dropped(self, rate: float, generator: Noise = None) -> Self:
        """With dropout on the entries. Products pass over what it has zeroed."""
        return replace(self, values=dropout(self.values, rate, generator))

    def to_csr(self) -> Tensor:
        return csr(self.pattern.row_start, self.pattern.column, self.values, self.shape)

    def to_dense(self) -> Tensor:
        return self.to_csr().to_dense()

    def __matmul__(self, weight: Tensor) -> Tensor:
        return feature_product(self.values, weight, self.pattern)


class _DenseProductOfReplicas(ReplicaRule):
    """H W of a tall H: the gradient by W sums over many rows, which are shared out."""

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], H: Tensor, weight: Tensor, onto: Tensor | None
    ) -> tuple[Tensor, int]:
        each, weights = (replicas_first(*pair, info.batch_size) for pair in zip((H, weight), in_dims[:2], strict=True))
        total = None if onto is None else replicas_first(onto, in_dims[2], info.batch_size)
        if each.is_cuda and gpu_kernels():
            return _DenseOnGPU.apply(each, weights, total), 0  # type: ignore[no-untyped-call]
        return each @ weights if total is None else torch.baddbmm(total, each, weights), 0


class _DenseOnGPU(torch.autograd.Function):
    """The same for replicas, H (replicas, n, k) and weights (replicas, k, m), added onto (replicas, n, m) if given.

    What it makes lies as (n, replicas, ..), as the sparse products around it want it.
    """

    @staticmethod
    def forward(ctx: Any, H: Tensor, weight: Tensor, onto: Tensor | None) -> Tensor:
        ctx.save_for_backward(H, weight)
        if onto is None:
            return _nodes_first_product(H, weight)
        return onto.detach().baddbmm_(H, weight)  # nothing else has a use for it

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, Tensor | None]:
        H, weight = ctx.saved_tensors
        by_H, by_weight = gradients_of_product(grads[0], H, weight, ctx.needs_input_grad[0])
        return by_H, by_weight, grads[0] if ctx.needs_input_grad[2] else None


def gradients_of_product(grad: Tensor, H: Tensor, weight: Tensor, by_H: bool) -> tuple[Tensor | None, Tensor]:
    """By H, if wanted, and by the weights of replicas, of H W whose gradient is (replicas, n, m); on a GPU."""
    by_weight: Tensor = gpu_kernels().inner_products(H, grad)
    return _nodes_first_product(grad, weight.transpose(1, 2)) if by_H else None, by_weight


def _nodes_first_product(left: Tensor, right: Tensor) -> Tensor:
    """(replicas, n, k) (replicas, k, m) -> (replicas, n, m), which lies as (n, replicas, m)."""
    lying = left.new_empty(left.shape[1], left.shape[0], right.shape[2])
    return torch.bmm(left, right, out=lying.transpose(0, 1))


def dense_product(H: Tensor, weight: Tensor) -> Tensor:
    """H W; (n, k) (k, m) -> (n, m)."""
    if not side_by_side():
        return H @ weight
    product: Tensor = _DenseProductOfReplicas.apply(H, weight, None)  # type: ignore[no-untyped-call]
    return product


def with_product(Z: Tensor, H: Tensor, weight: Tensor) -> Tensor:
    """Z + H W, which takes the place of Z; (n, m) (n, k) (k, m) -> (n, m)."""
    if not side_by_side():
        return Z.addmm_(H, weight)
    total: Tensor = _DenseProductOfReplicas.apply(H, weight, Z)  # type: ignore[no-untyped-call]
    return total
