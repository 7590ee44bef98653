"""Settings chosen from the size, the labels and the features of a graph that no recipe was written for.

The paper's settings suit citation networks with thousands of words. On other graphs its dropout of 0.85, the ReLU
before the softmax and the summed loss can stop the network from learning. The choices here were made by validation
accuracy on a set of other graphs. Each one comes with its reason.

On graphs of large diameter, such as streets and power grids, a few steps see a small part of the graph. There the
measured growth of neighbourhoods decides the number of steps, and the hierarchy has more levels and a larger share.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from hiergcn.coarsening import Hierarchy
from hiergcn.coarsening import coarsen as coarsen_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.profile import STEPS, WEAK_HOMOPHILY, WORDS, GraphProfile, profile_graph, scaling_for
from hiergcn.settings.fields import CoarsenConfig
from hiergcn.settings.registry import imported, method_info
from hiergcn.settings.settings import Choice, ChosenSettings, Settings, method_for, settings_for

PRESET = "adapted"
LONG_RANGE = "long-range"
MOST_LEVELS, MOST_LEVELS_LARGE = 4, 10  # 4 as in the paper on citation networks; more on graphs of large diameter
NODES_PER_CLASS, NODES_PER_CLASS_LARGE = 4, 2  # fewest at the coarsest level
LEAST_REDUCTION = 0.9  # a level that keeps a larger share of the nodes is not worth its two layers
SMALL = 500  # nodes below which a narrower network overfits less
FEW_LABELS, MANY_LABELS = 20, 100  # training labels per class, for dropout
IMBALANCE = 10.0  # ratio of the largest to the smallest class from which on class weights are advised
ORDERS = (2, 8)  # fewest and most propagation steps if neighbourhoods grow exponentially
MOST_STEPS = 16  # if they do not; what is farther away comes through the levels, at less cost

Coarsen = Callable[[int, CoarsenConfig], Hierarchy]
"""Returns the graph coarsened up to a number of levels."""


@dataclass(frozen=True)
class GraphFacts:
    """What the rules of a method may ask of a graph."""

    graph: Graph
    split: Split
    base: Settings
    """Settings of the recipe, with the user's changes."""
    changes: Mapping[str, Any]
    """Settings that the user fixes, by name."""
    coarsen: Coarsen
    known_profile: GraphProfile | None = None

    @cached_property
    def profile(self) -> GraphProfile:
        """Measured when it is first asked for."""
        return self.known_profile or profile_graph(self.graph, self.split)

    @cached_property
    def scaling(self) -> Choice:
        return Choice("scaling", *scaling_for(self.graph))

    def levels(self) -> list[Choice]:
        """Return as many levels as leave the coarsest one enough nodes; nothing if the user gives their number."""
        if "levels" in self.changes:
            return []
        profile, large = self.profile, self.profile.large_diameter
        sizes = self.coarsen(MOST_LEVELS_LARGE if large else MOST_LEVELS, self.base.coarsen).sizes().nodes
        least = (NODES_PER_CLASS_LARGE if large else NODES_PER_CLASS) * np.count_nonzero(profile.labels_per_class)
        deep = 0
        while deep + 1 < len(sizes) and sizes[deep + 1] >= least and sizes[deep + 1] <= LEAST_REDUCTION * sizes[deep]:
            deep += 1
        levels = max(deep, 1)
        kept = sizes[min(levels, len(sizes) - 1)]
        reason = f"the coarsest level then has {kept:,} of {sizes[0]:,} nodes"
        if large:
            reason = f"the diameter is at least {profile.diameter:,} steps, and {reason}"
        return [Choice("levels", levels, reason)]


def choose_settings(
    graph: Graph,
    split: Split,
    model: str | None = None,
    *,
    preset: str | None = None,
    dataset: str | None = None,
    changes: Mapping[str, Any] | None = None,
    coarsen: Coarsen | None = None,
    profile: GraphProfile | None = None,
) -> ChosenSettings:
    """Return the recipe of a preset or a named dataset; without either, settings adapted to the graph.

    A method adapts by the rules that it is registered with, and without rules only its scaling.

    Args:
        graph: with labels.
        split: its training labels count.
        model, preset, dataset: as in `fit`; the default model is `method_for(preset, dataset)`.
        changes: settings that the user fixes, by name.
        coarsen: makes the hierarchy that shows how many levels are useful; `Trainer.coarsen` keeps it for training.
        profile: of this graph and split; measured if it is needed and not given.
    """
    changes, method = changes or {}, model or method_for(preset, dataset)
    base = settings_for(method, preset, dataset).override(changes)
    if preset or dataset or not hasattr(base.model, "scaling"):
        return ChosenSettings(base)
    facts = GraphFacts(graph, split, base, changes, coarsen or partial(coarsen_graph, graph.adjacency), profile)
    rules = imported(method_info(method).adapt)
    adapted = [facts.scaling] if rules is None else rules(facts)
    choices = tuple(choice for choice in adapted if choice.setting not in changes)
    settings = base.override({choice.setting: choice.value for choice in choices})
    count = np.bincount(graph.strata[split.train])
    ratio = count.max() / count[count > 0].min()
    advice: tuple[str, ...] = ()
    if ratio >= IMBALANCE and "class_weight" not in changes:
        what = f"The largest class has {ratio:.0f} times the training labels of the smallest."
        advice = (f"{what} class_weight=balanced gives rare classes the same weight.",)
    return ChosenSettings(replace(settings, preset=PRESET), choices, advice)


def for_hgcn(facts: GraphFacts) -> list[Choice]:
    """Return settings of H-GCN; on graphs of large diameter, those of its recipe `long-range`."""
    levels, graph, train = facts.levels(), facts.graph, facts.split.train
    if facts.profile.large_diameter:
        values = settings_for("hgcn", LONG_RANGE).values() | {"dropout": 0.0}
        long_range = [Choice(setting, values[setting], reason) for setting, reason in _FOR_LONG_RANGE.items()]
        return [*levels, facts.scaling, *long_range]
    per_class = train.size / np.unique(graph.strata[train]).size
    rate = 0.6 if per_class <= FEW_LABELS else 0.5 if per_class <= MANY_LABELS else 0.3
    dropout = Choice("dropout", rate, f"there are {per_class:.0f} training labels per class")
    return [*levels, facts.scaling, _hidden(graph), dropout, _learning_rate(facts.scaling), *_FOR_HGCN]


def for_hgcn_plus(facts: GraphFacts) -> list[Choice]:
    """Return settings of H-GCN+. Its steps end where a node reaches about as many nodes as there are.

    Neighbourhoods usually grow by the mean degree with each step. If the diameter is large they grow by a power of the
    steps, which is measured.
    """
    graph, profile = facts.graph, facts.profile
    if profile.large_diameter:
        (_, nearer), (far, farther) = list(zip(STEPS, profile.growth, strict=True))[-2:]
        power = np.log2(farther / nearer)  # each of STEPS is twice the one before
        order = min(round(far * farther ** (-1 / power) if power else far), MOST_STEPS)
        reason = f"{far} steps reach {farther:.1%} of the graph on average"
    else:
        degree = np.diff(graph.adjacency.indptr)
        mean = float(degree[degree > 0].mean()) if degree.any() else 0.0
        order = int(np.clip(np.ceil(np.log(graph.n_nodes) / np.log(mean) if mean > 1 else np.inf), *ORDERS))
        reason = f"nodes have {mean:.1f} neighbours on average, and the graph has {graph.n_nodes:,} nodes"
    hierarchy = [*facts.levels(), *(_PLUS_LARGE if profile.large_diameter else _PLUS_SMALL)]
    hidden, rate = _hidden(graph), _learning_rate(facts.scaling, 0.05)
    return [Choice("order", order, reason), *hierarchy, facts.scaling, hidden, rate, *_FOR_PLUS]


def for_gcn(facts: GraphFacts) -> list[Choice]:
    """Return settings of GCN, with biases if neighbours differ in class."""
    homophily, choices = facts.profile.adjusted_homophily, [*for_mlp(facts), _learning_rate(facts.scaling)]
    if homophily is not None and homophily < WEAK_HOMOPHILY:
        choices.append(Choice("bias", True, "neighbours tend to differ in class"))
    return choices


def for_mlp(facts: GraphFacts) -> list[Choice]:
    """Return settings of a perceptron."""
    return [facts.scaling, _hidden(facts.graph)]


_FOR_HGCN = (
    Choice("pooling", "l2", "with sums, large hyper-nodes would dominate small ones"),
    Choice("output_relu", False, "a ReLU before the softmax can stop a node from learning"),
    Choice("loss", "mean", "keeps learning rate and penalty independent of the number of labels"),
    Choice("l2", 5e-4, "usual with a mean loss"),
    Choice("epochs", 300, "an upper bound; validation chooses the epoch"),
    Choice("patience", 100, "training stops after this many epochs without a better one"),
)

_FOR_LONG_RANGE = {
    "hidden": "narrower networks were not tried on graphs of large diameter",
    "channels": "more channels did not help on graphs of large diameter",
    "weight_embedding": "the size of a hyper-node tells how much of the graph it stands for",
    "dropout": "through many layers, dropout leaves little of what comes from far away",
    "pooling": "hyper-nodes of many levels differ much in size; a mean does not depend on it",
    "output_relu": "a ReLU before the softmax can stop a node from learning",
    "loss": "keeps learning rate and penalty independent of the number of labels",
    "learning_rate": "suits most graphs",
    "l2": "streets and power grids were learned with a weak penalty",
    "epochs": "an upper bound; many layers learn slowly, and validation chooses the epoch",
    "patience": "training stops after this many epochs without a better one",
}
"""Settings of H-GCN that are taken from its recipe for graphs of large diameter, and why."""

_PLUS_SMALL = (Choice("share", 0.1, "a larger share of the hyper-nodes does harm if they mix classes"),)
_PLUS_LARGE = (
    Choice("share", 0.7, "steps see a small part of the graph; hyper-nodes bring in what is farther away"),
    Choice("level_order", 4, "hyper-nodes have small neighbourhoods, too"),
)
"""The hierarchy's part in H-GCN+, on graphs of small and of large diameter."""

_FOR_PLUS = (
    Choice("drop_node", 0.3, "half of the nodes, as on citation networks, is too many for most graphs"),
    Choice("input_dropout", 0.2, "dropping nodes leaves little to gain from dropping single features"),
    Choice("hidden_dropout", 0.2, "as for the input"),
    Choice("passes", 2, "more take longer and gain little"),
    Choice("epochs", 300, "an upper bound; validation chooses the epoch"),
    Choice("patience", 100, "training stops after this many epochs without a better one"),
)


def _learning_rate(scaling: Choice, for_words: float = 0.03) -> Choice:
    if scaling.value == WORDS:
        return Choice("learning_rate", for_words, "features are small if rows with many words have length 1")
    return Choice("learning_rate", 0.01, "suits most graphs")


def _hidden(graph: Graph) -> Choice:
    if graph.n_nodes < SMALL:
        return Choice("hidden", 32, f"the graph has fewer than {SMALL} nodes")
    return Choice("hidden", 64, f"the graph has {SMALL} nodes or more")
