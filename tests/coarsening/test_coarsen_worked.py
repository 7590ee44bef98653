"""Hierarchies worked out by hand."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from coarsen_graphs import Edge, graph_of

from hiergcn.coarsening import CoarsenConfig, coarsen
from hiergcn.coarsening.groupings import group_hgcn

A, B, C, D, E = range(5)
TOY: list[Edge] = [(A, B, 1), (A, D, 4), (A, C, 1), (A, E, 2), (C, E, 3)]


def groups(adjacency: sp.csr_array, **choices: object) -> list[int]:
    """The grouping of the first level."""
    level = coarsen(adjacency, 1, CoarsenConfig(**choices)).levels[0]  # type: ignore[arg-type]
    return list(range(adjacency.shape[0])) if level.group is None else level.group.tolist()


def weighted_groups(adjacency: sp.csr_array, node_weight: list[int], **choices: object) -> list[int]:
    """The grouping of nodes that are hyper-nodes already."""
    config = CoarsenConfig(**choices)  # type: ignore[arg-type]
    labels = group_hgcn(adjacency, np.array(node_weight), config, np.random.default_rng())
    return pd.factorize(labels)[0].tolist()


class TestToyGraph:
    """The caption of the paper's figure: B and D are equivalent, C and E most similar, A remains.

    N(B) = N(D) = {A}, so B and D are marked. Left are C with 2 neighbours and weight 1 + 3, E with 2 and 2 + 3, and A
    with 4. C comes first and takes E, s = 3, not A, s = 1. A has no unmarked neighbour left.
    """

    def test_first_level(self) -> None:
        hierarchy = coarsen(graph_of(5, TOY), 1)
        fine, coarse = hierarchy.levels
        assert fine.grouping().tolist() == [0, 1, 2, 1, 2]
        assert fine.node_weight.tolist() == [1, 1, 1, 1, 1]
        M = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]]
        assert hierarchy.grouping_matrix(0).toarray().tolist() == M
        assert coarse.node_weight.tolist() == [1, 2, 2]
        assert coarse.adjacency.toarray().tolist() == [[0, 5, 3], [5, 0, 0], [3, 0, 6]]  # C-E is inside, from both ends

    @pytest.mark.parametrize(
        ("loops", "group", "weights", "adjacency"),
        [
            (False, [0, 1, 1], [1, 4], [[0, 8], [8, 6]]),  # the self-loop of CE is no neighbour: N(BD) = N(CE) = {A}
            (True, [0, 0, 1], [3, 2], [[10, 3], [3, 6]]),  # N(CE) = {A, CE}: BD, with one neighbour, comes first
        ],
    )
    def test_second_level(self, loops: bool, group: object, weights: object, adjacency: object) -> None:
        hierarchy = coarsen(graph_of(5, TOY), 2, CoarsenConfig(loops_are_neighbours=loops))
        assert hierarchy.levels[1].grouping().tolist() == group
        assert hierarchy.levels[2].node_weight.tolist() == weights
        assert hierarchy.levels[2].adjacency.toarray().tolist() == adjacency

    def test_third_level_ends_in_one_node(self) -> None:
        # A and BDCE, one neighbour each: A, the lesser index, takes BDCE. A fourth level could not be smaller.
        hierarchy = coarsen(graph_of(5, TOY), 9)
        assert (hierarchy.depth, hierarchy.requested) == (3, 9)
        assert hierarchy.levels[3].node_weight.tolist() == [5]
        assert hierarchy.levels[3].adjacency.toarray().tolist() == [[22]]  # twice the weight of all edges


STAR: list[Edge] = [(0, leaf, 1) for leaf in range(1, 5)]


@pytest.mark.parametrize(
    ("n", "edges", "limit", "expected"),
    [
        (5, STAR, None, [0, 1, 1, 1, 1]),  # the whole class
        (5, STAR, 2, [0, 1, 1, 2, 2]),
        (5, STAR, 3, [0, 1, 1, 1, 0]),  # leaf 4 is left over, unmarked, and takes the centre
        (5, STAR, 1, [0, 0, 1, 2, 3]),  # no equivalence grouping: leaf 1 takes the centre, the others stay alone
        # A path: the ends have one neighbour each. Were 1 visited first, it would take 2 or 0 by index alone.
        (4, [(0, 1, 1), (1, 2, 9), (2, 3, 1)], None, [0, 0, 1, 1]),
        # A triangle: totals 5, 4, 3. Node 2 comes first and takes 0 (s = 2), although 0-1 is the heaviest edge.
        (3, [(0, 1, 3), (0, 2, 2), (1, 2, 1)], None, [0, 1, 0]),
    ],
)
def test_order_of_visits(n: int, edges: list[Edge], limit: int | None, expected: list[int]) -> None:
    assert groups(graph_of(n, edges), equivalence_limit=limit) == expected


def test_clique_ties_go_by_index() -> None:
    clique: list[Edge] = [(i, j, 1) for i in range(4) for j in range(i)]
    coarse = coarsen(graph_of(4, clique), 1).levels[1]
    assert groups(graph_of(4, clique)) == [0, 0, 1, 1]
    assert coarse.adjacency.toarray().tolist() == [[2, 4], [4, 2]]


def test_equally_similar_neighbours_go_by_the_visiting_order() -> None:
    # Node 0, with two neighbours the first, may take 1 or 2 at weight 1. Node 2 has three neighbours, 1 has four.
    clique: list[Edge] = [(i, j, 1) for i in range(3, 7) for j in range(3, i)]
    around: list[Edge] = [(0, 1, 1), (0, 2, 1), (1, 3, 1), (1, 4, 1), (1, 5, 1), (2, 5, 1), (2, 6, 1)]
    group = groups(graph_of(7, clique + around))
    assert group[0] == group[2] != group[1]


TRIANGLE = graph_of(3, [(0, 1, 4), (0, 2, 3), (1, 2, 20)])


class TestSimilarity:
    def test_node_weight_divides(self) -> None:
        # s(0, 1)^2 = 16 / 4 is less than s(0, 2)^2 = 9 / 1.
        assert weighted_groups(TRIANGLE, [1, 4, 1]) == [0, 1, 0]
        assert weighted_groups(TRIANGLE, [1, 1, 1]) == [0, 0, 1]

    def test_ties_are_exact(self) -> None:
        # s^2 = 16 / 48 = 9 / 27, so 2 is taken, which comes before 1; rounded, 4 / sqrt(48) is above 3 / sqrt(27).
        assert weighted_groups(TRIANGLE, [1, 48, 27]) == [0, 1, 0]
        assert weighted_groups(TRIANGLE, [1, 47, 27]) == [0, 0, 1]

    def test_degree_divides(self) -> None:
        # Degrees 7, 24, 23: s(0, 1)^2 ~ 16 / 24 against 9 / 23. With a self-loop of 100 at node 1, 16 / 124.
        assert weighted_groups(TRIANGLE, [1, 99, 1], similarity="degree") == [0, 0, 1]
        loop = graph_of(3, [(0, 1, 4), (0, 2, 3), (1, 2, 20), (1, 1, 100)])
        assert weighted_groups(loop, [1, 1, 1], similarity="degree") == [0, 1, 0]

    def test_heavy_pairs_are_not_matched(self) -> None:
        assert weighted_groups(TRIANGLE, [2, 4, 5], max_node_weight=7) == [0, 0, 1]
        assert weighted_groups(TRIANGLE, [3, 5, 6], max_node_weight=7) == [0, 1, 2]

    def test_equivalence_is_not_bound_by_the_node_weight(self) -> None:
        assert weighted_groups(graph_of(3, [(0, 1, 1), (0, 2, 1)]), [1, 40, 40], max_node_weight=50) == [0, 1, 1]


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({}, [0, 1, 2, 1, 3, 4]),
        ({"isolated": "merge"}, [0, 1, 0, 1, 0, 0]),
        ({"isolated": "merge", "equivalence_limit": 2}, [0, 1, 0, 1, 2, 2]),
        ({"isolated": "merge", "loops_are_neighbours": True}, [0, 1, 0, 1, 2, 0]),
    ],
)
def test_isolated_nodes(choices: dict[str, object], expected: list[int]) -> None:
    """Nodes 0, 2 and 5 have no entry, 4 has a self-loop only."""
    assert groups(graph_of(6, [(1, 3, 1), (4, 4, 2)]), **choices) == expected
