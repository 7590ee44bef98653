"""How cells of runs are shown: as a table of means, and as curves and intervals in a chart."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, TypeVar

from hiergcn.research import Panel
from hiergcn_experiments.page import Row, Table, Text
from hiergcn_experiments.results import CellResult

ROW = 22
"""Height of a method's row in pixels."""
DASH, DOTS = "6 4", "2 4"
Points = Mapping[int, float] | Mapping[float, float]
R = TypeVar("R")
C = TypeVar("C")
Result = TypeVar("Result", bound=CellResult)


def best_mean(cells: Iterable[CellResult | None]) -> float | None:
    """Return the highest mean accuracy of the cells."""
    return max((cell.accuracy.mean for cell in cells if cell and cell.accuracy.mean is not None), default=None)


def cell_table(
    first: str,
    rows: Mapping[str, R],
    columns: Mapping[str, C],
    cell: Callable[[R, C], Result | None],
    text: Callable[[R, Result | None, bool], Text],
    *,
    best: Literal["row", "column", ""] = "column",
    apart: Collection[str] = (),
    caption: str = "",
) -> Table:
    """Return a table of cells; rows without any are left out.

    Args:
        first: name of the first column.
        rows: what stands for each row, by its title.
        columns: likewise.
        cell: finds the cell of a row and a column.
        text: formats it; the last argument says that it has the highest mean of its row or column.
        best: of what a mean must be the highest.
        apart: titles of rows that are not compared with the others.
        caption: of the table.
    """
    every = {title: [cell(row, column) for column in columns.values()] for title, row in rows.items()}
    every = {title: cells for title, cells in every.items() if any(cells)}
    by_column = list(zip(*(cells for title, cells in every.items() if title not in apart), strict=True))
    highest = [best_mean(cells) for cells in by_column] or [None] * len(columns)
    lines: list[Row] = []
    for title, cells in every.items():
        most = highest if best == "column" else [best_mean(cells) if best else None] * len(columns)
        pairs = zip(cells, [None] * len(columns) if title in apart else most, strict=True)
        texts = (
            text(rows[title], one, bool(one and top is not None and one.accuracy.mean == top)) for one, top in pairs
        )
        lines.append((title, *texts))
    return Table.from_rows((first, *columns), lines, caption)


def curve(panel: Panel, points: Points, colour: str, name: str = "", tip: str = "", dash: str = "") -> None:
    """Draw a line with dots; `tip` is a format of x and y."""
    panel.line(points, points.values(), colour, name, dash)
    tips = [tip.format(x=x, y=y) for x, y in points.items()]
    panel.dots(points, points.values(), colour, size=4, tips=tips)
