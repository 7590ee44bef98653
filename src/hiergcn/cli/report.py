"""`hiergcn report`: make the page of a run folder again."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="A folder that `hiergcn fit` wrote.")],
    open_: Annotated[bool, typer.Option("--open", help="Show the page in the browser.")] = False,
) -> None:
    """Make report.html of a run again."""
    from hiergcn.cli.terminal import console
    from hiergcn.report import write_report

    page = write_report(run)
    console().print(f"Report: {page}", soft_wrap=True)
    if open_:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
