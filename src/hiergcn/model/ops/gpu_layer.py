r"""H-GCN's graph convolution of sparse features for replicas on a GPU, as one operation of autograd.

.. math:: Z = \hat A (X \theta_X) + (\hat A S) \theta_S, \qquad G = \sum_j w_j \operatorname{ReLU}(Z_j)

The twin of `cpu_layer.feature_layer_on_cpu`. Z is as large as all nodes times all channels, so that most of the time of
a network on a large graph goes into reading and writing it: here Z is written once, and only if a gradient is needed.
The gradient by θ, as large as the features have columns, is written in place.
"""

from typing import Any

import torch
from torch import Tensor

from hiergcn.model.ops import gpu_kernels
from hiergcn.model.ops.dense import product_gradients
from hiergcn.model.ops.row_chunks import chunks_of_matrix
from hiergcn.model.ops.sparse import csr_product
from hiergcn.model.ops.sparse_features import Pattern, SparseFeatures
from hiergcn.model.ops.vmap import InDims, ReplicaRule, apply, replicas_first, under_vmap


def has_feature_layer(S: Tensor, theta: Tensor, w: Tensor) -> bool:
    """Return whether `feature_layer_of_replicas` supports these sizes, in replicas on a GPU."""
    if not (under_vmap() and S.is_cuda and gpu_kernels()):
        return False
    return bool(gpu_kernels().can_propagate_mix(S.shape[1], theta.shape[1], w.shape[0]))


def feature_layer_of_replicas(
    adjacency: Tensor,  # Â, CSR (n, n)
    X: SparseFeatures,  # (n, f), after dropout
    S: Tensor,  # (n, p), after dropout
    theta: Tensor,  # (f + p, d * c)
    w: Tensor,  # (c,)
) -> Tensor:
    """Return G, (n, d), of the first layer."""
    return apply(_FeatureLayerOfReplicas, X.values, S, theta, w, X.pattern, adjacency, torch.is_grad_enabled())


class _FeatureLayerOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(
        info: Any,
        in_dims: InDims,
        values: Tensor,
        S: Tensor,
        theta: Tensor,
        w: Tensor,
        pattern: Pattern,
        adjacency: Tensor,
        keep: bool,
    ) -> tuple[Tensor, int]:
        each = replicas_first(info, in_dims, values, S, theta, w)
        dropped = in_dims[0] is not None
        return apply(_FeatureLayerOnGPU, *each, pattern, adjacency, dropped, keep), 0


class _FeatureLayerOnGPU(torch.autograd.Function):
    """The layer of replicas: values (replicas, entries), S (replicas, n, p), θ (replicas, f + p, d * c)."""

    @staticmethod
    def forward(
        ctx: Any,
        values: Tensor,
        S: Tensor,
        theta: Tensor,
        w: Tensor,
        pattern: Pattern,
        adjacency: Tensor,
        dropped: bool,
        keep: bool,
    ) -> Tensor:
        f, kernels = pattern.shape[1], gpu_kernels()
        Y = kernels.csr_product_of_replicas(pattern.chunks, pattern.column, values, theta[:, :f], mostly_zero=dropped)
        S = _propagated(adjacency, S)
        parts = chunks_of_matrix(adjacency), adjacency.col_indices(), adjacency.values()
        G, Z = kernels.propagate_mix(*parts, Y, S, theta[:, f:], w, keep)
        ctx.save_for_backward(S, theta, w, Z)
        ctx.values, ctx.pattern, ctx.adjacency, ctx.dropped = values, pattern, adjacency, dropped
        made: Tensor = G
        return made

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        S, theta, w, Z = ctx.saved_tensors
        f, kernels = ctx.pattern.shape[1], gpu_kernels()
        by_Z, by_w = kernels.mix_channels_backward(grads[0], Z, w)
        by_S, by_theta_S = product_gradients(by_Z, S, theta[:, f:], ctx.needs_input_grad[1])
        by_theta = torch.empty_like(theta, memory_format=torch.contiguous_format)
        by_theta[:, f:] = by_theta_S
        there, order = ctx.pattern.transpose
        kernels.csr_product_of_replicas(
            there.chunks, there.column, ctx.values, _propagated(ctx.adjacency, by_Z), order, ctx.dropped,
            out=by_theta[:, :f],
        )  # fmt: skip
        by_S = None if by_S is None else _propagated(ctx.adjacency, by_S)
        return None, by_S, by_theta, by_w, None, None, None, None


def _propagated(adjacency: Tensor, dense: Tensor) -> Tensor:
    """Return Â times each replica's matrix, (replicas, n, d)."""
    wide = dense.transpose(0, 1)  # (n, replicas, d)
    product = csr_product(adjacency, wide.flatten(1))
    return product.view(wide.shape).transpose(0, 1)
