"""The benchmark of graphs of large diameter: accuracy against depth and levels, influence by distance, cost.

Three kinds of split (`SplitSpec`): `random`, a tenth of the nodes trains and a tenth validates; `blocked`, test nodes
lie in the other half of the graph; `apart`, the same test nodes, but validation nodes lie apart from training nodes,
too. Each cell is the mean of 20 networks: 4 seeds on each of 5 splits. Settings of every family were compared by
validation accuracy alone: on random splits for the preset `long-range`, on `apart` splits for the preset `elsewhere`.

Arms are listed in the order of their importance, so that a run that ends early has every graph and the main arms.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra

from hiergcn.datasets import load_dataset
from hiergcn.evaluate.metrics import evaluate_test
from hiergcn.graph import Graph
from hiergcn.graph.split import Drawn, SplitSpec, drawn_splits
from hiergcn.model.method import NodeModel
from hiergcn.settings.registry import method_title
from hiergcn.settings.settings import Settings, settings_for
from hiergcn.train.trainer import Trainer
from hiergcn.workers.memory import peak_memory, reset_peak_memory
from hiergcn_experiments.experiment import Arm, Column, Experiment, Measurement
from hiergcn_experiments.experiments import packaged

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
LARGE_NODES = 1_000_000
FARTHEST = 40
"""Hops up to which influence is measured."""
SAMPLE = 24
"""Nodes whose influences are averaged."""

TEXTS = packaged("long_range.toml")

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
_ROUND: _Changes = {"weight_embedding": 4, "round_weights": True}
_OWN: _Changes = {"own_weights": True, "learning_rate": 0.003}
_HOPS: _Changes = {"hop_counts": True, "hop_means": True}
_SHARES: _Changes = {"nearness": True, "nearness_shares": True, "nearness_weight": 0.7, "dropout": 0.2}


def dataset_title(name: str) -> str:
    """Return the name of a graph as people read it."""
    return str(TEXTS["datasets"].get(name, name))


def range_title(arm: str) -> str:
    """Return the name of an arm as people read it."""
    if arm in TEXTS["arms"]:
        return str(TEXTS["arms"][arm])
    method, _, rest = arm.partition("-")
    if method in FLAT:
        layers, _, more = rest.partition(" ")
        return f"{method_title(method)}, {layers} layers" + (f", {more.replace('=', ' ')}" if more else "")
    return f"H-GCN, {rest} levels" if method == "hgcn" else arm


# Arms


def flat_arm(method: str, layers: int, dropout: float = 0.2, **more: Any) -> Arm:
    """Return a flat network; its name holds what differs from dropout 0.2 and no columns of labels."""
    end = "".join(f" {name}" for name in more) + ("" if dropout == 0.2 else f" dropout={dropout:g}")
    return Arm(f"{method}-{layers}{end}", method, None, {**_FLAT, "layers": layers, "dropout": dropout, **more})


def hgcn_arm(name: str, **changes: Any) -> Arm:
    """Return H-GCN with mean pooling, one channel and no dropout, apart from the changes."""
    return Arm(name, "hgcn-exchange" if "exchange" in changes else "hgcn", "paper", {**_HGCN, **changes})


def _mlp(**columns: bool) -> Arm:
    changes = {**_FLAT, "learning_rate": 0.005, "dropout": 0.2, **columns}
    return Arm("mlp" + "".join(f" {name}" for name in columns), "mlp", None, changes)


LABELS_ALONE = (Arm("label-propagation", "label-propagation", seeds=1), Arm("harmonic", "harmonic", seeds=1))
BASE = hgcn_arm("hgcn-8")
BY_LEVELS = tuple(BASE if levels == 8 else hgcn_arm(f"hgcn-{levels}", levels=levels) for levels in LEVELS)
ABLATIONS = (
    hgcn_arm("no-coarsening", coarsening=False),
    hgcn_arm("no-embedding", weight_embedding=0),
    hgcn_arm("round-weights", **_ROUND),
    hgcn_arm("channels-2", channels=2),
    hgcn_arm("channels-4", channels=4),
    hgcn_arm("exchange", exchange=4, levels=4, learning_rate=0.003),
    hgcn_arm("own-weights", **_OWN),
    hgcn_arm("dropout", dropout=0.2),
    hgcn_arm("harmonic-columns", harmonic=True, dropout=0.2),
)
GAPS = (
    hgcn_arm("gaps hops networks=4", **_SHARES, **_HOPS, networks=4),
    hgcn_arm("gaps networks=4 weight=0.6", nearness=True, nearness_weight=0.6, networks=4),
    hgcn_arm("gaps networks=4", nearness=True, networks=4),
    hgcn_arm("gaps networks=4 dropout=0.2", nearness=True, networks=4, dropout=0.2),
    hgcn_arm("gaps", nearness=True),
    hgcn_arm("gaps dropout=0.2", nearness=True, dropout=0.2),
    hgcn_arm("gaps harmonic", nearness=True, harmonic=True, dropout=0.2),
    hgcn_arm("gaps harmonic networks=4", nearness=True, harmonic=True, dropout=0.2, networks=4),
)
"""Candidates for the preset `long-range`."""
ELSEWHERE = (
    hgcn_arm("elsewhere hops levels=8 dropout=0.4", **_ROUND, **_HOPS, dropout=0.4),
    hgcn_arm("elsewhere hops", **_ROUND, **_HOPS, dropout=0.2, levels=6),
    hgcn_arm("elsewhere hops levels=4", **_ROUND, **_HOPS, dropout=0.2, levels=4),
    hgcn_arm("elsewhere hops own weights", **_ROUND, **_OWN, **_HOPS, dropout=0.2, levels=4),
    hgcn_arm("elsewhere hop counts", **_ROUND, hop_counts=True, dropout=0.2, levels=6),
    hgcn_arm("elsewhere hop means", **_ROUND, hop_means=True, dropout=0.2, levels=6),
    hgcn_arm("elsewhere", **_ROUND, **_OWN, dropout=0.2, levels=4),
    hgcn_arm("elsewhere exchange", **_ROUND, **_OWN, dropout=0.2, levels=4, exchange=4),
    hgcn_arm("elsewhere levels=2", **_ROUND, **_OWN, dropout=0.2, levels=2),
    hgcn_arm("elsewhere levels=2 exchange", **_ROUND, **_OWN, dropout=0.2, levels=2, exchange=8),
    hgcn_arm("elsewhere levels=8", **_ROUND, **_OWN, dropout=0.2),
    hgcn_arm("elsewhere dropout=0.4", **_ROUND, **_OWN, dropout=0.4, levels=4),
    hgcn_arm("elsewhere no weights", **_OWN, weight_embedding=0, dropout=0.2, levels=4),
    hgcn_arm("elsewhere no coarsening", **_ROUND, **_OWN, coarsening=False, dropout=0.2, levels=8),
)
"""Candidates for parts of the graph without labels."""
ELSEWHERE_HOPS, ELSEWHERE_FEATURES = ELSEWHERE[:6], ELSEWHERE[6:]
"""Those with hop columns, and those for the preset `elsewhere`, which see no more than flat networks do."""
FORMER_GAPS = GAPS[1:]
"""Candidates for `long-range` without hop columns; the first was the preset before."""
PRESETS = {"long-range": GAPS[0], "elsewhere": ELSEWHERE_FEATURES[0]}
"""The presets of H-GCN and the arms that they are."""
BY_DEPTH = tuple(flat_arm(method, layers) for method in FLAT for layers in DEPTHS)
WITH_COLUMNS = (_mlp(nearness=True), flat_arm("graphsage", 8, nearness=True), flat_arm("graphsage", 16, nearness=True))
WITH_HOPS = (
    Arm("mlp hops", "mlp", None, {**_mlp().changes, **_HOPS}),
    *(Arm(f"{method}-8 hops", method, None, {**flat_arm(method, 8).changes, **_HOPS}) for method in FLAT),
    Arm("graphsage-16 hops", "graphsage", None, {**flat_arm("graphsage", 16).changes, **_HOPS}),
)
"""Flat networks with hop columns, without labels as input."""
WITH_ALL = Arm("mlp all", "mlp", None, {**_mlp().changes, **_HOPS, **_SHARES})
"""The preset `long-range` without its hierarchy: hop columns and the perceptron over labels."""
_DROPOUT_0 = tuple(flat_arm(method, 16, 0.0) for method in FLAT)
_FIRST_FLAT = tuple(flat_arm(*one) for one in (("graphsage", 16), ("gcnii", 16), ("graphsage", 8), ("gcn", 8)))
FLAT_ARMS = (*BY_DEPTH, *_DROPOUT_0)
RANDOM, BLOCKED, APART = "random", "blocked", "apart"


def _arms() -> Iterator[Arm]:
    """Yield arms in the order of their importance; on cities, one seed per split but for the main ones."""
    gaps, place = (RANDOM,), (BLOCKED, APART)
    former, once = FORMER_GAPS, ELSEWHERE_FEATURES
    main = (BASE, _FIRST_FLAT[0], former[1])
    both = (RANDOM, BLOCKED)
    cities = (CITY, CLUSTERED)
    plan = (
        (LABELS_ALONE, CHOSEN_ON, None),
        (LABELS_ALONE, (CLUSTERED,), both),
        (GAPS[:1], DATASETS, gaps),
        (ELSEWHERE[1:2], DATASETS, (BLOCKED,)),
        (ELSEWHERE[:6], SMALL, place),
        (ELSEWHERE[:6], (CITY,), place),
        (ELSEWHERE[:1], (CLUSTERED,), (BLOCKED,)),
        (WITH_HOPS, SMALL, both),
        (WITH_HOPS, (CITY,), both),
        (WITH_HOPS, (CLUSTERED,), both),
        ((WITH_ALL,), SMALL, gaps),
        ((WITH_ALL,), (CITY,), gaps),
        ((WITH_ALL,), (CLUSTERED,), gaps),
        (GAPS[:1], SMALL, (BLOCKED,)),
        (GAPS[:1], cities, (BLOCKED,)),
        ((BASE, *_FIRST_FLAT[:2]), SMALL, None),
        (former[:2], SMALL, both),
        (former[:1], cities, gaps),
        ((BASE, *_FIRST_FLAT), (CLUSTERED,), both),
        (once[:1], cities, (BLOCKED,)),
        (former[:1], (CLUSTERED,), (BLOCKED,)),
        (WITH_COLUMNS[:1], (CLUSTERED,), gaps),
        ((*_DROPOUT_0[:2], flat_arm("gcn", 16), flat_arm("gcn", 2)), (CLUSTERED,), both),
        (former[2:3], SMALL, gaps),
        (former[2:3], (CITY,), gaps),
        (once[:4], SMALL, place),
        ((BASE, *_FIRST_FLAT), (CITY,), None),
        (former[:1], (CITY,), (BLOCKED,)),
        (former[1:2], (CITY,), both),
        (once[:4], (CITY,), place),
        (_FIRST_FLAT[2:], SMALL, None),
        (former[3:4], SMALL, both),
        (former[3:4], (CITY,), both),
        (BY_LEVELS, SMALL, both),
        (BY_LEVELS, (CITY,), both),
        (ABLATIONS, SMALL, both),
        (WITH_COLUMNS[:2], CHOSEN_ON, gaps),
        (former[4:], SMALL, gaps),
        (BY_DEPTH, SMALL, both),
        (ABLATIONS, (CITY,), both),
        (BY_DEPTH, (CITY,), both),
        (once[4:], SMALL, place),
        (_DROPOUT_0, SMALL, both),
        (WITH_COLUMNS[2:], SMALL, gaps),
        (_DROPOUT_0[:2], (CITY,), both),
    )
    for arms, datasets, columns in plan:
        for arm in arms:
            yield replace(arm, datasets=datasets, columns=columns, seeds=1 if len(datasets) == 1 else arm.seeds)
        if arms is ABLATIONS and datasets == SMALL:
            yield from (replace(arm, datasets=(CITY,), columns=both) for arm in main)


def range_experiments(quick: bool = False) -> tuple[Experiment, ...]:
    """Return the parts of the benchmark; a small version of each if quick."""
    splits, seeds = (1, 1) if quick else (SPLITS, SEEDS)
    kinds: dict[str, Drawn] = {RANDOM: "tenths", BLOCKED: "blocked", APART: "apart"}
    columns = tuple(Column(name, splits=drawn_splits(kind, splits)) for name, kind in kinds.items())
    arms = tuple(_arms())
    if quick:
        arms = tuple({arm.name: replace(arm, datasets=None, columns=None, seeds=None) for arm in arms}.values())
    train = Experiment(
        *(ACCURACY, "Accuracy", "H-GCN, flat networks and labels alone on streets and grids, by depth and levels"),
        arms=arms,
        datasets=QUICK_DATASETS if quick else DATASETS,
        columns=columns,
        seeds=seeds,
        most_epochs=2 if quick else None,
    )
    where, epochs = (QUICK_DATASETS, 2) if quick else (("helsinki", CITY), 300)
    about = [{"dataset": dataset, "arm": arm, "epochs": epochs} for dataset in where for arm in INFLUENCE_ARMS]
    timed = [{"dataset": dataset, "rounds": 1 if quick else 5} for dataset in where]
    large = {"nodes": 2_000 if quick else LARGE_NODES, "epochs": epochs}
    return (
        train,
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
        ),
    )


# Measurements

_KNOWN = {arm.name: arm for arm in (*FLAT_ARMS, *BY_LEVELS, *ABLATIONS, *GAPS, *ELSEWHERE)}
INFLUENCE_ARMS = ("gcn-2", "gcn-16", "graphsage-16", "gcnii-16", "hgcn-8", "no-coarsening", "elsewhere")
COST_ARMS = ("gcn-2", "graphsage-8", "graphsage-16", "gcn-16", "gcnii-16", "hgcn-4", "hgcn-8", "elsewhere")


def _settings(arm: str, **changes: Any) -> Settings:
    found = _KNOWN[arm]
    return settings_for(found.method, found.preset).override({**found.changes, **changes})


def range_influence(dataset: str, arm: str, epochs: int, device: str = "cpu") -> dict[str, Any]:
    """Train a network on random split 0; return the influence of nodes by hops, averaged over sampled nodes.

    As PyG's `total_influence` (Liang et al., 2025): the influence of node u on node v is the L1 norm of the Jacobian of
    v's outputs by u's features, and those of all nodes at the same distance are added up.
    """
    graph = load_dataset(dataset).graph
    trainer, settings = Trainer(graph, torch.device(device)), _settings(arm, epochs=epochs)
    split = SplitSpec("tenths").split(graph, load_dataset(dataset).split)
    (outcome,) = trainer.train(settings, [(split, 0)])
    if outcome.weights is None:
        return {"failure": outcome.failure}
    model, features = trainer.restored(settings, split, outcome.weights)
    assert isinstance(features, torch.Tensor)
    nodes = np.random.default_rng(0).choice(split.test, min(SAMPLE, split.test.size), replace=False)
    total = np.zeros(FARTHEST + 1)
    for node in nodes:
        by_node = _jacobian_norms(model, features, int(node))
        hops = dijkstra(graph.adjacency, unweighted=True, indices=[int(node)], limit=FARTHEST)[0]
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
    seconds = dict.fromkeys(COST_ARMS, float("inf"))
    for _ in range(rounds):
        for arm in COST_ARMS:
            seconds[arm] = min(seconds[arm], _epoch_seconds(trainer, _settings(arm, epochs=4), split))
    memory: dict[str, int | None] = {}
    for arm in COST_ARMS:
        settings = _settings(arm, epochs=2)
        trainer.prepared(settings, split)
        before = reset_peak_memory()
        list(trainer.train(settings, [(split, 0)]))
        after = peak_memory().resident
        memory[arm] = None if before is None or after is None else after - before
    return {"epoch": seconds, "bytes": memory}


def _epoch_seconds(trainer: Trainer, settings: Settings, split: Any) -> float:
    stamps: list[float] = []
    list(trainer.train(settings, [(split, 0)], lambda *_: stamps.append(process_time())))
    return min(later - sooner for sooner, later in pairwise(stamps))


def range_large(nodes: int, epochs: int, device: str = "cpu") -> dict[str, Any]:
    """Generate a city and train H-GCN with 8 levels on it to its end; return seconds of each step and the accuracy."""
    began = perf_counter()
    data = load_dataset(f"city-{nodes}")
    generated = perf_counter()
    graph: Graph = data.graph
    split = SplitSpec("tenths").split(graph, data.split)
    trainer, settings = Trainer(graph, torch.device(device)), _settings(BASE.name, epochs=epochs)
    trainer.prepared(settings, split)
    prepared = perf_counter()
    (outcome,) = trainer.train(settings, [(split, 0)])
    trained = perf_counter()
    outputs = {} if outcome.probabilities is None else {0: outcome.probabilities}
    report = evaluate_test(graph, split, outputs, [0])
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
