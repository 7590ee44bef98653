"""Kernels for a GPU, written in Triton: sparse products that repeat bit for bit, dropout and channels in one pass.

The libraries' sparse product adds in an order that changes from run to run and multiplies by the zeros that dropout
leaves, and the steps around it each read and write everything once more. Tensors of replicas lie as (n, replicas, d),
so that a product sees `replicas * d` columns. A number that is handed to a kernel has 32 bits if it fits, and so has
what is made of two such: where that might not fit, one is made wider, or the product is handed over.
"""

from hiergcn.model.ops.triton.channel_kernels import (
    mixed_channels,
    mixed_channels_backward,
    mixed_product,
    mixes_products,
)
from hiergcn.model.ops.triton.dropout_kernels import dropout, dropped_join, dropped_parts
from hiergcn.model.ops.triton.keep_best import keep
from hiergcn.model.ops.triton.product_kernels import csr_product, csr_product_of_replicas, inner_products

__all__ = [
    "csr_product",
    "csr_product_of_replicas",
    "dropout",
    "dropped_join",
    "dropped_parts",
    "inner_products",
    "keep",
    "mixed_channels",
    "mixed_channels_backward",
    "mixed_product",
    "mixes_products",
]
