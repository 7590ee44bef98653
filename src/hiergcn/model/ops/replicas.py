"""Rules that tell `torch.vmap` how to run our operations on replicas, models that train side by side.

Sparse products want replicas in the layout (n, replicas, d), so that all replicas are columns of one product.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any

import torch
from torch import Tensor

InDims = Sequence[int | None]
"""The replicas' axis of each argument of a rule; None if all replicas share it."""

_INSIDE = ContextVar("inside_vmap", default=False)


def vmap(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return `torch.vmap(function)`; inside, our operations know that they run on replicas."""

    @wraps(function)
    def run(*stacked: Any) -> Any:
        token = _INSIDE.set(True)
        try:
            return torch.vmap(function, **options)(*stacked)
        finally:
            _INSIDE.reset(token)

    return run


def under_vmap() -> bool:
    """Return whether the caller runs inside `vmap`."""
    return _INSIDE.get()


class ReplicaRule(torch.autograd.Function):
    """Base of operations that exist inside `vmap` only; a single model skips their overhead.

    A subclass has a `vmap` rule, which gets the tensors of all replicas at once. Autograd differentiates what the rule
    does as usual.
    """

    def __init_subclass__(cls) -> None:
        rule: Callable[..., Any] = cls.vmap

        def outside(*given: Any) -> Any:
            token = _INSIDE.set(False)  # the rule computes with whole tensors
            try:
                return rule(*given)
            finally:
                _INSIDE.reset(token)

        cls.vmap = staticmethod(outside)  # type: ignore[method-assign]

    @staticmethod
    def forward(*_: Any) -> Tensor:
        raise RuntimeError("This operation works inside hiergcn's vmap only.")

    @staticmethod
    def setup_context(*_: Any) -> None: ...


def apply(function: type[torch.autograd.Function], *given: Any) -> Tensor:
    """Return `function.apply(*given)`, which torch leaves untyped."""
    result: Tensor = function.apply(*given)
    return result


def concat_columns(left: Tensor, right: Tensor) -> Tensor:
    """Return [left ‖ right]; (n, d) (n, e) -> (n, d + e)."""
    return apply(_ConcatOfReplicas, left, right) if under_vmap() else torch.cat([left, right], dim=1)


class _ConcatOfReplicas(ReplicaRule):
    """The layout of the result is (n, replicas, d); torch's own rule would put the replicas first."""

    @staticmethod
    def vmap(info: Any, in_dims: InDims, *parts: Tensor) -> tuple[Tensor, int]:
        return torch.cat([part.transpose(0, 1) for part in replicas_first(info, in_dims, *parts)], dim=2), 1


def nodes_first(tensor: Tensor) -> Tensor:
    """Return the tensor; that of replicas in the layout (n, replicas, d), copied once for all sparse products of it."""
    return apply(_NodesFirst, tensor) if under_vmap() else tensor


class _NodesFirst(ReplicaRule):
    @staticmethod
    def vmap(info: Any, in_dims: tuple[int], tensor: Tensor) -> tuple[Tensor, int]:  # noqa: ARG004
        return tensor.movedim(in_dims[0], 1).contiguous(), 1


def replicas_first(info: Any, in_dims: InDims, *tensors: Tensor | None) -> list[Any]:
    """Move the replicas' axis of each tensor to the front; a tensor that all replicas share (axis None) is expanded."""

    def moved(tensor: Tensor, axis: int | None) -> Tensor:
        return tensor.expand(info.batch_size, *tensor.shape) if axis is None else tensor.movedim(axis, 0)

    pairs = zip(tensors, in_dims, strict=False)  # arguments after the tensors are not moved
    return [None if tensor is None else moved(tensor, axis) for tensor, axis in pairs]
