"""Rules that tell `torch.vmap` how to run our operations on replicas, models that train side by side.

Sparse products want replicas in the layout (n, replicas, d), so that all replicas are columns of one product.
"""

from typing import Any

import torch
from torch import Tensor


def under_vmap() -> bool:
    """Return whether the caller runs inside `torch.vmap`. Torch itself asks the same before it looks for a rule."""
    return bool(torch._C._are_functorch_transforms_active())


class ReplicaRule(torch.autograd.Function):
    """Base of operations that exist inside `torch.vmap` only; a single model skips their overhead.

    A subclass has a `vmap` rule, which gets the tensors of all replicas at once. Autograd differentiates what the rule
    does as usual.
    """

    @staticmethod
    def forward(*_: Any) -> Tensor:
        raise RuntimeError("This operation works inside torch.vmap only.")

    @staticmethod
    def setup_context(*_: Any) -> None: ...


def concat_columns(left: Tensor, right: Tensor) -> Tensor:
    """Return [left ‖ right]; (n, d) (n, e) -> (n, d + e)."""
    if not under_vmap():
        return torch.cat([left, right], dim=1)
    joined: Tensor = _ConcatOfReplicas.apply(left, right)  # type: ignore[no-untyped-call]
    return joined


class _ConcatOfReplicas(ReplicaRule):
    """The layout of the result is (n, replicas, d); torch's own rule would put the replicas first."""

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *parts: Tensor) -> tuple[Tensor, int]:
        each = [replicas_first(*pair, info.batch_size) for pair in zip(parts, in_dims, strict=True)]
        return torch.cat([part.transpose(0, 1) for part in each], dim=2), 1


def nodes_first(tensor: Tensor) -> Tensor:
    """Return the tensor; that of replicas in the layout (n, replicas, d), copied once for all sparse products of it."""
    if not under_vmap():
        return tensor
    copy: Tensor = _NodesFirst.apply(tensor)  # type: ignore[no-untyped-call]
    return copy


class _NodesFirst(ReplicaRule):
    @staticmethod
    def vmap(info: Any, in_dims: tuple[int], tensor: Tensor) -> tuple[Tensor, int]:  # noqa: ARG004
        return tensor.movedim(in_dims[0], 1).contiguous(), 1


def replicas_first(tensor: Tensor, axis: int | None, replicas: int) -> Tensor:
    """Move the replicas' axis to the front; a tensor that all replicas share (axis None) is expanded."""
    return tensor.expand(replicas, *tensor.shape) if axis is None else tensor.movedim(axis, 0)
