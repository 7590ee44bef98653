"""Explanation of one prediction: contributions of nodes and features, and the hyper-nodes that the node belongs to."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from hiergcn.coarsening import Hierarchy
from hiergcn.errors import InputError
from hiergcn.explanation.attribution import Attribution
from hiergcn.fragments import card, table
from hiergcn.graph.structure import SURROUNDINGS
from hiergcn.graph.tables.feature_columns import FeatureColumn

MEMBERS = 20
"""Most members of a hyper-node that are listed."""
SUGGESTIONS = 3
"""Most ids that are suggested for an unknown one."""
MOST_COMPARED = 20_000
"""Most ids that are compared letter by letter with an unknown one; tens of thousands take a second."""


@dataclass(frozen=True)
class NodeShare:
    """Contribution of a node's features, or of its label, to the score."""

    id: str
    hops: int | None
    """Length of the shortest path to it; None if there is none."""
    share: float


@dataclass(frozen=True)
class FeatureShare:
    """Contribution of a feature, over all nodes, to the score."""

    name: str
    share: float


@dataclass(frozen=True)
class HyperNode:
    """A hyper-node that the node belongs to."""

    level: int
    size: int
    members: tuple[str, ...]
    """Ids of some members, those with the largest contributions first."""
    given: dict[str, int]
    """Number of members per class whose labels the model was given, largest first."""
    predicted: dict[str, int]
    """Number of members per predicted class."""
    share: float
    """Contribution of all members' features to the score."""


@dataclass(frozen=True)
class MethodShare:
    """The prediction of one method of the answer for the node."""

    name: str
    weight: float
    """Weight of its probabilities in the answer."""
    predicted: str
    probability: float | None
    """Of the explained class; None for a number."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """Contributions to the score of a class; they add up to `score - without`, apart from `missed`."""

    id: str
    predicted: str
    explained: str
    """The class that the contributions are about, or the name of the target."""
    probability: float | None
    """Of that class; None for a number."""
    score: float
    """Logit of that class minus the mean of all logits, before any `prediction_balance`. If labels alone answer, the
    share of that class minus the mean of all shares. For a number, the number that the explained method predicts."""
    without: float
    """The score if no node had any features; 0 if labels alone answer."""
    missed: float
    hops: dict[str, float]
    """Contributions by distance; "0" is the node itself."""
    nodes: tuple[NodeShare, ...]
    features: tuple[FeatureShare, ...]
    hyper_nodes: tuple[HyperNode, ...]
    by_labels: bool = False
    """Whether the contributions are those of labels, because no method of the answer uses features."""
    method: str = ""
    """The method that the contributions are about."""
    methods: tuple[MethodShare, ...] = ()
    """The methods of the answer, if there are several; the contributions are about the first that uses features."""
    set: str | None = None
    """The classes of the prediction set, or the ends of the interval, if a coverage was asked for."""
    coverage: float | None = None

    def __repr__(self) -> str:
        nodes = ", ".join(f"{one.id} {one.share:+.2f}" for one in self.nodes[:3])
        return f"Explanation({self.id!r} is {self.predicted!r}, by {self.method}; nodes: {nodes}, ...)"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: the prediction, and the contributions of nodes and features."""
        probability = (
            {} if self.probability is None else {f"probability of {self.explained}": f"{self.probability:.3f}"}
        )
        nodes = [(one.id, one.hops, f"{one.share:+.3g}") for one in self.nodes]
        features = [(one.name, f"{one.share:+.3g}") for one in self.features]
        return card(
            f"{self.id}: {self.predicted}",
            {"explained": self.explained, "by": self.method} | probability,
            table(("node", "edges away", "contribution"), nodes),
            table(("label" if self.by_labels else "feature", "contribution"), features),
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def explain_node(
    attribute: Callable[[int, int], Attribution],
    adjacency: sp.csr_array,
    hierarchy: Hierarchy | None,
    predictions: pd.DataFrame,
    probabilities: NDArray[np.floating],
    node: str,
    *,
    class_names: Sequence[str],
    columns: Sequence[FeatureColumn] = (),
    class_: str | None = None,
    top: int = 10,
) -> Explanation:
    """Explain the prediction for the node of this id, or why it is not another class.

    Args:
        attribute: returns the contributions to the score of a class, given a node and the class by their numbers.
        hierarchy: that the model uses, if any.
        predictions: a row for each node, with `id`, `predicted`, `given` and `label`.
        probabilities: (n, classes).
        columns: table columns that the features were made of.
        class_: name of the class to explain; by default the predicted one.
        top: number of nodes and features to list.
    """
    ids = predictions["id"].to_numpy(str)
    number = _node_number(ids, node)
    predicted = int(probabilities[number].argmax())
    if class_ is not None and class_ not in class_names:
        raise InputError(f"There is no class {class_!r:.80}; the classes are {', '.join(class_names[:20])}.")
    explained = predicted if class_ is None else list(class_names).index(class_)
    attribution = attribute(number, explained)
    shares, by_feature = attribution.by_node(), attribution.by_feature()
    names = feature_names(columns, attribution.shape[1], class_names)

    distance = csgraph.shortest_path(adjacency, unweighted=True, directed=False, indices=number)
    reached = np.isfinite(distance)
    total = np.bincount(distance[reached].astype(np.int64), shares[reached])
    hops = {str(hop): float(share) for hop, share in enumerate(total)}
    if not reached.all():
        hops["unreachable"] = float(shares[~reached].sum())
    return Explanation(
        id=node,
        predicted=class_names[predicted],
        explained=class_names[explained],
        probability=float(probabilities[number, explained]),
        score=attribution.score,
        without=attribution.without,
        missed=attribution.missed,
        hops=hops,
        nodes=tuple(
            NodeShare(str(ids[k]), int(distance[k]) if reached[k] else None, float(shares[k]))
            for k in _largest(shares, top)
        ),
        features=tuple(FeatureShare(names[k], float(by_feature[k])) for k in _largest(by_feature, top)),
        hyper_nodes=() if hierarchy is None else _hyper_nodes(hierarchy, predictions, number, shares),
    )


def feature_names(columns: Sequence[FeatureColumn], n_features: int, class_names: Sequence[str] = ()) -> list[str]:
    """Return the names of the features, or numbers if they are unknown; harmonic columns are named by their class."""
    names = [name for column in columns for name in column.features]
    harmonic = [f"labels nearby: {name}" for name in class_names]
    for known in (names, names + harmonic, [*SURROUNDINGS], [*SURROUNDINGS, *harmonic]):
        if len(known) == n_features:
            return known
    return [f"feature {k}" for k in range(n_features)]


def _node_number(ids: NDArray[Any], wanted: str) -> int:
    """Return the position of an id; suggest others that may have been meant if there is none: similar ones."""
    wanted = wanted.strip()
    positions = np.flatnonzero(ids == wanted)
    if positions.size:
        return int(positions[0])
    plain, every = wanted.casefold(), ids.tolist()
    near = [id_ for id_ in every if id_.casefold() == plain]
    near = near or [id_ for id_ in every if id_.casefold().startswith(plain)]
    near = near or get_close_matches(wanted, every[:MOST_COMPARED], n=SUGGESTIONS)
    remedy = f"give an id such as {every[0]!r:.60}."
    if near:
        remedy = f"did you mean {' or '.join(f'{id_!r:.60}' for id_ in near[:SUGGESTIONS])}?"
    raise InputError(f"There is no node {wanted!r:.80}; {remedy}")


def _hyper_nodes(
    hierarchy: Hierarchy, predictions: pd.DataFrame, node: int, shares: NDArray[np.float64]
) -> tuple[HyperNode, ...]:
    groups = []
    for level in range(1, 1 + hierarchy.depth):
        members = hierarchy.members(level, int(hierarchy.hyper_nodes(level)[node]))
        rows = predictions.iloc[members]
        first = members[np.argsort(-np.abs(shares[members]), kind="stable")][:MEMBERS]
        groups.append(
            HyperNode(
                level=level,
                size=members.size,
                members=tuple(predictions["id"].iloc[first].astype(str)),
                given=_counts(rows.loc[rows["given"], "label" if "label" in rows else "value"]),
                predicted=_counts(rows["predicted"]),
                share=float(shares[members].sum()),
            )
        )
    return tuple(groups)


def _counts(column: Any) -> dict[str, int]:
    """Return how often each class occurs; of numbers, how many there are with their mean."""
    if pd.api.types.is_float_dtype(column):
        return {f"values with mean {column.mean():.4g}": len(column)} if len(column) else {}
    return {str(name): int(count) for name, count in column.value_counts().items()}


def _largest(shares: NDArray[np.float64], top: int) -> NDArray[np.int64]:
    """Return the positions of the largest shares by size, without those that are exactly 0."""
    order = np.argsort(-np.abs(shares), kind="stable")[:top]
    chosen: NDArray[np.int64] = order[shares[order] != 0]
    return chosen
