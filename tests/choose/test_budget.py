"""The time of the automatic choice: its default, what an epoch is worth, when time is up, and the order of jobs."""

from itertools import permutations
from typing import Any

import pytest

from hiergcn.choose.budget import LONGEST, Budget, Lanes, default_limit, epoch_price
from hiergcn.model.method import MemoryPlan
from hiergcn.workers.pool import Reply, Request


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


# Lanes: jobs end in the order of their prices, whatever the clock says


class Scripted:
    """A pool whose jobs end in an order that the test gives."""

    slots = 2

    def __init__(self, *replies: list[tuple[str, Reply]]) -> None:
        self.replies = list(replies)
        self.started: list[str] = []

    def start(self, key: Any, job: Any, request: Request) -> None:
        self.started.append(key)

    def wait(self) -> list[tuple[Any, Reply]]:
        assert self.replies, "the lanes wait for what they know"
        return self.replies.pop(0)


def progress(key: str, epochs: int) -> list[tuple[str, Reply]]:
    return [(key, Reply("message", epochs))]


def result(key: str, epochs: int) -> list[tuple[str, Reply]]:
    return [*progress(key, epochs), (key, Reply("result", None))]


def test_a_job_that_is_done_waits_for_one_that_ends_before_it_by_price() -> None:
    lanes = Lanes(Scripted(result("slow", 100), progress("quick", 5), result("quick", 30)), 2, began=1.0)  # type: ignore[arg-type]
    lanes.start("slow", None, 0.1)
    lanes.start("quick", None, 0.2)
    assert not lanes.free
    assert list(lanes.wait()[::2]) == ["quick", pytest.approx(6.0)]
    assert lanes.now == pytest.approx(7.0)
    assert list(lanes.wait()[::2]) == ["slow", pytest.approx(10.0)]


def test_a_job_that_has_gone_on_for_longer_need_not_end_first() -> None:
    lanes = Lanes(Scripted(progress("long", 80), result("short", 20)), 2)  # type: ignore[arg-type]
    lanes.start("long", None, 0.1)
    lanes.start("short", None, 0.1)
    assert lanes.wait()[0] == "short"
    assert list(lanes.running) == ["long"]
    assert lanes.now == pytest.approx(2.0)


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_the_order_in_which_workers_finish_changes_nothing(order: tuple[str, ...]) -> None:
    """Three jobs in two lanes: c begins when a has ended, whichever worker was done first."""
    epochs = {"a": 10, "b": 25, "c": 5}
    pool = Scripted(*(result(key, epochs[key]) for key in order if key != "c"))
    lanes = Lanes(pool, 2)  # type: ignore[arg-type]
    lanes.start("a", None, 1.0)
    lanes.start("b", None, 1.0)
    ends = [lanes.wait()[0]]
    pool.replies.append(result("c", epochs["c"]))
    lanes.start("c", None, 1.0)
    ends += [lanes.wait()[0], lanes.wait()[0]]
    assert ends == ["a", "c", "b"]


def test_without_prices_jobs_end_as_they_come() -> None:
    lanes = Lanes(Scripted(result("b", 9), result("a", 1)), 2)  # type: ignore[arg-type]
    lanes.start("a", None, 0.0)
    lanes.start("b", None, 0.0)
    assert [lanes.wait()[0], lanes.wait()[0]] == ["b", "a"]


def test_a_death_frees_its_lane() -> None:
    lanes = Lanes(Scripted([("a", Reply("death", "killed"))]), 1)  # type: ignore[arg-type]
    lanes.start("a", None, 1.0, memory=7)
    assert lanes.running["a"].memory == 7
    assert lanes.wait()[1].kind == "death"
    assert lanes.free
    assert not lanes.running
