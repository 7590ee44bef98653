"""The catalogue of named datasets: their sizes, where their files come from and how they are read."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hiergcn.datasets.city import city_graph, city_points
from hiergcn.datasets.city_networks import ADDRESS, FILES, read_city_network
from hiergcn.datasets.dataset_info import CITY_OPTIONS, CLUSTERED, INFOS, DatasetInfo, city_info, city_size, known_name
from hiergcn.datasets.embedded import read_coordinates, read_cora, read_numbers, read_place
from hiergcn.datasets.folders import VARIABLE, FileSet, Progress, Source, find, obtain
from hiergcn.datasets.planetoid_files import NELL, RECOVERED, read_nell, read_planetoid
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.coordinates import Coordinates
from hiergcn.graph.formats.npz_graph import read_masks


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph with the split it comes with."""

    name: str
    graph: Graph
    split: Split
    info: DatasetInfo
    coordinates: NDArray[np.float64] | None = None
    """(n, 2) longitude and latitude, or metres if generated; None if nodes have no position."""
    splits: tuple[Split, ...] = ()
    """All published splits, if there are several; `split` is the first."""


def list_datasets(folder: str | Path | None = None) -> list[DatasetInfo]:
    """Describe every named dataset and where it is now. Nothing is read or downloaded."""
    found = []
    for entry in _CATALOGUE.values():
        place = find(entry.files, folder) if entry.files else entry.where
        absent, how = ("", "") if place or entry.files is None else _way_to_get(entry.files)
        found.append(replace(entry.info, where=str(place or absent), how=how))
    return found


def _way_to_get(files: FileSet) -> tuple[str, str]:
    """Return whether files can be downloaded or must be brought, and what to do."""
    if files.source is not None:
        return "to download", "`hiergcn datasets get NAME` downloads it, and so does the first command that names it"
    return "add the file", f"put {', '.join(files.names)} into the folder that {VARIABLE} names{files.hint}"


def load_dataset(
    name: str, folder: str | Path | None = None, progress: Progress | None = None, *, multiplicity: bool = False
) -> Dataset:
    """Return a named dataset with its split. Upper case and underscores in the name do not matter.

    Files are looked for in `folder` (by default the folder that the environment variable HIERGCN_DATA names), directly
    or in its sub-folders planetoid, nell, more and city-networks, then in the user's cache. If they are in neither,
    they are downloaded into the cache, and `progress(bytes so far, bytes in all)` is called. Cora, Helsinki and the
    power grids are part of the package; `city-N` and `city-N-clustered` generate a city of N nodes.

    Edges weigh 1. With `multiplicity` an edge of Citeseer, Pubmed or NELL weighs as often as a neighbour list names it.
    """
    found = known_name(name)
    if found is None:
        near = difflib.get_close_matches(name.lower().replace("_", "-"), _CATALOGUE, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else "."
        raise InputError(f"There is no dataset {name!r}{meant} The names are {', '.join(_CATALOGUE)}.")
    name = found
    entry = _CATALOGUE.get(name) or _city(name)
    if multiplicity and not entry.counted:
        raise InputError(f"The files of {name} do not say how often an edge is listed; leave multiplicity out.")
    place = Path() if entry.files is None else obtain(entry.files, folder, progress)
    graph, split = entry.read(place, multiplicity)
    places = entry.coordinates() if entry.coordinates else None
    if places is not None:
        graph = replace(graph, coordinates=Coordinates(places, degrees=entry.where == "embedded"))
    splits = entry.splits(place) if entry.splits else ()
    return Dataset(name, graph, split, entry.info, places, splits)


@dataclass(frozen=True)
class _Entry:
    info: DatasetInfo
    read: Callable[[Path, bool], tuple[Graph, Split]]
    """Takes the folder of the files, and whether an edge weighs as often as it is listed."""
    files: FileSet | None = None
    """None: embedded in the package, or generated."""
    counted: bool = False
    """Whether the files say how often an edge is listed."""
    where: str = "embedded"
    """What `list_datasets` says if there are no files."""
    coordinates: Callable[[], NDArray[np.float64] | None] | None = None
    splits: Callable[[Path], tuple[Split, ...]] | None = None
    """Takes the folder of the files; None if a single split is published."""


def _citation(info: DatasetInfo, size: int) -> _Entry:
    """Citeseer or Pubmed, from the Planetoid repository; `size` is the bytes of its files."""
    names = tuple(f"ind.{info.name}.{part}" for part in ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"))
    repository = Source("https://raw.githubusercontent.com/kimiyoung/planetoid/master/data", size)
    files = FileSet(info.name, "planetoid", names, source=repository)
    return _Entry(info, lambda folder, counts: read_planetoid(folder, info.name, multiplicity=counts), files, True)


def _nell(info: DatasetInfo) -> _Entry:
    names = tuple(f"ind.{NELL}.{part}" for part in ("x", "y", "tx", "ty", "allx", "graph", "test.index"))
    archive = Source("http://www.cs.cmu.edu/~zhiliny/data/nell_data.tar.gz")
    files = FileSet("nell", "nell", names, optional=(f"ind.{NELL}.ally", RECOVERED), source=archive)
    return _Entry(info, lambda folder, counts: read_nell(folder, multiplicity=counts), files, True)


def _npz(info: DatasetInfo, file: str, original: str) -> _Entry:
    """A graph in the npz layout of Shchur et al. (2018), made undirected and unweighted, with a split drawn once."""

    def read(folder: Path, _: bool) -> tuple[Graph, Split]:
        graph = replace(Graph.from_npz(folder / file), name=info.name)
        assert graph.labels is not None
        return graph, Split.random(graph.labels, seed=0)

    hint = f" (the npz file {original} of github.com/shchur/gnn-benchmark, under that name)"
    return _Entry(info, read, FileSet(info.name, "more", (file,), hint=hint))


def _place(info: DatasetInfo, file: str, label: str) -> _Entry:
    return _Entry(info, lambda *_: read_place(info.name, file, label), coordinates=lambda: read_coordinates(file))


def _numbers(info: DatasetInfo, file: str) -> _Entry:
    read = partial(read_numbers, info.name, file, info.target)
    return _Entry(info, lambda *_: read(), coordinates=lambda: read_coordinates(file))


def _city_network(info: DatasetInfo) -> _Entry:
    name, nodes = info.name, info.nodes
    files = FileSet(name, f"city-networks/{name}", FILES, source=Source(f"{ADDRESS}/{name}.tar.gz"))
    return _Entry(info, lambda folder, _: read_city_network(folder, name, nodes), files)


def _city(name: str) -> _Entry:
    """A generated city, with a split of 10 % train, 10 % validation and 80 % test."""
    n, end = city_size(name), CLUSTERED if name.endswith(CLUSTERED) else ""
    assert n is not None
    degree, clustered = CITY_OPTIONS[end]

    def read(_: Path, __: bool) -> tuple[Graph, Split]:
        graph = replace(city_graph(n, degree=degree, clustered=clustered), name=name)
        assert graph.labels is not None
        return graph, Split.holdout(graph.labels, validation=0.1, test=0.8)

    return _Entry(city_info(n, end), read, where="generated", coordinates=lambda: city_points(n, clustered=clustered))


def _masked(info: DatasetInfo, file: str) -> _Entry:
    """A graph of Platonov et al. (2023) in the npz layout, with masks of ten published splits."""

    def splits(folder: Path) -> tuple[Split, ...]:
        return read_masks(folder / file)

    def read(folder: Path, _: bool) -> tuple[Graph, Split]:
        return replace(Graph.from_npz(folder / file), name=info.name), splits(folder)[0]

    hint = " (from github.com/yandex-research/heterophilous-graphs, as CSR arrays adj_* and attr_*, labels and masks)"
    return _Entry(info, read, FileSet(info.name, "more", (file,), hint=hint), splits=splits)


_CATALOGUE: dict[str, _Entry] = {
    entry.info.name: entry
    for entry in (
        _Entry(INFOS["cora"], lambda *_: read_cora()),
        _citation(INFOS["citeseer"], 1_036_188),
        _citation(INFOS["pubmed"], 8_722_598),
        _nell(INFOS["nell"]),
        _npz(INFOS["amazon-photo"], "amazon_photo.npz", "amazon_electronics_photo.npz"),
        _npz(INFOS["coauthor-cs"], "coauthor_cs.npz", "ms_academic_cs.npz"),
        _place(INFOS["helsinki"], "helsinki", "eccentricity"),
        _place(INFOS["pegase"], "pegase", "zone"),
        _place(INFOS["pegase-eccentricity"], "pegase", "eccentricity"),
        _place(INFOS["activsg2000"], "activsg2000", "zone"),
        _place(INFOS["activsg10k"], "activsg10k", "area"),
        _numbers(INFOS["activsg2000-magnitude"], "activsg2000"),
        _numbers(INFOS["activsg2000-angle"], "activsg2000"),
        _numbers(INFOS["us-counties"], "us-counties"),
        _city("city-50000"),
        _city("city-50000-clustered"),
        *(_city_network(INFOS[name]) for name in ("paris", "shanghai", "la", "london")),
        _masked(INFOS["chameleon"], "chameleon_filtered.npz"),
        _masked(INFOS["minesweeper"], "minesweeper.npz"),
    )
}
