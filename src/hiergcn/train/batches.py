"""Training in batches, for graphs that do not fit into memory at once.

As in Cluster-GCN (Chiang et al., KDD 2019), the graph is cut into clusters with few edges between them, and each epoch
combines them into new batches, so that no edge is always left out. Here the clusters are hyper-nodes, and a batch has
its part of every level. A batch is made when it is needed and freed after it. Its network shares all parameters with
the network of the whole graph, which evaluates all nodes after each epoch if that fits into memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hiergcn.coarsen import Hierarchy
from hiergcn.coarsen.partition import part_labels, restrict
from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.method import Labelled, Method, NodeModel, Prepared
from hiergcn.train.config import TrainConfig
from hiergcn.train.learners import Evaluation, Learner, LearningNodes, evaluation, make_optimiser

CLUSTERS = 4
"""Clusters per batch: more mix better, fewer keep more edges inside batches."""

Build = Callable[[Prepared], NodeModel]

Members = npt.NDArray[np.bool_]
"""Mask of the hyper-nodes of the coarsest level that a batch holds."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some nodes of the graph, ascending, and what the method prepared for them alone."""

    nodes: Tensor  # (m,)
    prepared: Prepared


class Batches:
    """A graph cut into clusters, which are combined into batches; made once and shared by all seeds.

    Args:
        method, whole: the method and its inputs for the whole graph.
        task: the graph, without labels; a learner has those.
        hierarchy: the graph is cut along it.
        count: most batches per epoch; a coarsest level of few nodes gives fewer.
        device: device of the batches.
        full_validation: whether evaluation is full-batch. If that is too large, evaluation goes through batches that
            are the same in every epoch.
    """

    def __init__(
        self,
        method: Method,
        whole: Prepared,
        task: Task,
        hierarchy: Hierarchy,
        count: int,
        device: torch.device,
        full_validation: bool = True,
    ) -> None:
        if not method.inductive:
            raise InputError("This method has parameters for each node, so it cannot train in batches; take batches=1.")
        self.method, self.task, self.hierarchy, self.count, self.device = method, task, hierarchy, count, device
        self.whole = whole if full_validation else None
        with device:  # a generator draws on its own device alone
            state = method.build(whole, task.n_classes, torch.Generator(device).manual_seed(0)).state_dict()
        self._state = {name: value.cpu() for name, value in state.items()}  # a batch takes node weights and scales here
        self.cluster = np.unique(part_labels(hierarchy, CLUSTERS * count), return_inverse=True)[1]
        """Cluster of each hyper-node of the coarsest level."""

    def drawn(self, rng: np.random.Generator) -> list[Members]:
        """Draw the batches of an epoch; every cluster is in one of them."""
        n_clusters = int(self.cluster.max()) + 1
        each = np.array_split(rng.permutation(n_clusters), min(self.count, n_clusters))
        return [np.isin(self.cluster, clusters) for clusters in each]

    def fixed(self) -> list[Members]:
        """Return batches with few edges between them, the same at each call."""
        label = part_labels(self.hierarchy, self.count)
        return [label == part for part in np.unique(label)]

    def batch(self, members: Members) -> Batch:
        """Make the batch of these hyper-nodes."""
        part = restrict(self.hierarchy, members)
        features = None if self.task.features is None else self.task.features[part.nodes]
        none = np.empty(0, dtype=np.int64)
        own = Task(part.hierarchy.levels[0].adjacency, features, self.task.n_classes, none, none, none, none)
        prepared = self.method.prepare(own, part.hierarchy, self.device, self._state)
        return Batch(torch.from_numpy(part.nodes).to(self.device), prepared)


class BatchLearner(Learner):
    """One model whose step accumulates the gradients of all batches.

    A step differs from one over the whole graph by the edges between batches alone, so settings for the whole graph
    serve. The losses of GRAND and H-GCN+ also use unlabelled nodes and differ by more: batches without a training node
    are skipped, and the others count by their training nodes.

    `model` and `nodes` are those of the whole graph. `build` makes the network of a batch, whose parameters are then
    replaced by the model's. `seed` is for drawing clusters.
    """

    def __init__(
        self, model: NodeModel, build: Build, batches: Batches, nodes: LearningNodes, config: TrainConfig, seed: int
    ) -> None:
        if type(model).step is not NodeModel.step:
            raise InputError(f"{model.title} has its own training step and does not support batches; take batches=1.")
        self.model, self.build, self.batches, self.nodes = model, build, batches, nodes
        self.rng = np.random.default_rng(seed)
        self.optimiser = make_optimiser(model, dict(model.named_parameters()), config)
        hierarchy = batches.hierarchy
        self.labelled = hierarchy.hyper_nodes(hierarchy.depth)[nodes.train.nodes.cpu().numpy()]

    def step(self, epoch: int) -> Tensor:
        self.optimiser.zero_grad()
        total = torch.zeros(1, device=self.nodes.train.nodes.device)
        counters = [(buffer, buffer.clone()) for buffer in self.model.buffers() if buffer.dim() == 0]
        for members in self.batches.drawn(self.rng):
            if not members[self.labelled].any():
                continue  # no training node
            for counter, before in counters:
                counter.copy_(before)  # all batches together are one step
            total += self._accumulate(self.batches.batch(members), epoch)
        self.optimiser.step()
        return total

    def _accumulate(self, batch: Batch, epoch: int) -> Tensor:
        """Add the gradients of a batch and return its share of the loss."""
        train = _inside(self.nodes.train, batch.nodes)
        loss = self._network(batch).train().objective(batch.prepared.features, train, epoch)
        if train.reduction == "mean":
            loss = loss * (len(train.nodes) / len(self.nodes.train.nodes))
        loss.backward()
        return loss.detach()

    @torch.no_grad()
    def evaluate(self) -> Evaluation:
        return evaluation(self._logits(), self.nodes)

    def _logits(self) -> Tensor:
        if self.batches.whole is not None:
            whole: Tensor = self.model.eval()(self.batches.whole.features)
            return whole
        task = self.batches.task
        logits = torch.empty(task.adjacency.shape[0], task.n_classes, device=self.batches.device)
        for members in self.batches.fixed():
            self._fill(logits, self.batches.batch(members))
        return logits

    def _fill(self, logits: Tensor, batch: Batch) -> None:
        """Write the logits of a batch; its tensors are freed on return."""
        logits[batch.nodes] = self._network(batch).eval()(batch.prepared.features)

    def _network(self, batch: Batch) -> NodeModel:
        """Return the network of a batch, with the parameters and buffers of the model."""
        network = self.build(batch.prepared)
        for name, tensor in self.model.state_dict(keep_vars=True).items():
            owner, _, leaf = name.rpartition(".")
            module = network.get_submodule(owner)
            if getattr(module, leaf).shape != tensor.shape:
                raise InputError(f"{network.title} has weights for each node and cannot train in batches.")
            setattr(module, leaf, tensor)
        return network

    def weights(self) -> dict[str, Tensor]:
        return {name: value.unsqueeze(0) for name, value in self.model.state_dict().items()}


def _inside(labelled: Labelled, nodes: Tensor) -> Labelled:
    """Return the labelled nodes that are in the batch, by their positions in it."""
    place = torch.searchsorted(nodes, labelled.nodes).clamp(max=len(nodes) - 1)
    here = nodes[place] == labelled.nodes
    return replace(labelled, nodes=place[here], classes=labelled.classes[here], total=labelled.count())
