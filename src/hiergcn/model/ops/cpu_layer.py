r"""H-GCN's graph convolution on a CPU as one operation of autograd.

.. math:: Z = \hat A \operatorname{dropout}([H ‖ S]) \theta, \qquad G = \sum_j w_j \operatorname{ReLU}(Z_j)

On a graph of a few thousand nodes, the many small operations that `convolve` has otherwise take longer than their work.
The backward pass also leaves out rows whose gradient is 0. With few labels these are most rows of the last layers.
"""

from typing import Any

import torch
from torch import Tensor
from torch.overrides import has_torch_function

from hiergcn.model.ops import cpu
from hiergcn.model.ops.dense import dense_product
from hiergcn.model.ops.dropout import AnyGenerator, ReplicaGenerator, masked_concat, masked_split
from hiergcn.model.ops.sparse import csr_product, scattered_product
from hiergcn.model.ops.vmap import apply, under_vmap


def on_cpu_alone(weight: Tensor, generator: AnyGenerator) -> bool:
    """Return whether one model runs on a CPU, and nothing records its operations, as the export does."""
    replicas = under_vmap() or isinstance(generator, ReplicaGenerator)
    return not (weight.is_cuda or replicas or has_torch_function((weight,)))


def layer_on_cpu(
    adjacency: Tensor,  # Â, CSR (n, n)
    H: Tensor,  # (n, k)
    S: Tensor | None,  # (n, p)
    theta: Tensor,  # (k + p, d * c)
    w: Tensor | None,  # (c,); None for one channel
    relu: bool = True,
    rate: float = 0.0,
    generator: AnyGenerator = None,
    plus: Tensor | None = None,  # added to X θ before the propagation, (n, d * c)
) -> Tensor:
    """Return G, (n, d). Without channels the ReLU may be left out."""
    return apply(_Layer, H, S, theta, w, plus, adjacency, relu, rate, generator)


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
        relu: bool,
        rate: float,
        generator: torch.Generator | None,
    ) -> Tensor:
        X, ctx.mask = masked_concat(H, S, rate, generator)
        ctx.adjacency, ctx.columns, ctx.relu = adjacency, H.shape[1], relu
        ctx.first = plus is None and theta.shape[0] <= theta.shape[1]  # Â is multiplied on the narrower side
        if ctx.first:
            X = csr_product(adjacency, X)
        Z = dense_product(X, theta) if plus is None else torch.addmm(plus, X, theta)
        if not ctx.first:
            Z = csr_product(adjacency, Z)
        if w is not None:
            G = cpu.mix(Z, w)
        else:
            G = Z = Z.relu_() if relu else Z
        ctx.save_for_backward(X, Z, theta, w)
        return G

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        X, Z, theta, w = ctx.saved_tensors
        by_H, by_S, _, _, by_plus = ctx.needs_input_grad[:5]
        grad, by_w, plus = grads[0].contiguous(), None, None
        rows = cpu.rows_in_use(grad)
        grad, Z = _taken(grad, rows), _taken(Z, rows)
        if w is not None:
            grad, by_w = cpu.mix_backward(grad, Z, w)
        elif ctx.relu:
            grad = torch.ops.aten.threshold_backward(grad, Z, 0.0)
        if not ctx.first:
            grad = scattered_product(ctx.adjacency, grad, rows)
            plus = grad if by_plus else None
            rows = cpu.rows_in_use(grad)
            grad = _taken(grad, rows)
        by_theta = _taken(X, rows).t() @ grad
        if not (by_H or by_S):
            return None, None, by_theta, by_w, plus, None, None, None, None
        left = ctx.columns if by_H or ctx.mask else 0  # columns of H that the gradient has
        by_X = grad @ theta[ctx.columns - left :].t()
        if ctx.first:
            by_X = scattered_product(ctx.adjacency, by_X, rows)
        elif rows is not None:
            by_X = by_X.new_zeros(len(X), by_X.shape[1]).index_copy_(0, rows, by_X)
        H, S = masked_split(by_X, left, ctx.mask)
        return H if by_H else None, S if by_S else None, by_theta, by_w, plus, None, None, None, None


def _taken(matrix: Tensor, rows: Tensor | None) -> Tensor:
    return matrix if rows is None else matrix.index_select(0, rows)
