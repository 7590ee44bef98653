r"""Explanation of one prediction: contributions of nodes and features, and the hyper-nodes that the node belongs to.

Attribution of a score to the entries of the features, by integrated gradients.

Sundararajan et al., Axiomatic Attribution for Deep Networks (ICML 2017). The score of class c at a node is its logit
minus the mean of all logits, which is what softmax sees. Along the straight line from zero features to X,

.. math:: a_e = X_e \int_0^1 \frac{\partial s(\alpha X)}{\partial X_e} \, d\alpha, \qquad \sum_e a_e = s(X) - s(0),

so the contributions add up to the effect of all features. Nothing is random. Sparse features stay sparse: entries that
are not stored are zero along the whole line and contribute nothing.

A method of labels alone has no features. Its shares of the classes at a node are a weighted mean of the training
labels, so a label of class k contributes its weight, less the mean over all classes, to the score of class k.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse import csgraph
from torch import Tensor

from hiergcn.coarsening import Hierarchy
from hiergcn.errors import InputError
from hiergcn.fragments import card, table
from hiergcn.graph.target import Scale
from hiergcn.model.baselines.base import LabelModel
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.ops.sparse import SparseMatrix

MEMBERS = 20
"""Most members of a hyper-node that are listed."""
SUGGESTIONS = 3
"""Most ids that are suggested for an unknown one."""
MOST_COMPARED = 20_000
"""Most ids that are compared letter by letter with an unknown one; tens of thousands take a second."""
FEWEST_STEPS, MOST_STEPS = 32, 512
CLOSE = 0.01
"""Relative error of the sum above which the number of steps is doubled."""


@dataclass(frozen=True, eq=False)
class Attribution:
    """The contribution of each stored entry of the features (n, f) to the score."""

    row: NDArray[np.int64]  # (entries,)
    column: NDArray[np.int64]  # (entries,)
    share: NDArray[np.float64]  # (entries,)
    shape: tuple[int, int]
    score: float
    without: float
    """The score if all features were zero."""

    @property
    def missed(self) -> float:
        """The part of the score that the contributions miss, because the number of steps is finite."""
        return self.score - self.without - float(self.share.sum())

    def in_unit(self, scale: Scale) -> "Attribution":
        """Return the same for standardised numbers in the unit of the target."""
        score, without = (float(scale.restored(np.array(value))) for value in (self.score, self.without))
        return replace(self, share=self.share * scale.std, score=score, without=without)

    def by_node(self) -> NDArray[np.float64]:
        return np.bincount(self.row, self.share, minlength=self.shape[0]).astype(np.float64, copy=False)

    def by_feature(self) -> NDArray[np.float64]:
        return np.bincount(self.column, self.share, minlength=self.shape[1]).astype(np.float64, copy=False)


def attribute(model: NodeModel, features: Features, node: int, class_: int) -> Attribution:
    """Attribute the score of a class at a node. The model is left in evaluation mode, its weights without gradients."""
    model.eval().requires_grad_(False)
    if isinstance(features, SparseMatrix):
        values, pattern = features.values.detach(), features.pattern
        row, column = pattern.rows().cpu().numpy(), pattern.column.cpu().numpy()
    else:
        values, (n, f) = features.detach(), features.shape
        row, column = np.repeat(np.arange(n), f), np.tile(np.arange(f), n)

    def score(at: Tensor) -> Tensor:
        changed = replace(features, values=at) if isinstance(features, SparseMatrix) else at
        logits: Tensor = model(changed)[node].double()
        return logits[class_] - logits.mean() if len(logits) > 1 else logits[0]  # a single one is a number

    whole, nothing = score(values).item(), score(torch.zeros_like(values)).item()
    steps = FEWEST_STEPS
    while True:
        total = torch.zeros_like(values, dtype=torch.float64)
        for step in range(steps):  # the gradient at the middle of each step
            at = (values * ((step + 0.5) / steps)).requires_grad_()
            reached = score(at)
            if not reached.requires_grad:
                raise InputError(
                    "This model does not compute its predictions from the features; "
                    "explain a model such as hgcn, gcn or mlp."
                )
            total += torch.autograd.grad(reached, at)[0]
        share = values.double() * (total / steps)
        missed = whole - nothing - share.sum().item()
        if abs(missed) <= CLOSE * abs(whole - nothing) or steps >= MOST_STEPS:
            break
        steps *= 2
    return Attribution(
        row, column, share.flatten().cpu().numpy(), (features.shape[0], features.shape[1]), whole, nothing
    )


def attribute_labels(model: LabelModel, node: int, class_: int, n_classes: int) -> Attribution:
    """Attribute the share of a class at a node, less the mean of all classes, to the training labels.

    The columns are the classes of the labels. Without any label, all classes have the same share. Numbers have one
    column, and their score is the number.
    """
    labelled = torch.nonzero(model.is_known).squeeze(1)
    weights = model.label_weights(node).double().cpu().numpy()
    total = weights.sum()
    classes = model.known[labelled].cpu().numpy()
    weights = weights / (total if total > 0 else 1.0)
    if n_classes == 1:
        shape, columns = (len(model.known), 1), np.zeros(len(weights), dtype=np.int64)
        return Attribution(labelled.cpu().numpy(), columns, weights * classes, shape, float(weights @ classes), 0.0)
    share = weights * ((classes == class_) - 1.0 / n_classes)
    return Attribution(labelled.cpu().numpy(), classes, share, (len(model.known), n_classes), float(share.sum()), 0.0)


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
        nodes = ", ".join(f"{node.id} {node.share:+.2f}" for node in self.nodes[:3])
        return f"Explanation({self.id!r} is {self.predicted!r}, by {self.method}; nodes: {nodes}, ...)"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: the prediction, and the contributions of nodes and features."""
        facts = {"explained": self.explained, "by": self.method}
        if self.probability is not None:
            facts[f"probability of {self.explained}"] = f"{self.probability:.3f}"
        nodes = [(node.id, node.hops, f"{node.share:+.3g}") for node in self.nodes]
        features = [(feature.name, f"{feature.share:+.3g}") for feature in self.features]
        return card(
            f"{self.id}: {self.predicted}",
            facts,
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
    names: Sequence[str],
    class_: str | None = None,
    top: int = 10,
) -> Explanation:
    """Explain the prediction for the node of this id, or why it is not another class.

    Args:
        attribute: returns the contributions to the score of a class, given a node and the class by their numbers.
        hierarchy: that the model uses, if any.
        predictions: a row for each node, with `id`, `predicted`, `given` and `label`.
        probabilities: (n, classes).
        names: of the columns of the attribution.
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


def _node_number(ids: NDArray[Any], wanted: str) -> int:
    """Return the position of an id; suggest others that may have been meant if there is none: similar ones."""
    wanted = wanted.strip()
    positions = np.flatnonzero(ids == wanted)
    if positions.size:
        return int(positions[0])
    every = ids.tolist()
    near = sorted((id_ for id_ in every if id_.casefold().startswith(wanted.casefold())), key=len)
    near = near or get_close_matches(wanted, every[:MOST_COMPARED], n=SUGGESTIONS)
    names = " or ".join(f"{id_!r:.60}" for id_ in near[:SUGGESTIONS])
    remedy = f"did you mean {names}?" if near else f"give an id such as {every[0]!r:.60}."
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
