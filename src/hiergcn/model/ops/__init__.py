"""Tensor operations of the models, for CPU and GPU.

`convolve` is H-GCN's layer, and `cpu_layer` and `gpu_layer` the same as one operation of autograd. `sparse` and
`sparse_features` hold sparse products, `dropout` its random bits, and `vmap` the rules by which replicas train side by
side. `cpu` and `triton` are twins: the same kernels in numba and in Triton.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import scipy.sparse as sp

FEW_ENTRIES = 2**16
"""Nodes and edges, of all models together, up to which a GPU uses torch's own operations. Training then takes about a
second, and compiling the kernels for a new graph takes several."""

_plain = False


@contextmanager
def kernels_if_worthwhile(adjacency: sp.csr_array, models: int = 1) -> Iterator[None]:
    """Leave the kernels out of what is computed inside if the graph is small.

    It holds for all threads, since torch computes gradients on threads of its own.
    """
    global _plain
    before, _plain = _plain, models * (adjacency.shape[0] + adjacency.nnz) <= FEW_ENTRIES
    try:
        yield
    finally:
        _plain = before


def gpu_kernels() -> Any:
    """Return the package `ops.triton`; None if Triton is missing or `kernels_if_worthwhile` leaves it out."""
    return None if _plain else _kernels()


@cache
def _kernels() -> Any:
    """Return the package `ops.triton`, or None if Triton is missing. Torch's CUDA builds for Linux include it."""
    try:
        from hiergcn.model.ops import triton as kernels
    except ImportError:
        return None
    return kernels
