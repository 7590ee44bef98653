"""The time of the automatic choice: its default, what an epoch is worth, and when time is up."""

import pytest

from hiergcn.model.memory_cost import MemoryPlan
from hiergcn.run.budget import LONGEST, Budget, default_limit, epoch_price


def test_larger_graphs_have_more_time() -> None:
    limits = [default_limit(n) for n in (10, 300, 500, 2_000, 10_000, 20_000, 10**7)]
    assert limits[:5] == pytest.approx([2.0, 2.0, 18.0, 42.0, 84.0])
    assert limits == sorted(limits)
    assert limits[-1] == LONGEST
    assert default_limit(2_708) < 45  # so that Cora is done within a minute, imports and report included


def test_an_epoch_is_worth_what_it_goes_through() -> None:
    small, large = MemoryPlan(0, 0, 0), MemoryPlan(10**7, 10**8, 10**7)
    assert epoch_price("mlp", small, on_gpu=False) < epoch_price("gcn", small, on_gpu=False)
    assert epoch_price("gcn", large, on_gpu=False) == pytest.approx(0.0011 + 0.35e-9 * 1.1e8)
    assert epoch_price("grand", large, on_gpu=False) > epoch_price("appnp", large, on_gpu=False)
    assert epoch_price("gcn", large, on_gpu=True) == 0.0


def test_a_share_of_the_time() -> None:
    now = 100.0
    budget = Budget(10.0, clock=lambda: now)
    budget.spent = 3.0
    assert budget.left() == 7.0
    assert budget.left(0.7) == pytest.approx(4.0)
    now = 107.5
    assert budget.seconds() == 7.5
    assert budget.is_over(0.7)
    assert not budget.is_over()
    assert not budget.is_over(0.7, grace=8.0)
