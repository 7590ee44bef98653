"""Products of dense matrices with weights. For replicas on a GPU they keep the layout of the sparse products around."""

import torch
from torch import Tensor

from hiergcn.model.ops import gpu_kernels
from hiergcn.model.ops.replicas import on_replicas, under_vmap

_THIN = 12  # columns of a result below which a CPU's BLAS is 2 to 7 times as fast, both ways, on the transposes


def dense_product(H: Tensor, weight: Tensor) -> Tensor:
    """Return H W; (n, k) (k, m) -> (n, m)."""
    if under_vmap():
        return on_replicas(_product_of_replicas, H, weight, None)
    if weight.shape[1] < _THIN and not H.is_cuda:  # (Wᵀ Hᵀ)ᵀ
        return (weight.t().contiguous() @ H.t()).t()
    return H @ weight


def inner_products(H: Tensor, grad: Tensor) -> Tensor:
    """Return Hᵀ G on a CPU; (n, k) (n, m) -> (k, m)."""
    if grad.shape[1] < _THIN <= H.shape[1]:
        return inner_products(grad, H).t()
    return H.t() @ grad


def add_product(Z: Tensor, H: Tensor, weight: Tensor) -> Tensor:
    """Return Z + H W in the memory of Z; (n, m) (n, k) (k, m) -> (n, m)."""
    return on_replicas(_product_of_replicas, H, weight, Z) if under_vmap() else Z.addmm_(H, weight)


def _product_of_replicas(H: Tensor, weight: Tensor, onto: Tensor | None) -> Tensor:
    if H.is_cuda and (kernels := gpu_kernels()):
        product: Tensor = kernels.DenseProduct.apply(H, weight, onto)
        return product
    return H @ weight if onto is None else torch.baddbmm(onto, H, weight)
