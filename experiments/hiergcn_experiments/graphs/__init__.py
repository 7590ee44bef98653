"""Graphs that only the experiments need: streets, power grids, counties and generated cities.

Importing this module registers their names; what reads them is in `entries.py`.
"""

from dataclasses import replace

from hiergcn.datasets import DatasetInfo, register_datasets

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
_ACTIVSG10K = DatasetInfo(
    "activsg10k", "Areas of a synthetic grid of the western USA", 10000, 12217, 4, 16, credit=_TAMU
)
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


def generated_city(name: str) -> DatasetInfo | None:
    """Return what is known about `city-N` or `city-N-clustered`; None for other names."""
    number = name.removeprefix(CITY).removesuffix(CLUSTERED)
    if not (name.startswith(CITY) and number.isdecimal() and number == str(int(number))):
        return None
    end = CLUSTERED if name.endswith(CLUSTERED) else ""
    title = f"Generated{end.replace('-', ' ')} city, accessibility of street corners"
    edges = round(int(number) * CITY_OPTIONS[end][0] / 2)
    return DatasetInfo(name, title, int(number), edges, 8, 10, where="generated")


def _city_network(name: str, title: str, nodes: int, edges: int) -> DatasetInfo:
    return DatasetInfo(name, f"{title}, accessibility of street corners", nodes, edges, 37, 10, credit=_OSM)


PLACES = (_HELSINKI, _PEGASE, _PEGASE_ECCENTRICITY, _ACTIVSG2000, _ACTIVSG10K, _MAGNITUDE, _ANGLE, _COUNTIES)
CITIES = tuple(info for name in ("city-50000", "city-50000-clustered") if (info := generated_city(name)))
CITY_NETWORKS = (
    _city_network("paris", "Paris", 114_127, 182_511),
    _city_network("shanghai", "Shanghai", 183_917, 262_092),
    _city_network("la", "Los Angeles", 240_587, 341_523),
    _city_network("london", "London", 568_795, 756_502),
)

register_datasets((*PLACES, *CITIES, *CITY_NETWORKS), "hiergcn_experiments.graphs.entries:entry", generated_city)
