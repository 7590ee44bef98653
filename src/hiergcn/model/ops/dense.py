"""Products of dense matrices with weights. For replicas on a GPU they keep the layout of the sparse products around."""

from typing import Any

import torch
from torch import Tensor

from hiergcn.model.ops import gpu_kernels, triton_kernels
from hiergcn.model.ops.replicas import InDims, ReplicaRule, apply, replicas_first, under_vmap

_THIN = 12  # columns of a result below which a CPU's BLAS is 2 to 7 times as fast, both ways, on the transposes


def dense_product(H: Tensor, weight: Tensor) -> Tensor:
    """Return H W; (n, k) (k, m) -> (n, m)."""
    if under_vmap():
        return apply(_DenseProductOfReplicas, H, weight, None)
    if weight.shape[1] < _THIN and not H.is_cuda:  # (Wᵀ Hᵀ)ᵀ
        return (weight.t().contiguous() @ H.t()).t()
    return H @ weight


def inner_products(H: Tensor, grad: Tensor) -> Tensor:
    """Return Hᵀ G on a CPU; (n, k) (n, m) -> (k, m)."""
    if grad.shape[1] < _THIN:
        return inner_products(grad, H).t() if H.shape[1] >= _THIN else H.t() @ grad
    return H.t() @ grad


def add_product(Z: Tensor, H: Tensor, weight: Tensor) -> Tensor:
    """Return Z + H W in the memory of Z; (n, m) (n, k) (k, m) -> (n, m)."""
    return apply(_DenseProductOfReplicas, H, weight, Z) if under_vmap() else Z.addmm_(H, weight)


class _DenseProductOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(info: Any, in_dims: InDims, H: Tensor, weight: Tensor, onto: Tensor | None) -> tuple[Tensor, int]:
        each, weights, total = replicas_first(info, in_dims, H, weight, onto)
        if each.is_cuda and gpu_kernels():
            return apply(DenseProductOnGPU, each, weights, total), 0
        return each @ weights if total is None else torch.baddbmm(total, each, weights), 0


class DenseProductOnGPU(torch.autograd.Function):
    """H W of replicas, H (replicas, n, k) and W (replicas, k, m), added onto (replicas, n, m) if given.

    The layout of the result is (n, replicas, m), as the sparse products around it want it.
    """

    @staticmethod
    def forward(ctx: Any, H: Tensor, weight: Tensor, onto: Tensor | None) -> Tensor:
        ctx.save_for_backward(H, weight)
        if onto is None:
            return _nodes_first_product(H, weight).detach()  # as in `sparse.linear_map`: a ReLU may follow in place
        return onto.detach().baddbmm_(H, weight)  # safe to overwrite: it has no other reader

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, Tensor | None]:
        H, weight = ctx.saved_tensors
        by_H, by_weight = product_gradients(grads[0], H, weight, ctx.needs_input_grad[0])
        return by_H, by_weight, grads[0] if ctx.needs_input_grad[2] else None


def product_gradients(grad: Tensor, H: Tensor, weight: Tensor, by_H: bool) -> tuple[Tensor | None, Tensor]:
    """Return the gradients of H W by H, if wanted, and by W; `grad` is (replicas, n, m)."""
    by_weight: Tensor = triton_kernels().inner_products(H, grad)
    return _nodes_first_product(grad, weight.transpose(1, 2)) if by_H else None, by_weight


def _nodes_first_product(left: Tensor, right: Tensor) -> Tensor:
    """(replicas, n, k) (replicas, k, m) -> (replicas, n, m), in the layout (n, replicas, m)."""
    replicas, n, m = *left.shape[:2], right.shape[2]
    out = left.new_empty_strided((replicas, n, m), (m, replicas * m, 1))  # no view, which a ReLU in place would refuse
    return torch.bmm(left, right, out=out)
