"""The kernels for a GPU, where they can be had."""

from functools import cache
from typing import Any


@cache
def gpu_kernels() -> Any:
    """The module `kernels`, or None without Triton, which comes with torch's builds for CUDA on Linux."""
    try:
        from hiergcn.model.ops import triton as kernels
    except ImportError:
        return None
    return kernels
