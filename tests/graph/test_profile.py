"""The profile of a graph, on worked examples and against scipy."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, shortest_path

from hiergcn.datasets import load_dataset, planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.profile import STEPS, profile_graph


def grid(rows: int, columns: int, labels: NDArray[np.int64] | None = None) -> Graph:
    """A grid of streets; by default its left and right half are the classes."""
    down, right = (sp.csr_array(np.eye(k, k=1) + np.eye(k, k=-1)) for k in (rows, columns))
    adjacency = sp.csr_array(sp.kron(down, sp.eye_array(columns)) + sp.kron(sp.eye_array(rows), right))
    halves = np.arange(rows * columns) % columns * 2 // columns
    return Graph(adjacency, None, halves if labels is None else labels)


def all_train(graph: Graph) -> Split:
    none = np.empty(0, np.int64)
    return Split(np.arange(graph.n_nodes), none, none)


def edges(pairs: list[tuple[int, int]], labels: list[int]) -> Graph:
    source, target = np.array(pairs).T
    half = sp.coo_array((np.ones(len(pairs)), (source, target)), shape=(len(labels), len(labels)))
    return Graph(sp.csr_array(half + half.T), None, np.array(labels))


def test_grid() -> None:
    graph = grid(30, 40)
    profile = profile_graph(graph, all_train(graph))
    edges = 30 * 39 + 29 * 40
    assert (profile.components, profile.largest, profile.isolated) == (1, 1.0, 0)
    assert profile.diameter == 29 + 39
    assert profile.large_diameter
    assert profile.labels_per_class == (600, 600)
    assert profile.pairs == pytest.approx((1 - 30 / edges, 0.5, 1, edges))  # 30 edges cross the middle
    assert profile.adjusted_homophily == pytest.approx(1 - 60 / edges)


@pytest.mark.parametrize("seed", range(4))
def test_components_diameter_and_growth_match_scipy(seed: int) -> None:
    graph = planted_graph(64, degree=2.5, seed=seed)  # all nodes are sampled
    profile = profile_graph(graph, all_train(graph))
    distance = shortest_path(graph.adjacency, unweighted=True)
    count, component = connected_components(graph.adjacency)
    sizes = np.bincount(component)
    assert (profile.components, profile.largest) == (count, sizes.max() / 64)
    assert profile.isolated == (np.diff(graph.adjacency.indptr) == 0).sum()
    inside = component == sizes.argmax()
    longest = distance[inside][:, inside].max()
    assert longest / 2 <= profile.diameter <= longest
    assert profile.growth == pytest.approx([(distance <= steps).mean() for steps in STEPS])


@pytest.mark.parametrize(("name", "diameter"), [("cora", 18), ("helsinki", 161), ("pegase", 91), ("activsg10k", 51)])
def test_streets_and_power_grids_are_large_across(name: str, diameter: int) -> None:
    dataset = load_dataset(name)
    profile = profile_graph(dataset.graph, dataset.split)
    assert profile.large_diameter == (name != "cora")
    assert profile.diameter == diameter
    assert (profile.growth[-1] < 0.3) == (name != "cora")


def test_only_training_labels_count() -> None:
    graph = planted_graph(400, seed=1)
    split = Split.holdout(graph.truth, seed=0)
    others = np.setdiff1d(np.arange(400), split.train)
    hidden = graph.truth.copy()
    hidden[others] = (hidden[others] + 1) % 4
    assert profile_graph(graph, split) == profile_graph(graph.with_labels(hidden), split)


def test_neighbours_of_other_classes_give_a_warning() -> None:
    chessboard = np.add.outer(np.arange(6), np.arange(7)).ravel() % 2
    graph = grid(6, 7, chessboard)
    profile = profile_graph(graph, all_train(graph))
    assert profile.adjusted_homophily == pytest.approx(-1.0)
    warnings = [text for text, warns in profile.sentences() if warns]
    assert any("Neighbours often differ in class: 0 % of 71 edges" in text for text in warnings)
    mixed = planted_graph(500, classes=4, homophily=0.0, seed=2)
    assert profile_graph(mixed, all_train(mixed)).adjusted_homophily == pytest.approx(0.0, abs=0.1)


def test_too_few_edges_between_training_nodes_are_replaced_by_common_neighbours() -> None:
    # 30 stars without a label at their centre; their three leaves have classes 0 0 1, or 1 1 1 in a third of the stars
    pairs: list[tuple[int, int]] = []
    labels: list[int] = []
    for star in range(30):
        centre = len(labels)
        labels += [-1, *([1, 1, 1] if star % 3 == 0 else [0, 0, 1])]
        pairs += [(centre, centre + leaf) for leaf in (1, 2, 3)]
    graph = edges(pairs, labels)
    none = np.empty(0, np.int64)
    profile = profile_graph(graph, Split(np.flatnonzero(graph.labels >= 0), none, none))  # type: ignore[operator]
    same, chance = (10 * 3 + 20 * 1) / 90, (50 / 90) ** 2 + (40 / 90) ** 2  # of three pairs in each star
    assert profile.pairs == pytest.approx((same, chance, 2, 45))
    assert any("two steps apart" in text for text, _ in profile.sentences())


@pytest.mark.parametrize("per_class", [1, 2])
def test_unknown_homophily(per_class: int) -> None:
    graph = planted_graph(200, classes=20 if per_class == 1 else 3, seed=1)
    profile = profile_graph(graph, Split.random(graph.truth, per_class, validation=50))
    assert profile.pairs is None
    assert profile.adjusted_homophily is None
    told = dict(profile.sentences())
    assert told["Too few training nodes are near each other to tell whether neighbours share their class."] is False
    assert any(f"{per_class} per class" in text for text, warns in told.items() if warns)


def test_sentences_and_warnings() -> None:
    graph = grid(3, 30)
    reached = "On average a node reaches 23 % of the graph in 4 steps and 77 % in 16."
    share = "98 % of 147 edges between training nodes join equal classes, chance gives 50 %."
    profile = profile_graph(graph, all_train(graph))
    assert profile.sentences() == [
        ("The graph is connected.", False),
        (f"The diameter is large: at least 31 steps. {reached}", True),
        (f"Neighbours tend to share their class: {share}", False),
        ("100 % of the nodes have a training label: 45 per class.", False),
    ]


def test_graph_without_edges() -> None:
    bare = Graph(sp.csr_array((5, 5)), None, np.array([0, 0, 1, 1, -1]))
    profile = profile_graph(bare, Split([0, 2], [1], [3]))  # type: ignore[arg-type]
    assert (profile.components, profile.isolated, profile.diameter, profile.pairs) == (5, 5, 0, None)
    assert not profile.large_diameter
    assert profile.growth == (0.2,) * len(STEPS)
