"""Spending labels well: which nodes to label, prediction sets, doubtful labels. `labels_page.py` has the page.

The rule of `suggest` was chosen on Cora, Photo and a smaller power grid, with a linear model and draws from 100 on; the
other graphs had no part in it. The judges of labels were chosen on draws from 100 on of the four graphs that are used
here. The draws here are 0 to 19.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from hiergcn import Graph, HierGCNError, Split
from hiergcn.coarsening import coarsen
from hiergcn.datasets import load_dataset, planted_graph
from hiergcn.graph import canonical_order
from hiergcn.research import (
    DEPTH,
    Diffusion,
    Run,
    averaged,
    comparable_features,
    evaluate_promise,
    find_doubts,
    fit,
    fit_temperature,
    suggest,
)
from hiergcn_experiments.experiment import Experiment, Measurement, Scope

NAME = "labels"
LINEAR, AUTO, COVERAGE, DOUBTFUL, SCALE = (
    f"labels-{part}" for part in ("linear", "auto", "coverage", "doubtful", "scale")
)
PER_CLASS = (2, 5, 10, 20)
MOST = 40
"""Random labels per class up to which the curve goes, to see how many of them suggested ones are worth."""
DRAWS, SPLITS = 20, 20
TIME_LIMIT = 5.0
"""Seconds of an automatic choice: by the clock on a GPU, by prices alone on a CPU, see `budget`."""
ASKED, CALIBRATING = (0.9, 0.95), (50, 200)
FLIPPED = 0.1
DOUBT_TASKS = ("cora", "citeseer", "pubmed", "photo")
SIZES = (1_000_000, 10_000_000)
_VALIDATION = 100
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


class HiddenLabels:
    """A dataset whose labels are hidden until nodes are chosen."""

    def __init__(self, task: str) -> None:
        self.by_features = TASKS[task].by_features
        graph = load_dataset(TASKS[task].dataset).graph
        self.truth, self.bare, self.n_classes = graph.truth, graph.with_labels(None), graph.n_classes
        self.hierarchy = coarsen(graph.adjacency, DEPTH)
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

    def suggested(
        self, budget: int, seed: int, labelled: Graph | None = None, confidence: NDArray[Any] | None = None
    ) -> Nodes:
        graph = labelled or self.bare
        table = suggest(graph, budget, confidence=confidence, hierarchy=self.hierarchy, seed=seed)
        nodes: Nodes = pd.Index(graph.ids).get_indexer(pd.Index(table["id"]))
        return nodes

    def rounds(self, seed: int, model: Callable[[Nodes], Probabilities], most: int) -> dict[str, float]:
        """Label, fit, suggest, repeat; return the accuracy by labels per class, up to `most`."""
        found: dict[str, float] = {}
        nodes = self.suggested(ROUND * self.n_classes, seed)
        for per_class in range(ROUND, most + 1, ROUND):
            probabilities = model(nodes)
            found[str(per_class)] = self.accuracy(probabilities, nodes)
            if per_class < most:
                sure = probabilities.max(axis=1)
                more = self.suggested(ROUND * self.n_classes, seed, self.labelled(nodes), sure)
                nodes = np.concatenate([nodes, more])
        return found


# The strategies that `suggest` is compared with


def by_chance(hidden: HiddenLabels, budget: int, seed: int) -> Nodes:
    return np.random.default_rng(seed).permutation(len(hidden.truth))[:budget]


def by_degree(hidden: HiddenLabels, budget: int, seed: int) -> Nodes:
    degree = np.diff(hidden.bare.adjacency.indptr)
    return _largest(degree.astype(np.float64), budget, seed)


def by_page_rank(hidden: HiddenLabels, budget: int, seed: int) -> Nodes:
    A = hidden.bare.adjacency
    degree = np.asarray(A.sum(axis=1)).ravel()
    rank = np.full(len(degree), 1.0 / len(degree))
    for _ in range(100):
        rank = 0.85 * (A @ (rank / np.maximum(degree, 1e-12))) + 0.15 / len(degree)
    return _largest(rank, budget, seed)


def by_k_means(hidden: HiddenLabels, budget: int, seed: int) -> Nodes:
    """Return the node nearest to each centre of a k-means on propagated features (FeatProp, Wu et al. 2019)."""
    model = KMeans(budget, n_init=1, max_iter=30, random_state=seed).fit(hidden.X)
    distance = np.square(hidden.X - model.cluster_centers_[model.labels_]).sum(axis=1)
    order = np.lexsort((distance, model.labels_))
    return order[np.unique(model.labels_[order], return_index=True)[1]]


def _largest(score: NDArray[np.float64], budget: int, seed: int) -> Nodes:
    """Return the nodes with the largest scores; chance decides between equal ones."""
    return np.lexsort((np.random.default_rng(seed).random(len(score)), -score))[:budget]


STRATEGIES: dict[str, Callable[[HiddenLabels, int, int], Nodes]] = {
    "random": by_chance,
    "degree": by_degree,
    "page-rank": by_page_rank,
    "k-means": by_k_means,
    "suggest": HiddenLabels.suggested,
}
AUTO_STRATEGIES = ("random", "k-means", "suggest")
"""Those that the automatic choice is tried with; the others are far behind with the linear model."""


@lru_cache(maxsize=len(TASKS))
def hidden_labels(task: str) -> HiddenLabels:
    return HiddenLabels(task)


# What is measured


def _divided(graph: Graph, draw: int) -> Split:
    """Return the split of the stored results: of each class a fifth validates."""
    return Split.holdout(graph.strata, 0.2, 0.0, draw, canonical_order(graph.ids))


def _chosen(graph: Graph, split: Split, seed: int, time_limit: float, device: str) -> Run:
    """Return the result of the automatic choice, which does not depend on how busy a CPU is."""
    return fit(graph, split, seeds=[seed], model="auto", time_limit=time_limit, by_clock=False, device=device)


def labels_linear(task: str, draw: int, per_class: Sequence[int] = PER_CLASS) -> dict[str, Any]:
    """Label nodes by each strategy and by rounds; return the accuracies of the linear model by labels per class."""
    hidden = hidden_labels(task)
    found: dict[str, Any] = {}
    for name, strategy in STRATEGIES.items():
        sizes = [*per_class, MOST] if name == "random" else per_class
        chosen = {size: strategy(hidden, size * hidden.n_classes, draw) for size in sizes}
        found[name] = {str(size): hidden.accuracy(hidden.linear(nodes), nodes) for size, nodes in chosen.items()}
    rounds = hidden.rounds(draw, hidden.linear, PER_CLASS[-1]) if PER_CLASS[-1] in per_class else {}
    return {"accuracy": found | {"rounds": rounds}}


def labels_auto(
    task: str, draw: int, time_limit: float, device: str = "auto", per_class: Sequence[int] = PER_CLASS
) -> dict[str, Any]:
    """Do the same with the automatic choice, for fewer strategies; a fit that fails counts as None."""
    hidden = hidden_labels(task)
    first: dict[bytes, Probabilities] = {}  # rounds begin with nodes that were suggested before

    def answer(nodes: Nodes) -> Probabilities:
        if nodes.tobytes() not in first:
            graph = hidden.labelled(nodes)
            first[nodes.tobytes()] = _chosen(graph, _divided(graph, draw), draw, time_limit, device).confidence
        return first[nodes.tobytes()]

    found: dict[str, dict[str, float]] = {name: {} for name in AUTO_STRATEGIES}
    failures: list[str] = []

    @contextmanager
    def noting(what: str) -> Iterator[None]:
        try:
            yield
        except (HierGCNError, MemoryError, RuntimeError) as error:
            failures.append(f"{what}: {error!s:.200}")

    for name, size in product(AUTO_STRATEGIES, per_class):
        nodes = STRATEGIES[name](hidden, size * hidden.n_classes, draw)
        with noting(f"{name} {size}"):
            found[name][str(size)] = hidden.accuracy(answer(nodes), nodes)
    with noting("rounds"):
        found["rounds"] = hidden.rounds(draw, answer, PER_CLASS[-1]) if PER_CLASS[-1] in per_class else {}
    return {"accuracy": found, "failures": failures}


def labels_coverage(
    task: str, split: int, model: str, time_limit: float = TIME_LIMIT, device: str = "auto"
) -> dict[str, Any]:
    """Learn from 5 labels per class; return coverage and mean size of prediction sets at all other nodes."""
    hidden = hidden_labels(task)
    drawn = Split.random(hidden.truth, 5, _VALIDATION + max(CALIBRATING), None, split)
    mixed = np.random.default_rng(split).permutation(drawn.validation)
    validation, calibration = mixed[:_VALIDATION], mixed[_VALIDATION:]
    graph = hidden.labelled(np.concatenate([drawn.train, drawn.validation, drawn.test]))
    if model == "linear":
        rough = hidden.linear(drawn.train)
        found = fit_temperature(rough[validation], hidden.truth[validation]).scale(rough)
    else:
        training = Split(drawn.train, validation, drawn.test)
        found = _chosen(graph, training, split, time_limit, device).confidence
    rows = []
    sets: Any
    for count in CALIBRATING:
        part = Split(drawn.train, validation, drawn.test, calibration[:count])
        for asked in ASKED:
            sets, figures = evaluate_promise(graph, part, found, asked)
            size = float(sets.members(found[drawn.test]).sum(axis=1).mean())
            rows.append({"nodes": count, "asked": asked, "covered": figures["measured_coverage"], "size": size})
    return {"sets": rows, "accuracy": hidden.accuracy(found, np.concatenate([drawn.train, drawn.validation]))}


def labels_doubtful(task: str, draw: int, more: int, device: str = "auto") -> dict[str, Any]:
    """Flip a tenth of 20 labels per class and `more` others; return how many of the first doubtful ones were flipped.

    Confidence alone ranks by the probability of the given class, and by confidence in any class, of a GCN that was
    trained with the flipped labels. Its accuracy is measured with all labels as given, without the most doubtful ones,
    and with the true labels.
    """
    hidden = hidden_labels(task)
    drawn = Split.random(hidden.truth, 20, more, None, draw)
    nodes = np.concatenate([drawn.train, drawn.validation])
    rng = np.random.default_rng(draw)
    wrong = rng.permutation(len(nodes))[: round(FLIPPED * len(nodes))]
    given = hidden.truth[nodes].copy()
    given[wrong] = (given[wrong] + rng.integers(1, hidden.n_classes, len(wrong))) % hidden.n_classes
    labels = np.full(len(hidden.truth), -1)
    labels[nodes] = given
    graph = hidden.labelled(nodes).with_labels(labels)
    doubts = find_doubts(graph.adjacency, comparable_features(graph), nodes, given, hidden.n_classes)
    split = _divided(graph, draw)

    def gcn(with_labels: Graph, drop: int = 0) -> Probabilities:
        result = fit(with_labels, split, seeds=[draw], model="gcn", drop_doubtful=drop, device=device)
        return result.probabilities.astype(np.float64)

    trained = gcn(graph)
    ranked = {
        "judged": doubts.nodes,
        "confidence in the label": nodes[np.argsort(trained[nodes, given], kind="stable")],
        "confidence": nodes[np.argsort(trained[nodes].max(axis=1), kind="stable")],
    }
    accuracy = {
        "as given": hidden.accuracy(trained, nodes),
        "without the doubtful": hidden.accuracy(gcn(graph, drop=len(wrong)), nodes),
        "true labels": hidden.accuracy(gcn(hidden.labelled(nodes)), nodes),
    }
    precision = {name: float(np.isin(order[: len(wrong)], nodes[wrong]).mean()) for name, order in ranked.items()}
    return {"flipped": len(wrong), "labels": len(nodes), "precision": precision, "accuracy": accuracy}


def labels_scale(nodes: int) -> dict[str, Any]:
    """Time coarsening and `suggest` on a planted graph with 8 features and 5 neighbours per node."""
    graph = planted_graph(nodes, degree=5, features=8, seed=0).with_labels(None)
    coarsen(planted_graph(500, seed=0).adjacency, 2)  # loads compiled code before the clock runs
    began = perf_counter()
    hierarchy = coarsen(graph.adjacency, DEPTH)
    coarsened = perf_counter()
    suggest(graph, 100, hierarchy=hierarchy)
    return {"edges": graph.n_edges, "coarsen": coarsened - began, "suggest": perf_counter() - coarsened}


def labels_experiments(scope: Scope) -> tuple[Experiment, ...]:
    """Return the parts of the study; a draw of each if quick."""
    named, quick = scope.some(TASKS), scope.quick
    sizes: dict[str, Any] = {"per_class": (2,)} if quick else {}
    limit: dict[str, Any] = {"time_limit": float(TIME_LIMIT if scope.seconds is None else scope.seconds)}

    def over(name: str, count: int, *, on_device: bool = True, **more: Any) -> list[Measurement]:
        number = "split" if name == COVERAGE else "draw"
        tasks = [task for task in named if task in DOUBT_TASKS or name != DOUBTFUL]
        draws = range(1 if quick else count)
        about = [{"task": task, number: draw} for draw in draws for task in tasks]  # so that an early end has all tasks
        return [Measurement(name, one | more, on_device=on_device) for one in about]

    linear_sets = over(COVERAGE, SPLITS, on_device=False, model="linear")
    large = [Measurement(SCALE, {"nodes": n}, alone=True) for n in ((10_000,) if quick else SIZES)]
    doubtful = [*over(DOUBTFUL, DRAWS, more=0), *over(DOUBTFUL, DRAWS, more=500)]
    parts = {
        LINEAR: ("which nodes to label, with a linear model", over(LINEAR, DRAWS, on_device=False, **sizes)),
        AUTO: ("which nodes to label, with the automatic choice", over(AUTO, DRAWS, **sizes, **limit)),
        COVERAGE: ("coverage and size of prediction sets, with a linear model", linear_sets),
        f"{COVERAGE}-auto": ("the same with the automatic choice", over(COVERAGE, SPLITS, model="auto", **limit)),
        DOUBTFUL: ("finding flipped labels", doubtful),
        SCALE: ("seconds of suggest on large graphs", large),
    }
    return tuple(Experiment(name, "Labels", about, measurements=tuple(jobs)) for name, (about, jobs) in parts.items())
