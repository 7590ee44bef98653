"""The catalogue of named datasets: their sizes, where their files come from and how they are read."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hiergcn.datasets.city import DEGREE, city_graph, city_points
from hiergcn.datasets.city_networks import ADDRESS, FILES, read_city_network
from hiergcn.datasets.embedded import read_coordinates, read_cora, read_numbers, read_place
from hiergcn.datasets.folders import FileSet, Progress, Source, find, obtain
from hiergcn.datasets.nell import NELL, RECOVERED, read_nell
from hiergcn.datasets.planetoid_files import read_planetoid
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.coordinates import Coordinates
from hiergcn.graph.formats.npz_graph import read_masks


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
    """As `list_datasets` finds it: "embedded", "generated", the folder that has the files, "to download", or "to bring"
    if no public address is known."""
    target: str = ""
    """The number to predict, of a dataset without classes."""
    credit: str = ""
    """Authors and licence, if the licence asks for them; `NOTICE.txt` has them in full."""


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


def dataset_names() -> tuple[str, ...]:
    """Return the names of the catalogue. `load_dataset` also knows `city-N` for any number of nodes N."""
    return tuple(_CATALOGUE)


def is_dataset(name: str) -> bool:
    """Return whether `load_dataset` knows the name."""
    return name in _CATALOGUE or _city_size(name) is not None


def has_target(name: str) -> bool:
    """Return whether a dataset has numbers to predict instead of classes."""
    return name in _CATALOGUE and bool(_CATALOGUE[name].info.target)


def list_datasets(folder: str | Path | None = None) -> list[DatasetInfo]:
    """Describe every named dataset and where it is now. Nothing is read or downloaded."""
    found = []
    for entry in _CATALOGUE.values():
        place = find(entry.files, folder) if entry.files else entry.where
        absent = "to download" if entry.files and entry.files.source else "to bring"
        found.append(replace(entry.info, where=str(place or absent)))
    return found


def load_dataset(
    name: str, folder: str | Path | None = None, progress: Progress | None = None, *, multiplicity: bool = False
) -> Dataset:
    """Return a named dataset with its split.

    Files are looked for in `folder` (by default the folder that the environment variable HIERGCN_DATA names), directly
    or in its sub-folders planetoid, nell, more and city-networks, then in the user's cache. If they are in neither,
    they are downloaded into the cache, and `progress(bytes so far, bytes in all)` is called. Cora, Helsinki and the
    power grids are part of the package; `city-N` generates a city of N nodes.

    Edges weigh 1. With `multiplicity` an edge of Citeseer, Pubmed or NELL weighs as often as a neighbour list names it.
    """
    if not is_dataset(name):
        near = difflib.get_close_matches(name.lower().replace("_", "-"), _CATALOGUE, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else "."
        raise InputError(f"There is no dataset {name!r}{meant} The names are {', '.join(_CATALOGUE)}.")
    entry = _CATALOGUE.get(name) or _city(int(name.removeprefix(CITY)))
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


def _city_network(name: str, title: str, nodes: int, edges: int) -> _Entry:
    info = DatasetInfo(name, f"{title}, accessibility of street corners", nodes, edges, 37, 10, credit=_OSM)
    files = FileSet(name, f"city-networks/{name}", FILES, source=Source(f"{ADDRESS}/{name}.tar.gz"))
    return _Entry(info, lambda folder, _: read_city_network(folder, name, nodes), files)


def _city(n: int) -> _Entry:
    """A generated city of n nodes, with a split of 10 % train, 10 % validation and 80 % test."""

    def read(_: Path, __: bool) -> tuple[Graph, Split]:
        graph = city_graph(n)
        assert graph.labels is not None
        return graph, Split.holdout(graph.labels, validation=0.1, test=0.8)

    info = DatasetInfo(f"{CITY}{n}", "Generated city, accessibility of street corners", n, round(n * DEGREE / 2), 8, 10)
    return _Entry(info, read, where="generated", coordinates=lambda: city_points(n))


def _city_size(name: str) -> int | None:
    """Return N of the name `city-N`; None for other names."""
    number = name.removeprefix(CITY)
    return int(number) if number != name and number.isdecimal() and number == str(int(number)) else None


CITY = "city-"
_PHOTO = DatasetInfo("amazon-photo", "Amazon Photo, goods bought together", 7650, 119081, 745, 8)
_COAUTHOR = DatasetInfo("coauthor-cs", "Coauthor CS, authors who wrote together", 18333, 81894, 6805, 15)
_OSM = "(c) OpenStreetMap contributors, ODbL 1.0"
_RTE = "C. Josz et al. (MATPOWER), CC BY 4.0"
_TAMU = "A.B. Birchfield et al. (MATPOWER), CC BY 4.0"
_HELSINKI = DatasetInfo("helsinki", "Helsinki, accessibility of street corners", 5878, 7009, 20, 10, credit=_OSM)
_PEGASE = DatasetInfo("pegase", "Zones of a European power grid", 9241, 14207, 4, 24, credit=_RTE)
_PEGASE_ECCENTRICITY = replace(
    _PEGASE, name="pegase-eccentricity", title="Accessibility of buses in a European power grid", classes=10
)
_ACTIVSG2000 = DatasetInfo("activsg2000", "Zones of a synthetic grid of Texas", 2000, 2667, 4, 28, credit=_TAMU)
_MAGNITUDE = replace(
    _ACTIVSG2000,
    name="activsg2000-magnitude",
    title="Voltage magnitude in a synthetic grid of Texas",
    features=6,
    classes=0,
    target="magnitude",
)
_ANGLE = replace(
    _MAGNITUDE, name="activsg2000-angle", title="Voltage angle in a synthetic grid of Texas", target="angle"
)
_COUNTIES = DatasetInfo(
    "us-counties",
    "Unemployment of US counties in 2009",
    3215,
    9460,
    3,
    0,
    target="unemployment",
    credit="U.S. Bureau of Labor Statistics, U.S. Census Bureau, public domain",
)
_ACTIVSG10K = DatasetInfo(
    "activsg10k", "Areas of a synthetic grid of the western USA", 10000, 12217, 4, 16, credit=_TAMU
)


def _masked(info: DatasetInfo, file: str) -> _Entry:
    """A graph of Platonov et al. (2023) in the npz layout, with masks of ten published splits."""

    def splits(folder: Path) -> tuple[Split, ...]:
        return read_masks(folder / file)

    def read(folder: Path, _: bool) -> tuple[Graph, Split]:
        return replace(Graph.from_npz(folder / file), name=info.name), splits(folder)[0]

    hint = " (from github.com/yandex-research/heterophilous-graphs, as CSR arrays adj_* and attr_*, labels and masks)"
    return _Entry(info, read, FileSet(info.name, "more", (file,), hint=hint), splits=splits)


_CHAMELEON = DatasetInfo("chameleon", "Chameleon, pages with links between them, no duplicates", 890, 8854, 2325, 5)
_MINESWEEPER = DatasetInfo("minesweeper", "Minesweeper, fields of a grid, a fifth with mines", 10000, 39402, 7, 2)

_CATALOGUE: dict[str, _Entry] = {
    entry.info.name: entry
    for entry in (
        _Entry(DatasetInfo("cora", "Cora, machine-learning papers", 2708, 5278, 1433, 7), lambda *_: read_cora()),
        _citation(DatasetInfo("citeseer", "Citeseer, computer-science papers", 3327, 4552, 3703, 6), 1_036_188),
        _citation(DatasetInfo("pubmed", "Pubmed, papers on diabetes", 19717, 44324, 500, 3), 8_722_598),
        _nell(DatasetInfo("nell", "NELL, a knowledge graph (0.001 split)", 65755, 125775, 61278, 105)),
        _npz(_PHOTO, "amazon_photo.npz", "amazon_electronics_photo.npz"),
        _npz(_COAUTHOR, "coauthor_cs.npz", "ms_academic_cs.npz"),
        _place(_HELSINKI, "helsinki", "eccentricity"),
        _place(_PEGASE, "pegase", "zone"),
        _place(_PEGASE_ECCENTRICITY, "pegase", "eccentricity"),
        _place(_ACTIVSG2000, "activsg2000", "zone"),
        _place(_ACTIVSG10K, "activsg10k", "area"),
        _numbers(_MAGNITUDE, "activsg2000"),
        _numbers(_ANGLE, "activsg2000"),
        _numbers(_COUNTIES, "us-counties"),
        _city(50_000),
        _city_network("paris", "Paris", 114_127, 182_511),
        _city_network("shanghai", "Shanghai", 183_917, 262_092),
        _city_network("la", "Los Angeles", 240_587, 341_523),
        _city_network("london", "London", 568_795, 756_502),
        _masked(_CHAMELEON, "chameleon_filtered.npz"),
        _masked(_MINESWEEPER, "minesweeper.npz"),
    )
}
