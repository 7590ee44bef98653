r"""H-GCN's graph convolution: Eq. 1 in c channels and their weighted sum.

.. math:: Z = \hat A \operatorname{dropout}([H ‖ S]) \theta, \qquad G = \sum_{j=1}^{c} w_j \operatorname{ReLU}(Z_j)

If a node has weights φ of its own, [H ‖ S] φ is added to Z. Column k of channel j is column k * c + j of θ and φ, so
that the channels of an output column are neighbours.

`convolve` is the layer. `choose_backend` says which of three implementations computes it:

    torch    operations of torch and sparse products, for everything: all settings, all devices, recording
    numba    one operation of autograd for one model on a CPU; on a graph of a few thousand nodes, the many small
             operations of torch take longer than their work
    triton   fused kernels for replicas on a GPU. Z is as large as all nodes times all channels, so most of the time
             goes into reading and writing it: it is written once, and only if a gradient is needed
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from functools import partial
from typing import Any, Literal, TypeGuard

import torch
from torch import Tensor
from torch.overrides import has_torch_function
from torch.utils.checkpoint import checkpoint

from hiergcn.model.ops import cpu, gpu_kernels
from hiergcn.model.ops.dense import add_product, dense_product, inner_products
from hiergcn.model.ops.dropout import (
    AnyGenerator,
    Mask,
    ReplicaGenerator,
    RowSubset,
    draw_mask,
    dropout,
    dropout_concat,
)
from hiergcn.model.ops.replicas import apply, on_replicas, under_vmap
from hiergcn.model.ops.sparse import Features, SparseMatrix, propagate

ChannelMix = Literal["after_relu", "before_relu"]
Backend = Literal["torch", "numba", "triton"]


def choose_backend(
    theta: Tensor, w: Tensor | None, phi: Tensor | None, mix: ChannelMix, relu: bool, generator: AnyGenerator
) -> Backend:
    """Return which implementation computes a layer with these settings."""
    if phi is not None or (w is not None and (mix != "after_relu" or not relu)):
        return "torch"  # no fused kernel has φ, or a weighted sum before the ReLU
    if on_cpu_alone(theta, generator):
        return "numba"
    if w is not None and theta.is_cuda and under_vmap() and (kernels := gpu_kernels()):
        return "triton" if kernels.can_mix_product(theta.shape[1], w.shape[0]) else "torch"
    return "torch"


def on_cpu_alone(weight: Tensor, generator: AnyGenerator) -> bool:
    """Return whether one model runs on a CPU, and nothing records its operations, as the export does."""
    replicas = under_vmap() or isinstance(generator, ReplicaGenerator)
    return not (weight.is_cuda or replicas or has_torch_function((weight,)))


def convolve(
    adjacency: SparseMatrix,  # Â (n, n), or some of its rows and columns (r, m)
    H: Features,  # hidden representations or features (m, k)
    S: Tensor | None,  # node-weight embeddings (m, p)
    theta: Tensor,  # θ of all channels (k + p, d * c)
    w: Tensor | None,  # channel weights (c,); None for one channel
    *,
    phi: Tensor | None = None,  # φ of all channels (k + p, d * c); None without
    mix: ChannelMix = "after_relu",
    relu: bool = True,
    rate: float = 0.0,
    generator: AnyGenerator = None,
    joint: bool = True,  # draw one dropout mask for [H ‖ S]; False draws one for H, then one for S
    recompute: bool = False,  # compute again in the backward pass instead of keeping intermediate results
    rows: RowSubset | None = None,  # the rows that H and S have, for one model on a CPU or replicas; None for all
    transposed: SparseMatrix | None = None,  # Âᵀ, if it is not Â
) -> Tensor:
    """Return G, (n, d), with dropout on H and S. The weighted sum of channels comes after or before the ReLU."""

    def layer(H: Features, S: Tensor | None, theta: Tensor, w: Tensor | None, phi: Tensor | None) -> Tensor:
        backend, p = choose_backend(theta, w, phi, mix, relu, generator), 0 if S is None else S.shape[1]
        numba, alone = backend == "numba", ((adjacency, transposed or adjacency), relu)
        if numba and isinstance(H, Tensor) and (joint or S is None):
            mask = draw_mask(rate, (len(H), H.shape[1] + p), H.device, generator, rows)
            return apply(_LayerOnCPU, H, S, theta, w, None, *alone, None, mask)
        if numba and isinstance(H, SparseMatrix) and S is not None and (kept := H.dropped_beside(S, rate, generator)):
            return apply(_LayerOnCPU, None, S, theta, w, None, *alone, *kept)
        if joint and S is not None and isinstance(H, Tensor):
            H, S = dropout_concat(H, S, rate, generator, rows), None
        else:
            H = dropout(H, rate, generator, rows) if isinstance(H, Tensor) else H.dropped(rate, generator)
            S = None if S is None else dropout(S, rate, generator)
        if numba:
            S = theta.new_empty(H.shape[0], 0) if S is None else S
            if is_narrow(H, theta):
                return apply(_LayerOnCPU, H, S, theta, w, None, *alone, None, None)
            theta_H, theta_S = theta.split([H.shape[1], p])
            return apply(_LayerOnCPU, S, None, theta_S, w, _product(H, theta_H), *alone, None, None)
        if backend == "triton":
            result: Tensor = gpu_kernels().convolve(adjacency, H, S, theta, w, transposed)
            return result
        Z: Tensor | None = None
        parts: list[Features] = [H] if S is None else [H, S]  # Â [H ‖ S] θ = Â H θ_H + Â S θ_S
        widths = [part.shape[1] for part in parts]
        phis = [None] * len(parts) if phi is None else phi.split(widths)
        for part, weight, own_weight in zip(parts, theta.split(widths), phis, strict=True):
            if Z is not None and phi is None and isinstance(part, Tensor):
                Z = add_product(Z, propagate(adjacency, part, transposed), weight)
                continue
            term = propagated(adjacency, part, weight, transposed)
            term = term if own_weight is None else term + _product(part, own_weight)
            Z = term if Z is None else Z + term
        assert Z is not None
        return mix_channels(Z, w, mix, relu)

    given = H, S, theta, w, phi
    return recomputed(layer, generator, *given) if recompute else layer(*given)


def propagated(adjacency: SparseMatrix, H: Features, theta: Tensor, transposed: SparseMatrix | None = None) -> Tensor:
    """Return Â H θ, propagated on the narrower side."""
    if is_narrow(H, theta):
        return dense_product(propagate(adjacency, H, transposed), theta)
    return propagate(adjacency, _product(H, theta), transposed)


def is_narrow(H: Features, theta: Tensor) -> TypeGuard[Tensor]:
    """Return whether H is dense and has no more columns than H θ."""
    return isinstance(H, Tensor) and H.shape[1] <= theta.shape[1]


def _product(H: Features, weight: Tensor) -> Tensor:
    return dense_product(H, weight) if isinstance(H, Tensor) else H @ weight


def mix_channels(Z: Tensor, w: Tensor | None, mix: ChannelMix = "after_relu", relu: bool = True) -> Tensor:
    """Return Σ_j w_j ReLU(Z_j), or ReLU(Σ_j w_j Z_j) if `mix` is before_relu; (n, d * c) -> (n, d).

    Z is overwritten.
    """
    after = w is not None and mix == "after_relu" and relu
    if after and w is not None and Z.is_cuda and (kernels := gpu_kernels()):
        if under_vmap():
            return on_replicas(partial(apply, kernels.Mix), Z, w)
        return apply(kernels.Mix, Z.unsqueeze(0), w.unsqueeze(0)).squeeze(0)
    Z = Z.clamp_min(0.0) if after else Z
    mixed: Tensor = Z if w is None else (Z.unflatten(1, (-1, w.shape[0])) * w).sum(dim=2)
    return mixed.relu_() if relu and not after else mixed


class _LayerOnCPU(torch.autograd.Function):
    """G of X = [H ‖ S], dense or sparse, of one model. Â is multiplied on the narrower side of X θ."""

    @staticmethod
    def forward(
        ctx: Any,
        H: Tensor | None,  # (m, k)
        S: Tensor | None,  # (m, p)
        theta: Tensor,  # (k + p, d * c)
        w: Tensor | None,  # (c,); None for one channel, whose ReLU may be left out
        plus: Tensor | None,  # added to X θ before the propagation, (m, d * c); overwritten
        adjacency: tuple[SparseMatrix, SparseMatrix],  # Â and its transpose
        relu: bool,
        sparse: SparseMatrix | None,  # X after dropout if H is sparse
        mask: Mask | None,  # dropout on X, or on S if X is sparse
    ) -> Tensor:
        A, ctx.transposed = adjacency
        ctx.relu, ctx.sparse, ctx.mask = relu, sparse, mask
        ctx.columns = theta.shape[0] - (0 if S is None else S.shape[1])  # of H
        ctx.first = sparse is None and plus is None and theta.shape[0] <= theta.shape[1]
        X = theta[:0]
        if sparse is not None:
            Z = sparse.product(theta)
        else:
            assert H is not None
            if mask is not None:
                X = mask.concat(H, H[:, :0] if S is None else S)
            else:
                X = H if S is None else torch.cat([H, S], dim=1)
            X = A.product(X) if ctx.first else X
            Z = dense_product(X, theta) if plus is None else plus.detach().addmm_(X, theta)
        if not ctx.first:
            Z = A.product(Z)
        G = cpu.mix_channels(Z, w) if w is not None else Z.relu_() if relu else Z
        ctx.save_for_backward(X, Z if w is not None else G, theta, w)
        return G

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        X, Z, theta, w = ctx.saved_tensors
        by_H, by_S, _, _, by_plus = ctx.needs_input_grad[:5]
        grad, by_w = grads[0].contiguous(), None
        if w is not None:
            grad, by_w = cpu.mix_channels_backward(grad, Z, w)
        elif ctx.relu:
            grad = torch.ops.aten.threshold_backward(grad, Z, 0.0)
        if not ctx.first:
            grad = ctx.transposed.product(grad)
        by_theta = inner_products(X, grad) if ctx.sparse is None else ctx.sparse.transpose_product(grad)
        learned = by_theta, by_w, grad if by_plus else None
        if not (by_H or by_S):
            return None, None, *learned, *[None] * 4
        left = ctx.columns if by_H or (ctx.mask and ctx.sparse is None) else 0  # columns of H that the gradient has
        by_X = dense_product(grad, theta[ctx.columns - left :].t())
        if ctx.first:
            by_X = ctx.transposed.product(by_X)
        H, S = by_X.split([left, by_X.shape[1] - left], dim=1) if ctx.mask is None else ctx.mask.split(by_X, left)
        return H if by_H else None, S if by_S else None, *learned, *[None] * 4


def recomputed(layer: Callable[..., Tensor], generator: AnyGenerator, *inputs: Any) -> Tensor:
    """Return `layer(*inputs)` with activation checkpointing (Chen et al., 2016): backward computes it again.

    The layer draws from the generator alone, which is set back for the second pass: dropout draws the same masks.
    Without a generator it draws from torch's global state, which torch sets back itself.
    """
    assert not isinstance(generator, ReplicaGenerator)  # replicas do not recompute

    @contextmanager
    def set_back(generator: torch.Generator, before: Tensor) -> Iterator[None]:
        now = generator.get_state()
        generator.set_state(before)
        try:
            yield
        finally:
            generator.set_state(now)

    second: Callable[[], AbstractContextManager[None]]
    second = nullcontext if generator is None else partial(set_back, generator, generator.get_state())
    context = copy_context()  # the second pass may run on a thread of torch's
    result: Tensor = checkpoint(
        context.run, layer, *inputs, use_reentrant=False, preserve_rng_state=generator is None,
        context_fn=lambda: (nullcontext(), second()),
    )  # fmt: skip
    return result
