"""`hiergcn compare`: several methods over the same splits and seeds, in one table with their paired differences."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiergcn.cli import options
from hiergcn.cli.asked import INTERRUPTED, adapted, changes, next_free, with_split
from hiergcn.cli.named import of_graph
from hiergcn.errors import InputError

if TYPE_CHECKING:
    from hiergcn.cli.data import Source
    from hiergcn.run.settings import Settings


@of_graph
def compare(
    source: "Source",
    models: Annotated[
        str | None,
        typer.Option(
            help="Methods with commas between them; NAME:PRESET takes other settings than its own. "
            "[default: gcn and what `hiergcn fit` takes]"
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs 0 to N-1 of each method on each split.")] = 5,
    splits: Annotated[
        str, typer.Option(help="public: the data's own. random:N: 20 a class train, 500 validate, the rest test.")
    ] = "public",
    against: Annotated[
        str | None, typer.Option(help="The method that the others are compared with. [default: the first]")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of every method.")
    ] = None,
    device: options.Device = "auto",
    out: options.Out = None,
) -> None:
    """Compare methods over the same splits and seeds."""
    from hiergcn.cli.comparison import Lines, print_comparison
    from hiergcn.cli.terminal import complain, console, printable
    from hiergcn.report import write_comparison_page
    from hiergcn.report.comparison import comparison_figure
    from hiergcn.report.svg import save_figure
    from hiergcn.run.adapt import method_for
    from hiergcn.run.compare import compare as run_compare
    from hiergcn.run.comparison import write_comparison
    from hiergcn.run.folder import check_free
    from hiergcn.run.split_plan import SplitPlan

    plan = SplitPlan.parse(splits)
    changed = changes(set_)
    models = models or f"gcn,{method_for(None, source.dataset)}"
    methods = chosen_methods(models, source.dataset, changed)
    if against is not None and against not in methods:
        raise InputError(f"--against {against}: name one of --models {models}.")
    if out is not None:
        check_free(out)
    read, split = with_split(source.read())
    if not source.is_dataset:
        methods |= {word: adapted(read, word, changed).settings for word in methods if ":" not in word}
    screen = console()
    screen.print(f"{printable(read.graph.name)}: {plan.about}; seeds 0 to {seeds - 1} of each method.")
    try:
        comparison = run_compare(
            read.graph,
            split,
            methods,
            range(seeds),
            plan=plan,
            against=against,
            device=device,
            listener=Lines(screen),
        )
    except KeyboardInterrupt:
        complain("Stopped before the first method was finished: nothing was written.")
        raise typer.Exit(INTERRUPTED) from None
    folder = next_free(Path("runs") / f"{source.name}-compare" if out is None else out)
    write_comparison(comparison, folder, shlex.join(["hiergcn", *sys.argv[1:]]))
    chart, _ = save_figure(comparison_figure(comparison), folder, "comparison")
    page = write_comparison_page(folder)
    print_comparison(screen, comparison)
    screen.print(f"\nFigures: {folder / 'comparison.json'}, {folder / 'scores.csv'}", soft_wrap=True)
    screen.print(f"Chart:   {chart}", soft_wrap=True)
    screen.print(f"Page:    {page}", soft_wrap=True)
    if comparison.interrupted:
        raise typer.Exit(INTERRUPTED)


def chosen_methods(models: str, dataset: str | None, changes: dict[str, str]) -> dict[str, "Settings"]:
    """The settings of each method named, in the order given."""
    from hiergcn.run.settings import settings_for

    methods: dict[str, Settings] = {}
    for word in (part.strip() for part in models.split(",")):
        if not word:
            raise InputError(f"--models {models}: give names with commas between them, e.g. gcn,hgcn.")
        if word in methods:
            raise InputError(f"--models {models}: {word} is there twice; name each method once.")
        name, _, preset = word.partition(":")
        methods[word] = settings_for(name, preset or None, dataset).override(changes)
    return methods
