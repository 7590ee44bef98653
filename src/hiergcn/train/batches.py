"""Training in batches, for graphs that do not fit at once: parts of the hierarchy, one after the other.

As in Cluster-GCN (Chiang et al., KDD 2019) the graph is cut into clusters with few edges between them, and each epoch
puts them together anew into batches, so that every edge is seen at times; here the clusters are hyper-nodes and every
batch has its part of every level. A batch is made when its turn comes and forgotten after it. Its network shares what
is learned with that of the whole graph, which looks at all nodes after each epoch wherever it can.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hiergcn.coarsen import Hierarchy
from hiergcn.coarsen.partition import part_labels
from hiergcn.coarsen.restrict import restrict
from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.method import Labelled, Method, NodeModel, Prepared
from hiergcn.train.config import TrainConfig
from hiergcn.train.labels import LearningNodes
from hiergcn.train.learners import Learners, Measured, measured
from hiergcn.train.optimiser import make_optimiser

CLUSTERS = 4
"""Of a batch: more mix better, fewer leave more edges inside of batches."""

Build = Callable[[Prepared], NodeModel]

Kept = npt.NDArray[np.bool_]
"""Which hyper-nodes of the coarsest level a batch has."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some nodes of the graph, ascending, and what the method prepared for them alone."""

    nodes: Tensor  # (m,)
    prepared: Prepared


class Batches:
    """A graph cut into clusters, of which batches are put together; made once and shared by all seeds.

    Args:
        method: prepares what a batch needs.
        whole: what it has prepared for the whole graph.
        task: the graph; labels are looked up when there is a learner.
        hierarchy: what the clusters are cut along.
        count: batches of an epoch, at most; a coarsest level of few nodes gives fewer.
        device: where batches are put.
        look_at_whole: whether all nodes are looked at in one piece after an epoch; where that is too large, batches
            that are the same in every epoch are looked at instead.
    """

    def __init__(
        self,
        method: Method,
        whole: Prepared,
        task: Task,
        hierarchy: Hierarchy,
        count: int,
        device: torch.device,
        look_at_whole: bool = True,
    ) -> None:
        if not method.inductive:
            raise InputError(
                "This method learns something for each node, so it cannot train in batches; take batches=1."
            )
        self.method, self.task, self.hierarchy, self.count, self.device = method, task, hierarchy, count, device
        self.whole = whole if look_at_whole else None
        with device:  # weights are drawn where the generator lives
            state = method.build(whole, task.n_classes, torch.Generator(device).manual_seed(0)).state_dict()
        self._fixed = {name: value.cpu() for name, value in state.items()}  # node weights, scales: those of the whole
        self.cluster = np.unique(part_labels(hierarchy, CLUSTERS * count), return_inverse=True)[1]
        """Of each hyper-node of the coarsest level."""

    def drawn(self, rng: np.random.Generator) -> list[Kept]:
        """The batches of an epoch, every cluster in one of them."""
        n_clusters = int(self.cluster.max()) + 1
        each = np.array_split(rng.permutation(n_clusters), min(self.count, n_clusters))
        return [np.isin(self.cluster, clusters) for clusters in each]

    def fixed(self) -> list[Kept]:
        """Batches that few edges join, the same ones each time."""
        label = part_labels(self.hierarchy, self.count)
        return [label == part for part in np.unique(label)]

    def batch(self, kept: Kept) -> Batch:
        """The one of these hyper-nodes."""
        part = restrict(self.hierarchy, kept)
        features = None if self.task.features is None else self.task.features[part.nodes]
        none = np.empty(0, dtype=np.int64)
        own = Task(part.hierarchy.levels[0].adjacency, features, self.task.n_classes, none, none, none, none)
        prepared = self.method.prepare(own, part.hierarchy, self.device, self._fixed)
        return Batch(torch.from_numpy(part.nodes).to(self.device), prepared)


class BatchLearner(Learners):
    """One model whose step adds up the gradients of all batches: what is learned differs from a step over the whole
    graph by the edges between batches alone, and so the settings for the whole graph serve. A loss that looks at nodes
    without a label too, that of GRAND and H-GCN+, differs by more: batches without a training node are not made, and
    the others count by their training nodes.

    Args:
        model: the network of the whole graph.
        build: makes the network of a batch, which gives up its own parameters.
        batches: the batches.
        nodes: the labels, by their nodes in the whole graph.
        config: of the training.
        seed: of the draw of clusters.
    """

    def __init__(
        self, model: NodeModel, build: Build, batches: Batches, nodes: LearningNodes, config: TrainConfig, seed: int
    ) -> None:
        if type(model).step is not NodeModel.step:
            raise InputError(f"{model.title} learns in its own way, so it cannot train in batches.")
        self.model, self.build, self.batches, self.nodes = model, build, batches, nodes
        self.rng = np.random.default_rng(seed)
        self.optimiser = make_optimiser(model, dict(model.named_parameters()), config)
        hierarchy = batches.hierarchy
        self.labelled = hierarchy.hyper_nodes(hierarchy.depth)[nodes.train.nodes.cpu().numpy()]

    def step(self, epoch: int) -> Tensor:
        self.optimiser.zero_grad()
        total = torch.zeros(1, device=self.nodes.train.nodes.device)
        counters = [(buffer, buffer.clone()) for buffer in self.model.buffers() if buffer.dim() == 0]
        for kept in self.batches.drawn(self.rng):
            if not kept[self.labelled].any():
                continue  # there is nothing to learn from
            for counter, before in counters:
                counter.copy_(before)  # all batches together are one step
            total += self._learn(self.batches.batch(kept), epoch)
        self.optimiser.step()
        return total

    def _learn(self, batch: Batch, epoch: int) -> Tensor:
        """Add the gradients of a batch to those that are there; its part of the loss."""
        train = _inside(self.nodes.train, batch.nodes)
        loss = self._network(batch).train().objective(batch.prepared.features, train, epoch)
        if train.reduction == "mean":
            loss = loss * (len(train.nodes) / len(self.nodes.train.nodes))
        loss.backward()
        return loss.detach()

    @torch.no_grad()
    def measure(self) -> Measured:
        return measured(self._logits(), self.nodes)

    def _logits(self) -> Tensor:
        if self.batches.whole is not None:
            whole: Tensor = self.model.eval()(self.batches.whole.features)
            return whole
        task = self.batches.task
        logits = torch.empty(task.adjacency.shape[0], task.n_classes, device=self.batches.device)
        for kept in self.batches.fixed():
            self._look(self.batches.batch(kept), logits)
        return logits

    def _look(self, batch: Batch, logits: Tensor) -> None:
        logits[batch.nodes] = self._network(batch).eval()(batch.prepared.features)

    def _network(self, batch: Batch) -> NodeModel:
        """The network of a batch, with the parameters, and all else that is saved, of the model."""
        network = self.build(batch.prepared)
        for name, tensor in self.model.state_dict(keep_vars=True).items():
            owner, _, leaf = name.rpartition(".")
            module = network.get_submodule(owner)
            if getattr(module, leaf).shape != tensor.shape:
                raise InputError(f"{network.title} has weights for each node, so it cannot train in batches.")
            setattr(module, leaf, tensor)
        return network

    def weights(self) -> dict[str, Tensor]:
        return {name: value.unsqueeze(0) for name, value in self.model.state_dict().items()}


def _inside(labelled: Labelled, nodes: Tensor) -> Labelled:
    """Those of the labelled nodes that are in the batch, by their places in it."""
    place = torch.searchsorted(nodes, labelled.nodes).clamp(max=len(nodes) - 1)
    here = nodes[place] == labelled.nodes
    return replace(labelled, nodes=place[here], classes=labelled.classes[here], total=labelled.count())
