"""Draw the README's picture: a part of Cora, coarsened level by level.

python scripts/draw_hierarchy.py docs/images/hierarchy.png
"""

import sys
from pathlib import Path

import networkx as nx
import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from hiergcn.coarsen import Hierarchy, coarsen
from hiergcn.datasets import load_dataset

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C")  # Okabe and Ito
NODES = 420


def part_of_cora() -> tuple[sp.csr_array, np.ndarray, tuple[str, ...]]:
    """Return the nodes nearest to a well-connected paper: adjacency, labels and class names."""
    graph = load_dataset("cora").graph
    assert graph.labels is not None
    start = int(np.argsort(np.diff(graph.adjacency.indptr))[-6])
    steps = sp.csgraph.shortest_path(graph.adjacency, indices=start, unweighted=True)
    nodes = np.sort(np.argsort(steps, kind="stable")[:NODES])
    return sp.csr_array(graph.adjacency[nodes][:, nodes]), graph.labels[nodes], graph.class_names


def draw_level(
    axes: Axes, hierarchy: Hierarchy, level: int, place: np.ndarray, labels: np.ndarray, classes: int
) -> None:
    """Draw hyper-nodes at the mean place of their members, in the colour of most; the area shows their weight."""
    belongs, here = hierarchy.hyper_nodes(level), hierarchy.levels[level]
    weight = here.node_weight
    centre = np.stack([np.bincount(belongs, place[:, axis]) / weight for axis in (0, 1)], axis=1)
    votes = np.zeros((len(weight), classes))
    np.add.at(votes, (belongs, labels), 1)
    upper = sp.triu(here.adjacency, 1).tocoo()
    lines = LineCollection(
        list(np.stack([centre[upper.row], centre[upper.col]], axis=1)),
        linewidths=0.35 * np.sqrt(upper.data),
        colors="#9aa5b1",
        alpha=0.55,
        zorder=1,
    )
    axes.add_collection(lines)
    colours = [COLOURS[k] for k in votes.argmax(axis=1)]
    axes.scatter(
        centre[:, 0], centre[:, 1], s=11 * weight**0.85, c=colours, edgecolors="white", linewidths=0.5, zorder=2
    )
    axes.set_title(
        f"{'the graph' if level == 0 else f'level {level}'}\n{here.n_nodes} nodes, {here.n_edges} edges",
        fontsize=11,
        color="#1f2933",
    )
    axes.set_axis_off()
    axes.set_aspect("equal")


def main(target: Path) -> None:
    adjacency, labels, names = part_of_cora()
    hierarchy = coarsen(adjacency, 4)
    layout = nx.spring_layout(nx.from_scipy_sparse_array(adjacency), seed=3, iterations=300, k=0.11)
    place = np.array([layout[i] for i in range(len(labels))])
    figure = Figure(figsize=(16, 4.1), facecolor="white", layout="constrained")
    shown = (0, 1, 2, 4)
    for axes, level in zip(figure.subplots(1, len(shown)), shown, strict=True):
        draw_level(axes, hierarchy, level, place, labels, len(names))
    for k in np.unique(labels):
        figure.axes[0].scatter([], [], c=COLOURS[k], s=40, label=names[k].replace("_", " "))
    figure.legend(loc="outside lower center", ncols=7, frameon=False, fontsize=10)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
