"""The model and the settings for a graph that no recipe was written for, chosen by its size, labels and features.

The paper's settings were made for citation networks with thousands of words: on other graphs its dropout of 0.85, the
ReLU before the softmax and the summed loss can keep the network from learning. What is chosen instead was found on
validation (`scripts/search_adapted.py`; its logs are in docs/results/searches). Every choice comes with its reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from hiergcn.coarsen import coarsen
from hiergcn.graph import Graph, Split
from hiergcn.graph.tables.feature_columns import STRUCTURAL
from hiergcn.run.settings import Settings, settings_for

PRESET = "adapted"
DEFAULT = "hgcn-plus"
"""The method for a graph without a recipe: it learned more than H-GCN and GCN on those that it was tried on."""
MOST_LEVELS = 4
"""As in the paper on citation networks."""
NODES_PER_CLASS = 4
"""That the coarsest level keeps at least, so that it can still tell the classes apart."""
LEAST_REDUCTION = 0.9
"""A level that keeps more of the nodes than this is not worth its two layers."""
SMALL = 500
"""Nodes below which a narrower network is less apt to learn its few labels by heart."""
FEW_LABELS, MANY_LABELS = 20, 100
"""Training labels of a class, on average."""
IMBALANCE = 10.0
ORDERS = (2, 8)
"""The fewest and the most steps of propagation."""
WORDS = "l2"
"""The scaling of features that are counts of words, or like them."""
MOSTLY_ZERO = 0.25


class Choice(NamedTuple):
    setting: str
    value: Any
    reason: str

    @property
    def shown(self) -> str:
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


@dataclass(frozen=True)
class Adapted:
    """Settings, and why they are so."""

    settings: Settings
    choices: tuple[Choice, ...]
    advice: tuple[str, ...] = ()
    """What else may be worth a try."""

    @property
    def reasons(self) -> dict[str, str]:
        """Why each setting is as it is, by its name."""
        return {one.setting: one.reason for one in self.choices}

    def override(self, changes: Mapping[str, Any]) -> Self:
        """Settings that the user makes otherwise, which then need no reason."""
        kept = tuple(one for one in self.choices if one.setting not in changes)
        advice = () if "class_weight" in changes else self.advice
        return replace(self, settings=self.settings.override(changes), choices=kept, advice=advice)


def method_for(preset: str | None, dataset: str | None = None) -> str:
    """The method where none is named; presets without one are H-GCN's, and named datasets have its recipes."""
    return "hgcn" if preset or dataset else DEFAULT


def adapted_settings(graph: Graph, split: Split, method: str = DEFAULT) -> Adapted:
    """Settings of a method for this graph; those of a method that there is nothing to say about stay as they are."""
    choices = _choices(graph, split, method)
    settings = settings_for(method)
    if not choices:
        return Adapted(settings, ())
    adapted = settings.override({one.setting: one.value for one in choices})
    return Adapted(replace(adapted, preset=PRESET), tuple(choices), tuple(_advice(graph, split)))


def _choices(graph: Graph, split: Split, method: str) -> list[Choice]:
    if not hasattr(settings_for(method).model, "scaling"):
        return []
    scaling = Choice("scaling", *scaling_for(graph))
    if method == "hgcn":
        return [_levels(graph, split), scaling, _hidden(graph), _dropout(graph, split), _rate(scaling), *_FOR_HGCN]
    if method == "hgcn-plus":
        return [_order(graph), _levels(graph, split), scaling, _hidden(graph), _rate(scaling, 0.05), *_FOR_PLUS]
    if method == "gcn":
        return [scaling, _hidden(graph), _rate(scaling)]
    return [scaling, _hidden(graph)] if method == "mlp" else [scaling]


_FOR_HGCN = (
    Choice("pooling", "l2", "sums over large hyper-nodes would drown small ones"),
    Choice("output_relu", False, "with a ReLU before the softmax a node can stop learning"),
    Choice("loss", "mean", "so that learning rate and penalty do not depend on the number of labels"),
    Choice("l2", 5e-4, "usual beside a mean loss"),
    Choice("epochs", 300, "at most; validation chooses the epoch"),
    Choice("patience", 100, "epochs without a better one end the training"),
)

_FOR_PLUS = (
    Choice("share", 0.1, "hyper-nodes have a say, and no more: where they mix classes, a greater one does harm"),
    Choice("drop_node", 0.3, "half of the nodes, as on citation networks, is too many for most graphs"),
    Choice("input_dropout", 0.2, "dropping nodes leaves little to gain by dropping single numbers too"),
    Choice("hidden_dropout", 0.2, "as for the input"),
    Choice("passes", 2, "more cost time and gain little"),
    Choice("epochs", 300, "at most; validation chooses the epoch"),
    Choice("patience", 100, "epochs without a better one end the training"),
)


def _levels(graph: Graph, split: Split) -> Choice:
    """As deep as leaves the coarsest level enough nodes; the graph is coarsened to see."""
    assert graph.labels is not None
    least = NODES_PER_CLASS * np.unique(graph.labels[split.train]).size
    sizes = coarsen(graph.adjacency, MOST_LEVELS, settings_for("hgcn").coarsen).sizes().nodes
    deep = 0
    while deep + 1 < len(sizes) and sizes[deep + 1] >= least and sizes[deep + 1] <= LEAST_REDUCTION * sizes[deep]:
        deep += 1
    levels = max(deep, 1)
    kept = sizes[min(levels, len(sizes) - 1)]
    return Choice("levels", levels, f"the coarsest level then has {kept:,} of {sizes[0]:,} nodes")


def _order(graph: Graph) -> Choice:
    """Steps after which a node of usual degree has heard from about as many nodes as there are."""
    degree = np.diff(graph.adjacency.indptr)
    mean = float(degree[degree > 0].mean()) if degree.any() else 0.0
    steps = np.log(graph.n_nodes) / np.log(mean) if mean > 1 else np.inf
    order = int(np.clip(np.ceil(steps), *ORDERS))
    return Choice("order", order, f"a node has {mean:.1f} neighbours on average, and the graph {graph.n_nodes:,} nodes")


def _rate(scaling: Choice, for_words: float = 0.03) -> Choice:
    if scaling.value == WORDS:
        return Choice("learning_rate", for_words, "numbers in a row of length 1 with many words are small")
    return Choice("learning_rate", 0.01, "a rate that suits most graphs")


def _hidden(graph: Graph) -> Choice:
    if graph.n_nodes < SMALL:
        return Choice("hidden", 32, f"the graph has fewer than {SMALL} nodes")
    return Choice("hidden", 64, f"the graph has {SMALL} nodes or more")


def _dropout(graph: Graph, split: Split) -> Choice:
    assert graph.labels is not None
    per_class = split.train.size / np.unique(graph.labels[split.train]).size
    rate = 0.6 if per_class <= FEW_LABELS else 0.5 if per_class <= MANY_LABELS else 0.3
    return Choice("dropout", rate, f"there are {per_class:.0f} training labels a class")


def scaling_for(graph: Graph) -> tuple[str, str]:
    """The scaling that suits the features, and why."""
    X = graph.features
    if X is None or any(column.kind == STRUCTURAL for column in graph.columns):
        return "none", "features that are made from the edges are scaled already"
    stored = X.data if isinstance(X, sp.csr_array) else X
    entries = np.count_nonzero(stored)
    if (stored >= 0).all() and entries < MOSTLY_ZERO * X.shape[0] * X.shape[1]:
        return WORDS, "features are mostly zero and never negative, as counts of words are"
    if (stored >= 0).all() and bool(np.isin(stored, (0, 1)).all()):
        return WORDS, "features are zeros and ones"
    return "standard", "features are measurements of different sizes"


def _advice(graph: Graph, split: Split) -> list[str]:
    assert graph.labels is not None
    count = np.bincount(graph.labels[split.train], minlength=graph.n_classes)
    count = count[count > 0]
    if count.max() < IMBALANCE * count.min():
        return []
    times = count.max() / count.min()
    what = f"the largest class has {times:.0f} times the training labels of the smallest"
    return [f"{what}: class_weight=balanced makes rare classes count as much"]
