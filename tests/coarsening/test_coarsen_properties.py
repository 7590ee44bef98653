"""Properties of coarsening that hold for every graph."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from coarsen_graphs import integer_graphs, real_graph, real_graphs
from hypothesis import given, settings
from hypothesis import strategies as st

from hiergcn.coarsening import CoarsenConfig, Hierarchy, coarsen, strategy_names
from hiergcn.coarsening.equivalence import equivalence_classes, neighbour_hashes
from hiergcn.coarsening.reference import plain_coarsen
from hiergcn.compiled.csr import Rows, rows_of

CONFIGS = [
    CoarsenConfig(),
    CoarsenConfig.reference(),
    CoarsenConfig(equivalence_limit=2, similarity="degree"),
    CoarsenConfig(equivalence_limit=1, max_node_weight=3),
    CoarsenConfig(equivalence_limit=3, isolated="merge"),
]
any_config = st.sampled_from([*CONFIGS, *(CoarsenConfig(strategy=name, seed=3) for name in strategy_names())])


def partition(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


@settings(deadline=None, max_examples=200)
@given(st.one_of(integer_graphs(), real_graphs()), st.sampled_from(CONFIGS))
def test_equals_the_plain_version(adjacency: sp.csr_array, config: CoarsenConfig) -> None:
    """Whole weights have exact sums, others are equal up to rounding."""
    hierarchy, plain = coarsen(adjacency, 4, config), plain_coarsen(adjacency, 4, config)
    assert_same_groups(hierarchy, plain)
    tolerance = 0 if (adjacency.data == np.floor(adjacency.data)).all() else 1e-12
    for ours, theirs in zip(hierarchy.levels, plain.levels, strict=True):
        np.testing.assert_allclose(ours.adjacency.toarray(), theirs.adjacency.toarray(), rtol=tolerance)


def assert_same_groups(one: Hierarchy, other: Hierarchy) -> None:
    assert one.sizes() == other.sizes()
    for left, right in zip(one.levels, other.levels, strict=True):
        assert np.array_equal(left.node_weight, right.node_weight)
        assert (left.group is None and right.group is None) or np.array_equal(left.grouping(), right.grouping())


@settings(deadline=None, max_examples=100)
@given(st.one_of(integer_graphs(), real_graphs()), any_config)
def test_every_level_is_sound(adjacency: sp.csr_array, config: CoarsenConfig) -> None:
    hierarchy = coarsen(adjacency, 4, config)
    n = adjacency.shape[0]
    for index, (fine, coarse) in enumerate(zip(hierarchy.levels, hierarchy.levels[1:], strict=False)):
        M = hierarchy.grouping_matrix(index)
        assert (M.sum(axis=1) == 1).all()  # every node is in one group
        assert (M.sum(axis=0) >= 1).all()  # and no group is empty
        assert coarse.n_nodes < fine.n_nodes
        assert coarse.node_weight.sum() == n
        np.testing.assert_array_equal(coarse.node_weight, M.T @ fine.node_weight)
        np.testing.assert_allclose(coarse.adjacency.toarray(), (M.T @ fine.adjacency @ M).toarray(), rtol=1e-12)
        firsts = [np.flatnonzero(fine.grouping() == k)[0] for k in range(coarse.n_nodes)]
        assert firsts == sorted(firsts)  # numbered by smallest member
        assert_canonical(coarse.adjacency)


def assert_canonical(matrix: sp.csr_array) -> None:
    fresh = sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)  # forgets what it claims
    assert fresh.has_canonical_format
    assert (matrix.data > 0).all()
    assert matrix.indices.dtype == np.int32
    assert np.array_equal(matrix.toarray(), matrix.toarray().T)  # to the last bit


@settings(deadline=None, max_examples=100)
@given(integer_graphs(), st.booleans(), st.booleans(), st.sampled_from(["good", "weak", "useless"]))
def test_equivalence_classes_are_complete_whatever_the_hash(
    adjacency: sp.csr_array, loops: bool, merge: bool, quality: str
) -> None:
    rows = rows_of(adjacency)
    hashes = neighbour_hashes(rows, loops)
    weak = {"good": hashes, "weak": hashes % np.uint64(3), "useless": np.zeros_like(hashes)}[quality]
    first = equivalence_classes(rows, weak, loops, merge)
    sets = [neighbours(rows, i, loops) for i in range(rows.n)]
    for i, k in combinations(range(rows.n), 2):
        assert (first[i] == first[k]) == (sets[i] == sets[k] and (merge or bool(sets[i])))
    assert (first <= np.arange(rows.n)).all()


def neighbours(rows: Rows, i: int, loops: bool) -> set[int]:
    listed = set(rows.indices[rows.indptr[i] : rows.indptr[i + 1]].tolist())
    return listed if loops else listed - {i}


@settings(deadline=None, max_examples=100)
@given(integer_graphs(), any_config)
def test_matching_is_maximal(adjacency: sp.csr_array, config: CoarsenConfig) -> None:
    """No two neighbours are both alone, unless they are too heavy to be together."""
    hierarchy = coarsen(adjacency, 2, config)
    for level in hierarchy.levels[:-1]:
        alone = np.bincount(level.grouping())[level.grouping()] == 1
        ends = level.adjacency.tocoo().coords
        for i, k in zip(*ends, strict=True):
            if i != k and alone[i] and alone[k]:
                assert config.max_node_weight is not None
                assert level.node_weight[i] + level.node_weight[k] > config.max_node_weight


@settings(deadline=None, max_examples=60)
@given(real_graphs(), st.sampled_from([CoarsenConfig(), CoarsenConfig.reference()]), st.randoms(use_true_random=False))
def test_names_of_nodes_do_not_matter(adjacency: sp.csr_array, config: CoarsenConfig, random: st.DataObject) -> None:
    n = adjacency.shape[0]
    order = np.array(random.sample(range(n), n))  # type: ignore[attr-defined]
    renamed = coarsen(sp.csr_array(adjacency[order][:, order]), 3, config)
    original = coarsen(adjacency, 3, config)
    assert renamed.sizes() == original.sizes()
    for level in range(original.depth + 1):
        assert partition(original.hyper_nodes(level)[order]) == partition(renamed.hyper_nodes(level))


def assert_same(one: Hierarchy, other: Hierarchy) -> None:
    assert one.depth == other.depth
    for left, right in zip(one.levels, other.levels, strict=True):
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(left.adjacency, part), getattr(right.adjacency, part), strict=True)
    assert_same_groups(one, other)


@pytest.mark.parametrize("strategy", strategy_names())
def test_threads_do_not_matter(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = real_graph(700, 0.02, seed=1)
    made = []
    for threads in (1, 2, 7):
        monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", threads)
        monkeypatch.setattr("hiergcn.compiled.jit.SMALL", 0)
        made.append(coarsen(adjacency, 4, CoarsenConfig(strategy=strategy)))
    assert_same(made[0], made[1])
    assert_same(made[0], made[2])


@pytest.mark.parametrize("strategy", strategy_names())
def test_the_seed_matters_to_random_strategies(strategy: str) -> None:
    adjacency = real_graph(200, 0.05, seed=2)
    one, again, other = (coarsen(adjacency, 3, CoarsenConfig(strategy=strategy, seed=seed)) for seed in (5, 5, 6))
    assert_same(one, again)
    same = np.array_equal(one.hyper_nodes(1), other.hyper_nodes(1))
    assert same == (strategy in ("hgcn", "handshake"))


def test_a_strategy_may_not_change_the_graph() -> None:
    def vandal(adjacency: sp.csr_array, *_: object) -> np.ndarray:
        adjacency.data[:] = 0
        return np.zeros(adjacency.shape[0], dtype=int)

    with pytest.raises(ValueError, match="read-only"):
        coarsen(real_graph(20, 0.3, 0), 1, CoarsenConfig(strategy=vandal))


def test_rows_of_the_input_are_not_copied() -> None:
    adjacency = real_graph(50, 0.2, 0)
    assert np.shares_memory(coarsen(adjacency, 2).levels[0].adjacency.data, adjacency.data)
