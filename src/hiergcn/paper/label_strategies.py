"""Ways to choose the nodes to label, on datasets whose labels are hidden until nodes are chosen."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from hiergcn.coarsen import Hierarchy, coarsen
from hiergcn.coarsen.diffusion import Diffusion
from hiergcn.coarsen.sampling import DEPTH
from hiergcn.datasets import load_dataset
from hiergcn.explain.doubtful import averaged
from hiergcn.graph import Graph
from hiergcn.run.label_check import comparable_features
from hiergcn.run.suggest import suggested_nodes

ROUND = 5
"""Labels per class in each round: label, fit, suggest, repeat."""
_PENALTY = 0.01  # of the logistic regression

Nodes = NDArray[np.int64]
Probabilities = NDArray[np.float64]


@dataclass(frozen=True)
class LabelsTask:
    """A dataset, and whether the linear model uses its features or diffuses labels instead."""

    title: str
    dataset: str
    by_features: bool = True


TASKS = {
    "cora": LabelsTask("Cora", "cora"),
    "citeseer": LabelsTask("Citeseer", "citeseer"),
    "pubmed": LabelsTask("Pubmed", "pubmed"),
    "photo": LabelsTask("Amazon Photo", "amazon-photo"),
    "cs": LabelsTask("Coauthor CS", "coauthor-cs"),
    "activsg10k": LabelsTask("Power grid, western USA", "activsg10k", by_features=False),
    "pegase": LabelsTask("Power grid, Europe", "pegase", by_features=False),
}


class Arena:
    """A dataset whose labels are hidden until nodes are chosen."""

    def __init__(self, task: str) -> None:
        self.by_features = TASKS[task].by_features
        graph = load_dataset(TASKS[task].dataset).graph
        assert graph.labels is not None
        self.truth, self.bare, self.n_classes = graph.labels, graph.with_labels(None), graph.n_classes
        self.hierarchy: Hierarchy = coarsen(graph.adjacency, DEPTH)
        features = comparable_features(graph)
        assert features is not None
        self.X = averaged(graph.adjacency, features)
        self.diffusion = Diffusion(graph.adjacency)

    def labelled(self, nodes: Nodes) -> Graph:
        """Return the graph with the labels of these nodes alone."""
        labels = np.full(len(self.truth), -1)
        labels[nodes] = self.truth[nodes]
        return self.bare.with_labels(labels, [str(k) for k in range(self.n_classes)])

    def linear(self, nodes: Nodes) -> Probabilities:
        """Return the probabilities of a linear model that learned from these nodes, (n, classes)."""
        nodes = nodes[self.truth[nodes] >= 0]  # a few nodes of Citeseer have no class
        classes = self.truth[nodes]
        if not self.by_features:
            return self.diffusion.harmonic(nodes, classes, self.n_classes)
        found = np.zeros((len(self.truth), self.n_classes))
        if len(np.unique(classes)) == 1:
            found[:, classes[0]] = 1.0
        else:
            model = LogisticRegression(C=1.0 / _PENALTY, max_iter=200).fit(self.X[nodes], classes)
            found[:, model.classes_] = model.predict_proba(self.X)
        return found

    def accuracy(self, probabilities: Probabilities, nodes: Nodes) -> float:
        """Return the accuracy on all other nodes."""
        others = np.setdiff1d(np.flatnonzero(self.truth >= 0), nodes)
        return float((probabilities[others].argmax(axis=1) == self.truth[others]).mean())

    def suggested(self, budget: int, seed: int) -> Nodes:
        return suggested_nodes(self.bare, budget, hierarchy=self.hierarchy, seed=seed)[0]

    def rounds(self, seed: int, model: Callable[[Nodes], Probabilities], most: int) -> dict[int, float]:
        """Label, fit, suggest, repeat; return the accuracy by labels per class, up to `most`."""
        found: dict[int, float] = {}
        nodes = self.suggested(ROUND * self.n_classes, seed)
        for per_class in range(ROUND, most + 1, ROUND):
            probabilities = model(nodes)
            found[per_class] = self.accuracy(probabilities, nodes)
            if per_class < most:
                more, _ = suggested_nodes(
                    self.labelled(nodes),
                    ROUND * self.n_classes,
                    confidence=probabilities.max(axis=1),
                    hierarchy=self.hierarchy,
                    seed=seed,
                )
                nodes = np.concatenate([nodes, more])
        return found


# The strategies that `suggest` is compared with


def by_chance(arena: Arena, budget: int, seed: int) -> Nodes:
    return np.random.default_rng(seed).permutation(len(arena.truth))[:budget]


def by_degree(arena: Arena, budget: int, seed: int) -> Nodes:
    degree = np.diff(arena.bare.adjacency.indptr)
    return _largest(degree.astype(np.float64), budget, seed)


def by_page_rank(arena: Arena, budget: int, seed: int) -> Nodes:
    A = arena.bare.adjacency
    degree = np.asarray(A.sum(axis=1)).ravel()
    rank = np.full(len(degree), 1.0 / len(degree))
    for _ in range(100):
        rank = 0.85 * (A @ (rank / np.maximum(degree, 1e-12))) + 0.15 / len(degree)
    return _largest(rank, budget, seed)


def by_k_means(arena: Arena, budget: int, seed: int) -> Nodes:
    """Return the node nearest to each centre of a k-means on propagated features (FeatProp, Wu et al. 2019)."""
    model = KMeans(budget, n_init=1, max_iter=30, random_state=seed).fit(arena.X)
    distance = np.square(arena.X - model.cluster_centers_[model.labels_]).sum(axis=1)
    order = np.lexsort((distance, model.labels_))
    return order[np.unique(model.labels_[order], return_index=True)[1]]


def _largest(score: NDArray[np.float64], budget: int, seed: int) -> Nodes:
    """Return the nodes with the largest scores; chance decides between equal ones."""
    return np.lexsort((np.random.default_rng(seed).random(len(score)), -score))[:budget]


STRATEGIES: dict[str, Callable[[Arena, int, int], Nodes]] = {
    "random": by_chance,
    "degree": by_degree,
    "page-rank": by_page_rank,
    "k-means": by_k_means,
    "suggest": Arena.suggested,
}


@lru_cache(maxsize=len(TASKS))
def arena_of(task: str) -> Arena:
    return Arena(task)
