"""Text that goes into a page."""

from hiergcn.reports.template import signed


def test_numbers_have_a_true_minus_sign_and_zero_none() -> None:
    assert signed("-0.0 to +1.5, -12.30, +0.05") == "0.0 to +1.5, −12.30, +0.05"
