r"""H-GCN's graph convolution on a CPU as one operation of autograd.

.. math:: Z = \hat A \operatorname{dropout}([H ‖ S]) \theta, \qquad G = \sum_j w_j \operatorname{ReLU}(Z_j)

On a graph of a few thousand nodes, the many small operations that `convolve` has otherwise take longer than their work.
"""

from typing import Any

import torch
from torch import Tensor
from torch.overrides import has_torch_function

from hiergcn.model.ops import cpu
from hiergcn.model.ops.dense import dense_product, inner_products
from hiergcn.model.ops.dropout import AnyGenerator, KeptEntries, ReplicaGenerator, Rows, masked_concat, masked_split
from hiergcn.model.ops.sparse import csr_product
from hiergcn.model.ops.vmap import apply, under_vmap


def on_cpu_alone(weight: Tensor, generator: AnyGenerator) -> bool:
    """Return whether one model runs on a CPU, and nothing records its operations, as the export does."""
    replicas = under_vmap() or isinstance(generator, ReplicaGenerator)
    return not (weight.is_cuda or replicas or has_torch_function((weight,)))


def layer_on_cpu(
    adjacency: Tensor,  # Â, CSR (n, n), or some of its rows and columns (r, m)
    transposed: Tensor,  # Âᵀ
    H: Tensor,  # (m, k)
    S: Tensor | None,  # (m, p)
    theta: Tensor,  # (k + p, d * c)
    w: Tensor | None,  # (c,); None for one channel
    relu: bool = True,
    rate: float = 0.0,
    generator: AnyGenerator = None,
    rows: Rows | None = None,  # the rows that H and S have; None for all
    plus: Tensor | None = None,  # added to X θ before the propagation, (m, d * c); overwritten
) -> Tensor:
    """Return G, (n, d). Without channels the ReLU may be left out."""
    return apply(_Layer, H, S, theta, w, plus, adjacency, transposed, relu, rate, generator, rows)


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        H: Tensor,
        S: Tensor | None,
        theta: Tensor,
        w: Tensor | None,
        plus: Tensor | None,
        adjacency: Tensor,
        transposed: Tensor,
        relu: bool,
        rate: float,
        generator: torch.Generator | None,
        rows: Rows | None,
    ) -> Tensor:
        X, ctx.mask = masked_concat(H, S, rate, generator, rows)
        ctx.transposed, ctx.columns, ctx.relu = transposed, H.shape[1], relu
        ctx.first = plus is None and theta.shape[0] <= theta.shape[1]  # Â is multiplied on the narrower side
        if ctx.first:
            X = csr_product(adjacency, X)
        Z = dense_product(X, theta) if plus is None else plus.detach().addmm_(X, theta)
        if not ctx.first:
            Z = csr_product(adjacency, Z)
        G, Z = _activated(Z, w, relu)
        ctx.save_for_backward(X, Z, theta, w)
        return G

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        X, Z, theta, w = ctx.saved_tensors
        by_H, by_S, _, _, by_plus = ctx.needs_input_grad[:5]
        grad, by_w = _before_activation(grads[0].contiguous(), Z, w, ctx.relu)
        if not ctx.first:
            grad = csr_product(ctx.transposed, grad)
        learned = inner_products(X, grad), by_w, grad if by_plus else None
        if not (by_H or by_S):
            return None, None, *learned, *[None] * 6
        left = ctx.columns if by_H or ctx.mask else 0  # columns of H that the gradient has
        by_X = dense_product(grad, theta[ctx.columns - left :].t())
        if ctx.first:
            by_X = csr_product(ctx.transposed, by_X)
        H, S = masked_split(by_X, left, ctx.mask)
        return H if by_H else None, S if by_S else None, *learned, *[None] * 6


def feature_layer_on_cpu(
    adjacency: Tensor,  # Â, CSR (n, n)
    X: KeptEntries,  # sparse features (n, f) beside S (n, p) after dropout
    S: Tensor,  # before dropout
    theta: Tensor,  # (f + p, d * c)
    w: Tensor | None,  # (c,); None for one channel
    relu: bool = True,
) -> Tensor:
    """Return G, (n, d), of the first layer."""
    return apply(_FeatureLayer, S, theta, w, adjacency, X, relu)


class _FeatureLayer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, S: Tensor, theta: Tensor, w: Tensor | None, adjacency: Tensor, X: KeptEntries, relu: bool
    ) -> Tensor:
        ctx.adjacency, ctx.X, ctx.relu, ctx.columns = adjacency, X, relu, S.shape[1]
        G, Z = _activated(csr_product(adjacency, cpu.csr_product(*X.matrix, theta)), w, relu)
        ctx.save_for_backward(Z, theta, w)
        return G

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        Z, theta, w = ctx.saved_tensors
        grad, by_w = _before_activation(grads[0].contiguous(), Z, w, ctx.relu)
        grad = csr_product(ctx.adjacency, grad)
        by_S = _through_dropout(dense_product(grad, theta[-ctx.columns :].t()), ctx.X)
        matrix: tuple[Tensor, Tensor, Tensor] = ctx.X.matrix
        return by_S, cpu.transpose_product(*matrix, grad, len(theta)), by_w, None, None, None


def _through_dropout(by_S: Tensor, X: KeptEntries) -> Tensor:
    """Return the gradient by S before dropout."""
    bits, limit, scale = X.mask
    return cpu.dropout(by_S.unsqueeze(0), bits.unsqueeze(0), limit, scale).squeeze(0)


def _activated(Z: Tensor, w: Tensor | None, relu: bool) -> tuple[Tensor, Tensor]:
    """Return G, and what the backward pass needs to know of Z, which may be overwritten."""
    if w is not None:
        return cpu.mix(Z, w), Z
    G = Z.relu_() if relu else Z
    return G, G


def _before_activation(grad: Tensor, Z: Tensor, w: Tensor | None, relu: bool) -> tuple[Tensor, Tensor | None]:
    """Return the gradients by Z and by w."""
    if w is not None:
        return cpu.mix_backward(grad, Z, w)
    return torch.ops.aten.threshold_backward(grad, Z, 0.0) if relu else grad, None
