"""Products of dense matrices with weights. For replicas on a GPU they keep the layout of the sparse products around.

Torch multiplies by Intel's MKL. On AMD processors with AVX-512, oneDNN, which torch also contains, takes half as long.
"""

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import has_torch_function

from hiergcn.model.ops import gpu_kernels
from hiergcn.model.ops.vmap import InDims, ReplicaRule, apply, replicas_first, under_vmap

_ENOUGH = 2**20  # multiplications from which oneDNN is faster: a call of it takes ten microseconds longer
_THIN = 12  # columns of a result below which a CPU's BLAS is 2 to 7 times as fast, both ways, on the transposes


def dense_product(H: Tensor, weight: Tensor) -> Tensor:
    """Return H W; (n, k) (k, m) -> (n, m)."""
    if under_vmap():
        return apply(_DenseProductOfReplicas, H, weight, None)
    if _suits_onednn(H, weight):
        return apply(_ProductByOneDNN, H, weight) if torch.is_grad_enabled() else _by_onednn(H, weight)
    if weight.shape[1] < _THIN and not H.is_cuda:  # (Wᵀ Hᵀ)ᵀ
        return (weight.t().contiguous() @ H.t()).t()
    return H @ weight


def inner_products(H: Tensor, grad: Tensor) -> Tensor:
    """Return Hᵀ G on a CPU; (n, k) (n, m) -> (k, m)."""
    if grad.shape[1] < _THIN:
        return inner_products(grad, H).t() if H.shape[1] >= _THIN else H.t() @ grad
    alone = not torch.is_grad_enabled()
    return _by_onednn(H.t(), grad) if alone and _suits_onednn(H.t(), grad) else H.t() @ grad


def _suits_onednn(left: Tensor, right: Tensor) -> bool:
    """Return whether oneDNN is faster for a product that nothing but autograd records."""
    return (
        left.shape[0] * left.shape[1] * right.shape[1] >= _ENOUGH
        and left.dtype == right.dtype == torch.float32
        and not (left.is_cuda or has_torch_function((left, right)))
        and _onednn_is_faster()
    )


class _ProductByOneDNN(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, H: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(H, weight)
        return _by_onednn(H, weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None]:
        H, weight = ctx.saved_tensors
        by_H, by_weight = ctx.needs_input_grad
        return (
            dense_product(grads[0], weight.t()) if by_H else None,
            inner_products(H, grads[0]) if by_weight else None,
        )


def _by_onednn(left: Tensor, right: Tensor) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(left, right.t(), None, "none", [], "")
    return product


@cache
def _onednn_is_faster() -> bool:
    """Return whether this is an AMD processor with AVX-512."""
    if not torch.backends.mkldnn.is_available() or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    with suppress(OSError):
        return "AuthenticAMD" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return False


def add_product(Z: Tensor, H: Tensor, weight: Tensor) -> Tensor:
    """Return Z + H W in the memory of Z; (n, m) (n, k) (k, m) -> (n, m)."""
    return apply(_DenseProductOfReplicas, H, weight, Z) if under_vmap() else Z.addmm_(H, weight)


class _DenseProductOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(info: Any, in_dims: InDims, H: Tensor, weight: Tensor, onto: Tensor | None) -> tuple[Tensor, int]:
        each, weights, total = replicas_first(info, in_dims, H, weight, onto)
        if each.is_cuda and gpu_kernels():
            return apply(_DenseProductOnGPU, each, weights, total), 0
        return each @ weights if total is None else torch.baddbmm(total, each, weights), 0


class _DenseProductOnGPU(torch.autograd.Function):
    """H W of replicas, H (replicas, n, k) and W (replicas, k, m), added onto (replicas, n, m) if given.

    The layout of the result is (n, replicas, m), as the sparse products around it want it.
    """

    @staticmethod
    def forward(ctx: Any, H: Tensor, weight: Tensor, onto: Tensor | None) -> Tensor:
        ctx.save_for_backward(H, weight)
        if onto is None:
            return _nodes_first_product(H, weight).detach()  # as in `sparse._LinearMap`: a ReLU may follow in place
        return onto.detach().baddbmm_(H, weight)  # safe to overwrite: it has no other reader

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, Tensor | None]:
        H, weight = ctx.saved_tensors
        by_H, by_weight = product_gradients(grads[0], H, weight, ctx.needs_input_grad[0])
        return by_H, by_weight, grads[0] if ctx.needs_input_grad[2] else None


def product_gradients(grad: Tensor, H: Tensor, weight: Tensor, by_H: bool) -> tuple[Tensor | None, Tensor]:
    """Return the gradients of H W by H, if wanted, and by W; `grad` is (replicas, n, m)."""
    by_weight: Tensor = gpu_kernels().inner_products(H, grad)
    return _nodes_first_product(grad, weight.transpose(1, 2)) if by_H else None, by_weight


def _nodes_first_product(left: Tensor, right: Tensor) -> Tensor:
    """(replicas, n, k) (replicas, k, m) -> (replicas, n, m), in the layout (n, replicas, m)."""
    replicas, n, m = *left.shape[:2], right.shape[2]
    out = left.new_empty_strided((replicas, n, m), (m, replicas * m, 1))  # no view, which a ReLU in place would refuse
    return torch.bmm(left, right, out=out)
