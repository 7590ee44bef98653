"""Pooling and unpooling with short-cuts: the same values and gradients as plain matrices give."""

import pytest
import torch

from hiergcn import planted_graph
from hiergcn.coarsening import coarsen
from hiergcn.model.levels import HierarchyTensors, LevelTensors
from hiergcn.model.ops import cpu
from hiergcn.model.ops.dropout import RowSubset
from hiergcn.settings.methods import Pooling


@pytest.fixture(params=["plain", "compiled"])
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> LevelTensors:
    if request.param == "compiled":
        monkeypatch.setattr(cpu, "_TINY", 0)
    return HierarchyTensors(coarsen(planted_graph(200, seed=0).adjacency, 1)).levels[0]


def membership(level: LevelTensors) -> torch.Tensor:
    """M, (n, n_coarser), in double precision."""
    return torch.nn.functional.one_hot(level.group, len(level.group_size)).double()


@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("how", ["sum", "mean", "l2"])
def test_pool_and_keep_is_pooling_beside_the_input(level: LevelTensors, how: Pooling, some: bool) -> None:
    draws = torch.Generator().manual_seed(0)
    fine = torch.randn(len(level.group), 8, generator=draws, requires_grad=True)
    index = torch.tensor([0, 3, 17]) if some else torch.arange(len(fine))
    pooled, kept = level.pool_and_keep(fine, how, RowSubset(index, len(fine)) if some else None)
    into_pooled, into_kept = torch.randn(pooled.shape, generator=draws), torch.randn(kept.shape, generator=draws)
    (grad,) = torch.autograd.grad([pooled, kept], fine, [into_pooled, into_kept])

    M, size = membership(level), level.group_size.double()
    divisor = {"sum": torch.ones_like(size), "mean": size, "l2": size.sqrt()}[how]
    torch.testing.assert_close(pooled.double(), M.T @ fine.double() / divisor, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(kept, fine[index])
    expected = (M @ (into_pooled / divisor)).index_add(0, index, into_kept.double())
    torch.testing.assert_close(grad.double(), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(level.pool(fine, how), pooled)


def test_unpool_onto_is_unpooling_and_a_sum(level: LevelTensors) -> None:
    draws = torch.Generator().manual_seed(0)
    coarse = torch.randn(len(level.group_size), 8, generator=draws, requires_grad=True)
    shortcut = torch.randn(len(level.group), 8, generator=draws, requires_grad=True)
    found = level.unpool_onto(coarse, shortcut)
    into = torch.randn(found.shape, generator=draws)
    by_coarse, by_shortcut = torch.autograd.grad(found, [coarse, shortcut], into)

    torch.testing.assert_close(found, level.unpool(coarse) + shortcut)
    torch.testing.assert_close(by_coarse.double(), membership(level).T @ into.double(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(by_shortcut, into)
