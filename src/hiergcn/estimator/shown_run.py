"""A run in a notebook: its page in a cell."""

from dataclasses import fields
from html import escape
from pathlib import Path
from typing import Self

from hiergcn.files import write_text
from hiergcn.run.result import RunResult


class ShownRun(RunResult):
    """A finished run that can be saved, and whose page can be shown."""

    @classmethod
    def of(cls, result: RunResult) -> Self:
        return cls(**{field.name: getattr(result, field.name) for field in fields(result)})

    def save(self, path: str | Path, python: str | None = None) -> None:
        """Write a run folder with its page and the graph; it must be new or empty. `python` says what made the run."""
        from hiergcn.report import write_report
        from hiergcn.run.folder import write_run

        write_run(self, Path(path), {"python": python or repr(self)}, keep_graph=True)
        write_report(Path(path), self)

    def show(self, height: int = 900) -> "Page":
        """Return the page of the run: the last line of a cell shows it. `height` is in pixels."""
        from hiergcn.report.run_page import page_of_result

        return Page(page_of_result(self), height)


class Page:
    """A page in the cell of a notebook."""

    def __init__(self, html: str, height: int) -> None:
        self.html, self.height = html, height

    def _repr_html_(self) -> str:
        look = f'style="width: 100%; height: {self.height}px; border: 0" allow="fullscreen"'
        return f'<iframe srcdoc="{escape(self.html)}" {look}></iframe>'

    def __repr__(self) -> str:
        return f"Page({len(self.html):,} letters; a notebook shows it, save(path) writes it)"

    def save(self, path: str | Path) -> None:
        """Write the page as a file."""
        write_text(path, self.html)
