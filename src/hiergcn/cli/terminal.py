"""What is printed: good to look at on a terminal, plain text in a file. rich is imported when something is printed."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PLAIN_WIDTH = 80
FEW_TESTS = 20


def console(stderr: bool = False) -> "Console":
    """Names come from users' files, so nothing in a text is read as markup."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PLAIN_WIDTH
    return Console(file=stream, stderr=stderr, markup=False, emoji=False, highlight=False, width=width)


def complain(sentence: str) -> None:
    """One line in red on stderr."""
    console(stderr=True).print(printable(sentence), style="red", soft_wrap=True)


def printable(text: str) -> str:
    """Without line breaks and the control characters that could steer a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def new_table(out: "Console", *columns: str, title: str | None = None, left: int = 1) -> "Table":
    """A table whose first `left` columns hold words and the others figures."""
    from rich import box
    from rich.table import Table

    style = box.SIMPLE_HEAD if out.is_terminal else None
    table = Table(box=style, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right")
    return table


def percent(fraction: float | None, digits: int = 1) -> str:
    return "-" if fraction is None else f"{100 * fraction:.{digits}f}"


def duration(seconds: float) -> str:
    """As people say it: 0.4 s, 12 s, 3 min 20 s, 1 h 5 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def warn_of_few_tests(out: "Console", nodes: int) -> None:
    """A word of caution where the figure of a test would hang on single nodes."""
    if 0 < nodes < FEW_TESTS:
        out.print(f"So few test nodes tell little: each is {1 / nodes:.0%} of the figure.", style="yellow")
