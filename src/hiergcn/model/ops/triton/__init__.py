"""GPU kernels in Triton, twins of those in `cpu`: sparse products that repeat bit for bit, dropout, channel mixing.

The libraries' sparse product adds in an order that changes from run to run and multiplies by the zeros that dropout
leaves, and torch's operations around it each read and write everything once more. The layout of replica tensors is
(n, replicas, d), so that a product sees `replicas * d` columns. Triton passes a number in 32 bits if it fits, and then
computes in 32 bits: if a product of two might not fit, a kernel widens one of them or takes the product itself.
"""

# ruff: noqa: F401 (callers take the kernels from here)
from hiergcn.model.ops.triton.channel_kernels import (
    can_mix_product,
    can_propagate_mix,
    mix_channels,
    mix_channels_backward,
    mix_product,
    propagate_mix,
)
from hiergcn.model.ops.triton.entry_kernels import dropout, dropout_concat, dropout_split, keep_better
from hiergcn.model.ops.triton.layers import (
    DenseProduct,
    FeatureLayer,
    Mix,
    MixProduct,
    SparseProduct,
    convolve,
    nodes_first_product,
)
from hiergcn.model.ops.triton.product_kernels import csr_product, csr_product_of_replicas, inner_products
