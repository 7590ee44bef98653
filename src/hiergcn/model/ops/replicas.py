"""How operations run on replicas, models that train side by side under `torch.vmap`.

Sparse products want replicas in the layout (n, replicas, d), so that all replicas are columns of one product.
"""

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any

import torch
from torch import Tensor

_INSIDE = ContextVar("inside_vmap", default=False)


def _inside(function: Callable[..., Any], value: bool) -> Callable[..., Any]:
    """Return the function, which runs inside `vmap`, or outside although its caller is inside."""

    @wraps(function)
    def run(*given: Any) -> Any:
        token = _INSIDE.set(value)
        try:
            return function(*given)
        finally:
            _INSIDE.reset(token)

    return run


def vmap(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return `torch.vmap(function)`; inside, our operations know that they run on replicas."""
    return _inside(torch.vmap(function, **options), True)


def under_vmap() -> bool:
    """Return whether the caller runs inside `vmap`."""
    return _INSIDE.get()


def apply(function: type[torch.autograd.Function], *given: Any) -> Tensor:
    """Return `function.apply(*given)`, which torch leaves untyped."""
    result: Tensor = function.apply(*given)
    return result


def on_replicas(rule: Callable[..., Tensor], *given: Any) -> Tensor:
    """Return `rule(*given)` of all replicas at once; for callers inside `vmap`.

    The rule gets every tensor with the replicas on the first axis, expanded if they share it, and all else as it is. It
    returns a tensor with the replicas on the first axis. Autograd differentiates what it does as usual.
    """
    return apply(_OnReplicas, _inside(rule, False), *given)


class _OnReplicas(torch.autograd.Function):
    @staticmethod
    def forward(rule: Callable[..., Tensor], *given: Any) -> Tensor:
        """Compute once what all replicas share; it has no gradient."""
        return rule(*(part.unsqueeze(0) if isinstance(part, Tensor) else part for part in given)).squeeze(0)

    @staticmethod
    def setup_context(*_: Any) -> None: ...

    @staticmethod
    def vmap(info: Any, in_dims: Any, rule: Callable[..., Tensor], *given: Any) -> tuple[Tensor, int]:
        each = [
            part if not isinstance(part, Tensor)
            else part.expand(info.batch_size, *part.shape) if axis is None
            else part.movedim(axis, 0)
            for part, axis in zip(given, in_dims[1:], strict=True)
        ]  # fmt: skip
        return rule(*each), 0


def nodes_first(tensor: Tensor) -> Tensor:
    """Return the tensor; that of replicas in the layout (n, replicas, d), copied once for all sparse products of it."""
    if not under_vmap():
        return tensor
    return on_replicas(lambda each: each.transpose(0, 1).contiguous().transpose(0, 1), tensor)


def concat_columns(left: Tensor, right: Tensor) -> Tensor:
    """Return [left ‖ right], (n, d) (n, e) -> (n, d + e); of replicas in the layout (n, replicas, d + e)."""
    if not under_vmap():
        return torch.cat([left, right], dim=1)  # torch's own rule would put the replicas first

    def join(*parts: Tensor) -> Tensor:
        return torch.cat([part.transpose(0, 1) for part in parts], dim=2).transpose(0, 1)

    return on_replicas(join, left, right)
