"""Names and sizes of the datasets; nothing heavy is imported, so that a wrong name is answered at once."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache

from hiergcn.plugins import EXPERIMENTS, plugins


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset as it is known before it is read."""

    name: str
    title: str
    nodes: int
    edges: int
    """Distinct undirected edges, without self-loops."""
    features: int
    classes: int
    where: str = ""
    """As `list_datasets` finds it: "embedded", "generated", the folder that has the files, "to download", or
    "add the file" if no public address is known."""
    how: str = ""
    """As `list_datasets` finds it: what to do to have the files; empty if they are here."""
    target: str = ""
    """The number to predict, of a dataset without classes."""
    credit: str = ""
    """Authors and licence, if the licence asks for them."""
    reader: str = field(default="", repr=False, compare=False)
    """As it was registered."""


Generated = Callable[[str], DatasetInfo | None]
_REGISTERED: list[tuple[dict[str, DatasetInfo], Generated]] = []


def register_datasets(infos: Iterable[DatasetInfo], reader: str, generated: Generated = lambda _: None) -> None:
    """Add datasets to those that commands and `load_dataset` take by name.

    Args:
        infos: what is known about each.
        reader: `package.module:function`, which takes one of the infos and returns its `DatasetEntry`. It is imported
            when a dataset is read.
        generated: returns the info of a further name, such as `city-1000`, and None for names that it does not know.
    """

    def of_name(name: str) -> DatasetInfo | None:
        info = generated(name)
        return info and replace(info, reader=reader)

    _REGISTERED.append(({info.name: replace(info, reader=reader) for info in infos}, of_name))


def dataset_names() -> tuple[str, ...]:
    """Return the names of all datasets; packages may also know names of generated graphs, such as `city-1000`."""
    return tuple(name for infos, _ in _registered() for name in infos)


def known_name(name: str) -> str | None:
    """Return the name of a dataset as the catalogue has it; upper case and underscores do not matter."""
    plain = name.lower().replace("_", "-")
    return plain if dataset_info(plain) else None


def dataset_info(name: str) -> DatasetInfo | None:
    """Return what is known about a dataset; None if there is none of exactly that name."""
    if name in _REGISTERED[0][0]:  # of this package: no other need be asked
        return _REGISTERED[0][0][name]
    return next(filter(None, (infos.get(name) or generated(name) for infos, generated in _registered())), None)


def further_datasets() -> str:
    """Return a sentence about the graphs of the experiments, if these are not installed."""
    return "" if len(_registered()) > 1 else f" A graph of streets or a power grid {EXPERIMENTS}"


@cache
def _registered() -> list[tuple[dict[str, DatasetInfo], Generated]]:
    plugins("datasets")
    return _REGISTERED


register_datasets(
    (
        DatasetInfo("cora", "Cora, machine-learning papers", 2708, 5278, 1433, 7),
        DatasetInfo("citeseer", "Citeseer, computer-science papers", 3327, 4552, 3703, 6),
        DatasetInfo("pubmed", "Pubmed, papers on diabetes", 19717, 44324, 500, 3),
        DatasetInfo("nell", "NELL, a knowledge graph (0.001 split)", 65755, 125775, 61278, 105),
        DatasetInfo("amazon-photo", "Amazon Photo, goods bought together", 7650, 119081, 745, 8),
        DatasetInfo("coauthor-cs", "Coauthor CS, authors who wrote together", 18333, 81894, 6805, 15),
        DatasetInfo("chameleon", "Chameleon, pages with links between them, no duplicates", 890, 8854, 2325, 5),
        DatasetInfo("minesweeper", "Minesweeper, fields of a grid, a fifth with mines", 10000, 39402, 7, 2),
    ),
    "hiergcn.datasets.catalogue:catalogue_entry",
)
