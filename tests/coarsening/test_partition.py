"""Parts of a hierarchy: what is in them, and how well they are cut."""

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.coarsening import Hierarchy, coarsen
from hiergcn.coarsening.partition import SLACK, Part, part_labels, restrict
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError


@pytest.fixture(scope="module")
def hierarchy() -> Hierarchy:
    return coarsen(planted_graph(3000, depth=3, degree=12, features=0, seed=3), 4)


def parts(hierarchy: Hierarchy, count: int) -> list[Part]:
    label = part_labels(hierarchy, count)
    return [restrict(hierarchy, label == part) for part in np.unique(label)]


def test_every_level_is_the_induced_graph(hierarchy: Hierarchy) -> None:
    kept = np.arange(hierarchy.levels[-1].n_nodes) % 3 == 1
    part = restrict(hierarchy, kept)
    for index, level in enumerate(part.hierarchy.levels):
        whole = hierarchy.levels[index]
        above = np.arange(whole.n_nodes, dtype=np.int32)
        for higher in hierarchy.levels[index:-1]:
            above = higher.grouping()[above]
        nodes = np.flatnonzero(kept[above])
        assert np.array_equal(level.adjacency.toarray(), whole.adjacency.toarray()[np.ix_(nodes, nodes)])
        assert level.adjacency.dtype == whole.adjacency.dtype
        assert np.array_equal(level.node_weight, whole.node_weight[nodes])
        if index == 0:
            assert np.array_equal(part.nodes, nodes)
        fresh = sp.csr_array((level.adjacency.data, level.adjacency.indices, level.adjacency.indptr))
        assert fresh.has_canonical_format


def test_members_stay_together(hierarchy: Hierarchy) -> None:
    """Two nodes of a part share a hyper-node of the part just where they share one of the whole."""
    part = restrict(hierarchy, np.arange(hierarchy.levels[-1].n_nodes) < 20)
    for level in range(1, hierarchy.depth + 1):
        inside, whole = part.hierarchy.hyper_nodes(level), hierarchy.hyper_nodes(level)[part.nodes]
        assert len(set(zip(inside, whole, strict=True))) == len(set(inside)) == len(set(whole))


@pytest.mark.parametrize("count", [1, 2, 5, 16])
def test_every_node_is_in_one_part_and_parts_are_even(hierarchy: Hierarchy, count: int) -> None:
    made = parts(hierarchy, count)
    assert len(made) == count
    assert np.array_equal(np.sort(np.concatenate([part.nodes for part in made])), np.arange(3000))
    assert max(len(part.nodes) for part in made) <= SLACK * 3000 / count + 1
    assert min(len(part.nodes) for part in made) >= 0.4 * 3000 / count


def test_communities_stay_whole_as_far_as_possible(hierarchy: Hierarchy) -> None:
    """Of the edges, far more lie inside parts than if the hyper-nodes were dealt out at random."""
    drawn = np.random.default_rng(0).permutation(part_labels(hierarchy, 4))
    assert inside(hierarchy, part_labels(hierarchy, 4)) > 1.5 * inside(hierarchy, drawn)


def inside(hierarchy: Hierarchy, label: np.ndarray) -> float:
    own = label[hierarchy.hyper_nodes(hierarchy.depth)]
    ends = hierarchy.levels[0].adjacency.tocoo()
    return float(np.mean(own[ends.row] == own[ends.col]))


def test_impossible_parts(hierarchy: Hierarchy) -> None:
    path = sp.csr_array(np.eye(6, k=1) + np.eye(6, k=-1))
    made = parts(coarsen(path, 1), 50)  # no more than there are hyper-nodes
    assert sum(len(part.nodes) for part in made) == 6
    with pytest.raises(InputError, match="must be at least 1, not 0"):
        parts(hierarchy, 0)
    with pytest.raises(InputError, match="must keep some"):
        restrict(hierarchy, np.zeros(hierarchy.levels[-1].n_nodes, dtype=bool))
