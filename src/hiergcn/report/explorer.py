"""What the explorer in the page reads: the tree, its layout and the predictions, packed into text.

Numbers are little-endian typed arrays, one after the other, deflated and written in base64, which no name can break out
of. Coarse levels come whole. The edges of a level with more than `WHOLE_EDGES` are thinned to the strongest of each
node; of very many classes only the likeliest of a node are kept.
"""

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiergcn.compiled.jit import kernel
from hiergcn.evaluate.calibration import Temperature
from hiergcn.explain.votes import Votes
from hiergcn.report.graph_layout import RADIUS, Positions
from hiergcn.report.palette import class_colours
from hiergcn.report.tree import Tree
from hiergcn.run.folder import LoadedRun

WHOLE_EDGES = 150_000
LARGE = 200_000
"""Nodes from which on probabilities are kept in 255 steps, and of two classes only."""
LIKELIEST = 8
PARTS = ("", "train", "validation", "test")

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ExplorerData:
    """Three texts for the page; `manifest` says how to read the others."""

    manifest: dict[str, Any]
    arrays: str
    ids: str


def explorer_data(run: LoadedRun, tree: Tree, positions: Sequence[Positions]) -> ExplorerData:
    """The data of a run whose hierarchy was made into `tree` and laid out at `positions`."""
    names = run.config["class_names"]
    arrays = _predictions(run, tree)
    levels = []
    low = complex(min(p.real.min() for p in positions), min(p.imag.min() for p in positions))
    extent = max(max(np.ptp(p.real), np.ptp(p.imag)) for p in positions) or 1.0
    for level, place in enumerate(positions):
        edges = _kept_edges(tree.adjacency[level])
        arrays |= _level_arrays(tree, level, (place - low) / extent, edges)
        if level == 0 and run.votes is not None and len(edges[0]) == tree.adjacency[0].nnz // 2:
            arrays |= _votes(run.votes, tree, edges)
        n_edges = tree.adjacency[level].nnz // 2
        levels.append({"nodes": len(place), "edges": n_edges, "kept": len(edges[0])})
    predicted = np.bincount(run.probabilities.argmax(axis=1), minlength=len(names))
    manifest = {
        "arrays": [[name, array.dtype.str[1:], len(array)] for name, array in arrays.items()],
        "levels": levels,
        "modelLevels": tree.model_levels,
        "radius": RADIUS / extent,
        "likeliest": sum(name.startswith("class") for name in arrays),
        "classes": names,
        "colours": class_colours(predicted.tolist()),
        "judged": "test" if (run.predictions["split"] == "test").any() else "validation",
        "run": run.path.resolve().name,
        "votes": "own" in arrays,
        "hyperNodesVote": run.votes is not None and run.votes.beside,
    }
    ids = run.predictions["id"].to_numpy(dtype=object)[tree.order].tolist()
    packed = b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays.values())
    return ExplorerData(manifest, _packed(packed), _packed(json.dumps(ids, ensure_ascii=False).encode()))


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9 if len(content) < 2_000_000 else 6)).decode("ascii")


def _predictions(run: LoadedRun, tree: Tree) -> dict[str, Array]:
    """Of each node: its likeliest classes with their calibrated probabilities, its label and its part of the split."""
    names = {name: number for number, name in enumerate(run.config["class_names"])}
    calibration = run.metrics.get("calibration") or {}
    probabilities = Temperature(calibration.get("temperature") or 1.0).of(run.probabilities[tree.order])
    n, classes = probabilities.shape
    kept = min(classes, 2 if n >= LARGE else LIKELIEST)
    likeliest = np.argsort(-probabilities, axis=1, kind="stable")[:, :kept]
    steps, kind = (255, np.uint8) if n >= LARGE else (65535, np.uint16)
    small: npt.DTypeLike = np.uint8 if classes < 255 else np.uint16
    arrays: dict[str, Array] = {}
    for rank in range(kept):
        arrays[f"class{rank}"] = likeliest[:, rank].astype(small)
        chance = np.take_along_axis(probabilities, likeliest[:, rank : rank + 1], axis=1)[:, 0]
        arrays[f"probability{rank}"] = np.rint(steps * chance).astype(kind)
    table = run.predictions.iloc[tree.order]
    arrays["label"] = table["label"].map(names).fillna(-1).to_numpy(np.int32).__add__(1).astype(small)  # 0: unknown
    part = {name: number for number, name in enumerate(PARTS)}
    arrays["part"] = table["split"].map(part).fillna(0).to_numpy(np.uint8)
    return arrays


def _level_arrays(tree: Tree, level: int, place: Positions, edges: tuple[Array, Array, Array]) -> dict[str, Array]:
    """`place` lies in the unit square. Numbers that ascend are kept as differences, which deflate far better."""
    source, target, strength = edges
    arrays: dict[str, Array] = {
        f"x{level}": np.rint(65535 * place.real).astype(np.uint16),
        f"y{level}": np.rint(65535 * place.imag).astype(np.uint16),
        f"source{level}": np.diff(source, prepend=0).astype(np.uint32),
        f"target{level}": (target - source).astype(np.uint32),
        f"strength{level}": strength.astype(np.float32),
    }
    if level > 0:
        arrays[f"members{level}"] = np.diff(tree.first(level - 1)).astype(np.uint32)
    return arrays


def _votes(votes: Votes, tree: Tree, edges: tuple[Array, Array, Array]) -> dict[str, Array]:
    """What the ends of each edge add to each other's score, what a node adds to its own, and the hyper-nodes' part."""
    shares = votes.shares[tree.order][:, tree.order]
    source, target, _ = edges
    return {
        "toSource": np.asarray(shares[source, target]).astype(np.float32),
        "toTarget": np.asarray(shares[target, source]).astype(np.float32),
        "own": shares.diagonal().astype(np.float32),
        "byHyperNodes": votes.by_hyper_nodes[tree.order],
    }


def _kept_edges(adjacency: sp.csr_array) -> tuple[Array, Array, Array]:
    """Source, target (the greater) and weight of each edge that the page holds, by source and target."""
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
    """The heaviest neighbour of each row, the nearest in tree order where several are."""
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
