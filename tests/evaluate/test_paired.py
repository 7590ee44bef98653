"""The paired comparison, against scipy and examples worked by hand."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from hiergcn.evaluate.paired import compare_all, holm, paired_difference, signed_rank_p, unit_differences


def on_one_split(*values: float | None) -> dict[tuple[int, int], float | None]:
    return {(0, seed): value for seed, value in enumerate(values)}


@pytest.mark.parametrize("n", [2, 5, 12, 20, 40])
def test_p_without_ties_equals_scipy(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.3, 1.0, n)
    expected = stats.wilcoxon(differences, method="exact").pvalue
    assert signed_rank_p(differences) == pytest.approx(expected, rel=1e-10)


def test_p_with_ties_counts_all_sign_patterns() -> None:
    differences = np.array([0.01, 0.01, -0.01, 0.02, 0.02, 0.03, 0.0, -0.02])
    kept = differences[differences != 0]
    ranks = stats.rankdata(np.abs(kept))
    seen = ranks[kept > 0].sum()
    sums = np.array([ranks[np.array(signs)].sum() for signs in product([False, True], repeat=len(kept))])
    expected = 2 * min((sums <= seen).mean(), (sums >= seen).mean())
    assert signed_rank_p(differences) == pytest.approx(expected, rel=1e-12)


def test_rounding_noise_does_not_break_ties() -> None:
    noisy = [0.815 - 0.812, 0.803 - 0.800, 0.840 - 0.837, 0.700 - 0.703]
    assert signed_rank_p(noisy) == signed_rank_p([3.0, 3.0, 3.0, -3.0])


def test_interval_is_that_of_the_paired_t_test() -> None:
    rng = np.random.default_rng(1)
    ours, theirs = rng.normal(0.8, 0.01, 20), rng.normal(0.79, 0.01, 20)
    found = paired_difference("a", on_one_split(*ours), "b", on_one_split(*theirs))
    expected = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert found.mean == pytest.approx(np.mean(ours - theirs))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.units == 20


def test_failed_pairs_are_left_out_and_counted() -> None:
    ours = on_one_split(0.9, None, 0.7, 0.6)
    theirs = on_one_split(0.8, 0.8, None, 0.4)
    differences, left_out = unit_differences(ours, theirs)
    assert differences == pytest.approx([0.1, 0.2])
    assert left_out == 2


def test_several_splits_are_the_units() -> None:
    ours = {(0, 0): 0.9, (0, 1): 0.7, (1, 0): 0.6, (1, 1): None}
    theirs = {(0, 0): 0.8, (0, 1): 0.4, (1, 0): 0.5, (1, 1): 0.9}
    differences, left_out = unit_differences(ours, theirs)
    assert differences == pytest.approx([0.2, 0.1])
    assert left_out == 1


def test_too_few_pairs_have_no_p() -> None:
    nothing = paired_difference("a", on_one_split(None, 0.5), "b", on_one_split(0.5, None))
    assert (nothing.units, nothing.left_out, nothing.mean, nothing.p) == (0, 2, None, None)
    one = paired_difference("a", on_one_split(0.6), "b", on_one_split(0.5))
    assert one.mean == pytest.approx(0.1)
    assert one.low is one.p is None


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([]) == []


def test_comparisons_share_one_correction() -> None:
    rng = np.random.default_rng(2)
    scores = {name: on_one_split(*rng.normal(mean, 0.01, 12)) for name, mean in (("a", 0.8), ("b", 0.81), ("c", 0.79))}
    scores["d"] = on_one_split(*[None] * 12)
    found = compare_all(scores, "a")
    assert [one.model for one in found] == ["b", "c", "d"]
    assert [found[0].p_holm, found[1].p_holm] == holm([p for one in found if (p := one.p) is not None])
    assert found[2].p_holm is None
