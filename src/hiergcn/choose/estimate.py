"""What to expect of a fit, before it starts: its time and peak memory, and what features and edges say alone.

Compared with real fits of Cora, a planted graph of Pubmed's size and one without features, on a busy machine, the time
was 24 % too low to 53 % too high. Memory is planned, not measured: see `memory_plan`.

The accuracies of features alone and of edges alone are cross-validated on the training labels. Features are judged by a
logistic regression, edges by label propagation. Both are quick: of a large graph, features see a part of the labels and
columns, and edges are left out if they would take long.
"""

import statistics
import time
import warnings
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from hiergcn.advise.doubtful import judged_by_edges
from hiergcn.choose.adapt import choose_settings
from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.profile import WORDS, scaling_for
from hiergcn.graph.split import stratified_folds
from hiergcn.graph.structure import WIDTH
from hiergcn.train.events import EpochDone, FitEvent
from hiergcn.train.loop import REPORT_EVERY
from hiergcn.train.trainer import Trainer, train_seeds
from hiergcn.workers.machine import held_memory
from hiergcn.workers.memory_plan import plan_memory

TRIAL_NODES = 20_000
TRIAL_ENTRIES = 20_000_000  # of the features
TRIAL_EPOCHS = 5
TRIAL_REPORTS = 3  # on a GPU, which reports its epochs in groups


@dataclass(frozen=True)
class Estimate:
    """Time and memory of one seed. Several seeds take a multiple of the time, and the same memory."""

    seconds: float
    """Time of all epochs; patience may stop earlier."""
    memory: int
    """Peak memory of the process, in bytes."""
    epochs: int
    """Most epochs of a fit."""
    trial_nodes: int
    """Nodes of the graph in the trial; if it was a smaller one of the same density, its time was multiplied."""


def estimate_fit(graph: Graph, split: Split) -> Estimate:
    """Train a few epochs on the graph, or on a smaller one of the same density and width if it is large.

    The settings are those adapted to the graph. An `InputError` is raised if a fit would need too much memory.
    """
    trainer = Trainer(graph)
    settings = choose_settings(graph, split, coarsen=trainer.coarsen).settings
    trainer.plan(settings)
    width = graph.n_features or WIDTH
    nodes = min(graph.n_nodes, TRIAL_NODES, max(TRIAL_ENTRIES // width, 200))
    epochs = TRIAL_REPORTS * REPORT_EVERY if trainer.device.type == "cuda" else TRIAL_EPOCHS
    short = replace(settings, train=replace(settings.train, epochs=epochs, patience=None))
    ticks: list[tuple[int, float]] = []  # epochs that were reported, and when

    def note(event: FitEvent) -> None:
        if isinstance(event, EpochDone):
            ticks.append((event.epoch, time.perf_counter()))

    trial, ratio = graph, 1.0
    if nodes < graph.n_nodes:
        degree = min(graph.adjacency.nnz / graph.n_nodes, nodes - 1)
        trial = planted_graph(nodes, classes=max(graph.n_classes, 2), degree=degree, features=width)
        ratio = (graph.n_nodes + graph.adjacency.nnz) / (trial.n_nodes + trial.adjacency.nnz)
        trainer, split = Trainer(trial), Split.by_id(trial.strata, trial.ids, 0.2, 0.2, 0)
    train_seeds(trainer, [split], short, [0], note)
    each = [(then - now) / (later - epoch) for (epoch, now), (later, then) in pairwise(ticks)]  # less the first report
    seconds = ratio * (trainer.coarsen_seconds + statistics.median(each) * settings.train.epochs)
    memory = held_memory() + plan_memory(graph, settings).total  # the process holds the graph already
    return Estimate(seconds, memory, settings.train.epochs, nodes)


FOLDS = 5
"""Also the fewest training labels of a class that takes part."""
MOST_ROWS, MOST_COLUMNS = 500, 500  # of the logistic regression
MOST_STEPS = 100  # of its optimiser
MOST_PRODUCTS = 40_000_000  # entries of the adjacency times classes times folds; about two seconds


@dataclass(frozen=True)
class Evidence:
    """Accuracies on held-out training labels."""

    labels: int
    """Training labels that took part."""
    largest: float
    """Share of the largest class among them."""
    features: float | None
    """None if the nodes have no features of their own."""
    edges: float | None
    """None if there are none, or too many for a quick answer."""

    def sentence(self) -> str:
        """Describe the accuracy of features and edges in a sentence."""
        alone = (("features", self.features), ("edges", self.edges))
        parts = [f"{name} alone give {100 * accuracy:.0f} %" for name, accuracy in alone if accuracy is not None]
        given = f"Of {self.labels:,} training labels, held out in turn"
        return f"{given}, {' and '.join(parts)}; always naming the largest class gives {100 * self.largest:.0f} %."


def measure_evidence(graph: Graph, split: Split) -> Evidence | None:
    """Return the accuracy of features alone and of edges alone; None if neither can be judged.

    Only classes with at least `FOLDS` training labels take part; there must be two.
    """
    if graph.labels is None:
        return None
    count = np.bincount(graph.labels[split.train], minlength=graph.n_classes)
    if np.count_nonzero(count >= FOLDS) < 2:
        return None
    nodes = split.train[count[graph.labels[split.train]] >= FOLDS]
    features, edges, labels = _accuracy_of_features(graph, nodes), None, graph.labels[nodes]
    if 0 < graph.adjacency.nnz * graph.n_classes * FOLDS <= MOST_PRODUCTS:
        shares = judged_by_edges(graph.adjacency, nodes, labels, graph.n_classes, stratified_folds(labels, FOLDS))
        edges = float((shares.argmax(axis=1) == labels).mean())
    if features is None and edges is None:
        return None
    return Evidence(nodes.size, float(count.max() / nodes.size), features, edges)


def _accuracy_of_features(graph: Graph, nodes: NDArray[np.int64]) -> float | None:
    if not graph.has_own_features:
        return None
    assert graph.features is not None
    nodes = nodes[np.linspace(0, nodes.size - 1, min(MOST_ROWS, nodes.size)).astype(np.int64)]
    X, labels = graph.features[nodes], graph.truth[nodes]
    if X.shape[1] > MOST_COLUMNS:  # those that vary most
        squares = X.power(2) if isinstance(X, sp.csr_array) else np.square(X)
        variance = squares.mean(axis=0) - np.square(X.mean(axis=0))
        X = X[:, np.sort(np.argsort(-variance, kind="stable")[:MOST_COLUMNS])]
    scaling = scaling_for(graph)[0]
    standard: Any = StandardScaler(with_mean=not sp.issparse(X)) if scaling == "standard" else "passthrough"
    model = make_pipeline(
        Normalizer() if scaling == WORDS else standard,
        LogisticRegression(C=0.1 if scaling == "standard" else 10.0, max_iter=MOST_STEPS),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # near enough for an estimate
        warnings.simplefilter("ignore", UserWarning)  # a class may have lost labels to the limit on rows
        predicted = cross_val_predict(model, X, labels, cv=StratifiedKFold(FOLDS, shuffle=True, random_state=0))
    return float((predicted == labels).mean())
