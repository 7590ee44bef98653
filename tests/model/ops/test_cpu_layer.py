"""The layer as one operation against the same layer as many."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.model.ops import convolve as convolve_module
from hiergcn.model.ops import cpu
from hiergcn.model.ops import dropout as dropout_module
from hiergcn.model.ops.convolve import convolve
from hiergcn.model.ops.sparse import csr_tensor
from hiergcn.model.ops.sparse_features import SparseFeatures

N, K, P, D = 2400, 12, 4, 16


def symmetric(n: int) -> sp.csr_array:
    A = sp.random_array((n, n), density=4 / n, rng=np.random.default_rng(0), dtype=np.float32)
    return sp.csr_array(A + A.T)


@pytest.mark.parametrize("rate", [0.0, 0.6])
@pytest.mark.parametrize("channels", [1, 4])
@pytest.mark.parametrize("kind", ["hidden", "sparse features", "dense features", "output"])
def test_one_operation_equals_many(kind: str, channels: int, rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same draws, results and gradients."""
    monkeypatch.setattr(dropout_module, "_SMALL", 0)  # drop entries of sparse features as on large graphs
    generator = torch.Generator().manual_seed(0)
    A, width = csr_tensor(symmetric(N)), 5 if kind == "output" else D * channels
    X = torch.randn(N, K, generator=generator).clamp_min(0.5).sub_(0.5)
    H = SparseFeatures.from_scipy(sp.csr_array(X.numpy())) if kind == "sparse features" else X
    S = None if kind == "output" else torch.randn(N, P, generator=generator, requires_grad=True)
    theta = torch.randn(K + (0 if S is None else P), width, generator=generator, requires_grad=True)
    w = torch.randn(channels, generator=generator, requires_grad=True) if channels > 1 and kind != "output" else None
    if kind in ("hidden", "output"):
        X.requires_grad_()
    given = [one for one in (X if X.requires_grad else None, S, theta, w) if one is not None]
    seen = torch.randn(N, 5 if kind == "output" else width // channels, generator=generator)

    def result(alone: bool) -> list[Tensor]:
        if not alone:
            monkeypatch.setattr(convolve_module, "on_cpu_alone", lambda *_: False)
        draws = torch.Generator().manual_seed(1)
        G = convolve(A, H, S, theta, w, rate=rate, generator=draws, joint=kind == "hidden")
        return [G.detach(), *torch.autograd.grad((G * seen).sum(), given)]

    for one, other in zip(result(True), result(False), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [0, 5, 1003])
def test_random_bits_are_the_same_without_numba(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "_is_loaded", lambda _: True)
    kernel = cpu.random_bits(2**64 - 3, n)
    monkeypatch.setattr(cpu, "_is_loaded", lambda _: False)
    assert torch.equal(kernel, cpu.random_bits(2**64 - 3, n))
    assert n <= len(kernel) < n + 4
    assert torch.equal(
        kernel, cpu.random_bits(2**64 - 3, n + 400)[: len(kernel)]
    )  # an entry's bits depend on its place


def test_random_bits_of_two_seeds_have_nothing_in_common() -> None:
    one, other = (cpu.random_bits(seed, 40_000).float() for seed in (1, 2))
    assert abs(float(one.mean())) < 5 * 2**16 / (12 * 40_000) ** 0.5
    assert abs(float(torch.corrcoef(torch.stack([one, other]))[0, 1])) < 5 / 40_000**0.5


@pytest.mark.parametrize("rows", [None, [0, 3, 17, 49]])
@pytest.mark.parametrize("width", [9, 12])
def test_dropout_is_that_of_its_random_bits(
    width: int, rows: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled and by torch, for all rows of a matrix or some."""
    index = None if rows is None else torch.tensor(rows)
    bits = cpu.random_bits(2**63 + 5, 50 * width)[: 50 * width].view(50, width)
    bits = bits if index is None else bits[index]
    values, mask = torch.randn(len(bits), width), (index, 2**63 + 5, 1234, 1.7)
    expected = torch.where(bits < 1234, values * torch.tensor(1.7), 0.0)
    for loaded in (True, False):
        monkeypatch.setattr(cpu, "_is_loaded", lambda _, loaded=loaded: loaded)
        left, right = cpu.dropout_split(values, 6, *mask)
        assert torch.equal(torch.cat([left, right], dim=1), expected)
        assert torch.equal(cpu.dropout_concat(values[:, :6], values[:, 6:], *mask), expected)
