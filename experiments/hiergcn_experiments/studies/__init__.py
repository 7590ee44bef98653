"""The studies: every module here that has a `STUDY` is known to `hiergcn reproduce`, and its page is written."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from hiergcn import InputError
from hiergcn_experiments.experiment import Experiment, Scope, Study
from hiergcn_experiments.page import Page, provenance, write_page
from hiergcn_experiments.store import PACKED, Record, latest, write_packed


@cache
def studies() -> dict[str, Study]:
    """Return all studies by name, but for the paper's."""
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    found = (getattr(module, "STUDY", None) for module in modules)
    return {study.name: study for study in sorted((one for one in found if one), key=lambda study: study.name)}


@cache
def measures() -> dict[str, Callable[..., dict[str, Any]]]:
    """Return the functions of all measurements by their name."""
    from hiergcn_experiments.paper.measures import MEASURES

    listed: tuple[Any, ...] = (*MEASURES, *(measure for study in studies().values() for measure in study.measures))
    return {measure.__name__.replace("_", "-"): measure for measure in listed}


def named_experiments(names: Sequence[str], scope: Scope) -> list[Experiment]:
    """Return the named experiments in order.

    `all` means the paper's, `plus` H-GCN+'s, and the name of a study its experiments but for those that are run by
    their own name only.
    """
    from hiergcn_experiments.paper.experiments import FULL, QUICK, paper_experiments, plus_experiments

    scale = QUICK if scope.quick else FULL
    paper, plus = paper_experiments(scale), plus_experiments(scale)
    every, groups = paper | plus, {"all": list(paper), "plus": list(plus)}
    for study in studies().values():
        asked = any(name == study.name or name.startswith(f"{study.name}-") for name in names)
        parts = {one.name: one for one in study.experiments(scope if asked else Scope(scope.quick))}
        every |= parts
        groups[study.name] = [name for name, one in parts.items() if not one.only_by_name]
    for name in names:
        if name not in every and name not in groups:
            known = f"{', '.join(groups)}, or some of {', '.join(every)}"
            raise InputError(f"There is no experiment named {name!r}. Choose {known}.")
    listed = [one for name in names for one in groups.get(name, [name])]
    return [every[name] for name in dict.fromkeys(listed)]


def write_pages(records: Sequence[Record], folder: Path, quick: bool = False) -> list[Path]:
    """Write the page of every study that has results, and the paper's and H-GCN+'s; return the HTML files.

    The latter are not written if there are results of other studies alone.
    """
    from hiergcn_experiments.paper.experiments import FULL, QUICK
    from hiergcn_experiments.paper.pages import write_paper

    pages, others = [], list(records)
    for study in studies().values():
        found = [one for one in others if study.owns(one)]
        if found:
            others = [one for one in others if not study.owns(one)]
            found = found if study.splits else latest(found)  # a study of cells keeps earlier runs, too
            option = " --quick" if quick and study.splits else ""  # measurements say themselves how large they were
            again = f"`hiergcn reproduce page{option} --store {PACKED}` makes this page again from the stored runs."
            page = Page(study.title, study.sections(found, quick), [provenance(found), again])
            pages.append(write_page(page, folder / study.name))
            write_packed(found, folder / study.name / PACKED)
    return [*pages, *write_paper(records, folder, QUICK if quick else FULL)] if others or not pages else pages
