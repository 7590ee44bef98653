"""What a graph looks like: components, distances, growth of neighbourhoods, homophily and labels.

Only training labels are read, so settings may be chosen by a profile.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.graph.graph import Graph
from hiergcn.graph.neighbourhoods import breadth_first, neighbourhood_sizes
from hiergcn.graph.split import Split
from hiergcn.graph.tables.feature_columns import TEXT

STEPS = (1, 2, 4, 8, 16)
"""Steps for which the growth of neighbourhoods is measured."""
LARGE_DIAMETER = 3.5  # times log2(n); random graphs, citation and co-purchase networks have 1 to 2.5 times
FEWEST_EDGES = 20  # between training nodes, to estimate homophily from
WEAK_HOMOPHILY = 0.1  # adjusted: below it, neighbours share their class hardly more often than by chance
FEW_PER_CLASS = 5
WORDS = "l2"  # scaling of word counts and similar features
MOSTLY_ZERO = 0.25  # share of non-zero entries below which features are taken for word counts


class Homophily(NamedTuple):
    """How often two training nodes at the ends of an edge, or of a path of two edges, have the same class."""

    same: float
    """Share of pairs with the same class."""
    chance: float
    """Expected share if classes were dealt to the ends of the pairs at random."""
    steps: int
    """1: neighbours. 2: nodes with a common neighbour, if too few edges join training nodes."""
    pairs: int

    @property
    def adjusted(self) -> float:
        """1 if all pairs have the same class, 0 if as many as by chance, negative if fewer."""
        return (self.same - self.chance) / (1.0 - self.chance) if self.chance < 1.0 else 0.0


@dataclass(frozen=True)
class GraphProfile:
    """Measures of a graph and of the training labels of a split."""

    nodes: int
    components: int
    largest: float
    """Share of the nodes in the largest component."""
    isolated: int
    """Nodes without an edge to another node."""
    diameter: int
    """Lower bound of the largest component's diameter, in steps, by two breadth-first searches; usually exact."""
    growth: tuple[float, ...]
    """Mean share of the graph within each number of `STEPS` from a node, over a fixed sample of nodes."""
    labels_per_class: tuple[int, ...]
    """Training labels of each class; numbers count as one class."""
    pairs: Homophily | None
    """None if too few training nodes are neighbours or have a common neighbour, or for numbers."""
    correlation: float | None = None
    """Of the numbers at both ends of edges between training nodes; None for classes, or if such edges are too few."""
    numbers: bool = False
    """Whether numbers are predicted."""

    @property
    def large_diameter(self) -> bool:
        """Whether the diameter is far above that of networks whose neighbourhoods grow exponentially."""
        return self.diameter > LARGE_DIAMETER * math.log2(self.nodes)

    @property
    def adjusted_homophily(self) -> float | None:
        """Share of equal classes: 0 for what chance gives, 1 for equal classes everywhere. None if unknown."""
        return None if self.pairs is None else self.pairs.adjusted

    def sentences(self) -> list[tuple[str, bool]]:
        """Describe the graph; a sentence is marked if it tells what may make classes hard to predict."""
        connected = "The graph is connected."
        if self.components > 1:
            lonely = f"; nodes without an edge: {self.isolated:,}" if self.isolated else ""
            largest = f"the largest holds {_percent(self.largest)} of the nodes"
            connected = f"The graph has {self.components:,} components, and {largest}{lonely}."
        near, far = (_percent(self.growth[STEPS.index(steps)]) for steps in (4, 16))
        diameter = f"The diameter is {'large' if self.large_diameter else 'small'}: at least {self.diameter:,} steps."
        reached = f"On average a node reaches {near} of the graph in 4 steps and {far} in 16."
        fewest, most, total = min(self.labels_per_class), max(self.labels_per_class), sum(self.labels_per_class)
        given, few = f"label: {most:,} per class.", fewest < FEW_PER_CLASS
        if self.numbers:
            given, few = f"value: {most:,}.", False
        elif fewest < most:
            given = f"label: {fewest:,} to {most:,} per class."
        return [
            (connected, False),
            (f"{diameter} {reached}", self.large_diameter),
            self._neighbours(),
            (f"{_percent(total / self.nodes)} of the nodes have a training {given}", few),
        ]

    def _neighbours(self) -> tuple[str, bool]:
        """Tell whether neighbours are alike, and whether they are not."""
        if self.correlation is not None:
            weak = self.correlation < WEAK_HOMOPHILY
            often = "hardly have similar values" if weak else "tend to have similar values"
            return f"Neighbours {often}: their correlation is {self.correlation:.2f}.", weak
        if self.pairs is None:
            alike = "have similar values" if self.numbers else "share their class"
            return f"Too few training nodes are near each other to tell whether neighbours {alike}.", False
        same, chance, steps, count = self.pairs
        who, joined = "Neighbours", f"{count:,} edges between training nodes join"
        if steps == 2:
            who, joined = "Nodes two steps apart", f"{count:,} such pairs of training nodes have"
        weak = self.pairs.adjusted < WEAK_HOMOPHILY
        often = "often differ in class" if weak else "tend to share their class"
        return f"{who} {often}: {_percent(same)} of {joined} equal classes, chance gives {_percent(chance)}.", weak


def _percent(share: float) -> str:
    """Return a share as people read it: 92 %, 3.4 %, 0.06 %."""
    return f"{100 * share:.{0 if share >= 0.1 or share == 0 else 1 if share >= 0.01 else 2}f} %"


def profile_graph(graph: Graph, split: Split) -> GraphProfile:
    """Measure a graph and the training labels of a split; a million nodes take about a second."""
    n, labels = graph.n_nodes, graph.strata[split.train]
    nodes = np.arange(n)
    order, level = breadth_first(graph.adjacency, nodes)
    sizes = np.bincount(level // n)
    end = int(np.cumsum(sizes)[sizes.argmax()])  # components follow each other, so that its farthest node is its last
    _, distance = breadth_first(graph.adjacency, np.roll(nodes, -order[end - 1]))
    pairs: Homophily | None = None
    correlation: float | None = None
    if graph.target.kind == "numbers":
        inside = sp.csr_array(graph.adjacency[split.train][:, split.train]).tocoo()
        here, there = (graph.truth[split.train][ends] for ends in inside.coords)
        if here.size >= 2 * FEWEST_EDGES and here.std() > 0:
            correlation = float(np.corrcoef(here, there)[0, 1])
    else:
        pairs = _homophily(graph.adjacency, split.train, labels)
    return GraphProfile(
        nodes=n,
        components=sizes.size,
        largest=float(sizes.max() / n),
        isolated=int(np.count_nonzero(sizes == 1)),
        diameter=int(distance[distance < n].max()),
        growth=tuple((neighbourhood_sizes(graph.adjacency, STEPS).mean(axis=1) / n).tolist()),
        labels_per_class=tuple(np.bincount(labels, minlength=graph.n_outputs).tolist()),
        pairs=pairs,
        correlation=correlation,
        numbers=graph.target.kind == "numbers",
    )


def _homophily(adjacency: sp.csr_array, train: NDArray[np.int64], labels: NDArray[np.int64]) -> Homophily | None:
    """Compare the classes of neighbouring training nodes; if these are too few, of those with a common neighbour.

    Classes with one training label are left out, since they cannot have a pair.
    """
    several = np.bincount(labels)[labels] > 1 if labels.size else np.empty(0, np.bool_)
    train, labels = train[several], labels[several]
    if not labels.size:
        return None
    # (n, classes): training neighbours of each node by class; self-loops do not count
    given = sp.csr_array((np.ones(train.size), (train, labels)), shape=(adjacency.shape[0], int(labels.max()) + 1))
    links = sp.csr_array((np.ones(adjacency.nnz), adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    beside = sp.csr_array(links @ given - sp.diags_array(links.diagonal()) @ given)
    beside.eliminate_zeros()
    joined, steps = sp.csr_array(given.T @ beside), 1  # (classes, classes): ends of edges between training nodes
    if joined.sum() < 2 * FEWEST_EDGES:
        # Each path through a common neighbour weighs 1 / (its training neighbours - 1): hubs do not outweigh all others
        count: NDArray[np.float64] = beside.sum(axis=1)
        middle = count > 1
        if count[middle].sum() < 2 * FEWEST_EDGES:
            return None
        weighted = sp.diags_array(1.0 / (count[middle] - 1.0)) @ beside[middle]
        joined, steps = sp.csr_array(beside[middle].T @ weighted - sp.diags_array(weighted.sum(axis=0))), 2
    ends = joined.sum(axis=1) / joined.sum()
    same = float(joined.diagonal().sum() / joined.sum())
    return Homophily(same, float(ends @ ends), steps, round(joined.sum() / 2))


def scaling_for(graph: Graph) -> tuple[str, str]:
    """Return the scaling that suits the features, and the reason."""
    X = graph.features
    if X is None or not graph.has_own_features:
        return "none", "features made from the edges are scaled already"
    kinds = {column.kind for column in graph.columns if column.width}
    if TEXT in kinds and kinds != {TEXT}:
        return "none", "words have weights up to 1, and numbers beside them are standardised"
    stored = X.data if isinstance(X, sp.csr_array) else X
    entries = np.count_nonzero(stored)
    if (stored >= 0).all() and entries < MOSTLY_ZERO * X.shape[0] * X.shape[1]:
        return WORDS, "features are mostly zero and never negative, like word counts"
    if (stored >= 0).all() and bool(np.isin(stored, (0, 1)).all()):
        return WORDS, "features are zeros and ones"
    return "standard", "features are measurements on different scales"
