"""Files appear whole or not at all; CSV tables keep every text, and escape formulas only for spreadsheets."""

import io
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hiergcn.errors import InputError
from hiergcn.files import escaped, unescaped, write_csv, written_whole


def write_half(target: Path) -> None:
    with written_whole(target) as part:
        part.write_text("ne")
        raise RuntimeError("half way")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="half way"):
        write_half(target)
    assert target.read_text() == "old"
    with written_whole(target) as part:
        part.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_others_may_read_it(tmp_path: Path) -> None:
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    with written_whole(tmp_path / "whole") as part:
        part.touch()
    assert (tmp_path / "whole").stat().st_mode == ordinary.stat().st_mode


def test_the_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no folder .*absent"), written_whole(tmp_path / "absent" / "a.txt"):
        pass


TEXTS = st.lists(st.text(st.sampled_from("'=+-@\t\r\n1.e a\"%,"), max_size=6), min_size=1, max_size=8)


def written(frame: pd.DataFrame, *, spreadsheet: bool) -> pd.DataFrame:
    """The table as another program reads it."""
    stream = io.StringIO(newline="")
    write_csv(frame, stream, spreadsheet=spreadsheet)
    stream.seek(0)
    return pd.read_csv(stream, dtype=str, keep_default_na=False, skip_blank_lines=False)


@settings(deadline=None)  # a busy machine
@given(TEXTS)
def test_every_text_is_written_exactly(texts: list[str]) -> None:
    frame = pd.DataFrame({"id": texts}, dtype=object)
    assert written(frame, spreadsheet=False)["id"].tolist() == texts


@settings(deadline=None)  # a busy machine
@given(TEXTS)
def test_no_cell_for_a_spreadsheet_begins_like_a_formula(texts: list[str]) -> None:
    frame = pd.DataFrame({"id": texts}, dtype=object)
    again = written(frame, spreadsheet=True)
    assert all(not text.startswith(("=", "@", "\t", "\r", "\n")) for text in again["id"])
    assert unescaped(again)["id"].tolist() == texts


@pytest.mark.parametrize(
    ("text", "cell"),
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
def test_formulas_are_escaped_and_numbers_are_not(text: str, cell: str) -> None:
    frame = pd.DataFrame({"id": [text, "plain"], "n": [1, -2]})
    assert escaped(frame)["id"].tolist() == [cell, "plain"]
    assert escaped(frame)["n"].tolist() == [1, -2]
    assert unescaped(escaped(frame))["id"].tolist() == [text, "plain"]


def test_a_table_is_written_to_a_path_with_four_decimals(tmp_path: Path) -> None:
    write_csv(pd.DataFrame({"id": ["@a", "b"], "share": [1 / 3, 1.0]}), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == b"id,share\n@a,0.3333\nb,1.0000\n"
    assert list(tmp_path.iterdir()) == [tmp_path / "a.csv"]
