"""The catalogue of named datasets: where their files come from and how they are read."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.resources import as_file
from importlib.resources import files as package_files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hiergcn.datasets.dataset_info import DatasetInfo, dataset_info, dataset_names, further_datasets, known_name
from hiergcn.datasets.folders import VARIABLE, FileSet, Progress, find, obtain
from hiergcn.datasets.planetoid_files import NELL, RECOVERED, read_nell, read_planetoid
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.formats.npz_graph import read_masks


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph with the split it comes with."""

    name: str
    graph: Graph
    split: Split
    info: DatasetInfo
    splits: tuple[Split, ...] = ()
    """All published splits, if there are several; `split` is the first."""

    @property
    def coordinates(self) -> NDArray[np.float64] | None:
        """(n, 2) longitude and latitude, or metres if generated; None if nodes have no position."""
        return None if self.graph.coordinates is None else self.graph.coordinates.values


@dataclass(frozen=True)
class DatasetEntry:
    """How a dataset is read."""

    info: DatasetInfo
    read: Callable[[Path, bool], tuple[Graph, Split]]
    """Takes the folder of the files, and whether an edge weighs as often as it is listed."""
    files: FileSet | None = None
    """None: part of a package, or generated."""
    counted: bool = False
    """Whether the files say how often an edge is listed."""
    where: str = "embedded"
    """What `list_datasets` says if there are no files."""
    splits: Callable[[Path], tuple[Split, ...]] | None = None
    """Takes the folder of the files; None if a single split is published."""


def list_datasets(folder: str | Path | None = None) -> list[DatasetInfo]:
    """Describe every named dataset and where it is now. Nothing is read or downloaded."""
    infos = []
    for entry in map(_entry, dataset_names()):
        files, how = entry.files, ""
        where = find(files, folder) if files else entry.where
        if files and where is None and files.url:
            where = "to download"
            how = "`hiergcn datasets get NAME` downloads it, and so does the first command that names it"
        elif files and where is None:
            where = "add the file"
            how = f"put {', '.join(files.names)} into the folder that {VARIABLE} names{files.hint}"
        infos.append(replace(entry.info, where=str(where), how=how))
    return infos


def load_dataset(
    name: str, folder: str | Path | None = None, progress: Progress | None = None, *, multiplicity: bool = False
) -> Dataset:
    """Return a named dataset with its split. Upper case and underscores in the name do not matter.

    Files are looked for in `folder` (by default the folder that the environment variable HIERGCN_DATA names), directly
    or in its sub-folders planetoid, nell and more, then in the user's cache. If they are in neither, they are
    downloaded into the cache, and `progress(bytes so far, bytes in all)` is called. Cora is part of the package; with
    `hiergcn-experiments` come streets and power grids, and `city-N` generates a city of N nodes.

    Edges weigh 1. With `multiplicity` an edge of Citeseer, Pubmed or NELL weighs as often as a neighbour list names it.
    """
    known = known_name(name)
    if known is None:
        near = difflib.get_close_matches(name.lower().replace("_", "-"), dataset_names(), n=1)
        meant = f"; did you mean {near[0]!r}?" if near else "."
        names = ", ".join(dataset_names())
        raise InputError(f"There is no dataset {name!r}{meant} The names are {names}.{further_datasets()}")
    entry = _entry(known)
    if multiplicity and not entry.counted:
        raise InputError(f"The files of {known} do not say how often an edge is listed; leave multiplicity out.")
    files = Path() if entry.files is None else obtain(entry.files, folder, progress)
    graph, split = entry.read(files, multiplicity)
    return Dataset(known, graph, split, entry.info, entry.splits(files) if entry.splits else ())


def _entry(name: str) -> DatasetEntry:
    info = dataset_info(name)
    assert info is not None
    module, _, function = info.reader.partition(":")
    entry: DatasetEntry = getattr(import_module(module), function)(info)
    return entry


def _read_cora() -> tuple[Graph, Split]:
    """Return Cora (Sen et al., 2008) as Planetoid numbers it, and its public split; ids are those of LINQS.

    `scripts/build_cora.py` builds the file.
    """
    with as_file(package_files("hiergcn.datasets").joinpath("cora.npz")) as file:
        graph = Graph.from_npz(file)
    assert graph.split is not None
    return replace(graph, split=None), graph.split


def _citation(info: DatasetInfo, size: int) -> DatasetEntry:
    """Citeseer or Pubmed, from the Planetoid repository; `size` is the bytes of its files."""
    names = tuple(f"ind.{info.name}.{part}" for part in ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"))
    repository = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data"
    files = FileSet(info.name, "planetoid", names, url=repository, size=size)
    return DatasetEntry(
        info, lambda folder, counts: read_planetoid(folder, info.name, multiplicity=counts), files, True
    )


def _nell(info: DatasetInfo) -> DatasetEntry:
    names = tuple(f"ind.{NELL}.{part}" for part in ("x", "y", "tx", "ty", "allx", "graph", "test.index"))
    archive = "http://www.cs.cmu.edu/~zhiliny/data/nell_data.tar.gz"
    files = FileSet("nell", "nell", names, optional=(f"ind.{NELL}.ally", RECOVERED), url=archive)
    return DatasetEntry(info, lambda folder, counts: read_nell(folder, multiplicity=counts), files, True)


def _npz(info: DatasetInfo, file: str, original: str) -> DatasetEntry:
    """A graph in the npz layout of Shchur et al. (2018), made undirected and unweighted, with a split drawn once."""

    def read(folder: Path, _: bool) -> tuple[Graph, Split]:
        graph = replace(Graph.from_npz(folder / file), name=info.name)
        return graph, Split.random(graph.truth, seed=0)

    hint = f" (the npz file {original} of github.com/shchur/gnn-benchmark, under that name)"
    return DatasetEntry(info, read, FileSet(info.name, "more", (file,), hint=hint))


def _masked(info: DatasetInfo, file: str) -> DatasetEntry:
    """A graph of Platonov et al. (2023) in the npz layout, with masks of ten published splits."""

    def read(folder: Path, _: bool) -> tuple[Graph, Split]:
        return replace(Graph.from_npz(folder / file), name=info.name), read_masks(folder / file)[0]

    hint = " (from github.com/yandex-research/heterophilous-graphs, as CSR arrays adj_* and attr_*, labels and masks)"
    files = FileSet(info.name, "more", (file,), hint=hint)
    return DatasetEntry(info, read, files, splits=lambda folder: read_masks(folder / file))


_CATALOGUE: dict[str, Callable[[DatasetInfo], DatasetEntry]] = {
    "cora": lambda info: DatasetEntry(info, lambda *_: _read_cora()),
    "citeseer": lambda info: _citation(info, 1_036_188),
    "pubmed": lambda info: _citation(info, 8_722_598),
    "nell": _nell,
    "amazon-photo": lambda info: _npz(info, "amazon_photo.npz", "amazon_electronics_photo.npz"),
    "coauthor-cs": lambda info: _npz(info, "coauthor_cs.npz", "ms_academic_cs.npz"),
    "chameleon": lambda info: _masked(info, "chameleon_filtered.npz"),
    "minesweeper": lambda info: _masked(info, "minesweeper.npz"),
}


def catalogue_entry(info: DatasetInfo) -> DatasetEntry:
    """Return the entry of a dataset of this package."""
    return _CATALOGUE[info.name](info)
