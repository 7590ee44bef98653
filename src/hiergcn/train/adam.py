"""Adam (Kingma & Ba, ICLR 2015) by torch's fused kernel, without `torch.optim.Adam` around it.

The first optimiser of `torch.optim` that is made imports `torch._dynamo`, the compiler, which takes about a second and
compiles nothing here. The numbers are the same to the last bit.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Torch's defaults."""


class Adam:
    """Adam over groups of parameters, each with its own weight decay λ, which adds λθ to the gradient.

    Args:
        groups: a dictionary with `params` and `weight_decay` each.
        learning_rate: of every group.
    """

    def __init__(self, groups: Sequence[dict[str, Any]], learning_rate: float) -> None:
        self.param_groups = [group | {"lr": learning_rate} for group in groups]
        self.state: dict[Tensor, tuple[Tensor, Tensor, Tensor]] = {}
        """Mean and uncentred variance of the gradients of each parameter, and its number of steps."""

    def zero_grad(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            learned = [parameter for parameter in group["params"] if parameter.grad is not None]
            if not learned:
                continue
            for parameter in learned:
                if parameter not in self.state:
                    zeros = [torch.zeros_like(parameter, memory_format=torch.preserve_format) for _ in range(2)]
                    self.state[parameter] = (zeros[0], zeros[1], torch.zeros((), device=parameter.device))
            means, variances, steps = map(list, zip(*(self.state[parameter] for parameter in learned), strict=True))
            torch._foreach_add_(steps, 1)
            torch._fused_adam_(
                learned,
                [parameter.grad for parameter in learned],
                means,
                variances,
                [],
                steps,
                lr=group["lr"],
                beta1=BETA1,
                beta2=BETA2,
                weight_decay=group["weight_decay"],
                eps=EPSILON,
                amsgrad=False,
                maximize=False,
            )

    def state_dict(self) -> dict[str, Tensor]:
        """Return means, variances and steps, by the place of their parameter."""
        every = [parameter for group in self.param_groups for parameter in group["params"]]
        kept = {place: self.state[one] for place, one in enumerate(every) if one in self.state}
        return {f"{place}.{part}": value for place, parts in kept.items() for part, value in enumerate(parts)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on from what `state_dict` returned."""
        every = [parameter for group in self.param_groups for parameter in group["params"]]
        for place in {int(name.partition(".")[0]) for name in state}:
            parts = [state[f"{place}.{part}"].to(every[place].device) for part in range(3)]
            self.state[every[place]] = (parts[0], parts[1], parts[2])
