"""How `torch.vmap`, which runs a network over replicas side by side, learns what to do at an operation of ours."""

from typing import Any

import torch
from torch import Tensor


def side_by_side() -> bool:
    """Whether `torch.vmap` is at work. Torch asks the same before it looks for a rule."""
    return bool(torch._C._are_functorch_transforms_active())


class ReplicaRule(torch.autograd.Function):
    """Subclasses are a `vmap` rule and nothing else: what one model does is another function, without its overhead.

    The rule gets all replicas' tensors at once. What it does with them is differentiated as anything else is.
    """

    @staticmethod
    def forward(*_: Any) -> Tensor:
        raise RuntimeError("this is for use inside of torch.vmap")

    @staticmethod
    def setup_context(*_: Any) -> None: ...


def joined_columns(left: Tensor, right: Tensor) -> Tensor:
    """[left ‖ right]."""
    if not side_by_side():
        return torch.cat([left, right], dim=1)
    joined: Tensor = _JoinedOfReplicas.apply(left, right)  # type: ignore[no-untyped-call]
    return joined


class _JoinedOfReplicas(ReplicaRule):
    """The result lies as (n, replicas, d), as sparse products want it; torch would put the replicas first."""

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *parts: Tensor) -> tuple[Tensor, int]:
        each = [replicas_first(*pair, info.batch_size) for pair in zip(parts, in_dims, strict=True)]
        return torch.cat([part.transpose(0, 1) for part in each], dim=2), 1


def nodes_first(tensor: Tensor) -> Tensor:
    """The same. Of replicas it lies as (n, replicas, d) from here on: one copy for all the sparse maps of it."""
    if not side_by_side():
        return tensor
    lying: Tensor = _NodesFirst.apply(tensor)  # type: ignore[no-untyped-call]
    return lying


class _NodesFirst(ReplicaRule):
    @staticmethod
    def vmap(info: Any, in_dims: tuple[int], tensor: Tensor) -> tuple[Tensor, int]:  # noqa: ARG004
        return tensor.movedim(in_dims[0], 1).contiguous(), 1


def replicas_first(tensor: Tensor, axis: int | None, replicas: int) -> Tensor:
    """With the axis of the replicas in front; what is shared by all is seen once for each."""
    return tensor.expand(replicas, *tensor.shape) if axis is None else tensor.movedim(axis, 0)
