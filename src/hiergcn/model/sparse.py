"""Sparse products that repeat bit for bit and cost one product in the backward pass too.

`torch.sparse` transposes a CSR matrix on every backward pass. Here the transpose is known beforehand: the normalised
adjacency is its own, a grouping matrix is an index, and the pattern of the features never changes.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.model.dropout import dropout


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


class _SymmetricProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, dense: Tensor) -> Tensor:
        ctx.matrix = matrix
        return matrix @ dense

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor]:
        return None, ctx.matrix @ grads[0].contiguous()


def propagate(adjacency: Tensor, dense: Tensor) -> Tensor:
    """Â H for a fixed symmetric Â: the gradient is Â times the incoming one."""
    product: Tensor = _SymmetricProduct.apply(adjacency, dense)  # type: ignore[no-untyped-call]
    return product


class _SparseDenseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transpose: Tensor, dense: Tensor) -> Tensor:
        ctx.transpose = transpose
        return matrix @ dense

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor]:
        return None, None, ctx.transpose @ grads[0].contiguous()


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """A sparse feature matrix X (n, f) that stays sparse, with the pattern of its transpose at hand.

    `X @ W` multiplies; `X.dropped(rate, generator)` is X with dropout on the entries that are stored.
    """

    shape: tuple[int, int]
    values: Tensor
    row_start: Tensor
    column: Tensor
    transpose_order: Tensor  # values[transpose_order] are the values of the transpose
    transpose_start: Tensor
    transpose_column: Tensor

    @classmethod
    def from_scipy(cls, matrix: sp.csr_array, device: torch.device | str = "cpu") -> Self:
        positions = sp.csr_array((np.arange(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
        transpose = sp.csr_array(positions.T.tocsr())
        indices = (matrix.indptr, matrix.indices, transpose.data, transpose.indptr, transpose.indices)
        return cls(
            (int(matrix.shape[0]), int(matrix.shape[1])),
            torch.from_numpy(matrix.data.astype(np.float32)).to(device),
            *(torch.from_numpy(array.astype(np.int64)).to(device) for array in indices),
        )

    def dropped(self, rate: float, generator: torch.Generator | None = None) -> Self:
        return replace(self, values=dropout(self.values, rate, generator)) if rate else self

    def __matmul__(self, weight: Tensor) -> Tensor:
        n, f = self.shape
        matrix = csr(self.row_start, self.column, self.values, (n, f))
        transpose = csr(self.transpose_start, self.transpose_column, self.values[self.transpose_order], (f, n))
        product: Tensor = _SparseDenseProduct.apply(matrix, transpose, weight)  # type: ignore[no-untyped-call]
        return product
