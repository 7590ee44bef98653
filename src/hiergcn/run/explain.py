"""Why a node was classified as it was: the nodes and features that spoke for it, and the hyper-nodes it belongs to."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import InputError
from hiergcn.explain.attribution import Attribution, attribute
from hiergcn.graph import Graph
from hiergcn.graph.structure import with_structural_features
from hiergcn.graph.tables.feature_columns import FeatureColumn
from hiergcn.graph.task import Task
from hiergcn.model.baselines.grand import GRANDConfig
from hiergcn.model.ensemble import first_member_weights
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.plus.components import Components, ThroughComponents
from hiergcn.model.plus.network import HGCNPlusConfig
from hiergcn.model.registry import build_method
from hiergcn.run.device import choose_device
from hiergcn.run.folder import LoadedRun
from hiergcn.run.predict import check_same_data, is_structural, restored_model
from hiergcn.run.settings import Settings

MEMBERS = 20
"""Of a hyper-node that are named."""
NEAR = 3
"""Ids that are offered for one that is not there."""
MOST_COMPARED = 20_000
"""Ids that one is compared with letter by letter: some tens of thousands take a second."""


@dataclass(frozen=True)
class NodeShare:
    """What the features of a node contributed to the score."""

    id: str
    hops: int | None
    """Edges on the shortest way to it; None where there is no way."""
    share: float


@dataclass(frozen=True)
class FeatureShare:
    """What a feature, of all nodes together, contributed to the score."""

    name: str
    share: float


@dataclass(frozen=True)
class HyperNode:
    """A hyper-node that the node is part of."""

    level: int
    size: int
    members: tuple[str, ...]
    """Some of them, those with the largest shares first."""
    given: dict[str, int]
    """Classes of the members whose labels were given to the model, most frequent first."""
    predicted: dict[str, int]
    """Classes that are predicted for all members."""
    share: float
    """What the features of all members contributed to the score."""


@dataclass(frozen=True)
class Explanation:
    """Shares add up to `score - without`, but for `missed`; positive ones spoke for the class."""

    id: str
    predicted: str
    explained: str
    """The class that the shares are about."""
    probability: float
    """Of that class."""
    score: float
    """Logit of that class, less the mean of all logits; before any `prediction_balance`."""
    without: float
    """The same, had no node any features."""
    missed: float
    hops: dict[str, float]
    """Shares by distance: "0" is the node itself."""
    nodes: tuple[NodeShare, ...]
    features: tuple[FeatureShare, ...]
    hyper_nodes: tuple[HyperNode, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def explain(
    run: LoadedRun, graph: Graph, id_: str, *, class_: str | None = None, top: int = 10, device: str = "auto"
) -> Explanation:
    """Explain one prediction of a run, or why not another class.

    Args:
        run: the run folder.
        graph: that it was made of.
        id_: of the node, as the user has it.
        class_: name of the class to explain; the predicted one where left out.
        top: nodes and features to name.
        device: as in `fit`.
    """
    graph = with_structural_features(graph) if is_structural(run) else graph
    check_same_data(run, graph)
    names: list[str] = run.config["class_names"]
    node = _position(run, id_)
    predicted = int(run.probabilities[node].argmax())
    target = predicted if class_ is None else _class(names, class_)
    found = attribute(*_of_features(run, graph, device), node, target)
    distance = csgraph.shortest_path(graph.adjacency, unweighted=True, directed=False, indices=node)
    return Explanation(
        id=id_,
        predicted=names[predicted],
        explained=names[target],
        probability=float(run.probabilities[node, target]),
        score=found.score,
        without=found.without,
        missed=found.missed,
        hops=_by_hops(found, distance),
        nodes=_nodes(run, found, distance, top),
        features=_features(run, found, top),
        hyper_nodes=_hyper_nodes(run, run.hierarchy, node, found),
    )


def _of_features(run: LoadedRun, graph: Graph, device: str) -> tuple[NodeModel, Features]:
    """The model of a run, and the features that it begins from."""
    settings, n_classes = _traceable(run.settings), len(run.config["class_names"])
    model, prepared = restored_model(
        settings, run.weights, graph, run.config["n_features"], n_classes, hierarchy=run.hierarchy, device=device
    )
    if not getattr(settings.model, "components", 0):
        return model, prepared.features
    where = choose_device(device)
    whole = build_method(settings.method, replace(settings.model, components=0))
    features = whole.prepare(Task.unlabelled(graph, n_classes), run.hierarchy, where, run.weights).features
    return ThroughComponents(model, Components.of(first_member_weights(run.weights), where)), features


def _traceable(settings: Settings) -> Settings:
    """The same model, made to begin from the features where it would begin from ones that were propagated before, and
    to give the scores that a node has before its classes are drawn to equal sizes."""
    changes: dict[str, Any] = {}
    if isinstance(settings.model, GRANDConfig) and not settings.model.batch_norm:
        changes["input_dropout_on"] = "features"
    if isinstance(settings.model, HGCNPlusConfig):
        changes["prediction_balance"] = 0.0
    return settings.override(changes)


def feature_names(columns: Sequence[FeatureColumn], n_features: int) -> list[str]:
    """Names of the columns where they are known, else numbers."""
    names = [name for column in columns for name in column.features]
    return names if len(names) == n_features else [f"feature {k}" for k in range(n_features)]


def _position(run: LoadedRun, id_: str) -> int:
    ids = run.predictions["id"].to_numpy(str)
    places = np.flatnonzero(ids == id_.strip())
    if places.size == 0:
        raise InputError(f"There is no node {id_!r:.80} in {run.path}; {_like(id_.strip(), ids.tolist())}.")
    return int(places[0])


def _like(wanted: str, ids: list[str]) -> str:
    """The ids that may have been meant: the same but for case, with the same beginning, or nearly the same."""
    plain = wanted.casefold()
    near = [one for one in ids if one.casefold() == plain] or [one for one in ids if one.casefold().startswith(plain)]
    near = near or get_close_matches(wanted, ids[:MOST_COMPARED], n=NEAR)
    if not near:
        return f"ids are such as {ids[0]!r:.60}"
    return f"perhaps you mean {' or '.join(f'{one!r:.60}' for one in near[:NEAR])}"


def _class(names: list[str], wanted: str) -> int:
    if wanted not in names:
        raise InputError(f"There is no class {wanted!r:.80}; the classes are {', '.join(names[:20])}.")
    return names.index(wanted)


def _by_hops(found: Attribution, distance: NDArray[np.float64]) -> dict[str, float]:
    shares, reached = found.by_node(), np.isfinite(distance)
    total = np.bincount(distance[reached].astype(np.int64), shares[reached])
    hops = {str(hop): float(share) for hop, share in enumerate(total)}
    return hops if reached.all() else hops | {"unreachable": float(shares[~reached].sum())}


def _nodes(run: LoadedRun, found: Attribution, distance: NDArray[np.float64], top: int) -> tuple[NodeShare, ...]:
    shares, ids = found.by_node(), run.predictions["id"].to_numpy(str)
    return tuple(
        NodeShare(str(ids[k]), int(distance[k]) if np.isfinite(distance[k]) else None, float(shares[k]))
        for k in _largest(shares, top)
    )


def _features(run: LoadedRun, found: Attribution, top: int) -> tuple[FeatureShare, ...]:
    names, shares = feature_names(run.columns, found.shape[1]), found.by_feature()
    return tuple(FeatureShare(names[k], float(shares[k])) for k in _largest(shares, top))


def _hyper_nodes(run: LoadedRun, hierarchy: Hierarchy | None, node: int, found: Attribution) -> tuple[HyperNode, ...]:
    shares, table = found.by_node(), run.predictions
    groups = []
    for level in range(1, 1 + (hierarchy.depth if hierarchy else 0)):
        assert hierarchy is not None
        members = hierarchy.members(level, int(hierarchy.hyper_nodes(level)[node]))
        rows = table.iloc[members]
        first = members[np.argsort(-np.abs(shares[members]), kind="stable")][:MEMBERS]
        groups.append(
            HyperNode(
                level=level,
                size=members.size,
                members=tuple(table["id"].iloc[first].astype(str)),
                given=_counts(rows.loc[rows["given"], "label"]),
                predicted=_counts(rows["predicted"]),
                share=float(shares[members].sum()),
            )
        )
    return tuple(groups)


def _counts(column: Any) -> dict[str, int]:
    return {str(name): int(count) for name, count in column.value_counts().items()}


def _largest(shares: NDArray[np.float64], top: int) -> NDArray[np.int64]:
    """The places of the largest shares, either way; those that are exactly 0 say nothing."""
    order = np.argsort(-np.abs(shares), kind="stable")[:top]
    chosen: NDArray[np.int64] = order[shares[order] != 0]
    return chosen
