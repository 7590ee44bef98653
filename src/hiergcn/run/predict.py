"""Trained models at work again: on their own graph, or on another one with the same features."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from hiergcn.coarsening import Hierarchy, coarsen
from hiergcn.errors import InputError
from hiergcn.evaluate.calibration import Temperature
from hiergcn.graph import Graph
from hiergcn.graph.adjacency import reached_from
from hiergcn.graph.alignment import encoded_like
from hiergcn.graph.order import canonical_order
from hiergcn.graph.structure import with_structural_features
from hiergcn.graph.tables.feature_columns import STRUCTURAL
from hiergcn.graph.task import Task
from hiergcn.model.inputs import build_method, column_names, label_names
from hiergcn.model.method import Features, Labelled, NodeModel, activated, with_weights
from hiergcn.settings.methods import GRANDConfig, HGCNPlusConfig
from hiergcn.settings.settings import Settings
from hiergcn.train.checkpoint import data_digests
from hiergcn.train.trainer import fold_of
from hiergcn.workers.machine import choose_device, plain_torch

if TYPE_CHECKING:
    from hiergcn.explanation.node import Attribution, Explanation
    from hiergcn.run.run import Member, Run

MIN_KNOWN_NODES = 0.5
"""Least share of nodes that a graph has in common with the training graph, if features were made from the edges."""
ROUNDING = 1e-3  # difference of a probability, or standardised number, that another machine or device may make


class Model:
    """The networks of a run, and what they need to predict on a graph. The first has the largest share.

    `embed` is that of the first one; `predict_proba` is the mean of all.
    """

    def __init__(self, run: "Run") -> None:
        self.members, self.target = run.members, run.target
        self.n_features: int = run.config["n_features"]
        self.columns = run.columns
        self.ids = run.table["id"].to_numpy(str)
        """Ids of the nodes of the training graph, as text."""
        self.ids_given: bool = run.config.get("ids_given", True)
        self.data: Mapping[str, str] = run.config.get("data") or {}  # none in folders of earlier versions
        order = canonical_order(self.ids)
        self.hierarchy = None if run.hierarchy is None else run.hierarchy.reordered(order)
        """Of the training graph in canonical order, as deep as any member needs; another graph is coarsened."""
        if self.target.kind == "classes":
            known = pd.Index(self.target.names).get_indexer(pd.Index(run.table["label"])).astype(np.int64)
        else:
            known = run.table["value"].to_numpy(np.float64)
        self.train, self.folds = run.split.train, None
        """The training nodes, for methods that diffuse labels; and the fold in which each validated, -1 for never."""
        if (folds := run.scores["turns"]) > 1:
            self.train, self.folds = fold_of(run.split, known, folds, order)
        self.train_labels = known[self.train]

    def __repr__(self) -> str:
        names = list(dict.fromkeys(member.name for member in self.members))
        return f"Model({', '.join(names)}; networks={len(self.members)}, features={self.n_features})"

    @property
    def explained(self) -> "Member":
        """The member that explanations are about: the first that uses features, if any does."""
        return next((member for member in self.members if member.uses_features), self.members[0])

    def encoded(self, graph: Graph) -> Graph:
        """Return a graph with the features that the model takes: matched by name, or made from the edges."""
        return with_structural_features(encoded_like(graph, self.columns, self.n_features))

    @plain_torch()
    def predict_proba(self, graph: Graph, device: str = "auto") -> NDArray[Any]:
        """Return the probability of each class for each node, (n, classes), or the number, (n, 1).

        Refuse to if these would be guesses.
        """
        dtype = self.target.dtype
        mean = np.zeros((graph.n_nodes, self.target.n_outputs), dtype=dtype)
        for _, weight, outputs in self.each_method(graph, device):
            mean += (weight * outputs).astype(dtype)
        return mean

    def each_method(self, graph: Graph, device: str = "auto") -> Iterator[tuple[str, float, NDArray[Any]]]:
        """Yield the name of each method, its weight, and the calibrated mean of its networks, (n, classes)."""
        pairs = zip(self.members, self.each_proba(graph, device), strict=True)
        for _, alike in groupby(pairs, key=lambda pair: pair[0].settings):
            weight, total = 0.0, np.zeros((graph.n_nodes, self.target.n_outputs))
            for member, outputs in alike:
                weight += member.share
                total += self.shares(member, graph) * outputs
            yield member.name, weight, Temperature(member.temperature).scale(total / weight)  # which is 1 for numbers

    def shares(self, member: "Member", graph: Graph) -> NDArray[np.float64]:
        """Return the weight of a member at each node, (n, 1): at a node that validated in a fold, that fold's alone."""
        shares = np.full((graph.n_nodes, 1), member.share)
        if self.folds is not None:
            nodes, rows = self.training_nodes(graph)
            fold = self.folds[rows]
            shares[nodes[fold >= 0]] = 0.0
            shares[nodes[fold == member.fold]] = member.share * (self.folds.max() + 1)
        return shares

    def each_proba(self, graph: Graph, device: str = "auto") -> Iterator[NDArray[Any]]:
        """Yield the probabilities of each member, (n, classes), or its numbers, (n, 1)."""
        ordered, back = self._applied(graph)
        for model, features in self.each_on(ordered, device):
            with torch.no_grad():
                yield self.target.restored(activated(model(features)).cpu().numpy()[back])

    def _applied(self, graph: Graph) -> tuple[Graph, NDArray[np.int64] | slice]:
        """Return a graph as the networks take it, and the way back; refuse one that they could only guess about."""
        seen = self.seen(graph)
        by_ids = (
            "" if self.ids_given and graph.ids_given else " Nodes are recognised by ids only if both graphs have some."
        )
        models = [member.settings for member in self.members if member.uses_features]
        inductive = all(build_method(settings.method, settings.model).inductive for settings in models)
        if not inductive and not (seen.all() and seen.size == self.ids.size):
            raise InputError(
                f"{self.members[0].settings.method} is transductive and {graph.name} has other nodes than the training "
                f"graph; fit again, or use a model with features.{by_ids}"
            )
        structural = any(column.kind == STRUCTURAL for column in self.columns)  # made from the edges
        if structural and seen.mean() < MIN_KNOWN_NODES:
            raise InputError(
                f"The model was trained on features made from the edges and needs at least half of the nodes it has "
                f"seen; {graph.name} has {seen.sum():,} of {graph.n_nodes:,}. Fit again, or add features.{by_ids}"
            )
        if not models and not self.training_nodes(graph)[0].size:
            raise InputError(
                f"The answer of this run comes from labels alone, and {graph.name} has none of the nodes that had one; "
                f"fit again, or use a model with features.{by_ids}"
            )
        return in_order(self.encoded(graph))

    def each_on(
        self, graph: Graph, device: str, members: "Sequence[Member] | None" = None
    ) -> Iterator[tuple[NodeModel, Features]]:
        """Yield each member over an encoded graph in canonical order, ready to evaluate, and the features it takes."""
        processor = choose_device(device)
        by_settings = groupby(members or self.members, key=lambda member: (member.settings, member.fold))
        for (settings, fold), group in by_settings:
            alike, method, task = list(group), build_method(settings.method, settings.model), self._task(graph, fold)
            hierarchy = self._hierarchy_of(graph, settings) if settings.model.uses_hierarchy else None
            try:
                prepared = method.prepare(task, hierarchy, processor, alike[0].weights)
            except KeyError as missing:
                raise InputError(
                    f"The run has no tensor {missing}, which {settings.method} needs; run the fit again."
                ) from None
            for member in alike:
                if not member.uses_features:
                    with processor:  # it learns again from the training labels that it finds in the graph
                        model: Any = method.build(prepared, task.n_classes, torch.Generator(processor)).to(processor)
                    model.solve(
                        Labelled(*(torch.from_numpy(part).to(processor) for part in (task.train, task.train_labels)))
                    )
                    yield model.eval(), prepared.features
                    continue
                try:
                    model = with_weights(method, prepared, member.weights, self.target.n_outputs, processor)
                except RuntimeError:
                    raise InputError(
                        f"The weights of the model do not fit {graph.name}: it has other levels than the training "
                        "graph or, for a model that uses no features, other nodes. Fit the model again."
                    ) from None
                yield model, prepared.features

    def nodes_in(self, graph: Graph) -> NDArray[np.int64]:
        """Return the number of each node of the training graph in a graph, -1 if it is not there.

        Nodes are recognised by ids, if the user gave those of both graphs, or if the edges are those of training.
        """
        if (self.ids_given and graph.ids_given) or (
            self.data and data_digests(in_order(graph)[0])["edges"] == self.data["edges"]
        ):
            nodes: NDArray[np.int64] = pd.Index(graph.ids.astype(str)).get_indexer(self.ids).astype(np.int64)
            return nodes
        return np.full(len(self.ids), -1)

    def seen(self, graph: Graph) -> NDArray[np.bool_]:
        """Return whether each node of a graph is in the training graph, too."""
        nodes, seen = self.nodes_in(graph), np.zeros(graph.n_nodes, bool)
        seen[nodes[nodes >= 0]] = True
        return seen

    def _task(self, graph: Graph, fold: int | None) -> Task:
        """Return the task to predict on a graph: it has the training labels of the nodes that it shares."""
        nodes, rows = self.training_nodes(graph)
        if self.folds is not None and fold is not None:
            trained = self.folds[rows] != fold
            nodes, rows = nodes[trained], rows[trained]
        return Task.to_predict(graph, self.target.n_outputs, nodes, self.target.standardised(self.train_labels[rows]))

    def training_nodes(self, graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the training nodes of a graph, ascending as in training, and the row of each in `train`."""
        nodes = self.nodes_in(graph)[self.train]
        rows = np.argsort(nodes)
        rows = rows[nodes[rows] >= 0]
        return nodes[rows].astype(np.int64), rows

    @plain_torch()
    def embed(self, graph: Graph, device: str = "auto") -> NDArray[np.float32] | None:
        """Return the input of the output layer, (n, hidden) for each network; None if there are no hidden layers."""
        ordered, back = self._applied(graph)
        model, features = next(self.each_on(ordered, device, self.members[:1]))
        embed: Any = getattr(model, "embed", None)
        if embed is None or (self.hierarchy is not None and self.hierarchy.depth == 0):
            return None
        with torch.no_grad():
            embedding: NDArray[np.float32] = embed(features).cpu().numpy()[back]
        return embedding

    def attribution_on(self, graph: Graph, device: str = "auto") -> Callable[[int, int], "Attribution"]:
        """Return the attribution of scores, given a node and a class, over an encoded graph in canonical order.

        It is to the features, or to the training labels if no member uses features. Models that start from propagated
        features or their principal components are rewritten to start from the features; scores are those before
        `prediction_balance`.
        """
        from hiergcn.explanation.node import attribute, attribute_labels
        from hiergcn.model.baselines.base import LabelModel
        from hiergcn.model.ensemble import first_member_weights
        from hiergcn.model.hgcn_plus import Components, ThroughComponents

        first, n_outputs = self.explained, self.target.n_outputs
        config = first.settings.model
        if not first.uses_features:
            labels, _ = next(self.each_on(graph, device, [first]))
            assert isinstance(labels, LabelModel)
            return lambda node, class_: attribute_labels(labels, node, class_, n_outputs)
        changes: dict[str, Any] = {}
        if isinstance(config, GRANDConfig) and not config.batch_norm:
            changes["input_dropout_on"] = "features"
        if isinstance(config, HGCNPlusConfig):
            changes["prediction_balance"] = 0.0
        settings = first.settings.override(changes)
        model, features = next(self.each_on(graph, device, [replace(first, settings=settings)]))
        if getattr(config, "components", 0):
            settings = replace(settings, model=replace(settings.model, components=0))
            method, processor = build_method(settings.method, settings.model), choose_device(device)
            task, hierarchy = self._task(graph, first.fold), self._hierarchy_of(graph, settings)
            features = method.prepare(task, hierarchy, processor, first.weights).features
            model = ThroughComponents(model, Components.of(first_member_weights(first.weights), processor))
        return lambda node, class_: attribute(model, features, node, class_)

    def _hierarchy_of(self, graph: Graph, settings: Settings) -> Hierarchy:
        levels: int = settings.model.levels
        if self.hierarchy is not None:
            if same_adjacency(self.hierarchy, graph):
                return self.hierarchy.truncated(levels)
            levels = min(levels, self.hierarchy.depth)  # as many as it was trained on
        return coarsen(graph.adjacency, levels, settings.coarsen)


def in_order(graph: Graph) -> tuple[Graph, NDArray[np.int64] | slice]:
    """Return the graph in canonical order, and the index that leads back to its own."""
    order = canonical_order(graph.ids)
    return (graph, slice(None)) if order is None else (graph.reordered(order), np.argsort(order))


def predictions_again(run: "Run", graph: Graph, device: str = "auto") -> pd.DataFrame:
    """Return the table of predictions, computed again from the weights; refuse to if the run folder differs.

    Predictions that were made in batches, without the edges between them, are returned as they are.
    """
    graph = training_graph(run, graph)
    if any(config.batches > 1 and config.batch_validation for config in (m.settings.train for m in run.members)):
        return run.table
    probabilities = run.model.predict_proba(graph, device)
    rounding = ROUNDING * run.target.std
    apart = int(np.count_nonzero(~(np.abs(probabilities - run.probabilities) <= rounding).all(axis=1)))
    if apart:
        raise InputError(
            f"{apart:,} of {len(run.table):,} predictions differ from those in {run.path}: "
            f"a file of the run or of its data was changed. Run the fit again."
        )
    return run.table.assign(**run.answers.columns(probabilities))


def predictions_on(run: "Run", graph: Graph, device: str = "auto") -> pd.DataFrame:
    """Return predictions for a newer graph, the same nodes later or more; refuse to if they would be guesses."""
    model = run.model
    columns = run.answers.columns(model.predict_proba(graph, device)) | {"seen": model.seen(graph)}
    if not model.explained.uses_features:
        columns["reached"] = reached_from(graph.adjacency, model.training_nodes(graph)[0])
    return pd.DataFrame({"id": graph.ids, **columns})


@plain_torch()
def explain(
    run: "Run", graph: Graph, node: str, *, class_: str | None = None, top: int = 10, device: str = "auto"
) -> "Explanation":
    """Explain the prediction of a run for the node with this id, or why it is not `class_`.

    The graph is the training graph; `top` is the number of nodes and features to list.
    """
    from hiergcn.explanation.node import MethodShare, explain_node

    graph, model = training_graph(run, graph), run.model
    ordered, _ = in_order(graph)
    order = pd.Index(model.ids).get_indexer(ordered.ids.astype(str))
    by_labels, scale, config = not model.explained.uses_features, model.target.scale, model.explained.settings.model
    features = [name for column in model.columns for name in column.features]
    features = features or [f"feature {k}" for k in range(model.n_features)]
    attribution = model.attribution_on(ordered, device)
    explanation = explain_node(
        attribution if scale is None else lambda node, output: attribution(node, output).in_unit(scale),
        ordered.adjacency,
        model.hierarchy if config.uses_hierarchy else None,
        run.table.iloc[order].reset_index(drop=True),
        run.probabilities[order],
        node,
        class_names=run.target.names,
        names=(label_names if by_labels else column_names)(config, features, run.target.names),
        class_=class_,
        top=top,
    )
    row, target = int(np.flatnonzero(graph.ids.astype(str) == explanation.id)[0]), model.target
    totals: dict[str, tuple[float, NDArray[Any]]] = {}  # by method: its weight, and its probabilities times that
    for name, share, outputs in model.each_method(graph, device):
        weight, total = totals.get(name, (0.0, np.zeros(target.n_outputs)))
        totals[name] = (weight + share, total + share * outputs[row])
    predicted = run.table.iloc[row]
    explanation = replace(explanation, by_labels=by_labels, method=model.explained.name)
    promise, region = run.answers.promise, None
    if target.kind == "classes":
        number = target.names.index(explanation.explained)
        methods = [
            MethodShare(m, w, target.names[int(t.argmax())], float(t[number] / w)) for m, (w, t) in totals.items()
        ]
        region = None if promise is None else str(predicted["set"])
    else:
        explanation = replace(explanation, predicted=f"{predicted['predicted']:g}", probability=None)
        methods = [MethodShare(m, w, f"{t[0] / w:.6g}", None) for m, (w, t) in totals.items()]
        if promise is not None and pd.notna(predicted["lower"]):
            region = f"{predicted['lower']:g} to {predicted['upper']:g}"
    if promise is not None and region is not None:
        explanation = replace(explanation, set=region, coverage=promise.coverage)
    return replace(explanation, methods=tuple(methods) if len(methods) > 1 else ())


def same_adjacency(hierarchy: Hierarchy, graph: Graph) -> bool:
    """Return whether the hierarchy was made from this very graph."""
    ours, theirs = hierarchy.levels[0].adjacency, graph.adjacency
    return all(np.array_equal(getattr(ours, part), getattr(theirs, part)) for part in ("indptr", "indices", "data"))


def training_graph(run: "Run", graph: Graph) -> Graph:
    """Return the graph as the run holds it: its order and features; refuse another graph than the training graph."""
    model = run.model
    rows = pd.Index(graph.ids.astype(str)).get_indexer(model.ids)
    other = [] if graph.class_names == tuple(run.config["class_names"]) else ["classes"]
    other += ["nodes"] if graph.n_nodes != rows.size or (rows < 0).any() else []
    if not other:
        encoded = model.encoded(graph if (np.diff(rows) == 1).all() else graph.reordered(rows))
        now = data_digests(in_order(encoded)[0])
        other = [part for part, before in model.data.items() if now[part] != before]
        if not other and (model.hierarchy is None or same_adjacency(model.hierarchy, in_order(encoded)[0])):
            return encoded
    raise InputError(
        f"{graph.name} is no longer the graph that {run.path or 'the run'} was trained on: other "
        f"{' and '.join(other) or 'edges'}. Run the fit again."
    )
