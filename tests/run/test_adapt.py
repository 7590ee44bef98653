"""Settings chosen for a graph, their reasons, and the user's own changes."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.coarsen import coarsen
from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.structure import with_structural_features
from hiergcn.run.adapt import MOST_LEVELS, NODES_PER_CLASS, choose_settings, method_for, scaling_for


def with_split(graph: Graph) -> tuple[Graph, Split]:
    assert graph.labels is not None
    return graph, Split.holdout(graph.labels, seed=0)


@pytest.mark.parametrize("n", [24, 60, 200, 1500])
def test_coarsest_level_has_enough_nodes_per_class(n: int) -> None:
    graph, split = with_split(planted_graph(n, classes=4, degree=6, seed=1))
    levels = choose_settings(graph, split).settings.model.levels
    sizes = coarsen(graph.adjacency, MOST_LEVELS).sizes().nodes
    assert 1 <= levels <= MOST_LEVELS
    assert levels == 1 or sizes[levels] >= NODES_PER_CLASS * 4
    assert levels == MOST_LEVELS or sizes[levels + 1] < NODES_PER_CLASS * 4


def test_more_classes_allow_fewer_levels() -> None:
    few, many = (choose_settings(*with_split(planted_graph(300, classes=k, seed=2))) for k in (2, 20))
    assert few.settings.model.levels > many.settings.model.levels


def test_width_and_dropout_depend_on_size_and_labels() -> None:
    small, split = with_split(planted_graph(100, seed=1))
    assert choose_settings(small, split).settings.model.hidden == 32
    large = planted_graph(2000, seed=1)
    assert large.labels is not None
    few = Split.random(large.labels, per_class=5, validation=100)
    scarce = choose_settings(large, few, "hgcn").settings.model
    plenty = choose_settings(large, Split.holdout(large.labels), "hgcn").settings.model
    assert scarce.hidden == plenty.hidden == 64
    assert (scarce.dropout, plenty.dropout) == (0.6, 0.3)


def test_hgcn_is_kept_from_getting_stuck() -> None:
    settings = choose_settings(*with_split(planted_graph(100, seed=1)), "hgcn").settings
    assert settings.preset == "adapted"
    assert settings.model.output_relu is False
    assert (settings.train.loss, settings.train.learning_rate) == ("mean", 0.01)


def test_default_method() -> None:
    assert choose_settings(*with_split(planted_graph(60, seed=1))).settings.method == method_for(None) == "hgcn-plus"
    assert method_for("paper") == method_for(None, "cora") == "hgcn"


@pytest.mark.parametrize(
    ("n", "degree", "order"), [(40, 12, 2), (1500, 40, 2), (1500, 12, 3), (1500, 4, 6), (3000, 1, 8)]
)
def test_sparse_graphs_take_more_steps(n: int, degree: float, order: int) -> None:
    graph, split = with_split(planted_graph(n, classes=2, degree=degree, homophily=0.2, seed=1))
    assert choose_settings(graph, split).settings.model.order == order


def test_graph_without_edges() -> None:
    graph = planted_graph(60, seed=1)
    bare = replace(graph, adjacency=sp.csr_array((60, 60)))
    assert choose_settings(*with_split(bare)).settings.model.order == 8


def test_word_counts_get_a_higher_learning_rate() -> None:
    graph, split = with_split(planted_graph(80, seed=1))
    words = replace(graph, features=sp.csr_array((np.random.default_rng(0).random((80, 40)) < 0.1).astype(float)))
    for method in ("hgcn-plus", "hgcn", "gcn"):
        rates = [choose_settings(one, split, method).settings.train.learning_rate for one in (graph, words)]
        assert rates[0] == 0.01 < rates[1]


def test_scaling_depends_on_the_kind_of_features() -> None:
    graph = planted_graph(50, features=8, seed=1)
    rng = np.random.default_rng(0)
    words = sp.csr_array((rng.random((50, 40)) < 0.1).astype(np.float64))
    assert scaling_for(graph)[0] == "standard"
    assert scaling_for(replace(graph, features=words))[0] == "l2"
    assert scaling_for(replace(graph, features=words.toarray()))[0] == "l2"
    assert scaling_for(replace(graph, features=(rng.random((50, 4)) < 0.5).astype(float)))[0] == "l2"
    assert scaling_for(replace(graph, features=-words))[0] == "standard"
    assert scaling_for(replace(graph, features=None))[0] == "none"
    assert scaling_for(with_structural_features(replace(graph, features=None)))[0] == "none"


def test_every_choice_has_a_reason_unless_the_user_made_it() -> None:
    graph, split = with_split(planted_graph(100, seed=1))
    adapted = choose_settings(graph, split)
    assert set(adapted.reasons) == {one.setting for one in adapted.choices} >= {"levels", "order"}
    for one in adapted.choices:
        assert (
            getattr(adapted.settings.model, one.setting, getattr(adapted.settings.train, one.setting, ...)) == one.value
        )
    own = choose_settings(graph, split, changes={"levels": "2"})
    assert "levels" not in own.reasons
    assert own.reasons.keys() == adapted.reasons.keys() - {"levels"}
    assert own.settings.model.levels == 2


def test_class_weights_are_advised_for_rare_classes() -> None:
    labels = np.where(np.arange(300) < 280, 0, 1)
    graph, split = with_split(planted_graph(300, classes=2, seed=3).with_labels(labels))
    assert any("class_weight=balanced" in note for note in choose_settings(graph, split).advice)
    assert not choose_settings(graph, split, changes={"class_weight": "balanced"}).advice


def test_other_methods_take_the_settings_they_have() -> None:
    graph, split = with_split(planted_graph(600, seed=1))
    gcn = choose_settings(graph, split, "gcn").settings
    assert (gcn.model.scaling, gcn.model.hidden, gcn.train.epochs) == ("standard", 64, 200)
    spread = choose_settings(graph, split, "label-propagation")
    assert (spread.settings.preset, spread.reasons) == ("default", {})
