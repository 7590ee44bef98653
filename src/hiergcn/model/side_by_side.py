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


def replicas_first(tensor: Tensor, axis: int | None, replicas: int) -> Tensor:
    """With the axis of the replicas in front; what is shared by all is seen once for each."""
    return tensor.expand(replicas, *tensor.shape) if axis is None else tensor.movedim(axis, 0)
