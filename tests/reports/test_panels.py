"""Charts: axes, marks at their places, real text, and files."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hiergcn.reports import axes
from hiergcn.reports.palette import FIRST
from hiergcn.reports.panels import Cell, Entry, Figure, Panel, mark
from hiergcn.reports.template import signed


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([0.0, 1.0], ("0.0", "0.2", "0.4", "0.6", "0.8", "1.0")),
        ([79.6, 85.4], ("80", "82", "84")),
        ([0, 5278], ("0", "1,000", "2,000", "3,000", "4,000", "5,000")),
        ([3.0], ("2.85", "2.90", "2.95", "3.00", "3.05", "3.10", "3.15")),
        ([], ("0.0", "0.2", "0.4", "0.6", "0.8", "1.0")),
    ],
)
def test_ticks_are_round_and_few(values: list[float], names: tuple[str, ...]) -> None:
    axis = axes.span(values)
    assert axis.names == names
    assert all(-1e-9 <= axis.at(value) <= 1 + 1e-9 for value in [*values, *axis.ticks])


def test_axes_with_round_ends_powers_and_rows() -> None:
    axis = axes.span([57.5, 84.5], round_ends=True)
    assert (axis.low, axis.high) == (axis.ticks[0], axis.ticks[-1]) == (50, 90)
    assert axes.span([44.0, 99.4], most=100.5, round_ends=True).high == 100.5
    axis = axes.powers([0.003, 20_000.0])
    assert axis.names == ("0.01", "0.1", "1", "10", "100", "1000", "10 k")
    assert axis.at(1) - axis.at(0.1) == pytest.approx(axis.at(1000) - axis.at(100))
    assert axes.powers([3.0, 20.0]).names == ("5", "10", "20")
    axis = axes.rows(["a", "b", "c"])
    assert axis.at(0) > axis.at(1) > axis.at(2)


def test_marks_stand_at_their_values_and_text_is_text() -> None:
    panel = Panel(axes.Axis(0, 10, (0.0, 10.0), ("0", "10"), "epoch"), axes.Axis(0, 1, (), (), "loss"), height=100)
    panel.dots([5], [0.25], FIRST, tips=["<half>"])
    panel.line([0, 5, float("nan"), 10], [0, 1, 1, 0], FIRST, "train")
    html = panel.html("a & b")
    circle = re.search(r'<circle cx="([\d.]+)%" cy="([\d.]+)"', html)
    assert circle is not None
    assert float(circle[1]) == 50
    assert panel.bottom - float(circle[2]) == pytest.approx(25)
    assert 'data-tip="&lt;half&gt;"' in html
    assert 'aria-label="a &amp; b"' in html
    assert html.count("M") == 2  # the gap begins a new piece of the line
    assert ">epoch</text>" in html
    assert ">loss</text>" in html


def test_a_file_is_valid_has_text_and_no_variables(tmp_path: Path) -> None:
    panel = Panel(axes.span([0, 10]), axes.rows(["<b>", "名"]), title="T & T", height=60)
    panel.bar((0, 4), 0, 10, FIRST)
    figure = Figure([panel, panel], [Entry("one", FIRST, "line"), Entry("two", FIRST, "star")], columns=2)
    first, again = (figure.save(tmp_path / name).read_bytes() for name in ("a.svg", "b.svg"))
    assert first == again
    root = ElementTree.fromstring(first)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"T & T", "<b>", "名", "one", "two"} <= set(texts)
    assert b"var(" not in first


def test_cells_of_a_column_share_its_axis() -> None:
    axis = axes.Axis(0, 200, (0.0, 100.0), ("0", "100"))
    cell = Cell(axis)
    cell.dot(50, FIRST)
    cell.bar((0, 100), 0, 12, FIRST)
    assert 'cx="25%" cy="12"' in cell.html()
    assert 'width="50%" y="6" height="12"' in cell.html()
    assert ">100</text>" in Cell.head(axis)
    assert "<path" in mark(0.5, 5, FIRST, "star")


def test_numbers_have_a_true_minus_sign_and_zero_none() -> None:
    assert signed("-0.0 to +1.5, -12.30, +0.05") == "0.0 to +1.5, −12.30, +0.05"
