"""Graphs that only the experiments need: streets, power grids, counties and generated cities, see graphs.toml.

Importing this module registers their names; what reads them is in `entries.py`.
"""

import tomllib
from importlib.resources import files
from typing import Any

from hiergcn.datasets import DatasetInfo, register_datasets

CITY, CLUSTERED = "city-", "-clustered"
CITY_OPTIONS = {"": (3.1, 0.6), CLUSTERED: (3.116, 0.8)}
"""Mean degree and share of points in clusters of the generated cities `city-N` and `city-N-clustered`."""
_GRAPHS: dict[str, dict[str, Any]] = tomllib.loads((files(__name__) / "graphs.toml").read_text(encoding="utf-8"))
_PLACES, _CREDITS = _GRAPHS["places"], _GRAPHS["credits"]
SOURCES = {name: (known.pop("file", name), known.pop("label", "eccentricity")) for name, known in _PLACES.items()}
"""The file of each place and its column of classes."""


def generated_city(name: str) -> DatasetInfo | None:
    """Return what is known about `city-N` or `city-N-clustered`; None for other names."""
    number = name.removeprefix(CITY).removesuffix(CLUSTERED)
    if not (name.startswith(CITY) and number.isdecimal() and number == str(int(number))):
        return None
    end = CLUSTERED if name.endswith(CLUSTERED) else ""
    title = f"Generated{end.replace('-', ' ')} city, accessibility of street corners"
    edges = round(int(number) * CITY_OPTIONS[end][0] / 2)
    return DatasetInfo(name, title, int(number), edges, 8, 10, where="generated")


PLACES = tuple(DatasetInfo(name, **known | {"credit": _CREDITS[known["credit"]]}) for name, known in _PLACES.items())
CITIES = tuple(info for name in ("city-50000", "city-50000-clustered") if (info := generated_city(name)))
_ABOUT: dict[str, Any] = {"features": 37, "classes": 10, "credit": _CREDITS["osm"]}
CITY_NETWORKS = tuple(
    DatasetInfo(name, **known | _ABOUT | {"title": f"{known['title']}, accessibility of street corners"})
    for name, known in _GRAPHS["cities"].items()
)

register_datasets((*PLACES, *CITIES, *CITY_NETWORKS), "hiergcn_experiments.graphs.entries:entry", generated_city)
