"""Data of the explorer: the tree, its layout and the predictions, packed into text.

Numbers are little-endian typed arrays, concatenated, deflated and encoded in base64, so no name can end the script
element. A level with more than `WHOLE_EDGES` edges keeps the strongest edge of each node. If there are many classes,
each node keeps its most probable ones.
"""

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from hiergcn.compiled.jit import kernel
from hiergcn.reports.classes import class_order
from hiergcn.reports.figures import principal_components, value_ends, value_names
from hiergcn.reports.headline import UNSURE
from hiergcn.reports.shown import ShownRun, evaluated_parts
from hiergcn.reports.tree_layout import RADIUS, Positions, Tree

WHOLE_EDGES = 150_000
LARGE = 200_000
"""Larger graphs keep two classes per node, probabilities in 8 bits, and no places of the nodes in the hierarchy."""
KEPT_CLASSES = 8
PARTS = ("", "train", "validation", "test")

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ExplorerData:
    """Texts of the page's data elements. `manifest` says how to read the other two."""

    manifest: dict[str, Any]
    arrays: str
    ids: str


def explorer_data(run: ShownRun, tree: Tree, positions: Sequence[Positions], colours: Sequence[str]) -> ExplorerData:
    """Pack a run, the tree of its hierarchy, the tree's layout and the colours of the classes."""
    (arrays, about), levels = (_numbers if "target" in run.scores else _classes)(run, tree), list[dict[str, int]]()
    low = complex(min(p.real.min() for p in positions), min(p.imag.min() for p in positions))
    extent = max(max(np.ptp(p.real), np.ptp(p.imag)) for p in positions) or 1.0
    for level, position in enumerate(positions):
        place = (position - low) / extent  # in the unit square
        source, target, strength = _kept_edges(tree.adjacency[level])
        if level or len(place) < LARGE:  # the script puts the nodes of a large graph around their hyper-nodes
            arrays |= {f"x{level}": _coordinate(place.real), f"y{level}": _coordinate(place.imag)}
        arrays |= {  # differences compress better than numbers
            f"source{level}": np.diff(source, prepend=0).astype(np.uint32),
            f"target{level}": (target - source).astype(np.uint32),
            f"strength{level}": strength.astype(np.float32),
        }
        if level > 0:
            arrays[f"members{level}"] = np.diff(tree.first(level - 1)).astype(np.uint32)
        n_edges = tree.adjacency[level].nnz // 2
        if level == 0 and run.votes is not None and len(source) == n_edges:
            shares = run.votes.shares[tree.order][:, tree.order]
            for name, rows, columns in (("toSource", source, target), ("toTarget", target, source)):
                # of the edges in both directions; without any, scipy would return a matrix
                arrays[name] = np.asarray(shares[rows, columns] if rows.size else (), dtype=np.float32)
            arrays |= {
                "own": shares.diagonal().astype(np.float32),
                "byHyperNodes": run.votes.by_hyper_nodes[tree.order],
            }
        levels.append({"nodes": len(place), "edges": n_edges, "kept": len(source)})
    ids = [str(name) for name in run.table["id"].to_numpy(dtype=object)[tree.order]]
    for name, advice in (("doubt", run.doubtful), ("suggested", run.suggestions)):
        if advice is not None and len(advice):  # its rank from 1; 0 for the other nodes
            rank = np.zeros(len(ids), np.uint32)
            rank[pd.Index(ids).get_indexer(pd.Index(advice["id"].astype(str)))] = np.arange(1, len(advice) + 1)
            arrays[name] = rank
    places = _places(run, tree)
    for name, (_, _, spots) in places.items():
        arrays |= {f"{name}X": _coordinate(spots.real), f"{name}Y": _coordinate(spots.imag)}
    manifest = {
        "arrays": [[name, array.dtype.str[1:], len(array)] for name, array in arrays.items()],
        "levels": levels,
        "modelLevels": tree.model_levels,
        "radius": RADIUS / extent * min(1.0, max(0.5, np.sqrt(len(tree.order) / 200))),  # few nodes need no large discs
        "colours": list(colours),
        "unsure": UNSURE,
        **about,
        "places": [(name, title, unit) for name, (title, unit, _) in places.items()],
        "run": run.name,
        "votes": "own" in arrays,
        "hyperNodesVote": run.votes is not None and run.votes.hyper_nodes_vote,
    }
    packed = b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays.values())
    return ExplorerData(manifest, _packed(packed), _packed(json.dumps(ids, ensure_ascii=False).encode()))


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9 if len(content) < 2_000_000 else 6)).decode("ascii")


def _classes(run: ShownRun, tree: Tree) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the most probable classes of each node with their confidence, its label and its part of the split.

    The second value is what the script must know of them.
    """
    names = {name: number for number, name in enumerate(run.config["class_names"])}
    probabilities = run.confidence[tree.order]
    n, classes = probabilities.shape
    kept = min(classes, 2 if n >= LARGE else KEPT_CLASSES)
    best = np.argsort(-probabilities, axis=1, kind="stable")[:, :kept]
    steps, kind = (255, np.uint8) if n >= LARGE else (65535, np.uint16)
    small: npt.DTypeLike = np.uint8 if classes < 255 else np.uint16
    arrays: dict[str, Array] = {}
    for rank in range(kept):
        arrays[f"class{rank}"] = best[:, rank].astype(small)
        chance = np.take_along_axis(probabilities, best[:, rank : rank + 1], axis=1)[:, 0]
        arrays[f"probability{rank}"] = np.rint(steps * chance).astype(kind)
    table = run.table.iloc[tree.order]
    arrays["label"] = (table["label"].map(names).fillna(-1).to_numpy(np.int32) + 1).astype(small)  # 0: unknown
    arrays["part"] = _parts(table)
    on = run.scores["per_class"]["on"]
    order = class_order(run.scores["per_class"]["classes"])
    about = {"classes": run.config["class_names"], "order": order, "keptClasses": kept, "numbers": None}
    return arrays, {**about, "evaluated": on, "evaluatedParts": evaluated_parts(run.scores)}


def _parts(table: pd.DataFrame) -> Array:
    parts = {name: number for number, name in enumerate(PARTS)}
    return table["split"].map(parts).fillna(0).to_numpy(np.uint8)


def _numbers(run: ShownRun, tree: Tree) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the predicted and the true number of each node, the ranges that they are in, and its part of the split."""
    table, metrics = run.table.iloc[tree.order], run.scores
    value, truth = table["predicted"].to_numpy(np.float32), table["value"].to_numpy(np.float32)
    ends = value_ends(run.table["predicted"].to_numpy(float))
    known = np.isfinite(truth)
    arrays = {
        "class0": np.searchsorted(ends[1:-1], value, "right").astype(np.uint8),
        "label": np.where(known, 1 + np.searchsorted(ends[1:-1], truth, "right"), 0).astype(np.uint8),  # 0: unknown
        "part": _parts(table),
        "value": value,
        "truth": truth,
    }
    (on,) = evaluated_parts(metrics)
    large = metrics["delivered_rmse" if on == "test" else "delivered_val_rmse"]
    numbers = {
        "target": metrics["target"],
        "ends": ends[1:-1].tolist(),
        "large": large,
        "half": (metrics["prediction_intervals"] or {}).get("half_width"),
    }
    about = {"classes": value_names(ends), "order": list(range(len(ends) - 1)), "keptClasses": 0, "numbers": numbers}
    return arrays, {**about, "evaluated": on, "evaluatedParts": (on,)}


def _coordinate(share: npt.NDArray[np.float64]) -> Array:
    """Return 16 bits, as differences modulo 2^16: neighbours in the tree are near each other, which compresses well."""
    return np.diff(np.rint(65535 * share).astype(np.uint16), prepend=np.uint16(0))


def _places(run: ShownRun, tree: Tree) -> dict[str, tuple[str, float, Positions]]:
    """Return arrangements beside the hierarchy: title, metres per unit, and places of the nodes in the unit square."""
    found = {}
    if run.coordinates is not None:
        spots: Positions = run.coordinates.projected()[tree.order] @ np.array([1, 1j])
        known, linked = np.isfinite(spots), tree.adjacency[0].astype(bool)
        number = linked @ known.astype(float)  # an unknown place is among those of its neighbours, or in the middle
        near = (linked @ np.where(known, spots, 0)) / np.maximum(number, 1)
        spots = np.where(known, spots, np.where(number > 0, near, spots[known].mean()))
        places, wide = _in_unit_square(spots)
        found["map"] = ("map", wide if run.coordinates.degrees else 0.0, places)
    if len(tree.order) < LARGE and run.probabilities.shape[1] > 2:  # two classes have one probability
        components = principal_components(run.probabilities)[tree.order]
        found["prediction"] = ("prediction", 0.0, _in_unit_square(components @ np.array([1, 1j]))[0])
    return found


def _in_unit_square(places: Positions) -> tuple[Positions, float]:
    """Return places moved and scaled alike on both axes, and the length of the square in the old unit."""
    low = complex(places.real.min(), places.imag.min())
    wide = float(max(np.ptp(places.real), np.ptp(places.imag))) or 1.0
    return (places - low) / wide, wide


def _kept_edges(adjacency: sp.csr_array) -> tuple[Array, Array, Array]:
    """Return source, target (the larger number) and weight of each edge that the page keeps, sorted."""
    n = adjacency.shape[0]
    if adjacency.nnz // 2 <= WHOLE_EDGES:
        source = np.repeat(np.arange(n), np.diff(adjacency.indptr))
        target, weight = adjacency.indices, adjacency.data
    else:
        source = np.flatnonzero(np.diff(adjacency.indptr))
        target, weight = _strongest(adjacency.indptr, adjacency.indices, adjacency.data, source)
    pair = np.minimum(source, target) * np.int64(n) + np.maximum(source, target)
    pair, where = np.unique(pair, return_index=True)
    return pair // n, pair % n, weight[where]


@kernel
def _strongest(indptr: Array, indices: Array, data: Array, rows: Array) -> tuple[Array, Array]:
    """Return the heaviest neighbour of each row and its weight; ties go to the nearest in tree order."""
    target = np.empty(len(rows), dtype=np.int64)
    weight = np.empty(len(rows))
    for k in range(len(rows)):
        i = rows[k]
        best = indptr[i]
        for at in range(indptr[i] + 1, indptr[i + 1]):
            nearer = abs(indices[at] - i) < abs(indices[best] - i)
            if data[at] > data[best] or (data[at] == data[best] and nearer):
                best = at
        target[k], weight[k] = indices[best], data[best]
    return target, weight
