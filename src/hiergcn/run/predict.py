"""A trained model at work again, on its own graph or on another one with the same features."""

import numpy as np
import pandas as pd
import torch

from hiergcn.coarsen import Hierarchy, coarsen
from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.structure import WIDTH, with_structural_features
from hiergcn.graph.tables.feature_columns import STRUCTURAL
from hiergcn.graph.task import Task
from hiergcn.model.method import NodeModel, Prepared, Weights
from hiergcn.model.registry import build_method
from hiergcn.run.device import choose_device
from hiergcn.run.folder import LoadedRun
from hiergcn.run.settings import Settings

FEWEST_SEEN = 0.5
"""Share of the nodes that must be of the model's own graph where features are but their place in it."""
ROUNDING = 1e-3  # difference of a probability that another machine or device may bring


def predict_graph(
    settings: Settings,
    weights: Weights,
    graph: Graph,
    n_features: int,
    n_classes: int,
    *,
    hierarchy: Hierarchy | None = None,
    device: str = "auto",
) -> np.ndarray:
    """Probabilities (n, classes) by the model of these settings and weights; the graph is coarsened if need be."""
    model, prepared = restored_model(
        settings, weights, graph, n_features, n_classes, hierarchy=hierarchy, device=device
    )
    with torch.no_grad():
        probabilities: np.ndarray = torch.softmax(model(prepared.features), dim=1).cpu().numpy()
    return probabilities


def restored_model(
    settings: Settings,
    weights: Weights,
    graph: Graph,
    n_features: int,
    n_classes: int,
    *,
    hierarchy: Hierarchy | None = None,
    device: str = "auto",
) -> tuple[NodeModel, Prepared]:
    """The model of these settings and weights over a graph, ready to evaluate, and what it takes in."""
    if n_features == WIDTH:
        graph = with_structural_features(graph)
    if graph.n_features != n_features:
        raise InputError(
            f"The model was trained on {n_features} features and {graph.name} has {graph.n_features}; "
            "give the same columns in the same order."
        )
    where = choose_device(device)
    method = build_method(settings.method, settings.model)
    if method.uses_hierarchy and not (hierarchy and same_adjacency(hierarchy, graph)):
        levels = hierarchy.depth if hierarchy else settings.model.levels  # it may have been coarsened less than asked
        hierarchy = coarsen(graph.adjacency, levels, settings.coarsen)
    prepared = method.prepare(Task.unlabelled(graph, n_classes), hierarchy, where, weights)
    with where:
        model = method.build(prepared, n_classes, torch.Generator(where)).to(where)
    try:
        model.load_state_dict(dict(weights))
    except RuntimeError:
        raise InputError(
            f"The model's weights do not fit {graph.name}: it has other levels or, where nodes have no features, "
            "other nodes than the graph that the model was trained on; fit it again."
        ) from None
    return model.eval(), prepared


def predictions_again(run: LoadedRun, graph: Graph, device: str = "auto") -> pd.DataFrame:
    """The table of predictions, computed from the weights and the graph; refused where the run folder differs."""
    if run.config["n_features"] == WIDTH:
        graph = with_structural_features(graph)
    check_same_data(run, graph)
    recorded, names = run.predictions, run.config["class_names"]
    probabilities = predict_graph(
        run.settings, run.weights, graph, run.config["n_features"], len(names), hierarchy=run.hierarchy, device=device
    )
    apart = int(np.count_nonzero(~(np.abs(probabilities - run.probabilities) <= ROUNDING).all(axis=1)))
    if apart:
        raise InputError(
            f"{apart:,} of {len(recorded):,} predictions differ from those in {run.path}: "
            f"a file of the run or of its data was changed; run the fit again."
        )
    return recorded.assign(**_columns(run, probabilities))


def predictions_on(run: LoadedRun, graph: Graph, device: str = "auto") -> pd.DataFrame:
    """The same nodes later, or a grown graph, by the model of a run; refused where it could only guess."""
    ids = graph.ids.astype(str)
    seen = np.isin(ids, run.predictions["id"].to_numpy(str))
    _check_can_move(run, graph, seen)
    names = run.config["class_names"]
    probabilities = predict_graph(
        run.settings, run.weights, graph, run.config["n_features"], len(names), hierarchy=run.hierarchy, device=device
    )
    return pd.DataFrame({"id": graph.ids, **_columns(run, probabilities), "seen": seen})


def _columns(run: LoadedRun, probabilities: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "predicted": np.array(run.config["class_names"], dtype=object)[probabilities.argmax(axis=1)],
        "probability": probabilities.max(axis=1).astype(np.float64),
        "confidence": run.temperature.of(probabilities).max(axis=1),
    }


def _check_can_move(run: LoadedRun, graph: Graph, seen: np.ndarray) -> None:
    """Whether what the model has learned says anything about the nodes of this graph."""
    method = run.settings.method
    if not build_method(method, run.settings.model).inductive and not np.array_equal(
        graph.ids.astype(str), run.predictions["id"].to_numpy(str)
    ):
        raise InputError(
            f"{method} has learned something for each node of its own graph and knows nothing of others, and the nodes "
            f"of {graph.name} are not the same; fit it again, or fit a model that uses features."
        )
    if is_structural(run) and seen.mean() < FEWEST_SEEN:
        raise InputError(
            f"the nodes had no features, so the model knows them by their place among each other, and only "
            f"{seen.sum():,} of {graph.n_nodes:,} nodes of {graph.name} were there; fit again, or give features."
        )


def is_structural(run: LoadedRun) -> bool:
    """Whether the features were made from the edges, as the nodes had none."""
    return any(column.kind == STRUCTURAL for column in run.columns)


def same_adjacency(hierarchy: Hierarchy, graph: Graph) -> bool:
    """Whether the hierarchy was made from this very graph."""
    ours, theirs = hierarchy.levels[0].adjacency, graph.adjacency
    parts = ("indptr", "indices", "data")
    return all(np.array_equal(getattr(ours, part), getattr(theirs, part)) for part in parts)


def check_same_data(run: LoadedRun, graph: Graph) -> None:
    """Refuse a graph that the run was not made of."""
    same = (
        list(graph.class_names) == run.config["class_names"]
        and graph.n_features == run.config["n_features"]
        and np.array_equal(graph.ids.astype(str), run.predictions["id"].to_numpy(str))
        and (run.hierarchy is None or same_adjacency(run.hierarchy, graph))
    )
    if not same:
        raise InputError(f"{graph.name} is no longer the graph that {run.path} was trained on; run the fit again.")
