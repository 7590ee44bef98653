"""Graphs of large diameter: what is trained and measured. `large_diameter_page.py` has the page.

Three kinds of split (`SplitSpec`): `random`, a tenth of the nodes trains and a tenth validates; `blocked`, test nodes
lie in the other half of the graph; `apart`, the same test nodes, but validation nodes lie apart from training nodes,
too. Each cell is the mean of 20 networks: 4 seeds on each of 5 splits. Settings of every family were compared by
validation accuracy alone: on random splits for the preset `long-range`, on `apart` splits for the preset `elsewhere`.

large_diameter.toml has the variants, and what is run on which graph in the order of importance, so that a run that ends
early has every graph and the main ones.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra

from hiergcn import Graph
from hiergcn.datasets import load_dataset
from hiergcn.extend import NodeModel
from hiergcn.research import (
    Drawn,
    Settings,
    SplitSpec,
    Trainer,
    drawn_splits,
    evaluate_test,
    method_title,
    peak_memory,
    settings_for,
)
from hiergcn_experiments.experiment import Condition, Experiment, Measurement, Scope, Variant
from hiergcn_experiments.page import packaged
from hiergcn_experiments.paper.measures import epoch_seconds, training_memory

NAME = "range"
ACCURACY, INFLUENCE, COST, LARGE = (f"{NAME}-{part}" for part in ("accuracy", "influence", "cost", "large"))
SMALL = ("helsinki", "pegase-eccentricity")
CITY, CLUSTERED = "city-50000", "city-50000-clustered"
CHOSEN_ON = (*SMALL, CITY)
"""Graphs that the presets were chosen on; the clustered city had no part in it."""
DATASETS = (*CHOSEN_ON, CLUSTERED)
QUICK_DATASETS = ("city-600",)
SPLITS, SEEDS = 5, 4
DEPTHS = (2, 4, 8, 16)
LEVELS = (0, 2, 4, 6, 8, 10)
FLAT = ("gcn", "graphsage", "gcnii")
FARTHEST = 40
"""Hops up to which influence is measured."""
SAMPLE = 24
"""Nodes whose influences are averaged."""
RANDOM, BLOCKED, APART = "random", "blocked", "apart"
DRAWN: dict[str, Drawn] = {RANDOM: "tenths", BLOCKED: "blocked", APART: "apart"}
"""Kinds of split, and how the names of their splits begin."""
TEXTS = packaged("studies/large_diameter.toml")

_SETS, _GROUPS = TEXTS["sets"], TEXTS["variants"]
_TITLES: dict[str, str] = TEXTS["titles"] | {
    name: given["title"] for group in _GROUPS.values() for name, given in group.items()
}


def dataset_title(name: str) -> str:
    """Return the name of a graph as people read it."""
    return str(TEXTS["datasets"].get(name, name))


def variant_title(name: str) -> str:
    """Return the name of a variant as people read it."""
    if name in _TITLES:
        return _TITLES[name]
    method, _, rest = name.partition("-")
    if method in FLAT:
        layers, _, more = rest.partition(" ")
        return f"{method_title(method)}, {layers} layers" + (f", {more.replace('=', ' ')}" if more else "")
    return f"H-GCN, {rest} levels" if method == "hgcn" else name


# Variants


def variant(name: str, method: str = "hgcn", **changes: Any) -> Variant:
    """Return a variant: the settings of its method's family, sets of settings that are named `with`, and changes."""
    changes.pop("title", None)
    ours = method == "hgcn"
    for key in (*changes.pop("with", ()), "hgcn" if ours else "flat"):
        changes = {**_SETS[key], **changes}
    return Variant(name, "hgcn-exchange" if "exchange" in changes else method, "paper" if ours else None, changes)


LABELS_ALONE = tuple(Variant(name, name, seeds=1) for name in TEXTS["titles"])
BASE = variant("hgcn-8")
BY_LEVELS = tuple(BASE if levels == 8 else variant(f"hgcn-{levels}", levels=levels) for levels in LEVELS)
BY_DEPTH = tuple(variant(f"{method}-{layers}", method, layers=layers) for method in FLAT for layers in DEPTHS)
_DROPOUT_0 = tuple(variant(f"{method}-16 dropout=0", method, layers=16, dropout=0.0) for method in FLAT)
FLAT_VARIANTS = (*BY_DEPTH, *_DROPOUT_0)
_LISTED = {group: tuple(variant(name, **given) for name, given in listed.items()) for group, listed in _GROUPS.items()}
ABLATIONS, GAPS = _LISTED["ablations"], _LISTED["gaps"]
ELSEWHERE_HOPS, ELSEWHERE_FEATURES = _LISTED["elsewhere-hops"], _LISTED["elsewhere-features"]
ELSEWHERE = (*ELSEWHERE_HOPS, *ELSEWHERE_FEATURES)
"""Candidates for parts of the graph without labels; those with features alone see no more than flat networks do."""
FORMER_GAPS = GAPS[1:]
"""Candidates for `long-range` without hop columns; the first was the preset before."""
PRESETS = {"long-range": GAPS[0], "elsewhere": ELSEWHERE_FEATURES[0]}
"""The presets of H-GCN and the variants that they are."""
WITH_COLUMNS, WITH_HOPS, (WITH_ALL,) = (_LISTED[f"with-{what}"] for what in ("columns", "hops", "all"))
_NAMED = _LISTED | {
    "labels-alone": LABELS_ALONE,
    "by-levels": BY_LEVELS,
    "by-depth": BY_DEPTH,
    "without-dropout": _DROPOUT_0,
}
VARIANTS = {one.name: one for group in _NAMED.values() for one in group}


def _variants() -> Iterator[Variant]:
    """Yield variants with their graphs and kinds of split, the most important first."""
    for part in TEXTS["plan"]:
        groups = [[VARIANTS[name]] if name in VARIANTS else _NAMED[name] for name in part["variants"]]
        for where, kinds in part["on"].items():
            datasets = tuple(TEXTS["graphs"][where])
            for one in chain.from_iterable(groups):
                seeds = one.seeds if len(datasets) > 1 or part.get("all_seeds") else 1
                yield replace(one, datasets=datasets, conditions=tuple(kinds), seeds=seeds)


def range_experiments(scope: Scope) -> tuple[Experiment, ...]:
    """Return the parts of the study; a small version of each if quick."""
    quick = scope.quick
    splits, seeds = (1, 1) if quick else (SPLITS, SEEDS)
    conditions = tuple(Condition(name, splits=drawn_splits(kind, splits)) for name, kind in DRAWN.items())
    variants = tuple(_variants())
    if quick:
        everywhere = {"datasets": None, "conditions": None, "seeds": None}
        variants = tuple({one.name: replace(one, **everywhere) for one in variants}.values())  # type: ignore[arg-type]
    where, epochs = (QUICK_DATASETS, 2) if quick else (("helsinki", CITY), 300)
    about = [{"dataset": dataset, "arm": name, "epochs": epochs} for dataset in where for name in INFLUENCE_OF]
    timed = [{"dataset": dataset, "rounds": 1 if quick else 5} for dataset in where]
    large = {"nodes": 2_000 if quick else 1_000_000, "epochs": epochs}
    return (
        Experiment(
            *(ACCURACY, "Accuracy", "H-GCN, flat networks and labels alone on streets and grids, by depth and levels"),
            variants=variants,
            datasets=QUICK_DATASETS if quick else DATASETS,
            conditions=conditions,
            seeds=seeds,
            most_epochs=2 if quick else None,
        ),
        Experiment(
            *(INFLUENCE, "Influence", "influence of nodes at distance k on an output"),
            measurements=tuple(Measurement(INFLUENCE, one, on_device=True) for one in about),
        ),
        Experiment(
            *(COST, "Cost", "processor time of an epoch and peak memory on a CPU"),
            measurements=tuple(Measurement(COST, one, alone=True) for one in timed),
        ),
        Experiment(
            *(LARGE, "A large city", "a generated city of a million nodes, trained to its end"),
            measurements=(Measurement(LARGE, large, on_device=True),),
            only_by_name=True,
        ),
    )


# Measurements

INFLUENCE_OF = ("gcn-2", "gcn-16", "graphsage-16", "gcnii-16", "hgcn-8", "no-coarsening", "elsewhere")
COST_OF = ("gcn-2", "graphsage-8", "graphsage-16", "gcn-16", "gcnii-16", "hgcn-4", "hgcn-8", "elsewhere")


def _settings(name: str, **changes: Any) -> Settings:
    found = VARIANTS[name]
    return settings_for(found.method, found.preset).override({**found.changes, **changes})


def range_influence(dataset: str, arm: str, epochs: int, device: str = "cpu") -> dict[str, Any]:
    """Train a network on random split 0; return the influence of nodes by hops, averaged over sampled nodes.

    As PyG's `total_influence` (Liang et al., 2025): the influence of node u on node v is the L1 norm of the Jacobian of
    v's outputs by u's features, and those of all nodes at the same distance are added up.
    """
    data = load_dataset(dataset)
    trainer, settings = Trainer(data.graph, torch.device(device)), _settings(arm, epochs=epochs)
    split = SplitSpec("tenths").split(data.graph, data.split)
    (outcome,) = trainer.train(settings, [(split, 0)])
    if outcome.weights is None:
        return {"failure": outcome.failure}
    model, features = trainer.restore(settings, split, outcome.weights)
    assert isinstance(features, torch.Tensor)
    nodes = np.random.default_rng(0).choice(split.test, min(SAMPLE, split.test.size), replace=False)
    total = np.zeros(FARTHEST + 1)
    for node in nodes.tolist():
        by_node = _jacobian_norms(model, features, node)
        hops = dijkstra(data.graph.adjacency, unweighted=True, indices=[node], limit=FARTHEST)[0]
        within = np.isfinite(hops)
        total += np.bincount(hops[within].astype(np.int64), by_node[within], minlength=FARTHEST + 1)
    return {"influence": (total / len(nodes)).tolist(), "nodes": len(nodes), "failure": None}


def _jacobian_norms(model: NodeModel, features: torch.Tensor, node: int) -> np.ndarray:
    """Return the L1 norm of the Jacobian of a node's outputs by the features of each node, (n,)."""
    model.eval().requires_grad_(False)
    given = features.detach().clone().requires_grad_()
    outputs = model(given)[node]
    total = torch.zeros(len(features), dtype=torch.float64, device=features.device)
    for k in range(len(outputs)):
        (gradient,) = torch.autograd.grad(outputs[k], given, retain_graph=k + 1 < len(outputs))
        total += gradient.abs().sum(dim=1).double()
    return total.cpu().numpy()


def range_cost(dataset: str, rounds: int) -> dict[str, Any]:
    """Measure the processor time of an epoch of each network and the peak memory that training adds.

    The networks take turns, and the shortest epoch of each counts, so that other work on the machine matters less.
    """
    torch.set_num_threads(1)
    data = load_dataset(dataset)
    trainer, split = Trainer(data.graph, torch.device("cpu")), SplitSpec("tenths").split(data.graph, data.split)
    seconds = dict.fromkeys(COST_OF, float("inf"))
    for name in COST_OF * rounds:
        seconds[name] = min(seconds[name], epoch_seconds(trainer, _settings(name, epochs=4), split, process_time))
    memory = {name: training_memory(trainer, _settings(name, epochs=2), split) for name in COST_OF}
    return {"epoch": seconds, "bytes": memory}


def range_large(nodes: int, epochs: int, device: str = "cpu") -> dict[str, Any]:
    """Generate a city and train H-GCN with 8 levels on it to its end; return seconds of each step and the accuracy."""
    began = perf_counter()
    data = load_dataset(f"city-{nodes}")
    generated = perf_counter()
    graph: Graph = data.graph
    split = SplitSpec("tenths").split(graph, data.split)
    trainer, settings = Trainer(graph, torch.device(device)), _settings(BASE.name, epochs=epochs)
    trainer.prepare(settings, split)
    prepared = perf_counter()
    (outcome,) = trainer.train(settings, [(split, 0)])
    trained = perf_counter()
    predicted = {} if outcome.probabilities is None else {0: outcome.probabilities}
    report = evaluate_test(graph, split, predicted, [0])
    assert report is not None
    return {
        "edges": graph.n_edges,
        "generate": generated - began,
        "coarsen": trainer.coarsen_seconds,
        "prepare": prepared - generated,
        "train": trained - prepared,
        "epochs": len(outcome.history),
        "test_accuracy": report["accuracy"].mean,
        "resident": peak_memory().resident,
        "gpu": peak_memory().gpu,
        "failure": outcome.failure,
    }
