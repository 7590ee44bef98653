"""Tensor operations of the models, for CPU and GPU.

`layer` is H-GCN's graph convolution, and says which of three back ends computes it: torch, numba or Triton. `cpu` and
`triton` are twins: the same kernels in numba and in Triton. `sparse` has the sparse matrix, `dropout` the mask, `dense`
products with weights, and `replicas` the rules by which replicas train side by side. `propagation` is for H-GCN+
and GRAND.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import scipy.sparse as sp

FEW_ENTRIES = 2**16
"""Nodes and edges, of all models together, up to which a GPU uses torch's own operations. Training then takes about a
second, and compiling the kernels for a new graph takes several."""

_WORTHWHILE = ContextVar("kernels_are_worthwhile", default=True)


@contextmanager
def kernels_if_worthwhile(adjacency: sp.csr_array, models: int = 1) -> Iterator[None]:
    """Leave Triton's kernels out of what this thread computes inside if the graph is small.

    Torch computes gradients on threads of its own: an operation that may use either decides in its forward pass.
    """
    token = _WORTHWHILE.set(models * (adjacency.shape[0] + adjacency.nnz) > FEW_ENTRIES)
    try:
        yield
    finally:
        _WORTHWHILE.reset(token)


def gpu_kernels() -> Any:
    """Return the package `ops.triton`; None if Triton is missing or `kernels_if_worthwhile` leaves it out."""
    return triton_kernels() if _WORTHWHILE.get() else None


@cache
def triton_kernels() -> Any:
    """Return the package `ops.triton`, or None if Triton is missing. Torch's CUDA builds for Linux include it."""
    try:
        from hiergcn.model.ops import triton as kernels
    except ImportError:
        return None
    return kernels
