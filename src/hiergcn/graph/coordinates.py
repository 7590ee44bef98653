"""Where nodes are: on the globe or in a plane. Found in a table by the names of two columns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.tables.feature_table import FeatureTable

DEGREES = (("lon", "lat"), ("lng", "lat"), ("long", "lat"), ("longitude", "latitude"))
PLANE = (("x", "y"), ("x_coord", "y_coord"), ("easting", "northing"))
ENOUGH = 0.5
"""Share of the nodes that must have coordinates."""
DEGREE = 111_320.0
"""Metres of a degree of latitude."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Longitude and latitude in degrees, or x and y in a plane."""

    values: NDArray[np.float64]
    """(n, 2); NaN if unknown."""
    degrees: bool = False

    def __post_init__(self) -> None:
        values = np.asarray(self.values, np.float64)
        if values.ndim != 2 or values.shape[1] != 2:
            raise InputError(f"Coordinates have shape {values.shape}; give two numbers per node.")
        object.__setattr__(self, "values", values)

    def reordered(self, order: NDArray[np.int64]) -> "Coordinates":
        """Return the coordinates of the nodes in another order; `order` holds the node numbers."""
        return Coordinates(self.values[order], self.degrees)

    def projected(self) -> NDArray[np.float64]:
        """Return places in a plane, (n, 2): metres east and north if they are on the globe, else as they are."""
        if not self.degrees:
            return self.values
        latitude = np.radians(np.nanmean(self.values[:, 1]))
        metres: NDArray[np.float64] = self.values * DEGREE * np.array([np.cos(latitude), 1.0])
        return metres


def find_coordinates(features: FeatureTable) -> Coordinates | None:
    """Return the coordinates in a table: two columns of numbers with usual names; None if there are none."""
    names = {column.name.strip().lower(): column.name for column in features.columns if column.kind == "number"}
    for pair in (*DEGREES, *PLANE):
        if not set(pair) <= names.keys():
            continue
        values = np.column_stack([features.decoded(names[name]) for name in pair]).astype(np.float64)
        known = np.isfinite(values).all(axis=1)
        if known.mean() < ENOUGH or not np.ptp(values[known], axis=0).any():
            continue
        if pair in PLANE:
            return Coordinates(values)
        if (np.abs(values[known]) <= (180, 90)).all():
            return Coordinates(values, degrees=True)
    return None
