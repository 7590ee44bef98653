r"""H-GCN's graph convolution: Eq. 1 in c channels and their weighted sum.

.. math:: G = \sum_{j=1}^{c} w_j \operatorname{ReLU}(\hat A [H ‖ S] \theta_j)

If a node has weights φ of its own, Â [H ‖ S] θ_j + [H ‖ S] φ_j takes the place of Â [H ‖ S] θ_j.

Column k of channel j is column k * c + j of θ and φ, so that the channels of an output column are neighbours. Products
are fused with the weighted sum for replicas on a GPU.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeGuard

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from hiergcn.model.ops import cpu, gpu_kernels
from hiergcn.model.ops.cpu_layer import feature_layer_on_cpu, layer_on_cpu, on_cpu_alone
from hiergcn.model.ops.dense import add_product, dense_product, product_gradients
from hiergcn.model.ops.dropout import AnyGenerator, Rows, dropout, dropout_concat, dropped_entries
from hiergcn.model.ops.gpu_layer import feature_layer_of_replicas, has_feature_layer
from hiergcn.model.ops.sparse import propagate
from hiergcn.model.ops.sparse_features import Features, SparseFeatures
from hiergcn.model.ops.vmap import InDims, ReplicaRule, apply, replicas_first, under_vmap

ChannelMix = Literal["after_relu", "before_relu"]


def convolve(
    adjacency: Tensor,  # Â, CSR (n, n), or some of its rows and columns (r, m)
    H: Features,  # hidden representations or features (m, k)
    S: Tensor | None,  # node-weight embeddings (m, p)
    theta: Tensor,  # θ of all channels (k + p, d * c)
    w: Tensor | None,  # channel weights (c,); None for one channel
    *,
    own: Tensor | None = None,  # φ of all channels (k + p, d * c); None without
    mix: ChannelMix = "after_relu",
    relu: bool = True,
    rate: float = 0.0,
    generator: AnyGenerator = None,
    joint: bool = True,  # draw one dropout mask for [H ‖ S]; False draws one for H, then one for S
    recompute: bool = False,  # compute again in the backward pass instead of keeping intermediate results
    rows: Rows | None = None,  # the rows that H and S have, for one model on a CPU or replicas; None for all
    transposed: Tensor | None = None,  # Âᵀ, if it is not Â
) -> Tensor:
    """Return G, (n, d), with dropout on H and S. The weighted sum of channels comes after or before the ReLU."""

    def layer(H: Features, S: Tensor | None, theta: Tensor, w: Tensor | None, own: Tensor | None) -> Tensor:
        alone = is_one_operation(theta, w, own, mix, relu, generator)
        if alone and isinstance(H, Tensor) and (joint or S is None):
            back = adjacency if transposed is None else transposed
            return layer_on_cpu(adjacency, back, H, S, theta, w, relu, rate, generator, rows)
        if alone and isinstance(H, SparseFeatures) and S is not None:
            X = dropped_entries(H.parts(), H.shape[1], rate, generator, S)
            if X is not None:
                return feature_layer_on_cpu(adjacency, X, S, theta, w, relu)
        if joint and S is not None and isinstance(H, Tensor):
            H, S = dropout_concat(H, S, rate, generator, rows), None
        else:
            H = dropout(H, rate, generator, rows) if isinstance(H, Tensor) else H.dropped(rate, generator)
            S = None if S is None else dropout(S, rate, generator)
        if alone and S is not None:
            return _after_dropout_on_cpu(adjacency, H, S, theta, w, relu)
        if own is not None:
            return mix_channels(_with_own(adjacency, H, S, theta, own), w, mix, relu)
        return _convolve(adjacency, H, S, theta, w, mix, relu, transposed)

    given = H, S, theta, w, own
    return recomputed(layer, generator, *given) if recompute else layer(*given)


def is_one_operation(
    theta: Tensor, w: Tensor | None, own: Tensor | None, mix: ChannelMix, relu: bool, generator: AnyGenerator
) -> bool:
    """Return whether a layer with these settings is one operation of autograd; see `cpu_layer`."""
    return on_cpu_alone(theta, generator) and own is None and (w is None or (mix == "after_relu" and relu))


def _after_dropout_on_cpu(
    adjacency: Tensor, H: Features, S: Tensor, theta: Tensor, w: Tensor | None, relu: bool
) -> Tensor:
    if _is_narrow(H, theta):
        return layer_on_cpu(adjacency, adjacency, H, S, theta, w, relu)
    theta_H, theta_S = theta.split([H.shape[1], S.shape[1]])
    plus = _product(H, theta_H)
    return layer_on_cpu(adjacency, adjacency, S, None, theta_S, w, relu, plus=plus)  # Â (H θ_H + S θ_S)


def _convolve(
    adjacency: Tensor,
    H: Features,
    S: Tensor | None,
    theta: Tensor,
    w: Tensor | None,
    mix: ChannelMix,
    relu: bool,
    transposed: Tensor | None,
) -> Tensor:
    """Return G. H is propagated before its product with θ if it is narrower than the result, else after it."""
    if S is not None:  # Â [H ‖ S] θ = Â H θ_H + Â S θ_S
        if isinstance(H, SparseFeatures) and _mixes_after_relu(w, mix, relu) and has_feature_layer(S, theta, w):
            return feature_layer_of_replicas(adjacency, H, S, theta, w)
        theta_H, theta_S = theta.split([H.shape[1], S.shape[1]])
        return mix_product(_propagated(adjacency, H, theta_H), propagate(adjacency, S), theta_S, w, mix, relu)
    if _is_narrow(H, theta):
        return mix_product(None, propagate(adjacency, H, transposed), theta, w, mix, relu)
    return mix_channels(_propagated(adjacency, H, theta, transposed), w, mix, relu)


def _with_own(adjacency: Tensor, H: Features, S: Tensor | None, theta: Tensor, own: Tensor) -> Tensor:
    """Return Â [H ‖ S] θ + [H ‖ S] φ."""
    if S is not None:
        (theta_H, theta_S), (own_H, own_S) = (weight.split([H.shape[1], S.shape[1]]) for weight in (theta, own))
        return _with_own(adjacency, H, None, theta_H, own_H) + _with_own(adjacency, S, None, theta_S, own_S)
    return _propagated(adjacency, H, theta) + _product(H, own)


def _mixes_after_relu(w: Tensor | None, mix: ChannelMix, relu: bool) -> TypeGuard[Tensor]:
    return w is not None and mix == "after_relu" and relu


def _product(H: Features, weight: Tensor) -> Tensor:
    return dense_product(H, weight) if isinstance(H, Tensor) else H @ weight


def _propagated(adjacency: Tensor, H: Features, theta: Tensor, transposed: Tensor | None = None) -> Tensor:
    """Return Â H θ, propagated on the narrower side."""
    if _is_narrow(H, theta):
        return dense_product(propagate(adjacency, H, transposed), theta)
    return propagate(adjacency, _product(H, theta), transposed)


def _is_narrow(H: Features, theta: Tensor) -> TypeGuard[Tensor]:
    return isinstance(H, Tensor) and H.shape[1] <= theta.shape[1]


def mix_channels(Z: Tensor, w: Tensor | None, mix: ChannelMix = "after_relu", relu: bool = True) -> Tensor:
    """Return Σ_j w_j ReLU(Z_j), or ReLU(Σ_j w_j Z_j) if `mix` is before_relu; (n, d * c) -> (n, d).

    Z is overwritten.
    """
    if _mixes_after_relu(w, mix, relu):
        return _mix_after_relu(Z, w)
    mixed = Z if w is None else _weighted_sum(Z, w)
    return mixed.relu_() if relu else mixed


def _weighted_sum(Z: Tensor, w: Tensor) -> Tensor:
    total: Tensor = (Z.unflatten(1, (-1, w.shape[0])) * w).sum(dim=2)
    return total


def _mix_after_relu(Z: Tensor, w: Tensor) -> Tensor:
    if _kernels(Z) is None:
        return _weighted_sum(Z.clamp_min(0.0), w)
    return apply(_MixOfReplicas, Z, w) if under_vmap() else apply(_Mix, Z.unsqueeze(0), w.unsqueeze(0)).squeeze(0)


def _kernels(Z: Tensor) -> Any:
    """Return the module with the kernels for Z's device; None on a GPU without Triton."""
    return gpu_kernels() if Z.is_cuda else cpu


class _Mix(torch.autograd.Function):
    """Σ_j w_j ReLU(Z_j) of Z (models, n, d * c) and w (models, c), in one pass each way."""

    @staticmethod
    def forward(ctx: Any, Z: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(Z, w)
        mixed: Tensor = _kernels(Z).mix_channels(Z, w)
        return mixed

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        Z, w = ctx.saved_tensors
        by_Z, by_w = _kernels(Z).mix_channels_backward(grads[0], Z, w)
        return by_Z, by_w


class _MixOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(info: Any, in_dims: InDims, Z: Tensor, w: Tensor) -> tuple[Tensor, int]:
        return apply(_Mix, *replicas_first(info, in_dims, Z, w)), 0


def mix_product(
    Z: Tensor | None, H: Tensor, theta: Tensor, w: Tensor | None, mix: ChannelMix = "after_relu", relu: bool = True
) -> Tensor:
    """Return `mix_channels` of Z + H θ, or of H θ if Z is None. Z is overwritten.

    (n, d * c) (n, k) (k, d * c) -> (n, d)
    """
    if _mixes_after_relu(w, mix, relu) and _has_fused_kernel(H, theta, w):
        return apply(_MixProductOfReplicas, H, theta, w, Z, torch.is_grad_enabled())
    return mix_channels(dense_product(H, theta) if Z is None else add_product(Z, H, theta), w, mix, relu)


def _has_fused_kernel(H: Tensor, theta: Tensor, w: Tensor) -> bool:
    if not (H.is_cuda and gpu_kernels() and under_vmap()):
        return False
    return bool(gpu_kernels().can_mix_product(theta.shape[1], w.shape[0]))


class _MixProductOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(
        info: Any, in_dims: InDims, H: Tensor, theta: Tensor, w: Tensor, Z: Tensor | None, keep: bool
    ) -> tuple[Tensor, int]:
        return apply(_MixProductOnGPU, *replicas_first(info, in_dims, H, theta, w, Z), keep), 0


class _MixProductOnGPU(torch.autograd.Function):
    """`mix_product` of replicas in one kernel, which writes Z + H θ only if a gradient is needed."""

    @staticmethod
    def forward(ctx: Any, H: Tensor, theta: Tensor, w: Tensor, Z: Tensor | None, keep: bool) -> Tensor:
        onto = None if Z is None else Z.detach()  # safe to overwrite: it has no other reader
        mixed, total = gpu_kernels().mix_product(H, theta, w, onto, keep)
        ctx.save_for_backward(H, theta, w, total)
        made: Tensor = mixed
        return made

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        H, theta, w, total = ctx.saved_tensors
        by_total, by_w = gpu_kernels().mix_channels_backward(grads[0], total, w)
        by_H, by_theta = product_gradients(by_total, H, theta, ctx.needs_input_grad[0])
        return by_H, by_theta, by_w, by_total if ctx.needs_input_grad[3] else None, None


def recomputed(layer: Callable[..., Tensor], generator: AnyGenerator, *inputs: Any) -> Tensor:
    """Return `layer(*inputs)` with activation checkpointing (Chen et al., 2016): backward computes it again.

    The layer draws from the generator alone, which is set back for the second pass: dropout draws the same masks.
    """
    result: Tensor
    if generator is None:  # the layer draws from torch's global state, which torch sets back itself
        result = checkpoint(layer, *inputs, use_reentrant=False)
        return result
    assert isinstance(generator, torch.Generator)  # replicas do not recompute
    before = generator.get_state()
    passes = 0

    def run(*inputs: Any) -> Tensor:
        nonlocal passes
        passes += 1
        if passes == 1:
            return layer(*inputs)
        now = generator.get_state()
        generator.set_state(before)
        try:
            return layer(*inputs)
        finally:
            generator.set_state(now)

    result = checkpoint(run, *inputs, use_reentrant=False, preserve_rng_state=False)
    return result
