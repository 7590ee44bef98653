"""Fragments of text: shares and times, and HTML for notebooks: a title, a row of facts, and a table with bars."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import zip_longest

_CELL = 'style="text-align: left; padding: .15rem .8rem .15rem 0"'
_BAR = "display: inline-block; height: .6rem; border-radius: .15rem; background: #0072b2; vertical-align: middle"
_FAINT = 'style="opacity: .65; font-size: .85em"'


def card(title: str, facts: Mapping[str, object], *more: str) -> str:
    """Return a block with a title and facts; `more` are finished fragments below them."""
    words = "".join(
        f'<div style="margin-right: 1.6rem"><div {_FAINT}>{escape(name)}</div><b>{escape(_figure(value))}</b></div>'
        for name, value in facts.items()
    )
    head = f'<div style="font-size: 1.1em; font-weight: 600">{escape(title)}</div>'
    row = f'<div style="display: flex; flex-wrap: wrap; margin: .3rem 0 .5rem">{words}</div>' if words else ""
    return f'<div style="max-width: 50rem">{head}{row}{"".join(more)}</div>'


def sentence(text: str) -> str:
    return f'<p style="margin: .3rem 0">{escape(text)}</p>'


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], shares: Sequence[float | None] = ()) -> str:
    """Return a table; `shares`, from 0 to 1, become bars in a column of their own behind the first."""
    head = [f"<th {_CELL}>{escape(name)}</th>" for name in columns]
    head[1:1] = [f"<th {_CELL}></th>"] if shares else []
    lines = []
    for row, share in zip_longest(rows, shares):
        cells = [f"<td {_CELL}>{escape(_figure(value))}</td>" for value in row]
        bar = f'<span style="{_BAR}; width: {9 * max(share or 0.0, 0.0):.2f}rem"></span>'
        cells[1:1] = [f"<td {_CELL}>{bar}</td>"] if shares else []
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{''.join(head)}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _figure(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value)


def percent(fraction: float | None) -> str:
    """Return a fraction in per cent, without the sign; "-" for None."""
    return "-" if fraction is None else f"{100 * fraction:.1f}"


def duration(seconds: float) -> str:
    """Return a readable duration: 0.4 s, 12 s, 3 min 20 s, 1 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
