"""Tensor operations of the models, for CPU and GPU.

`convolve` is H-GCN's layer, and `cpu_layer` and `gpu_layer` the same as one operation of autograd. `sparse` and
`sparse_features` hold sparse products, `dropout` its random bits, and `vmap` the rules by which replicas train side by
side. `cpu` and `triton` are twins: the same kernels in numba and in Triton.
"""

from functools import cache
from typing import Any


@cache
def gpu_kernels() -> Any:
    """Return the package `ops.triton`, or None if Triton is missing. Torch's CUDA builds for Linux include it."""
    try:
        from hiergcn.model.ops import triton as kernels
    except ImportError:
        return None
    return kernels
