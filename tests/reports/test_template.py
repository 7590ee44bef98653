"""Text that goes into a page."""

import pytest

from hiergcn.reports.template import signed, with_code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run `hiergcn <x>` & look", "run <code>hiergcn &lt;x&gt;</code> &amp; look"),
        ("a lone ` <b>", "a lone ` &lt;b&gt;"),
        ("`a` and `b`", "<code>a</code> and <code>b</code>"),
        ("*best <i>* of `a*b*c`, 2 * 3 * 4", "<em>best &lt;i&gt;</em> of <code>a*b*c</code>, 2 * 3 * 4"),
    ],
)
def test_code_and_emphasis(text: str, expected: str) -> None:
    assert with_code(text) == expected


def test_numbers_have_a_true_minus_sign_and_zero_none() -> None:
    assert signed("-0.0 to +1.5, -12.30, +0.05") == "0.0 to +1.5, −12.30, +0.05"
