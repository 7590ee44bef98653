"""Settings chosen for a graph, their reasons, and the user's own changes."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.choose import adapt
from hiergcn.choose.adapt import (
    MOST_LEVELS,
    MOST_LEVELS_LARGE,
    MOST_STEPS,
    NODES_PER_CLASS,
    NODES_PER_CLASS_LARGE,
    choose_settings,
)
from hiergcn.coarsening import coarsen
from hiergcn.datasets import list_datasets, load_dataset, planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.profile import profile_graph, scaling_for
from hiergcn.graph.structure import with_structural_features
from hiergcn.settings.settings import method_for, settings_for


def with_split(graph: Graph) -> tuple[Graph, Split]:
    return graph, Split.holdout(graph.truth, seed=0)


def grid(rows: int, columns: int, classes: int = 2) -> Graph:
    """A grid of streets; its classes are stripes from left to right."""
    down, right = (sp.csr_array(np.eye(k, k=1) + np.eye(k, k=-1)) for k in (rows, columns))
    adjacency = sp.csr_array(sp.kron(down, sp.eye_array(columns)) + sp.kron(sp.eye_array(rows), right))
    features = np.random.default_rng(0).standard_normal((rows * columns, 4))
    return Graph(adjacency, features, np.arange(rows * columns) % columns * classes // columns)


@pytest.mark.parametrize("n", [24, 60, 200, 1500])
def test_coarsest_level_has_enough_nodes_per_class(n: int) -> None:
    graph, split = with_split(planted_graph(n, classes=4, degree=6, seed=1))
    levels = choose_settings(graph, split).settings.model.levels
    sizes = coarsen(graph.adjacency, MOST_LEVELS).sizes().nodes
    assert 1 <= levels <= MOST_LEVELS
    assert levels == 1 or sizes[levels] >= NODES_PER_CLASS * 4
    assert levels == MOST_LEVELS or sizes[levels + 1] < NODES_PER_CLASS * 4


def test_width_and_dropout_depend_on_size_and_labels() -> None:
    small, split = with_split(planted_graph(100, seed=1))
    assert choose_settings(small, split).settings.model.hidden == 32
    large = planted_graph(2000, seed=1)
    few = Split.random(large.truth, per_class=5, validation=100)
    scarce = choose_settings(large, few, "hgcn").settings.model
    plenty = choose_settings(large, Split.holdout(large.truth), "hgcn").settings.model
    assert scarce.hidden == plenty.hidden == 64
    assert (scarce.dropout, plenty.dropout) == (0.6, 0.3)


def test_hgcn_is_kept_from_getting_stuck() -> None:
    settings = choose_settings(*with_split(planted_graph(100, seed=1)), "hgcn").settings
    assert settings.preset == "adapted"
    assert settings.model.output_relu is False
    assert (settings.train.loss, settings.train.learning_rate) == ("mean", 0.01)


@pytest.mark.parametrize(("homophily", "bias"), [(0.9, False), (0.1, True)])
def test_gcn_has_biases_if_neighbours_differ_in_class(homophily: float, bias: bool) -> None:
    graph, split = with_split(planted_graph(300, classes=4, homophily=homophily, seed=1))
    chosen = choose_settings(graph, split, "gcn")
    assert chosen.settings.model.bias is bias
    assert ("bias" in {one.setting for one in chosen.choices}) is bias


def test_default_method() -> None:
    assert choose_settings(*with_split(planted_graph(60, seed=1))).settings.method == method_for(None) == "hgcn-plus"
    assert method_for("paper") == method_for(None, "cora") == "hgcn"


@pytest.mark.parametrize(
    ("n", "degree", "order"), [(40, 12, 2), (1500, 40, 2), (1500, 12, 3), (1500, 4, 6), (3000, 1, 8), (60, 0, 8)]
)
def test_sparse_graphs_take_more_steps(n: int, degree: float, order: int) -> None:
    graph, split = with_split(planted_graph(n, classes=2, degree=degree or 4, homophily=0.2, seed=1))
    graph = graph if degree else replace(graph, adjacency=sp.csr_array((n, n)))
    assert choose_settings(graph, split).settings.model.order == order


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


@pytest.mark.parametrize(
    ("name", "order", "levels"),
    [("cora", 6, 4), ("citeseer", 8, 4), ("pubmed", 7, 4), ("amazon-photo", 3, 4), ("coauthor-cs", 5, 4)],
)
def test_citation_and_co_purchase_graphs_keep_their_settings(name: str, order: int, levels: int) -> None:
    if next(info.how for info in list_datasets() if info.name == name):
        pytest.skip("needs the dataset's files: set HIERGCN_DATA")
    dataset = load_dataset(name)
    plus = choose_settings(dataset.graph, dataset.split).settings.model
    assert (plus.order, plus.levels, plus.share) == (order, levels, 0.1)


def test_large_diameters_take_more_levels_steps_and_share() -> None:
    graph, split = with_split(grid(40, 100, classes=3))
    chosen = choose_settings(graph, split)
    plus = chosen.settings.model
    sizes = coarsen(graph.adjacency, MOST_LEVELS_LARGE).sizes().nodes
    least = NODES_PER_CLASS_LARGE * 3
    assert MOST_LEVELS < plus.levels <= MOST_LEVELS_LARGE
    assert sizes[plus.levels] >= least
    assert plus.levels == MOST_LEVELS_LARGE or sizes[plus.levels + 1] < least
    assert (plus.share, plus.level_order, plus.order) == (0.7, 4, MOST_STEPS)
    assert "at least 138 steps" in chosen.reasons["levels"]


def test_number_of_steps_follows_the_measured_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapt, "MOST_STEPS", 1000)
    orders = {}
    for size in (30, 60, 120):
        graph, split = with_split(grid(size, size))
        orders[size] = choose_settings(graph, split, changes={"levels": 1}).settings.model.order
        assert size / 2 <= orders[size] <= 2 * size  # the corners of a square are 2 * size steps apart
    assert orders[30] < orders[60] < orders[120]


def test_hgcn_takes_its_recipe_for_large_diameters() -> None:
    graph, split = with_split(grid(40, 100))
    chosen, recipe = choose_settings(graph, split, "hgcn"), settings_for("hgcn", "long-range")
    assert chosen.settings.train == recipe.train
    columns = dict.fromkeys(("hop_counts", "hop_means", "nearness", "nearness_shares"), True)
    beside = {"levels": recipe.model.levels, "nearness_weight": 0.7, "networks": 4, "dropout": 0.2, **columns}
    same = replace(chosen.settings.model, **beside)
    assert same == recipe.model  # whether labels lie all over a graph is not known
    assert chosen.settings.model.dropout == 0  # it costs accuracy without columns
    assert {"levels", "pooling", "dropout", "channels", "l2"} <= set(chosen.reasons)
    assert (recipe.model.levels, recipe.model.channels, recipe.model.pooling) == (8, 1, "mean")
    assert (recipe.train.epochs, recipe.train.patience, recipe.train.l2) == (500, 100, 1e-5)
    own = choose_settings(graph, split, "hgcn", changes={"dropout": "0.5"}).settings
    assert (own.model.dropout, own.model.channels) == (0.5, 1)


def test_a_given_profile_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, split = with_split(planted_graph(200, seed=1))
    measured = profile_graph(graph, split)
    wanted = choose_settings(graph, split)
    monkeypatch.setattr(adapt, "profile_graph", None)  # cannot be called
    assert choose_settings(graph, split, profile=measured) == wanted
    assert choose_settings(graph, split, "mlp").settings.model.hidden == 32
    far = choose_settings(graph, split, profile=replace(measured, diameter=150)).settings.model
    assert far.share > wanted.settings.model.share
