"""Training in batches, for graphs that do not fit into memory at once.

As in Cluster-GCN (Chiang et al., KDD 2019), the graph is cut into clusters with few edges between them, and each epoch
combines them into new batches, so that no edge is always left out. Here the clusters are hyper-nodes, and a batch has
its part of every level. A batch is made when it is needed and freed after it. Its network shares all parameters with
the network of the whole graph, which evaluates all nodes after each epoch if that fits into memory. If it does not, no
more than one batch at a time becomes tensors.

Each batch draws from a generator of its own, so it does not matter which process computes it: the ranks of torchrun
share the batches of an epoch, and their gradients are added in the order of the batches.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hiergcn.coarsening import Hierarchy
from hiergcn.coarsening.partition import part_labels, restrict
from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.method import Labelled, Method, NodeModel, Prepared
from hiergcn.model.ops.ranks import Ranks
from hiergcn.settings.fields import TrainConfig
from hiergcn.train.learners import Evaluation, Learner, LearningNodes, evaluation, make_optimiser

CLUSTERS = 4
"""Clusters per batch: more mix better, fewer keep more edges inside batches."""

Build = Callable[[Prepared, torch.Generator], NodeModel]

Members = npt.NDArray[np.bool_]
"""Mask of the hyper-nodes of the coarsest level that a batch holds."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some nodes of the graph, ascending, and the method's prepared structure for them."""

    nodes: Tensor  # (m,)
    prepared: Prepared


class Batches:
    """A graph cut into clusters, which are combined into batches; made once and shared by all seeds.

    Args:
        method: trains the batches.
        whole: its inputs for the whole graph, which evaluate all nodes. If it is None, because they are too large,
            evaluation goes through batches that are the same in every epoch.
        task: the graph, without labels; a learner has those.
        hierarchy: the graph is cut along it.
        count: most batches per epoch; a coarsest level of few nodes gives fewer.
        device: device of the batches.
    """

    def __init__(
        self, method: Method, whole: Prepared | None, task: Task, hierarchy: Hierarchy, count: int, device: torch.device
    ) -> None:
        if not method.inductive:
            raise InputError("This method has parameters for each node, so it cannot train in batches; take batches=1.")
        self.method, self.task, self.hierarchy, self.count, self.device = method, task, hierarchy, count, device
        self.whole = whole
        if whole is None:
            self._statistics = method.statistics(task, hierarchy)  # a batch takes node weights and scales here
        else:
            with device:  # a generator draws on its own device alone
                state = method.build(whole, task.n_classes, torch.Generator(device).manual_seed(0)).state_dict()
            self._statistics = {name: value.cpu() for name, value in state.items()}
        self.cluster = np.unique(part_labels(hierarchy, CLUSTERS * count), return_inverse=True)[1]
        """Cluster of each hyper-node of the coarsest level."""

    @cached_property
    def model_inputs(self) -> Prepared:
        """Inputs that the model is built for: the whole graph, or a batch if the model is applied to batches alone."""
        return self.whole or self.batch(self.fixed[0]).prepared

    def draw(self, rng: np.random.Generator) -> list[Members]:
        """Draw the batches of an epoch; every cluster is in one of them."""
        n_clusters = int(self.cluster.max()) + 1
        parts = np.array_split(rng.permutation(n_clusters), min(self.count, n_clusters))
        return [np.isin(self.cluster, clusters) for clusters in parts]

    @cached_property
    def fixed(self) -> list[Members]:
        """Batches with few edges between them, the same in every epoch."""
        label = part_labels(self.hierarchy, self.count)
        return [label == part for part in np.unique(label)]

    def batch(self, members: Members) -> Batch:
        """Make the batch of these hyper-nodes."""
        part = restrict(self.hierarchy, members)
        features = None if self.task.features is None else self.task.features[part.nodes]
        none = np.empty(0, dtype=np.int64)
        task = Task(part.hierarchy.levels[0].adjacency, features, self.task.n_classes, none, none, none, none)
        prepared = self.method.prepare(task, part.hierarchy, self.device, self._statistics)
        return Batch(torch.from_numpy(part.nodes).to(self.device), prepared)


class BatchLearner(Learner):
    """One model whose step accumulates the gradients of all batches.

    A step differs from one over the whole graph by the edges between batches alone, so settings for the whole graph
    serve. The losses of GRAND and H-GCN+ also use unlabelled nodes and differ by more: batches without a training node
    are skipped, and the others count by their training nodes.

    Statistics of batch normalisation and step counters change by the mean of their changes in the batches.

    `model` is built for `Batches.model_inputs`; `nodes` are those of the whole graph. `build` makes the network of a
    batch, whose parameters are then replaced by the model's. `seed` is for drawing clusters, and for the draws of each
    batch.
    """

    def __init__(
        self, model: NodeModel, build: Build, batches: Batches, nodes: LearningNodes, config: TrainConfig, seed: int
    ) -> None:
        if type(model).step is not NodeModel.step:
            raise InputError(f"{model.title} has its own training step and does not support batches; take batches=1.")
        self.model, self.build, self.batches, self.nodes, self.seed = model, build, batches, nodes, seed
        self.optimiser = make_optimiser(model, dict(model.named_parameters()), config)
        hierarchy = batches.hierarchy
        self.labelled = hierarchy.hyper_nodes(hierarchy.depth)[nodes.train.nodes.cpu().numpy()]
        self.learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
        known = {id(parameter) for parameter in model.parameters()}
        self.buffers = [value for value in model.state_dict(keep_vars=True).values() if id(value) not in known]

    def step(self, epoch: int) -> Tensor:
        batches = self.batches.draw(np.random.default_rng((self.seed, epoch)))
        labelled = [members for members in batches if members[self.labelled].any()]
        before = [buffer.clone() for buffer in self.buffers]
        sizes = [1, len(self.learned), *(tensor.numel() for tensor in (*self.learned, *self.buffers))]
        total = torch.zeros(sum(sizes), device=self.batches.device)

        def contribution(number: int) -> Tensor:
            """Return a batch's loss, which parameters have a gradient, gradients, and changes of buffers."""
            for buffer, value in zip(self.buffers, before, strict=True):
                buffer.copy_(value)  # all batches together are one step
            self.optimiser.zero_grad()
            batch = self.batches.batch(labelled[number])
            train = _inside(self.nodes.train, batch.nodes)
            network = self._network(batch, (self.seed, epoch, number)).train()
            train = replace(train, cached=network.precompute(train))
            loss = network.objective(batch.prepared.features, train, epoch)
            if train.reduction == "mean":
                loss = loss * (len(train.nodes) / len(self.nodes.train.nodes))
            loss.backward()
            has_gradient = torch.tensor([float(p.grad is not None) for p in self.learned], device=loss.device)
            gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.learned]
            changes = [(now - value).float() for now, value in zip(self.buffers, before, strict=True)]
            return torch.cat([loss.detach().view(1), has_gradient, *(t.reshape(-1) for t in (*gradients, *changes))])

        for part in Ranks.current().in_order(len(labelled), contribution, sum(sizes), self.batches.device):
            total += part
        loss: Tensor
        loss, has_gradient, *rest = total.split(sizes)
        gradients, changes = rest[: len(self.learned)], rest[len(self.learned) :]
        for parameter, is_given, gradient in zip(self.learned, has_gradient.tolist(), gradients, strict=True):
            parameter.grad = gradient.view_as(parameter).clone() if is_given else None
        with torch.no_grad():
            for buffer, value, change in zip(self.buffers, before, changes, strict=True):
                buffer.copy_(value + (change / len(labelled)).view_as(value).to(value.dtype))
        self.optimiser.step()
        self.optimiser.zero_grad()
        return loss

    @torch.no_grad()
    def evaluate(self) -> Evaluation:
        if self.batches.whole is not None:
            return evaluation(self.model.eval()(self.batches.whole.features), self.nodes)
        task, ranks = self.batches.task, Ranks.current()
        logits = torch.zeros(task.adjacency.shape[0], task.n_classes, device=self.batches.device)
        for members in self.batches.fixed[ranks.rank :: ranks.size]:
            batch = self.batches.batch(members)
            logits[batch.nodes] = self._network(batch).eval()(batch.prepared.features)
            del batch  # before the next one is made
        return evaluation(ranks.sum_disjoint(logits), self.nodes)

    def _network(self, batch: Batch, draws: tuple[int, ...] = (0,)) -> NodeModel:
        """Return the network of a batch, with the parameters and buffers of the model; `draws` seed its dropout."""
        seed = int(np.random.SeedSequence(draws).generate_state(1, np.uint64)[0])
        network = self.build(batch.prepared, torch.Generator(self.batches.device).manual_seed(seed))
        for name, tensor in self.model.state_dict(keep_vars=True).items():
            owner, _, leaf = name.rpartition(".")
            module = network.get_submodule(owner)
            if getattr(module, leaf).shape != tensor.shape:
                raise InputError(f"{network.title} has weights for each node and cannot train in batches.")
            setattr(module, leaf, tensor)
        return network


def _inside(labelled: Labelled, nodes: Tensor) -> Labelled:
    """Return the labelled nodes that are in the batch, by their positions in it."""
    position = torch.searchsorted(nodes, labelled.nodes).clamp(max=len(nodes) - 1)
    here = nodes[position] == labelled.nodes
    return replace(labelled, nodes=position[here], classes=labelled.classes[here], total=labelled.count())
