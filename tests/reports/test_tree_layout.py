"""Layout of a hierarchy: complete, nested, almost without overlaps, deterministic."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from hiergcn.coarsening import coarsen
from hiergcn.datasets import load_dataset
from hiergcn.reports.explorer import OVERVIEW, RADIUS, Positions, Tree, layout


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree.from_hierarchy(coarsen(load_dataset("cora").graph, 2), 3)


@pytest.fixture(scope="module")
def positions(tree: Tree) -> list[Positions]:
    return layout(tree)


def test_the_tree_is_the_hierarchy_renumbered_with_levels_added_until_it_is_an_overview(tree: Tree) -> None:
    graph = load_dataset("cora").graph
    assert tree.model_levels == 3
    assert len(tree.weight[-1]) <= OVERVIEW < len(tree.weight[-2])
    assert all(weight.sum() == 2708 for weight in tree.weight)
    assert sorted(tree.order) == list(range(graph.n_nodes))
    for level in range(len(tree.parent)):
        assert (np.diff(tree.parent[level]) >= 0).all()  # members have consecutive numbers
        ends = tree.first(level)
        assert ends[-1] == len(tree.weight[level])
        np.testing.assert_array_equal(np.add.reduceat(tree.weight[level], ends[:-1]), tree.weight[level + 1])
    hierarchy = coarsen(graph, 2)
    together = hierarchy.hyper_nodes(2)[tree.order]  # so have the nodes of a hyper-node
    assert np.count_nonzero(np.diff(together)) == hierarchy.levels[2].n_nodes - 1
    assert abs(graph.adjacency[tree.order][:, tree.order] - tree.adjacency[0]).max() == 0


def test_discs_do_not_overlap(tree: Tree, positions: list[Positions]) -> None:
    for place, weight in zip(positions, tree.weight, strict=True):
        radius = RADIUS * np.sqrt(weight)
        pairs = cKDTree(np.c_[place.real, place.imag]).query_pairs(2 * radius.max(), output_type="ndarray")
        overlap = radius[pairs].sum(axis=1) - np.abs(place[pairs[:, 0]] - place[pairs[:, 1]])
        deep = overlap > 0.1 * radius[pairs].min(axis=1)
        assert deep.sum() <= 0.01 * len(weight)


def test_members_are_close_to_their_hyper_node(tree: Tree, positions: list[Positions]) -> None:
    for level in range(len(tree.parent)):
        parent = tree.parent[level]
        away = np.abs(positions[level] - positions[level + 1][parent])
        limit = 1.5 * np.sqrt(tree.weight[level + 1][parent])
        assert (away <= limit).mean() > 0.98
        others = np.abs(positions[level] - np.roll(positions[level + 1], 7)[parent])
        assert away.mean() < 0.2 * others.mean()


@pytest.mark.parametrize(
    "adjacency",
    [
        np.zeros((1, 1)),
        np.zeros((30, 30)),  # no edge at all
        np.eye(2)[::-1],
        np.kron(np.eye(600), np.eye(2)[::-1]),
        np.pad(np.ones((1, 2000)), ((0, 2000), (1, 0))) + np.pad(np.ones((2000, 1)), ((1, 0), (0, 2000))),  # a star
    ],
    ids=["one node", "no edges", "a pair", "many pairs", "a star"],
)
def test_degenerate_graphs_have_a_layout(adjacency: np.ndarray) -> None:
    tree = Tree.from_hierarchy(coarsen(sp.csr_array(adjacency), 1), 2)
    for place, weight in zip(layout(tree), tree.weight, strict=True):
        assert place.shape == weight.shape
        assert np.isfinite(place).all()


def test_the_layout_is_the_same_with_any_number_of_threads(tree: Tree, positions: list[Positions]) -> None:
    """Cora has many components; a solver may return any mixture of the vectors that tell them apart."""
    for threads in (1, 2):
        with threadpool_limits(threads):
            again = layout(tree)
        assert all(np.array_equal(one, other) for one, other in zip(positions, again, strict=True))
