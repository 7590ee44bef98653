"""Sparse products that repeat bit for bit and cost one product in the backward pass too.

`torch.sparse` transposes a CSR matrix in every backward pass. Here that is not needed: the normalised adjacency is
symmetric, and a grouping matrix is an index. The kernels are in `cpu` and `triton`.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.model.ops import cpu, gpu_kernels
from hiergcn.model.ops.row_chunks import chunks_of_matrix
from hiergcn.model.ops.vmap import ReplicaRule, apply, under_vmap

Map = Callable[[Tensor], Tensor]


def csr(row_start: Tensor, column: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """Return a torch CSR tensor of parts that are known to be valid."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta|Sparse invariant checks")
        return torch.sparse_csr_tensor(row_start, column, values, shape, check_invariants=False)


def csr_tensor(matrix: sp.csr_array) -> Tensor:
    """Return a scipy CSR matrix as a torch CSR tensor of single precision."""
    return csr(*csr_indices(matrix), torch.from_numpy(matrix.data.astype(np.float32)), matrix.shape)


def scipy_matrix(matrix: Tensor) -> sp.csr_array:
    """Return a torch CSR tensor as a scipy matrix, which shares the memory of one on a CPU."""
    row_start, column, values = csr_parts(matrix.cpu())
    return sp.csr_array((values, column, row_start), shape=(matrix.shape[0], matrix.shape[1]))


def csr_indices(matrix: sp.csr_array) -> tuple[Tensor, Tensor]:
    """Return row starts and columns, in 32 bits if they fit."""
    dtype = np.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else np.int64
    return torch.from_numpy(matrix.indptr.astype(dtype)), torch.from_numpy(matrix.indices.astype(dtype))


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


def propagate(adjacency: Tensor, dense: Tensor, transposed: Tensor | None = None) -> Tensor:
    """Return Â H for a fixed Â; its gradient is Âᵀ times the incoming one. Without `transposed`, Â is symmetric."""
    return linear_map(dense, product_with(adjacency), product_with(adjacency if transposed is None else transposed))


def product_with(matrix: Tensor) -> Map:
    """Return the function that multiplies the CSR matrix by a dense one."""
    return partial(csr_product, matrix)


def csr_product(matrix: Tensor, dense: Tensor, plus: Tensor | None = None) -> Tensor:
    """Return matrix @ dense (+ plus) for a CSR matrix. The order of additions is fixed on a GPU too."""
    if dense.is_cuda and gpu_kernels():
        parts = matrix.col_indices(), matrix.values(), dense, plus
        product: Tensor = gpu_kernels().csr_product(chunks_of_matrix(matrix), *parts)
        return product
    if not dense.is_cuda:
        return cpu.csr_product(*csr_parts(matrix), dense, plus)
    product = plain_product(matrix.crow_indices(), matrix.col_indices(), matrix.values(), dense)
    return product if plus is None else product.add_(plus)


def plain_product(row_start: Tensor, column: Tensor, values: Tensor, dense: Tensor) -> Tensor:
    """Return matrix @ dense by an operation of torch that repeats bit for bit, as its sparse product does not."""
    product: Tensor = torch.nn.functional.embedding_bag(
        column, dense, row_start, mode="sum", per_sample_weights=values, include_last_offset=True
    )
    return product


def add_rows(coarse: Tensor, group: Tensor, fine: Tensor) -> Tensor:
    """Return each row of `fine` plus the row of `coarse` of its group."""
    return coarse.index_select(0, group).add_(fine) if coarse.is_cuda else cpu.add_rows(coarse, group, fine)


def csr_parts(matrix: Tensor) -> cpu.CsrParts:
    """Return row starts, columns and values of a CSR tensor, which torch makes anew each time, cached beside it."""
    cached = vars(matrix)
    if "parts" not in cached:
        cached["parts"] = tuple(part.numpy() for part in (matrix.crow_indices(), matrix.col_indices(), matrix.values()))
    parts: cpu.CsrParts = cached["parts"]
    return parts


def linear_map(dense: Tensor, there: Map, back: Map) -> Tensor:
    """Return `there(dense)`; the gradient is `back` of the incoming one. (n, d) -> (m, d)."""
    replicas = under_vmap()
    if not replicas and not torch.is_grad_enabled():
        return there(dense)
    return apply(_LinearMapOfReplicas if replicas else _LinearMap, dense, there, back)


class _LinearMap(torch.autograd.Function):
    """A fixed linear map of the columns of a matrix."""

    @staticmethod
    def forward(ctx: Any, dense: Tensor, there: Map, back: Map) -> Tensor:
        ctx.back = back
        return there(dense).detach()  # autograd forbids in-place updates of views that a custom Function returns

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return ctx.back(grads[0].contiguous()), None, None


class _LinearMapOfReplicas(ReplicaRule):
    """Replicas become additional columns, so that one product computes them all."""

    @staticmethod
    def forward(dense: Tensor, there: Map, back: Map) -> Tensor:  # noqa: ARG004
        return there(dense)  # a tensor that all replicas share: features, which need no gradient

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, None, None], dense: Tensor, there: Map, back: Map) -> tuple[Tensor, int]:
        wide = dense.movedim(in_dims[0], 1)  # (n, replicas, d)
        return linear_map(wide.flatten(1), there, back).unflatten(1, (info.batch_size, -1)), 1
