"""The paper's Tables 1 to 4, which are in published.toml, and its best levels and channels."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


def packaged(name: str) -> dict[str, Any]:
    """Read a TOML file of this package."""
    return tomllib.loads((files("hiergcn.paper") / name).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Printed:
    """A figure of the paper."""

    mean: float
    std: float | None = None
    runs: int | None = None
    """Number of runs, if the paper says so."""


_TABLES = packaged("published.toml")
TABLE1: dict[str, dict[str, float]] = _TABLES["table1"]
TABLE2, TABLE3, TABLE4 = (
    {arm: {place: Printed(*figure) for place, figure in row.items()} for arm, row in _TABLES[name].items()}
    for name in ("table2", "table3", "table4")
)
TABLE4["hgcn"] = TABLE2["hgcn"]
BEST_LEVELS = {"cora": 4, "citeseer": 4, "pubmed": 4, "nell": 5}
BEST_CHANNELS = dict.fromkeys(BEST_LEVELS, 4)


def printed_figure(experiment: str, arm: str, dataset: str, column: str) -> Printed | None:
    """Return the paper's figure for a cell of an experiment, if it prints one."""
    row = arm.removesuffix("-nell")
    if experiment == "table3":
        return TABLE3.get(row, {}).get(column) if dataset == "pubmed" else None
    return {"table2": TABLE2, "table4": TABLE4}.get(experiment, {}).get(row, {}).get(dataset)
