"""Progress of a download, shown only once bytes arrive."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from hiergcn.cli.terminal import console


@contextmanager
def downloading(name: str) -> Iterator[Callable[[int, int], None]]:
    """A `progress(bytes so far, bytes in all)` that draws a bar, or prints one line where there is no terminal."""
    out = console(stderr=True)  # stdout may be a table that a program reads
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=out, disable=not out.is_terminal, transient=True)
    task = bar.add_task(f"downloading {name}", total=None)
    announced = False

    def progress(done: int, total: int) -> None:
        nonlocal announced
        if not announced:
            announced = True
            bar.start()
            if not out.is_terminal:
                out.print(f"downloading {name}" + (f" ({total / 1e6:.1f} MB)" if total else ""))
        bar.update(task, completed=done, total=total or None)

    try:
        yield progress
    finally:
        bar.stop()
