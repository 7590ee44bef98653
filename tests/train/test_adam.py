"""Adam against torch's own, and what making one imports."""

import subprocess
import sys

import torch

from hiergcn.train.learners import Adam


def test_it_takes_the_steps_of_torch_bit_for_bit() -> None:
    first, second = ([torch.nn.Parameter(torch.arange(6.0).view(2, 3) + k) for k in range(3)] for _ in range(2))

    def groups(parameters: list[torch.nn.Parameter]) -> list[dict[str, object]]:
        return [{"params": parameters[:2], "weight_decay": 0.1}, {"params": parameters[2:], "weight_decay": 0.0}]

    ours, theirs = Adam(groups(first), 0.05), torch.optim.Adam(groups(second), lr=0.05, fused=True)
    for step in range(1, 8):
        for optimiser, parameters in ((ours, first), (theirs, second)):
            used = parameters if step % 2 else parameters[1:]  # a parameter may have no gradient
            optimiser.zero_grad()
            torch.stack([(p - 2).pow(3).sin().sum() for p in used]).sum().backward()
            for group in optimiser.param_groups:
                group["lr"] = 0.05 / step
            optimiser.step()
        assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))
    assert not torch.equal(first[0], torch.arange(6.0).view(2, 3))


def test_it_does_not_import_the_compiler() -> None:
    code = (
        "import sys, torch; from hiergcn.train.learners import Adam; p = torch.ones(2, requires_grad=True);"
        "one = Adam([{'params': [p], 'weight_decay': 0.0}], 0.1); p.sum().backward(); one.step(); one.zero_grad();"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
