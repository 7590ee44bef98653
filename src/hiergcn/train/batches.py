"""Training in batches, for graphs that do not fit at once: parts of the hierarchy, one after the other.

As in Cluster-GCN (Chiang et al., KDD 2019) a batch is a cluster of nodes with the edges between them; here the clusters
are hyper-nodes and every batch has its part of every level. The network of a batch shares its parameters with that of
the whole graph, which looks at all nodes after each epoch wherever it can.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from hiergcn.coarsen import Hierarchy
from hiergcn.coarsen.partition import parts
from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.method import Labelled, Method, NodeModel, Prepared
from hiergcn.train.config import TrainConfig
from hiergcn.train.labels import LearningNodes
from hiergcn.train.learners import Learners, Measured, measured
from hiergcn.train.optimiser import make_optimiser


@dataclass(frozen=True, eq=False)
class Batch:
    """Some nodes of the graph, ascending, and what the method prepared for them alone."""

    nodes: Tensor  # (m,)
    prepared: Prepared


@dataclass(frozen=True, eq=False)
class Batches:
    """All of them; made once and shared by all seeds."""

    parts: tuple[Batch, ...]
    whole: Prepared | None
    """For the look at all nodes after an epoch; None where that is too large, and the batches are looked at instead."""


def make_batches(
    method: Method,
    whole: Prepared,
    task: Task,
    hierarchy: Hierarchy,
    count: int,
    device: torch.device,
    look_at_whole: bool = True,
) -> Batches:
    """At most `count` batches of about the same number of nodes."""
    if not method.inductive:
        raise InputError("This method learns something for each node, so it cannot train in batches; take batches=1.")
    fixed = method.build(whole, task.n_classes, torch.Generator(device).manual_seed(0)).state_dict()
    fixed = {name: value.cpu() for name, value in fixed.items()}  # node weights and scales are those of the whole
    batches = []
    for part in parts(hierarchy, count):
        features = None if task.features is None else task.features[part.nodes]
        none = np.empty(0, dtype=np.int64)
        own = Task(part.hierarchy.levels[0].adjacency, features, task.n_classes, none, none, none, none)
        prepared = method.prepare(own, part.hierarchy, device, fixed)
        batches.append(Batch(torch.from_numpy(part.nodes).to(device), prepared))
    return Batches(tuple(batches), whole if look_at_whole else None)


def network_seeds(seed: int, count: int) -> list[int]:
    """A seed for the draws of each batch's network, all different."""
    return [int(state) for state in np.random.SeedSequence(seed).generate_state(count)]


class BatchLearner(Learners):
    """One model whose step adds up the gradients of all batches: what is learned differs from a step over the whole
    graph by the edges between batches alone, and so the settings for the whole graph serve.

    Args:
        model: the network of the whole graph, which has the parameters.
        networks: one for each batch; they give up their own parameters.
        batches: the batches.
        nodes: the labels, by their nodes in the whole graph.
        config: of the training.
    """

    def __init__(
        self,
        model: NodeModel,
        networks: Sequence[NodeModel],
        batches: Batches,
        nodes: LearningNodes,
        config: TrainConfig,
    ) -> None:
        self.model, self.networks, self.batches = model, networks, batches
        self.nodes, self.config = nodes, config
        if type(model).step is not NodeModel.step:
            raise InputError(f"{type(model).__name__} learns in its own way, so it cannot train in batches.")
        for network in networks:
            _share_parameters(model, network)
        self.optimiser = make_optimiser(model, dict(model.named_parameters()), config)
        self.train = [_inside(nodes.train, batch.nodes) for batch in batches.parts]

    def step(self, epoch: int) -> Tensor:
        self.optimiser.zero_grad()
        total = torch.zeros(1, device=self.nodes.train.nodes.device)
        for network, batch, train in zip(self.networks, self.batches.parts, self.train, strict=True):
            if len(train.nodes):
                loss = network.train().objective(batch.prepared.features, train, self.config.loss, epoch)
                share = 1.0 if self.config.loss == "sum" else len(train.nodes) / len(self.nodes.train.nodes)
                (share * loss).backward()
                total += share * loss.detach()
        self.optimiser.step()
        return total

    @torch.no_grad()
    def measure(self) -> Measured:
        return measured(self._logits(), self.nodes)

    def _logits(self) -> Tensor:
        if self.batches.whole is not None:
            logits: Tensor = self.model.eval()(self.batches.whole.features)
            return logits
        parts = self.batches.parts
        pieces = [net.eval()(part.prepared.features) for net, part in zip(self.networks, parts, strict=True)]
        logits = torch.empty(sum(map(len, pieces)), pieces[0].shape[1], device=pieces[0].device)
        for piece, part in zip(pieces, parts, strict=True):
            logits[part.nodes] = piece
        return logits

    def weights(self) -> dict[str, Tensor]:
        return {name: value.unsqueeze(0) for name, value in self.model.state_dict().items()}


def _share_parameters(model: NodeModel, other: NodeModel) -> None:
    """Make the parameters of `model` those of `other` too."""
    for name, parameter in model.named_parameters():
        owner, _, leaf = name.rpartition(".")
        module = other.get_submodule(owner)
        if getattr(module, leaf).shape != parameter.shape:
            raise InputError(f"{type(model).__name__} has weights for each node, so it cannot train in batches.")
        setattr(module, leaf, parameter)


def _inside(labelled: Labelled, nodes: Tensor) -> Labelled:
    """Those of the labelled nodes that are in the batch, by their places in it."""
    place = torch.searchsorted(nodes, labelled.nodes).clamp(max=len(nodes) - 1)
    here = nodes[place] == labelled.nodes
    return replace(labelled, nodes=place[here], classes=labelled.classes[here])
