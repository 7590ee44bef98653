"""How long will a fit take, and how much memory? A rough answer before it starts.

Beside real fits of Cora, a planted graph of Pubmed's size and one without features, on a machine that was busy with
other work, time was told 24 % too low to 53 % too high. Memory is planned, not tried: see `plan`.
"""

import statistics
import time
from dataclasses import dataclass, replace
from itertools import pairwise

from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.structure import WIDTH
from hiergcn.run.device import choose_device
from hiergcn.run.events import EpochDone, FitEvent
from hiergcn.run.fit import fit
from hiergcn.run.memory import held_memory
from hiergcn.run.memory_plan import plan_memory
from hiergcn.run.settings import Settings
from hiergcn.train.loop import LOOK

TRIAL_NODES = 20_000
TRIAL_ENTRIES = 20_000_000  # of the features
TRIAL_EPOCHS = 5
LOOKS = 3  # that a GPU, which is looked at after some epochs only, is given in their place


@dataclass(frozen=True)
class Estimate:
    """Of one seed. A run of several takes as many times as long, and the same memory."""

    seconds: float
    """With every epoch; patience may end it earlier."""
    memory: int
    """Bytes at the highest, of the whole process."""
    trial_nodes: int
    """Nodes of the graph that was trained for a few epochs to see."""
    scaled: bool
    """Whether that graph was a smaller one of the same density, and its time was multiplied."""


class Clock:
    """Notes the time of every finished epoch."""

    def __init__(self) -> None:
        self.ticks: list[tuple[int, float]] = []

    def __call__(self, event: FitEvent) -> None:
        if isinstance(event, EpochDone):
            self.ticks.append((event.epoch, time.perf_counter()))

    @property
    def epoch(self) -> float:
        """Seconds of an epoch; what comes before the first look warms up and is not among them."""
        return statistics.median((then - now) / (later - epoch) for (epoch, now), (later, then) in pairwise(self.ticks))


def estimate_fit(graph: Graph, split: Split, settings: Settings) -> Estimate:
    """Train a few epochs on the graph, or on a smaller one of the same density and width if it is large."""
    width = graph.n_features or WIDTH
    nodes = min(graph.n_nodes, TRIAL_NODES, max(TRIAL_ENTRIES // width, 200))
    scaled = nodes < graph.n_nodes
    ratio = 1.0
    if scaled:
        degree = min(graph.adjacency.nnz / graph.n_nodes, nodes - 1)
        trial = planted_graph(nodes, classes=graph.n_classes, degree=degree, features=width)
        ratio = (graph.n_nodes + graph.adjacency.nnz) / (trial.n_nodes + trial.adjacency.nnz)
        assert trial.labels is not None
        graph_of_trial, split_of_trial = trial, Split.holdout(trial.labels)
    else:
        graph_of_trial, split_of_trial = graph, split
    clock = Clock()
    epochs = LOOKS * LOOK if choose_device().type == "cuda" else TRIAL_EPOCHS
    short = replace(settings, train=replace(settings.train, epochs=epochs, patience=None))
    result = fit(graph_of_trial, split_of_trial, short, [0], on_event=clock)
    seconds = ratio * (result.seconds["coarsen"] + clock.epoch * settings.train.epochs)
    return Estimate(seconds, expected_memory(graph, settings), nodes, scaled)


def expected_memory(graph: Graph, settings: Settings) -> int:
    """Bytes at the highest, of the whole process, which holds the graph already."""
    return held_memory() + plan_memory(graph, settings).total
