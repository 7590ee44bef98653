"""Names and sizes of the datasets; nothing heavy is imported, so that a wrong name is answered at once."""

from dataclasses import dataclass, replace


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
    """Authors and licence, if the licence asks for them; `NOTICE.txt` has them in full."""


CITY, CLUSTERED = "city-", "-clustered"
CITY_OPTIONS = {"": (3.1, 0.6), CLUSTERED: (3.116, 0.8)}
"""Mean degree and share of points in clusters of the generated cities `city-N` and `city-N-clustered`."""
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


def dataset_names() -> tuple[str, ...]:
    """Return the names of the catalogue. `load_dataset` also knows `city-N` and `city-N-clustered` for any N nodes."""
    return tuple(INFOS)


def known_name(name: str) -> str | None:
    """Return the name of a dataset as the catalogue has it; upper case and underscores do not matter."""
    own = name.lower().replace("_", "-")
    return own if own in INFOS or city_size(own) is not None else None


def is_dataset(name: str) -> bool:
    """Return whether this is exactly the name of a dataset."""
    return known_name(name) == name


def has_target(name: str) -> bool:
    """Return whether a dataset has numbers to predict instead of classes."""
    return name in INFOS and bool(INFOS[name].target)


def city_size(name: str) -> int | None:
    """Return N of the names `city-N` and `city-N-clustered`; None for other names."""
    number = name.removeprefix(CITY).removesuffix(CLUSTERED)
    known = name.startswith(CITY) and number.isdecimal() and number == str(int(number))
    return int(number) if known else None


def city_info(n: int, end: str = "") -> DatasetInfo:
    """Return what is known about a generated city of n nodes; `end` of its name is empty or `CLUSTERED`."""
    title = f"Generated{end.replace('-', ' ')} city, accessibility of street corners"
    return DatasetInfo(f"{CITY}{n}{end}", title, n, round(n * CITY_OPTIONS[end][0] / 2), 8, 10)


def _city_network(name: str, title: str, nodes: int, edges: int) -> DatasetInfo:
    return DatasetInfo(name, f"{title}, accessibility of street corners", nodes, edges, 37, 10, credit=_OSM)


INFOS = {
    one.name: one
    for one in (
        DatasetInfo("cora", "Cora, machine-learning papers", 2708, 5278, 1433, 7),
        DatasetInfo("citeseer", "Citeseer, computer-science papers", 3327, 4552, 3703, 6),
        DatasetInfo("pubmed", "Pubmed, papers on diabetes", 19717, 44324, 500, 3),
        DatasetInfo("nell", "NELL, a knowledge graph (0.001 split)", 65755, 125775, 61278, 105),
        DatasetInfo("amazon-photo", "Amazon Photo, goods bought together", 7650, 119081, 745, 8),
        DatasetInfo("coauthor-cs", "Coauthor CS, authors who wrote together", 18333, 81894, 6805, 15),
        _HELSINKI,
        _PEGASE,
        _PEGASE_ECCENTRICITY,
        _ACTIVSG2000,
        _ACTIVSG10K,
        _MAGNITUDE,
        _ANGLE,
        _COUNTIES,
        city_info(50_000),
        city_info(50_000, CLUSTERED),
        _city_network("paris", "Paris", 114_127, 182_511),
        _city_network("shanghai", "Shanghai", 183_917, 262_092),
        _city_network("la", "Los Angeles", 240_587, 341_523),
        _city_network("london", "London", 568_795, 756_502),
        DatasetInfo("chameleon", "Chameleon, pages with links between them, no duplicates", 890, 8854, 2325, 5),
        DatasetInfo("minesweeper", "Minesweeper, fields of a grid, a fifth with mines", 10000, 39402, 7, 2),
    )
}
