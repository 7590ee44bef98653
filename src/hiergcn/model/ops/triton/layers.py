"""H-GCN's layer for replicas on a GPU, and the operations of autograd that it is made of.

Tensors have the replicas on the first axis; results are in the layout (n, replicas, d), as sparse products want it.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from hiergcn.model.ops.layer import is_narrow, mix_channels, propagated
from hiergcn.model.ops.replicas import apply, on_replicas
from hiergcn.model.ops.sparse import Features, Pattern, SparseMatrix, propagate
from hiergcn.model.ops.triton import channel_kernels
from hiergcn.model.ops.triton.channel_kernels import (
    can_propagate_mix,
    mix_channels_backward,
    mix_product,
    propagate_mix,
)
from hiergcn.model.ops.triton.product_kernels import csr_product_of_replicas, inner_products


def convolve(
    adjacency: SparseMatrix, H: Features, S: Tensor | None, theta: Tensor, w: Tensor, transposed: SparseMatrix | None
) -> Tensor:
    """Return G of H and S after dropout, as `layer.convolve` does; inside `vmap`."""
    keep = torch.is_grad_enabled()
    if S is not None:
        if isinstance(H, SparseMatrix) and can_propagate_mix(S.shape[1], theta.shape[1], w.shape[0]):
            return on_replicas(partial(apply, FeatureLayer), H.values, S, theta, w, H.pattern, adjacency, keep)
        theta_H, theta_S = theta.split([H.shape[1], S.shape[1]])
        Z = propagated(adjacency, H, theta_H)
        return on_replicas(partial(apply, MixProduct), propagate(adjacency, S), theta_S, w, Z, keep)
    if is_narrow(H, theta):
        return on_replicas(partial(apply, MixProduct), propagate(adjacency, H, transposed), theta, w, None, keep)
    return mix_channels(propagated(adjacency, H, theta, transposed), w)


class SparseProduct(torch.autograd.Function):
    """X W: values (replicas, entries), expanded if the replicas share them, and weights (replicas, f, out)."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, pattern: Pattern) -> Tensor:
        ctx.values, ctx.pattern = values, pattern
        return _sparse_product(pattern, values, weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, None]:
        if ctx.needs_input_grad[0]:
            raise NotImplementedError("Replicas on a GPU have no gradient by the entries of sparse features.")
        there, order = ctx.pattern.transpose
        return None, _sparse_product(there, ctx.values, grads[0], order), None


def _sparse_product(
    pattern: Pattern, values: Tensor, dense: Tensor, order: Tensor | None = None, out: Tensor | None = None
) -> Tensor:
    mostly_zero = values.stride(0) > 0  # values that replicas do not share are those that dropout left
    product: Tensor = csr_product_of_replicas(
        pattern.chunks, pattern.column, values, dense, order, mostly_zero, out=out
    )
    return product


class DenseProduct(torch.autograd.Function):
    """H W, H (replicas, n, k) and W (replicas, k, m), added onto (replicas, n, m) if given."""

    @staticmethod
    def forward(ctx: Any, H: Tensor, weight: Tensor, onto: Tensor | None) -> Tensor:
        ctx.save_for_backward(H, weight)
        if onto is None:
            return nodes_first_product(H, weight).detach()  # as in `sparse.linear_map`: a ReLU may follow in place
        return onto.detach().baddbmm_(H, weight)  # safe to overwrite: it has no other reader

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, Tensor | None]:
        H, weight = ctx.saved_tensors
        by_H, by_weight = _product_gradients(grads[0], H, weight, ctx.needs_input_grad[0])
        return by_H, by_weight, grads[0] if ctx.needs_input_grad[2] else None


def _product_gradients(grad: Tensor, H: Tensor, weight: Tensor, by_H: bool) -> tuple[Tensor | None, Tensor]:
    """Return the gradients of H W by H, if wanted, and by W; `grad` is (replicas, n, m)."""
    return nodes_first_product(grad, weight.transpose(1, 2)) if by_H else None, inner_products(H, grad)


def nodes_first_product(left: Tensor, right: Tensor) -> Tensor:
    """(replicas, n, k) (replicas, k, m) -> (replicas, n, m), in the layout (n, replicas, m)."""
    replicas, n, m = *left.shape[:2], right.shape[2]
    out = left.new_empty_strided((replicas, n, m), (m, replicas * m, 1))  # no view, which a ReLU in place would refuse
    return torch.bmm(left, right, out=out)


class Mix(torch.autograd.Function):
    """Σ_j w_j ReLU(Z_j) of Z (replicas, n, d * c) and w (replicas, c), in one pass each way."""

    @staticmethod
    def forward(ctx: Any, Z: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(Z, w)
        return channel_kernels.mix_channels(Z, w)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        return mix_channels_backward(grads[0], *ctx.saved_tensors)


class MixProduct(torch.autograd.Function):
    """The mix of Z + H θ, or of H θ, in one kernel; it writes Z + H θ only if a gradient is needed."""

    @staticmethod
    def forward(ctx: Any, H: Tensor, theta: Tensor, w: Tensor, Z: Tensor | None, keep: bool) -> Tensor:
        onto = None if Z is None else Z.detach()  # safe to overwrite: it has no other reader
        mixed, total = mix_product(H, theta, w, onto, keep)
        ctx.save_for_backward(H, theta, w, total)
        return mixed

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        H, theta, w, total = ctx.saved_tensors
        by_total, by_w = mix_channels_backward(grads[0], total, w)
        by_H, by_theta = _product_gradients(by_total, H, theta, ctx.needs_input_grad[0])
        return by_H, by_theta, by_w, by_total if ctx.needs_input_grad[3] else None, None


class FeatureLayer(torch.autograd.Function):
    """The layer on sparse features: values (replicas, entries), S (replicas, n, p), θ (replicas, f + p, m).

    Z = Â (X θ_X) + (Â S) θ_S. The gradient by θ, as large as the features have columns, is written in place.
    """

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, S: Tensor, theta: Tensor, w: Tensor, pattern: Pattern, A: SparseMatrix, keep: bool
    ) -> Tensor:
        f = pattern.shape[1]
        Y, S = _sparse_product(pattern, values, theta[:, :f]), _propagated_replicas(A, S)
        G, Z = propagate_mix(A.pattern.chunks, A.pattern.column, A.values, Y, S, theta[:, f:], w, keep)
        ctx.save_for_backward(S, theta, w, Z)
        ctx.values, ctx.pattern, ctx.adjacency = values, pattern, A
        return G

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        S, theta, w, Z = ctx.saved_tensors
        f, A = ctx.pattern.shape[1], ctx.adjacency
        by_Z, by_w = mix_channels_backward(grads[0], Z, w)
        by_S, by_theta_S = _product_gradients(by_Z, S, theta[:, f:], ctx.needs_input_grad[1])
        by_theta = torch.empty_like(theta, memory_format=torch.contiguous_format)
        by_theta[:, f:] = by_theta_S
        there, order = ctx.pattern.transpose
        _sparse_product(there, ctx.values, _propagated_replicas(A, by_Z), order, out=by_theta[:, :f])
        by_S = None if by_S is None else _propagated_replicas(A, by_S)
        return None, by_S, by_theta, by_w, None, None, None


def _propagated_replicas(adjacency: SparseMatrix, dense: Tensor) -> Tensor:
    """Return Â times each replica's matrix, (replicas, n, d)."""
    wide = dense.transpose(0, 1)  # (n, replicas, d)
    return adjacency.product(wide.flatten(1)).view(wide.shape).transpose(0, 1)
