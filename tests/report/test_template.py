"""Text that goes into a page."""

import pytest

from hiergcn.report.template import with_code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run `hiergcn <x>` & look", "run <code>hiergcn &lt;x&gt;</code> &amp; look"),
        ("a lone ` <b>", "a lone ` &lt;b&gt;"),
        ("`a` and `b`", "<code>a</code> and <code>b</code>"),
    ],
)
def test_code_between_backticks(text: str, expected: str) -> None:
    assert with_code(text) == expected
