"""Graphs of large diameter: what is trained and measured. `large_diameter_page.py` has the page.

Three kinds of split (`SplitSpec`): `random`, a tenth of the nodes trains and a tenth validates; `blocked`, test nodes
lie in the other half of the graph; `apart`, the same test nodes, but validation nodes lie apart from training nodes,
too. Each cell is the mean of 20 networks: 4 seeds on each of 5 splits. Settings of every family were compared by
validation accuracy alone: on random splits for the preset `long-range`, on `apart` splits for the preset `elsewhere`.

Variants are listed in the order of their importance, so that a run that ends early has every graph and the main ones.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
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
    reset_peak_memory,
    settings_for,
)
from hiergcn_experiments.experiment import Condition, Experiment, Measurement, Scope, Variant
from hiergcn_experiments.page import packaged

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

_TITLES: dict[str, str] = TEXTS["variants"] | {
    name: given["title"] for group in TEXTS["hgcn"].values() for name, given in group.items()
}
_Changes = Mapping[str, Any]
_TRAINED: _Changes = {"scaling": "standard", "l2": 1e-5, "loss": "mean", "epochs": 500, "patience": 100}
_FLAT: _Changes = {**_TRAINED, "hidden": 64, "learning_rate": 0.003}
_HGCN: _Changes = {
    **_TRAINED,
    "learning_rate": 0.01,
    "levels": 8,
    "hidden": 64,
    "channels": 1,
    "weight_embedding": 8,
    "dropout": 0.0,
    "pooling": "mean",
    "output_relu": False,
}
_HOPS, _SHARES = (TEXTS["sets"][name] for name in ("hops", "shares"))


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


def flat(method: str, layers: int, dropout: float = 0.2, **more: Any) -> Variant:
    """Return a flat network; its name holds what differs from dropout 0.2 and no columns of labels."""
    end = "".join(f" {name}" for name in more) + ("" if dropout == 0.2 else f" dropout={dropout:g}")
    return Variant(f"{method}-{layers}{end}", method, None, {**_FLAT, "layers": layers, "dropout": dropout, **more})


def hgcn(name: str, **changes: Any) -> Variant:
    """Return H-GCN with mean pooling, one channel and no dropout, apart from the changes."""
    return Variant(name, "hgcn-exchange" if "exchange" in changes else "hgcn", "paper", {**_HGCN, **changes})


def _listed(group: str) -> Iterator[Variant]:
    """Yield the variants of a group of the TOML file."""
    for name, given in TEXTS["hgcn"][group].items():
        changes = {key: value for key, value in given.items() if key not in ("title", "with")}
        for key in given.get("with", ()):
            changes = {**TEXTS["sets"][key], **changes}
        yield hgcn(name, **changes)


def _with_hops(variant: Variant, name: str, **more: Any) -> Variant:
    return replace(variant, name=name, changes={**variant.changes, **_HOPS, **more})


_MLP = Variant("mlp", "mlp", None, {**_FLAT, "learning_rate": 0.005, "dropout": 0.2})
LABELS_ALONE = tuple(Variant(name, name, seeds=1) for name in ("label-propagation", "harmonic"))
BASE = hgcn("hgcn-8")
BY_LEVELS = tuple(BASE if levels == 8 else hgcn(f"hgcn-{levels}", levels=levels) for levels in LEVELS)
ABLATIONS, GAPS, ELSEWHERE_HOPS, ELSEWHERE_FEATURES = (
    tuple(_listed(group)) for group in ("ablations", "gaps", "elsewhere-hops", "elsewhere-features")
)
"""Changes of `BASE`, and candidates for the presets `long-range` and `elsewhere`; those for the latter with features
alone see no more than flat networks do."""
ELSEWHERE = (*ELSEWHERE_HOPS, *ELSEWHERE_FEATURES)
"""Candidates for parts of the graph without labels."""
FORMER_GAPS = GAPS[1:]
"""Candidates for `long-range` without hop columns; the first was the preset before."""
PRESETS = {"long-range": GAPS[0], "elsewhere": ELSEWHERE_FEATURES[0]}
"""The presets of H-GCN and the variants that they are."""
BY_DEPTH = tuple(flat(method, layers) for method in FLAT for layers in DEPTHS)
WITH_COLUMNS = (
    replace(_MLP, name="mlp nearness", changes={**_MLP.changes, "nearness": True}),
    *(flat("graphsage", layers, nearness=True) for layers in (8, 16)),
)
WITH_HOPS = (
    _with_hops(_MLP, "mlp hops"),
    *(_with_hops(flat(method, 8), f"{method}-8 hops") for method in FLAT),
    _with_hops(flat("graphsage", 16), "graphsage-16 hops"),
)
"""Flat networks with hop columns, without labels as input."""
WITH_ALL = _with_hops(_MLP, "mlp all", **_SHARES)
"""The preset `long-range` without its hierarchy: hop columns and the perceptron over labels."""
_DROPOUT_0 = tuple(flat(method, 16, 0.0) for method in FLAT)
FLAT_VARIANTS = (*BY_DEPTH, *_DROPOUT_0)


def _variants() -> Iterator[Variant]:
    """Yield variants with their graphs and kinds of split; on a city alone, one seed per split but for three."""
    both, gaps, blocked, away = (RANDOM, BLOCKED), (RANDOM,), (BLOCKED,), (BLOCKED, APART)
    city, clustered, cities = (CITY,), (CLUSTERED,), (CITY, CLUSTERED)
    first = tuple(flat(*one) for one in (("graphsage", 16), ("gcnii", 16), ("graphsage", 8), ("gcn", 8)))
    plan: tuple[tuple[tuple[Variant, ...], dict[tuple[str, ...], tuple[str, ...] | None]], ...] = (
        (LABELS_ALONE, {CHOSEN_ON: None, clustered: both}),
        (GAPS[:1], {DATASETS: gaps, SMALL: blocked, cities: blocked}),
        (ELSEWHERE[1:2], {DATASETS: blocked}),
        (ELSEWHERE_HOPS, {SMALL: away, city: away}),
        (ELSEWHERE[:1], {clustered: blocked}),
        (WITH_HOPS, {SMALL: both, city: both, clustered: both}),
        ((WITH_ALL,), {SMALL: gaps, city: gaps, clustered: gaps}),
        ((BASE, *first[:2]), {SMALL: None}),
        (FORMER_GAPS[:2], {SMALL: both}),
        (FORMER_GAPS[:1], {cities: gaps, city: blocked, clustered: blocked}),
        ((BASE, *first), {clustered: both, city: None}),
        (ELSEWHERE_FEATURES[:1], {cities: blocked}),
        (ELSEWHERE_FEATURES[:4], {SMALL: away, city: away}),
        (WITH_COLUMNS[:1], {clustered: gaps}),
        ((*_DROPOUT_0[:2], flat("gcn", 16), flat("gcn", 2)), {clustered: both}),
        (FORMER_GAPS[2:3], {SMALL: gaps, city: gaps}),
        (FORMER_GAPS[1:2], {city: both}),
        (first[2:], {SMALL: None}),
        (FORMER_GAPS[3:4], {SMALL: both, city: both}),
        (BY_LEVELS, {SMALL: both, city: both}),
        (ABLATIONS, {SMALL: both, city: both}),
        (WITH_COLUMNS[:2], {CHOSEN_ON: gaps}),
        (FORMER_GAPS[4:], {SMALL: gaps}),
        (BY_DEPTH, {SMALL: both, city: both}),
        (ELSEWHERE_FEATURES[4:], {SMALL: away}),
        (_DROPOUT_0, {SMALL: both}),
        (WITH_COLUMNS[2:], {SMALL: gaps}),
        (_DROPOUT_0[:2], {city: both}),
    )
    for variants, where in plan:
        for datasets, kinds in where.items():
            for one in variants:
                seeds = 1 if len(datasets) == 1 else one.seeds
                yield replace(one, datasets=datasets, conditions=kinds, seeds=seeds)
    yield from (replace(one, datasets=city, conditions=both) for one in (BASE, first[0], FORMER_GAPS[1]))


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

_KNOWN = {one.name: one for one in (*FLAT_VARIANTS, *BY_LEVELS, *ABLATIONS, *GAPS, *ELSEWHERE)}
INFLUENCE_OF = ("gcn-2", "gcn-16", "graphsage-16", "gcnii-16", "hgcn-8", "no-coarsening", "elsewhere")
COST_OF = ("gcn-2", "graphsage-8", "graphsage-16", "gcn-16", "gcnii-16", "hgcn-4", "hgcn-8", "elsewhere")


def _settings(name: str, **changes: Any) -> Settings:
    found = _KNOWN[name]
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
    for _ in range(rounds):
        for name in COST_OF:
            stamps: list[float] = []
            list(
                trainer.train(_settings(name, epochs=4), [(split, 0)], lambda *_, at=stamps: at.append(process_time()))
            )
            seconds[name] = min(seconds[name], *(later - sooner for sooner, later in pairwise(stamps)))
    memory = {name: training_memory(trainer, _settings(name, epochs=2), split) for name in COST_OF}
    return {"epoch": seconds, "bytes": memory}


def training_memory(trainer: Trainer, settings: Settings, split: Any) -> int | None:
    """Return the bytes that training adds to the process at its peak; None if the system does not tell."""
    trainer.prepare(settings, split)
    before = reset_peak_memory()
    list(trainer.train(settings, [(split, 0)]))
    after = peak_memory().resident
    return None if before is None or after is None else after - before


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
