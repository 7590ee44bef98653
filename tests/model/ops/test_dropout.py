"""Dropout: its rate, its scale, its generator."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.model.ops import cpu
from hiergcn.model.ops.dropout import Mask, RowSubset, dropout


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.85, 0.99])
def test_rate_and_scale(rate: float) -> None:
    values = torch.ones(400, 501)
    dropped = dropout(values, rate, torch.Generator().manual_seed(0))
    kept = dropped != 0
    share = float(kept.float().mean())
    assert share == pytest.approx(1 - rate, abs=5 * (rate * (1 - rate) / values.numel()) ** 0.5)
    assert torch.allclose(dropped[kept], torch.tensor(1 / (1 - rate)), rtol=2e-3)


@pytest.mark.parametrize("lane", range(4))
def test_entries_that_share_a_draw_are_as_likely_and_independent(lane: int) -> None:
    kept = (dropout(torch.ones(200_000), 0.85, torch.Generator().manual_seed(1)) != 0).float().view(-1, 4)
    assert float(kept[:, lane].mean()) == pytest.approx(0.15, abs=0.008)
    other = kept[:, (lane + 1) % 4]
    assert float((kept[:, lane] * other).mean()) == pytest.approx(0.15**2, abs=0.004)


@pytest.mark.parametrize("rate", [0.0, 1e-9, 5e-6])  # 16 bits cannot tell these apart
def test_no_dropout_is_the_same_tensor(rate: float) -> None:
    values = torch.ones(3)
    assert dropout(values, rate) is values


@pytest.mark.parametrize("limit", [-32768, -20_000, 32_767])  # all entries are dropped, some, next to none
def test_kept_entries_are_those_of_the_whole_matrix(limit: int) -> None:
    rng = np.random.default_rng(0)
    left = sp.random_array((50, 30), density=0.2, rng=rng, dtype=np.float32).tocsr()
    right = rng.standard_normal((50, 3)).astype(np.float32)
    bits, beside = cpu.random_bits(1, left.nnz), cpu.random_bits(2, right.size)
    found = cpu.kept_entries(sp.csr_array(left), bits, torch.from_numpy(right), beside, limit, 2.0)
    kept = sp.csr_array((left.data * 2 * (bits.numpy()[: left.nnz] < limit), left.indices, left.indptr), left.shape)
    others = 2 * right * (beside.numpy()[: right.size] < limit).reshape(right.shape)
    whole = np.hstack([kept.toarray(), others])
    assert found.nnz == np.count_nonzero(whole)
    np.testing.assert_array_equal(found.toarray(), whole)


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
    subset = None if index is None else RowSubset(index, 50)
    mask = Mask(2**15 + 1234, 50 * width, (2**63 + 5,), rows=subset)
    values = torch.randn(len(bits), width)
    expected = torch.where(bits < mask.limit, values * torch.tensor(mask.scale), 0.0)
    for loaded in (True, False):
        monkeypatch.setattr(cpu, "_is_loaded", lambda _, loaded=loaded: loaded)
        assert torch.equal(mask.dropped(values), expected)
        assert torch.equal(torch.cat(mask.split(values, 6), dim=1), expected)
        assert torch.equal(mask.concat(values[:, :6], values[:, 6:]), expected)
