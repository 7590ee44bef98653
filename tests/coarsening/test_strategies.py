"""Other groupings than the paper's, and a user's own."""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from coarsen_graphs import Edge, graph_of, integer_graphs, real_graph
from hypothesis import given, settings
from scipy.sparse.csgraph import connected_components

from hiergcn.coarsening import CoarsenConfig, coarsen, register_strategy, strategy_names
from hiergcn.coarsening.groupings import group_heavy_edge
from hiergcn.errors import InputError
from hiergcn.settings.fields import STRATEGIES, strategy_name


def groups(adjacency: sp.csr_array, config: CoarsenConfig) -> list[int]:
    return coarsen(adjacency, 1, config).levels[0].grouping().tolist()  # type: ignore[no-any-return]


def halves(adjacency: sp.csr_array, *_: object) -> np.ndarray:
    return np.arange(adjacency.shape[0]) // 2


class TestRandom:
    star = graph_of(5, [(0, leaf, 1) for leaf in range(1, 5)])

    def test_every_neighbour_is_as_likely(self) -> None:
        """Whoever is first, the centre pairs with one leaf; over seeds, with each about equally often."""
        partners: Counter[int] = Counter()
        for seed in range(400):
            group = groups(self.star, CoarsenConfig(strategy="random", seed=seed))
            partners.update(leaf for leaf in range(1, 5) if group[leaf] == group[0])
        assert sum(partners.values()) == 400
        assert all(70 <= partners[leaf] <= 130 for leaf in range(1, 5))  # 100 ± 3.5 standard deviations of 8.7

    def test_weights_do_not_matter(self) -> None:
        heavy = graph_of(5, [(0, leaf, 10.0**leaf) for leaf in range(1, 5)])
        config = CoarsenConfig(strategy="random", seed=1)
        assert groups(heavy, config) == groups(self.star, config)

    @pytest.mark.parametrize("strategy", ["random", "heavy-edge", "two-hop", "handshake"])
    def test_node_weight_is_bound(self, strategy: str) -> None:
        hierarchy = coarsen(real_graph(300, 0.05, 0), 6, CoarsenConfig(strategy=strategy, max_node_weight=5))
        assert hierarchy.levels[-1].node_weight.max() in (4, 5)


class TestHeavyEdge:
    def test_takes_the_heaviest_edge(self) -> None:
        # Whoever is visited first, 1-2 at weight 9 or one of the end edges is taken; never 0-2.
        graph = graph_of(4, [(0, 1, 5), (1, 2, 9), (2, 3, 5), (0, 2, 1)])
        seen = {tuple(groups(graph, CoarsenConfig(strategy="heavy-edge", seed=seed))) for seed in range(30)}
        assert seen == {(0, 0, 1, 1), (0, 1, 1, 2)}

    def test_node_weight_does_not_count(self) -> None:
        # All four have their heaviest edge in 0-1 or 2-3, so the order does not matter; nor does it that 1 is heavy.
        graph = graph_of(4, [(0, 1, 4), (0, 2, 3), (2, 3, 9)])
        for seed in range(10):
            rng = np.random.default_rng(seed)
            assert group_heavy_edge(graph, np.array([1, 100, 1, 1]), CoarsenConfig(), rng).tolist() == [0, 0, 2, 2]


def seed_that_takes_heavy_edges(graph: sp.csr_array) -> int:
    """A seed with which heavy-edge matching takes 0-1 and 5-6 and leaves 2, 3 and 4 alone."""
    left = [0, 0, 1, 2, 3, 4, 4]
    return next(s for s in range(500) if groups(graph, CoarsenConfig(strategy="heavy-edge", seed=s)) == left)


class TestTwoHop:
    def test_leaves_are_paired(self) -> None:
        star: list[Edge] = [(0, leaf, 1) for leaf in range(1, 8)]
        group = groups(graph_of(8, star), CoarsenConfig(strategy="two-hop"))
        assert Counter(Counter(group).values()) == {2: 4}  # the centre with a leaf, and three pairs of leaves

    def test_twins_are_paired_before_relatives(self) -> None:
        # The heavy edges take the hubs 0, 1 and 5. 2 and 4 are twins. Around 1, the lesser hub, 2
        # would take 3.
        edges: list[Edge] = [(0, 1, 99), (5, 6, 99), (0, 5, 1), (0, 6, 1), (3, 5, 1)]
        graph = graph_of(7, edges + [(hub, node, 1) for hub, node in [(0, 2), (0, 4), (1, 2), (1, 3), (1, 4)]])
        config = CoarsenConfig(strategy="two-hop", seed=seed_that_takes_heavy_edges(graph))
        assert groups(graph, config) == [0, 0, 1, 2, 1, 3, 3]

    def test_relatives_around_lesser_hubs_come_first(self) -> None:
        # 2, 3 and 4 are left alone around 0, where 2 would take 3; 2 and 4 are around 1, 3 and 4 around 5, too.
        edges: list[Edge] = [(0, 1, 99), (5, 6, 99), (3, 5, 1), (4, 5, 1)]
        graph = graph_of(7, edges + [(hub, node, 1) for hub, node in [(0, 2), (0, 3), (0, 4), (1, 2), (1, 4)]])
        # Hubs 1 and 5 have three neighbours and a weight of 101, hub 0 has four: 1 comes first and pairs 2 and 4.
        config = CoarsenConfig(strategy="two-hop", seed=seed_that_takes_heavy_edges(graph))
        assert groups(graph, config) == [0, 0, 1, 2, 1, 3, 3]

    @settings(deadline=None, max_examples=60)
    @given(integer_graphs())
    def test_no_two_nodes_alone_share_a_neighbour(self, adjacency: sp.csr_array) -> None:
        level = coarsen(adjacency, 1, CoarsenConfig(strategy="two-hop")).levels[0]
        if level.group is None:
            return
        alone = np.bincount(level.group)[level.group] == 1
        for hub in range(level.n_nodes):
            around = adjacency.indices[adjacency.indptr[hub] : adjacency.indptr[hub + 1]]
            assert np.count_nonzero(alone[around[around != hub]]) <= 1


class TestOwn:
    def test_a_function_and_a_registered_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert groups(real_graph(7, 0.5, 0), CoarsenConfig(strategy=halves)) == [0, 0, 1, 1, 2, 2, 3]
        monkeypatch.setattr("hiergcn.settings.fields.STRATEGIES", dict(STRATEGIES))
        register_strategy("halves")(halves)
        assert "halves" in strategy_names()
        assert strategy_name(halves) == "halves"
        assert groups(real_graph(4, 0.5, 0), CoarsenConfig(strategy="halves")) == [0, 0, 1, 1]
        with pytest.raises(InputError, match="exists already"):
            register_strategy("halves")(lambda *_: np.zeros(1))

    @pytest.mark.parametrize(
        "labels", [np.zeros(3, int), np.zeros(4), np.full(4, -1), np.full(4, 4), np.zeros((4, 1), int)], ids=str
    )
    def test_bad_labels(self, labels: np.ndarray) -> None:
        with pytest.raises(InputError, match="must return 4 integer labels of 0 to 3"):
            coarsen(real_graph(4, 0.9, 0), 1, CoarsenConfig(strategy=lambda *_: labels))

    def test_groups_of_any_size(self) -> None:
        def by_component(adjacency: sp.csr_array, *_: object) -> np.ndarray:
            return connected_components(adjacency)[1]

        graph = graph_of(6, [(0, 2, 1), (2, 4, 1), (1, 5, 3)])
        coarse = coarsen(graph, 1, CoarsenConfig(strategy=by_component)).levels[1]
        assert coarse.node_weight.tolist() == [3, 2, 1]
        assert coarse.adjacency.toarray().tolist() == [[4, 0, 0], [0, 6, 0], [0, 0, 0]]

    def test_labels_in_any_order(self) -> None:
        config = CoarsenConfig(strategy=lambda *_: np.array([3, 1, 3, 0], dtype=np.uint8))
        assert groups(real_graph(4, 0.9, 0), config) == [0, 1, 0, 2]
