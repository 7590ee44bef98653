"""Draw the README's picture: a part of Cora, coarsened level by level.

python scripts/draw_hierarchy.py docs/images/hierarchy.svg
"""

import sys
from html import escape
from pathlib import Path

import networkx as nx
import numpy as np
import scipy.sparse as sp

from hiergcn.coarsening import Hierarchy, coarsen
from hiergcn.datasets import load_dataset
from hiergcn.reports.figures import SIZE, disc_paths, edge_path, scaled
from hiergcn.reports.palette import INK, MUTED, class_colours
from hiergcn.reports.panels import Entry, legend_svg, svg_file

NODES = 420
LEVELS = (0, 1, 2, 4)
GAP = 24


def part_of_cora() -> tuple[sp.csr_array, np.ndarray, tuple[str, ...], list[str]]:
    """Return the nodes nearest to a well-connected paper: adjacency, labels, class names and the colours of classes."""
    graph = load_dataset("cora").graph
    assert graph.labels is not None
    start = int(np.argsort(np.diff(graph.adjacency.indptr))[-6])
    steps = sp.csgraph.shortest_path(graph.adjacency, indices=start, unweighted=True)
    nodes = np.sort(np.argsort(steps, kind="stable")[:NODES])
    colours = class_colours(np.bincount(graph.labels).tolist())  # as in the report
    return sp.csr_array(graph.adjacency[nodes][:, nodes]), graph.labels[nodes], graph.class_names, colours


def level_picture(hierarchy: Hierarchy, level: int, place: np.ndarray, labels: np.ndarray, colours: list[str]) -> str:
    """Draw hyper-nodes at the mean place of their members, in the colour of most; the area shows their weight."""
    belongs, here = hierarchy.hyper_nodes(level), hierarchy.levels[level]
    weight = here.node_weight
    centre = np.bincount(belongs, place.real) / weight + 1j * np.bincount(belongs, place.imag) / weight
    votes = np.zeros((len(weight), len(colours)), np.int64)
    np.add.at(votes, (belongs, labels), 1)
    upper = sp.triu(here.adjacency, 1).tocoo()
    edges = edge_path(np.stack([centre[upper.row], centre[upper.col]], axis=1), 1.4)
    width = np.rint(9 * weight**0.45).astype(int)
    title = "the graph" if level == 0 else f"level {level}"
    sizes, middle = f"{here.n_nodes} nodes, {here.n_edges} edges", f'x="{SIZE / 2}" text-anchor="middle"'
    words = (
        f'<text {middle} y="-34" font-size="26" font-weight="600" fill="{INK}">{title}</text>'
        f'<text {middle} y="-6" font-size="22" fill="{MUTED}">{sizes}</text>'
    )
    return words + edges + disc_paths(centre, width, votes.argmax(axis=1), colours)


def main(target: Path) -> None:
    adjacency, labels, names, colours = part_of_cora()
    hierarchy = coarsen(adjacency, max(LEVELS))
    layout = nx.spring_layout(nx.from_scipy_sparse_array(adjacency), seed=3, iterations=300, k=0.11)
    place, _ = scaled(np.array([complex(*layout[i]) for i in range(len(labels))]), 0.02)
    each = 290
    parts = []
    for k, level in enumerate(LEVELS):
        drawn = level_picture(hierarchy, level, place, labels, colours)
        box = f'x="{k * (each + GAP)}" y="0" width="{each}" height="{each + 35}" viewBox="0 -70 {SIZE} {SIZE + 72}"'
        parts.append(f"<svg {box}>{drawn}</svg>")
    width = len(LEVELS) * each + (len(LEVELS) - 1) * GAP
    seen = [Entry(escape(names[k].replace("_", " ")), colours[k]) for k in np.unique(labels)]
    legend, high = legend_svg(seen, width)
    parts.append(f'<svg y="{each + 45}" width="{width}" height="{high}">{legend}</svg>')
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(svg_file(parts, width, each + 45 + high), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
