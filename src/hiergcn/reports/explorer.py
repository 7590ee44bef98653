"""The explorer: the hierarchy as a tree, its layout from the coarsest level down, and its data packed into text.

Members of a hyper-node have consecutive numbers. If the model's coarsest level is too large for an overview, coarser
levels are added for display.

A node of weight w has a disc of radius `RADIUS` sqrt(w), so all levels cover the same area. The coarsest level has a
force-directed layout. The members of a hyper-node lie on a sunflower spiral in its disc, rotated towards their
neighbours outside; then overlapping discs are pushed apart. Every step is linear in nodes and edges and deterministic.

Numbers are little-endian typed arrays, concatenated, deflated and encoded in base64, so no name can end the script
element. A level with more than `WHOLE_EDGES` edges keeps the strongest edge of each node. If there are many classes,
each node keeps its most probable ones.
"""

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from hiergcn.coarsening import CoarsenConfig, Hierarchy, coarsen
from hiergcn.reports.classes import class_order
from hiergcn.reports.headline import UNSURE
from hiergcn.reports.leaderboard import evaluated_parts
from hiergcn.reports.palette import value_ends, value_names

if TYPE_CHECKING:
    from hiergcn.run.run import Run

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Positions = npt.NDArray[np.complex128]  # x + iy

RADIUS = 0.62
"""Radius of a disc of weight 1; with it, discs cover about 40 % of the area."""
GAP = 1.12
"""Discs are pushed apart to this multiple of the distance at which they touch."""
SPREAD = 1.25
"""Size of the coarsest level's ellipse, relative to that which the discs would just fill."""
ASPECT = 1.5
"""Width of the ellipse relative to its height; screens are wide."""
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
FORCE_ROUNDS = 200
FORCE_NODES = 1000
"""Forces act on this many nodes of the coarsest level, the heaviest; the rest surround them on a spiral."""
OVERVIEW = 400
"""Maximal number of hyper-nodes at the coarsest level shown."""
MAX_SIZE_RATIO = 0.95
"""An added level must be smaller than this share of the previous one."""
MAX_ADDED_LEVELS = 16
WHOLE_EDGES = 150_000
LARGE = 200_000
"""Larger graphs keep two classes per node, probabilities in 8 bits, and no places of the nodes in the hierarchy."""
KEPT_CLASSES = 8
PARTS = ("", "train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Tree:
    """Levels, finest first. The members of hyper-node k of level l + 1 are `first[l][k]` to `first[l][k + 1]`."""

    adjacency: tuple[sp.csr_array, ...]  # (n_l, n_l), no diagonal
    weight: tuple[npt.NDArray[np.int64], ...]  # (n_l,)
    parent: tuple[npt.NDArray[np.int32], ...]  # (n_l,), ascending; not for the coarsest level
    order: npt.NDArray[np.int64]
    """(n_0,): the number of each node of level 0 in the run's files."""
    model_levels: int
    """Number of levels that the model uses; levels from here on are for display only."""

    def first(self, level: int) -> npt.NDArray[np.int64]:
        """Return the first member, in `level`, of each hyper-node of the next level; (n_{l+1} + 1,)."""
        members = np.bincount(self.parent[level], minlength=len(self.weight[level + 1]))
        return np.concatenate(([0], np.cumsum(members)))

    @classmethod
    def from_hierarchy(cls, hierarchy: Hierarchy, model_levels: int) -> Self:
        """Renumber the nodes of a hierarchy, and add coarser levels if needed."""
        adjacency = [level.adjacency for level in hierarchy.levels]
        weight = [level.node_weight for level in hierarchy.levels]
        group = [level.grouping() for level in hierarchy.levels[:-1]]
        if adjacency[-1].shape[0] > OVERVIEW:
            # two-hop grouping also halves star-like graphs, in which matching along edges finds few pairs
            config = CoarsenConfig(strategy="two-hop", isolated="merge")
            for finer, coarser in pairwise(coarsen(adjacency[-1], MAX_ADDED_LEVELS, config).levels):
                if finer.n_nodes <= OVERVIEW or coarser.n_nodes > MAX_SIZE_RATIO * finer.n_nodes:
                    break  # small enough, or it hardly shrinks
                adjacency.append(coarser.adjacency)
                group.append(finer.grouping())
                weight.append(np.bincount(group[-1], weights=weight[-1]).astype(np.int64))
        orders, parents = [np.arange(len(weight[-1]))], list[npt.NDArray[np.int32]]()
        for joined, heavy in zip(reversed(group), reversed(weight[:-1]), strict=True):
            parent = np.argsort(orders[0])[joined]  # the new number of each node's hyper-node
            orders.insert(0, np.lexsort((-heavy, parent)))  # the heaviest member comes first
            parents.insert(0, parent[orders[0]].astype(np.int32))
        renumbered = []
        for matrix, order in zip(adjacency, orders, strict=True):
            entries, number = matrix.tocoo(), np.argsort(order)
            keep = entries.row != entries.col
            ends = number[entries.row[keep]], number[entries.col[keep]]
            renumbered.append(sp.csr_array((entries.data[keep], ends), shape=matrix.shape))
        weights = tuple(heavy[order] for heavy, order in zip(weight, orders, strict=True))
        return cls(tuple(renumbered), weights, tuple(parents), orders[0], model_levels)


def layout(tree: Tree) -> list[Positions]:
    """Return the position of every node at every level, finest first."""
    adjacency, weight = tree.adjacency[-1], tree.weight[-1].astype(float)
    heavy = np.argsort(-weight, kind="stable")[:FORCE_NODES]
    radius = np.sqrt(weight)
    coarsest = _spiral(weight, np.zeros(len(weight), dtype=np.int64), np.array([weight.sum()]))
    coarsest[heavy] = _by_forces(adjacency[heavy][:, heavy].toarray().astype(np.float64), radius[heavy])
    rest = np.setdiff1d(np.arange(len(weight)), heavy)
    if len(rest):
        edge = np.abs(coarsest[heavy]).max() + radius[heavy].max()
        outward = np.sqrt(edge**2 + 2 * np.cumsum(weight[rest]))
        coarsest[rest] = outward * np.exp(1j * GOLDEN_ANGLE * np.arange(len(rest)))
    positions = [pushed_apart(coarsest, GAP * RADIUS * radius, rounds=120)]
    for level in reversed(range(len(tree.parent))):
        positions.append(_members(tree, level, positions[-1]))
    return positions[::-1]


def _by_forces(adjacency: Floats, radius: Floats) -> Positions:
    """Lay nodes out by springs along edges, repulsion by size, and a weak pull of all nodes to the centre."""
    n = len(radius)
    if n == 1:
        return np.zeros(1, dtype=complex)
    degree = np.maximum(adjacency.sum(axis=1), 1e-100)
    expected = np.outer(degree, degree) / degree.sum()  # in a dense graph only edges stronger than expected attract
    spring = np.sqrt(np.maximum(adjacency - expected, 0) / np.sqrt(np.outer(degree, degree)))
    scale = np.sqrt((radius**2).sum())  # radius of one disc with the area of all
    positions = _spectral(spring) * scale
    size = np.outer(radius, radius)
    rounds = FORCE_ROUNDS if n <= OVERVIEW else FORCE_ROUNDS // 4
    for round_ in range(rounds):
        apart = positions[:, None] - positions[None, :]
        distance = np.maximum(np.abs(apart), 1e-3 * scale / n)
        push = size / distance**2  # Fruchterman and Reingold's repulsion, weighted by area
        pull = spring * distance / scale
        force = (apart * (push - pull)).sum(axis=1) / radius - 0.8 * positions / scale * radius
        step = 0.12 * scale * (1 - round_ / rounds)
        positions = positions + force * np.minimum(1.0, step / np.maximum(np.abs(force), 1e-12))
    positions = positions - np.average(positions, weights=radius**2)
    # Forces leave a crowded centre and single nodes far out, which wastes the page's space: keep the directions, and
    # change the distances from the centre so that the discs fill a circle evenly.
    distance = np.abs(positions)
    order = np.argsort(distance, kind="stable")
    filled = np.empty_like(distance)
    filled[order] = SPREAD * np.sqrt(np.cumsum(radius[order] ** 2) - radius[order] ** 2 / 2)
    even = positions * (filled / np.maximum(distance, 1e-12))
    wide: Positions = np.sqrt(ASPECT) * even.real + 1j * even.imag / np.sqrt(ASPECT)
    return wide


def _spectral(similarity: Floats) -> Positions:
    """Return two eigenvectors of the normalised Laplacian as positions; a small spiral separates equal ones.

    They are the first beyond those that tell components apart, any mixture of which the solver may return. Digits that
    depend on its threads are rounded away, so that every machine draws the same picture.
    """
    n, degree = len(similarity), similarity.sum(axis=1)
    scale = 1 / np.sqrt(np.maximum(degree, 1e-12))
    values, vectors = np.linalg.eigh(np.eye(n) - similarity * np.outer(scale, scale) * (degree > 0))
    first = min(int(np.searchsorted(values, 1e-8)), n - 2)
    pair = vectors[:, first : first + 2].round(9)
    largest = pair[np.abs(pair).argmax(axis=0), [0, 1]]  # of each; its sign, which is arbitrary, becomes positive
    positions: Positions = (pair * np.sign(largest) / np.maximum(np.abs(largest), 1e-12)) @ np.array([1, 1j])
    node = np.arange(n)
    positions += 0.5 * np.sqrt((node + 0.5) / n) * np.exp(1j * GOLDEN_ANGLE * node)
    return positions


def _members(tree: Tree, level: int, around: Positions) -> Positions:
    """Place the nodes of `level` around their hyper-nodes, whose positions are `around`."""
    parent, weight = tree.parent[level], tree.weight[level].astype(float)
    total = tree.weight[level + 1].astype(float)
    first, adjacency, there = tree.first(level)[:-1], tree.adjacency[level], around[parent]
    spiral = _spiral(weight, first[parent], total[parent])
    spiral -= (_sums(weight * spiral, parent, len(total)) / total)[parent]
    outside = np.asarray(adjacency @ there - adjacency.sum(axis=1) * there)  # towards the neighbours' hyper-nodes
    length = np.abs(outside)
    outside = np.divide(outside, length, out=np.zeros_like(outside), where=length > 0)
    rotation = _sums(np.conj(spiral) * outside, parent, len(total))  # the best, in closed form
    length = np.abs(rotation)
    rotation = np.divide(rotation, length, out=np.ones_like(rotation), where=length > 0)
    rounds = 30 if len(weight) <= 50_000 else 6
    return pushed_apart(there + spiral * rotation[parent], GAP * RADIUS * np.sqrt(weight), rounds)


def _spiral(weight: Floats, first: Ints, total: Floats) -> Positions:
    """Return a sunflower spiral for each run of nodes that starts at `first`, in a disc of area pi `total`."""
    summed = np.cumsum(weight)
    inside = summed - weight / 2 - (summed - weight)[first]
    places: Positions = np.sqrt(inside) * np.exp(1j * GOLDEN_ANGLE * (np.arange(len(weight)) - first))
    places[total == weight] = 0  # an only member keeps its hyper-node's position
    return places


def _sums(values: Positions, group: npt.NDArray[np.integer], n: int) -> Positions:
    real, imaginary = (np.bincount(group, weights=part, minlength=n) for part in (values.real, values.imag))
    return np.asarray(real + 1j * imaginary, np.complex128)


def pushed_apart(positions: Positions, radius: Floats, rounds: int) -> Positions:
    """Move overlapping discs away from each other, round by round; the few largest count as the 99th percentile."""
    from scipy.spatial import cKDTree

    wide = 2 * float(np.quantile(radius, 0.99) if len(radius) > 1000 else radius.max())
    radius = np.minimum(radius, wide / 2)
    for _ in range(rounds):
        i, j = cKDTree(np.column_stack([positions.real, positions.imag])).query_pairs(wide, output_type="ndarray").T
        touch = np.abs(positions[i] - positions[j]) < radius[i] + radius[j]
        i, j = np.concatenate([i[touch], j[touch]]), np.concatenate([j[touch], i[touch]])
        apart = positions[i] - positions[j]
        distance = np.abs(apart)
        overlap, same = radius[i] + radius[j] - distance, distance <= 1e-9
        away = 0.8 * apart / np.maximum(distance, 1e-9)
        away[same] = np.exp(1j * i[same])
        share = radius[j] / (radius[i] + radius[j])  # the larger disc moves less
        push = _sums(away * overlap * share, i, len(positions))
        positions = positions + push
        if np.abs(push).max() < 1e-3 * wide:
            break
    return positions


def principal_components(probabilities: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Return the first two principal components of the log-probabilities, (n, 2)."""
    logits = np.log(np.maximum(probabilities.astype(np.float64), 1e-4))
    centred = logits - logits.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    main = vectors[:, ::-1][:, :2]
    main = main * np.where(main[np.abs(main).argmax(axis=0), np.arange(main.shape[1])] < 0, -1, 1)
    components: npt.NDArray[np.float64] = centred @ main
    return components


class ExplorerData(NamedTuple):
    """Texts of the page's data elements. `manifest` says how to read the other two."""

    manifest: dict[str, Any]
    arrays: str
    ids: str


def explorer_data(run: "Run", tree: Tree, positions: Sequence[Positions], colours: Sequence[str]) -> ExplorerData:
    """Pack a run, the tree of its hierarchy, the tree's layout and the colours of the classes."""
    arrays, about = (_numbers if "target" in run.scores else _classes)(run, tree)
    levels, table = [], run.table.iloc[tree.order]
    arrays["part"] = table["split"].map({name: k for k, name in enumerate(PARTS)}).fillna(0).to_numpy(np.uint8)
    every, extent = _in_unit_square(np.concatenate(positions))
    for level, place in enumerate(np.split(every, np.cumsum([len(p) for p in positions])[:-1])):
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
            arrays["own"] = shares.diagonal().astype(np.float32)
            arrays["byHyperNodes"] = run.votes.by_hyper_nodes[tree.order]
        levels.append({"nodes": len(place), "edges": n_edges, "kept": len(source)})
    ids = table["id"].astype(str).tolist()
    for name, advice in (("doubt", run.doubtful), ("suggested", run.suggestions)):
        if advice is not None and len(advice):  # its rank from 1; 0 for the other nodes
            arrays[name] = np.zeros(len(ids), np.uint32)
            arrays[name][pd.Index(ids).get_indexer(pd.Index(advice["id"].astype(str)))] = np.arange(1, len(advice) + 1)
    places = _places(run, tree)
    for name, (_, spots) in places.items():
        arrays |= {f"{name}X": _coordinate(spots.real), f"{name}Y": _coordinate(spots.imag)}
    manifest = {
        "arrays": [[name, array.dtype.str[1:], len(array)] for name, array in arrays.items()],
        "levels": levels,
        "modelLevels": tree.model_levels,
        "radius": RADIUS / extent * min(1.0, max(0.5, np.sqrt(len(ids) / 200))),  # few nodes need no large discs
        "colours": list(colours),
        "unsure": UNSURE,
        **about,
        "evaluatedParts": evaluated_parts(run.scores),
        "places": [(name, name, unit) for name, (unit, _) in places.items()],
        "run": run.name,
        "votes": "own" in arrays,
        "hyperNodesVote": run.votes is not None and run.votes.hyper_nodes_vote,
    }
    packed = b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays.values())
    return ExplorerData(manifest, _packed(packed), _packed(json.dumps(ids, ensure_ascii=False).encode()))


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9 if len(content) < 2_000_000 else 6)).decode("ascii")


def _classes(run: "Run", tree: Tree) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the most probable classes of each node with their confidence, its label, and what the script must know."""
    names, scores = run.config["class_names"], run.scores["per_class"]
    probabilities = run.confidence[tree.order]
    n, classes = probabilities.shape
    kept = min(classes, 2 if n >= LARGE else KEPT_CLASSES)
    best = np.argsort(-probabilities, axis=1, kind="stable")[:, :kept]
    chances = np.take_along_axis(probabilities, best, axis=1)
    small, (steps, kind) = np.min_scalar_type(classes), (255, np.uint8) if n >= LARGE else (65535, np.uint16)
    arrays: dict[str, Array] = {}
    for rank in range(kept):
        arrays[f"class{rank}"] = best[:, rank].astype(small)
        arrays[f"probability{rank}"] = np.rint(steps * chances[:, rank]).astype(kind)
    arrays["label"] = (1 + pd.Index(names).get_indexer(pd.Index(run.table["label"].iloc[tree.order]))).astype(
        small
    )  # 0: unknown
    about = {"classes": names, "order": class_order(scores["classes"]), "keptClasses": kept, "numbers": None}
    return arrays, {**about, "evaluated": scores["on"]}


def _numbers(run: "Run", tree: Tree) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the predicted and the true number of each node, the ranges that they are in, and the same."""
    table, metrics = run.table.iloc[tree.order], run.scores
    value, truth = table["predicted"].to_numpy(np.float32), table["value"].to_numpy(np.float32)
    ends = value_ends(run.table["predicted"].to_numpy(float))
    ranges = [np.searchsorted(ends[1:-1], numbers, "right").astype(np.uint8) for numbers in (value, truth)]
    label = np.where(np.isfinite(truth), 1 + ranges[1], 0).astype(np.uint8)  # 0: unknown
    (on,) = evaluated_parts(metrics)
    numbers = {
        "target": metrics["target"],
        "ends": ends[1:-1].tolist(),
        "large": metrics["delivered_rmse" if on == "test" else "delivered_val_rmse"],
        "half": (metrics["prediction_intervals"] or {}).get("half_width"),
    }
    about = {"classes": value_names(ends), "order": list(range(len(ends) - 1)), "keptClasses": 0, "numbers": numbers}
    return {"class0": ranges[0], "label": label, "value": value, "truth": truth}, {**about, "evaluated": on}


def _coordinate(share: npt.NDArray[np.float64]) -> Array:
    """Return 16 bits, as differences modulo 2^16: neighbours in the tree are near each other, which compresses well."""
    return np.diff(np.rint(65535 * share).astype(np.uint16), prepend=np.uint16(0))


def _places(run: "Run", tree: Tree) -> dict[str, tuple[float, Positions]]:
    """Return arrangements beside the hierarchy: metres per unit, and places of the nodes in the unit square."""
    places = {}
    if run.coordinates is not None:
        spots: Positions = run.coordinates.projected()[tree.order] @ np.array([1, 1j])
        known, linked = np.isfinite(spots), tree.adjacency[0].astype(bool)
        number = linked @ known.astype(float)  # an unknown place is among those of its neighbours, or in the middle
        near = (linked @ np.where(known, spots, 0)) / np.maximum(number, 1)
        spots = np.where(known, spots, np.where(number > 0, near, spots[known].mean()))
        square, wide = _in_unit_square(spots)
        places["map"] = wide if run.coordinates.degrees else 0.0, square
    if len(tree.order) < LARGE and run.probabilities.shape[1] > 2:  # two classes have one probability
        components = principal_components(run.probabilities)[tree.order]
        places["prediction"] = 0.0, _in_unit_square(components @ np.array([1, 1j]))[0]
    return places


def _in_unit_square(places: Positions) -> tuple[Positions, float]:
    """Return places moved and scaled alike on both axes, and the length of the square in the old unit."""
    low = complex(places.real.min(), places.imag.min())
    wide = float(max(np.ptp(places.real), np.ptp(places.imag))) or 1.0
    return (places - low) / wide, wide


def _kept_edges(adjacency: sp.csr_array) -> tuple[Array, Array, Array]:
    """Return source, target (the larger number) and weight of each edge that the page keeps, sorted."""
    entries = adjacency.tocoo()
    source: Array = entries.row
    target: Array = entries.col
    weight: Array = entries.data
    if adjacency.nnz // 2 > WHOLE_EDGES:  # the strongest of each node; of equals the nearest in tree order
        for by_weight in (True, False):
            values = -weight if by_weight else 2 * np.abs(target - source) + (target > source)
            starts = np.flatnonzero(np.diff(source, prepend=-1))
            best = np.repeat(np.minimum.reduceat(values, starts), np.diff(starts, append=len(values)))
            source, target, weight = (array[values == best] for array in (source, target, weight))
    pair = np.minimum(source, target) * np.int64(adjacency.shape[0]) + np.maximum(source, target)
    pairs, where = np.unique(pair, return_index=True)
    return pairs // adjacency.shape[0], pairs % adjacency.shape[0], weight[where]
