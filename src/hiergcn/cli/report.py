"""`hiergcn report`: write the page of a run or a comparison again."""

from pathlib import Path
from typing import Annotated

import typer

from hiergcn.cli.terminal import console


def report(
    run: Annotated[Path, typer.Argument(help="A folder that `hiergcn fit` or `hiergcn compare` wrote.")],
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Write the report of a run or a comparison again."""
    from hiergcn.comparison.comparison_page import write_comparison_page
    from hiergcn.comparison.method_scores import COMPARISON
    from hiergcn.run.run import Run

    page = write_comparison_page(run) if (run / COMPARISON).is_file() else Run.load(run).write_page()
    console().print(f"Report: {page}", soft_wrap=True)
    if open_:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
