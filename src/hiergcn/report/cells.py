"""Plots in the cells of a table: the rows of a column share one axis, whose ticks stand in the head of the table."""

from collections.abc import Iterable

from markupsafe import Markup

from hiergcn.report import marks
from hiergcn.report.axes import Axis
from hiergcn.report.palette import INK, LINE

HEIGHT = 24
MIDDLE = HEIGHT / 2
BEYOND = 24
"""The lines of the ticks are so much longer on both sides, to fill a higher row; the cell cuts them."""


class PlotColumn:
    """The plots of one column of a table."""

    def __init__(self, axis: Axis) -> None:
        self.axis = axis

    def head(self) -> Markup:
        """Return the names of the ticks."""
        names = zip(self.axis.ticks, self.axis.names, strict=True)
        return _cell(marks.text(self.axis.at(tick), HEIGHT - 6, name) for tick, name in names)

    def cell(self, *drawn: str) -> Markup:
        """Return the marks of one row over the lines of the ticks. The table's other columns hold the values."""
        lines = [marks.upright(self.axis.at(tick), -BEYOND, HEIGHT + BEYOND, LINE) for tick in self.axis.ticks]
        return _cell([*lines, *drawn])

    def mark(self, value: float, colour: str, shape: marks.Shape = "dot", size: float = 5, tip: str = "") -> str:
        return marks.mark(self.axis.at(value), MIDDLE, colour, shape, size, tip)

    def interval(self, low: float, high: float, colour: str, width: float = 1.6, tip: str = "") -> str:
        left, right = (min(max(self.axis.at(value), 0.0), 1.0) for value in (low, high))
        return marks.interval(left, right, MIDDLE, colour, width, tip)

    def zero(self) -> str:
        """Return a line at 0."""
        return marks.upright(self.axis.at(0.0), -BEYOND, HEIGHT + BEYOND, INK)

    def bar(self, value: float, colour: str, tip: str = "") -> str:
        """Return a bar from the start of the axis."""
        return marks.bar(0.0, self.axis.at(value), MIDDLE, 12, colour, tip=tip)


def _cell(drawn: Iterable[str]) -> Markup:
    return Markup(f'<svg class="cell" height="{HEIGHT}" aria-hidden="true">{"".join(drawn)}</svg>')  # noqa: S704
