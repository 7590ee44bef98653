"""Text that a spreadsheet would run is made harmless, numbers are left alone, and every text comes back as it was."""

import io

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiergcn.graph.tables.cells import escaped, unescaped, write_cells


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ('=HYPERLINK("http://x","y")', '\'=HYPERLINK("http://x","y")'),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("-5", "-5"),
        ("+1.5e3", "+1.5e3"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("'=1", "''=1"),
        ("'quoted'", "'quoted'"),
        ("a=1", "a=1"),
        ("", ""),
    ],
)
def test_what_is_written(text: str, written: str) -> None:
    frame = pd.DataFrame({"id": [text, "plain"], "n": [1, -2]})
    assert escaped(frame)["id"].tolist() == [written, "plain"]
    assert escaped(frame)["n"].tolist() == [1, -2]
    assert unescaped(escaped(frame))["id"].tolist() == [text, "plain"]


@given(st.lists(st.text(st.sampled_from("'=+-@\t\r\n1.e a"), max_size=6), min_size=1, max_size=8))
def test_every_text_comes_back_from_the_file(texts: list[str]) -> None:
    frame = pd.DataFrame({"id": texts}, dtype=object)
    written = io.StringIO(newline="")
    write_cells(frame, written)
    written.seek(0)
    again = pd.read_csv(written, dtype=str, keep_default_na=False, skip_blank_lines=False)
    assert all(not text.startswith(("=", "@", "\t", "\r", "\n")) for text in again["id"])
    assert unescaped(again)["id"].tolist() == texts
