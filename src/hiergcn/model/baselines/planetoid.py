"""Planetoid, which predicts the class and the graph context of a node together (Yang et al., ICML 2016).

With x the features of a node and h its embedding, each of the three layers being trained by its own cross-entropy,

    p_x = softmax(W_x x + b_x)      p_h = softmax(W_h h + b_h)      p = softmax(W_y [p_x ‖ p_h] + b_y)

T (transductive) has a free embedding for each node; I (inductive) computes it, h = ReLU(W x + b), and so can classify
nodes that it has never seen. The embedding is taught to predict contexts: nodes nearby on a random walk, and labelled
nodes of the same class. Both kinds come first; then the classes are learnt, in turn with walks in the inductive form.

Reference (github.com/kimiyoung/planetoid): the demo scripts keep the parameters of the best accuracy on the test set
and never end; here validation chooses. The inductive demo walks through test nodes but takes no pair with one; here the
features of all nodes are known while learning, as for every other method.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import FlatMethod
from hiergcn.model.baselines.contexts import (
    ContextLoss,
    Contexts,
    ContextSigmoid,
    ContextSoftmax,
    graph_contexts,
    in_batches,
    label_contexts,
)
from hiergcn.model.baselines.walks import Walker
from hiergcn.model.config_checks import check_positive, check_scaling, check_share, check_whole
from hiergcn.model.features import Scaling
from hiergcn.model.generators import numpy_generator
from hiergcn.model.method import Features, Labelled, NodeModel
from hiergcn.model.ops.rows import FewColumns, feature_rows, few_rows


@dataclass(frozen=True)
class PlanetoidTConfig:
    """Settings of the transductive form; the defaults are those of the authors' demo."""

    embedding: int = 50
    """Width of h."""
    walk_steps: int = 10
    """Steps of a random walk."""
    window: int = 3
    """Places on a walk within which nodes are contexts of each other."""
    batch: int = 200
    """Labelled nodes in a step of the classes."""
    graph_batch: int = 200
    """Walks in a step of graph contexts."""
    label_batch: int = 100
    """Pairs in a step of label contexts."""
    context_rate: float = 0.01
    """Learning rate of both kinds of context; that of the classes is `learning_rate`."""
    label_steps: int = 2000
    """Steps of label contexts before the classes are learnt."""
    graph_steps: int = 70
    """Steps of graph contexts before the classes are learnt."""
    negatives: int = 0
    """Nodes drawn as no contexts with each context; 0 is a softmax over all nodes, as in the demo."""
    graph_share: float = 0.0
    """Steps of graph contexts for each step of the classes afterwards: below 1, the probability of one."""
    steps: int = 10
    """Steps of the classes in an epoch, after which validation follows. The demos look after each one."""
    use_features: bool = True
    """Without them p is p_h alone, which the paper calls Planetoid-G; its transductive form on NELL is that."""
    scaling: Scaling = "none"
    """Of the features: as they come."""

    def __post_init__(self) -> None:
        check_whole(self, embedding=1, walk_steps=1, window=0, batch=1, graph_batch=1, label_batch=1)
        check_whole(self, label_steps=0, graph_steps=0, negatives=0, steps=1)
        check_scaling(self)
        check_positive(self, "context_rate")
        check_share(self, "graph_share")


@dataclass(frozen=True)
class PlanetoidIConfig(PlanetoidTConfig):
    """Settings of the inductive form; the defaults are those of the authors' demo."""

    graph_batch: int = 20
    label_batch: int = 20
    context_rate: float = 0.001
    label_steps: int = 10_000
    graph_steps: int = 400
    graph_share: float = 0.1


class Dense(nn.Module):
    """X W + b for features that may be sparse; W Glorot-initialised, b zero."""

    def __init__(self, fan_in: int, fan_out: int, generator: torch.Generator) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.empty(fan_in, fan_out, device=generator.device))
        self.b = nn.Parameter(torch.zeros(fan_out, device=generator.device))
        nn.init.xavier_uniform_(self.W, generator=generator)

    def forward(self, X: Features | FewColumns) -> Tensor:
        return X @ self.W + self.b


class Planetoid(NodeModel):
    """What both forms share: the three layers of the classes, and the order of learning."""

    weighs_classes = False

    def __init__(
        self,
        walker: Walker,
        n_features: int,
        n_classes: int,
        config: PlanetoidTConfig,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.walker, self.config, self.generator = walker, config, generator
        self.by_embedding = Dense(config.embedding, n_classes, generator)
        if config.use_features:
            self.by_features = Dense(n_features, n_classes, generator)
            self.output = Dense(2 * n_classes, n_classes, generator)
        self._lessons: _Lessons | None = None

    def embed(self, features: Features | FewColumns, nodes: Tensor | None = None) -> Tensor:
        """h of the nodes whose features are given; `nodes` are their numbers, None stands for all."""
        raise NotImplementedError

    def learn_contexts(self, features: Features, batch: Contexts, loss: ContextLoss) -> None:
        """One step of the embedding and of what predicts contexts down the loss of a batch of them."""
        raise NotImplementedError

    def forward(self, features: Features) -> Tensor:
        return self._logits(features, self.embed(features))[-1]

    def _logits(self, X: Features | FewColumns, h: Tensor) -> tuple[Tensor, ...]:
        """Of p_x, p_h and p; without features of p_h, which then is p."""
        z_h = self.by_embedding(h)
        if not self.config.use_features:
            return (z_h,)
        z_x = self.by_features(X)
        joined = torch.cat([torch.softmax(z_x, dim=1), torch.softmax(z_h, dim=1)], dim=1)
        return z_x, z_h, self.output(joined)

    def step(self, features: Features, labelled: Labelled, optimiser: torch.optim.Optimizer, epoch: int) -> float:
        """`steps` steps of the classes, each perhaps after one of graph contexts; before the first, the contexts."""
        lessons = self._lessons or self._begin(features, labelled)
        lessons.few = _takes_sparse_gradients(optimiser)
        total = 0.0
        for _ in range(self.config.steps):
            if lessons.rng.random() < self.config.graph_share:
                self.learn_contexts(features, next(lessons.graph), lessons.loss)
            lessons.batch = torch.from_numpy(next(lessons.batches)).to(labelled.nodes.device)
            total += float(super().step(features, labelled, optimiser, epoch))
        return total / self.config.steps

    def objective(self, features: Features, labelled: Labelled, epoch: int) -> Tensor:
        lessons = self._lessons or self._begin(features, labelled)
        batch = lessons.batch
        X = (few_rows if lessons.few else feature_rows)(lessons.features, batch)
        rows = replace(labelled, nodes=torch.arange(len(batch), device=batch.device), classes=labelled.classes[batch])
        logits = self._logits(X, self.embed(X, labelled.nodes[batch]))
        return torch.stack([rows.cross_entropy(z) for z in logits]).sum()

    def _begin(self, features: Features, labelled: Labelled) -> "_Lessons":
        self._lessons = lessons = _Lessons(self.walker, features, labelled, self.config, self.generator)
        for _ in range(self.config.label_steps):
            self.learn_contexts(features, next(lessons.label), lessons.loss)
        for _ in range(self.config.graph_steps):
            self.learn_contexts(features, next(lessons.graph), lessons.loss)
        return lessons


class _Lessons:
    """What is drawn while learning, and is not kept."""

    def __init__(
        self,
        walker: Walker,
        features: Features,
        labelled: Labelled,
        config: PlanetoidTConfig,
        generator: torch.Generator,
    ) -> None:
        self.rng = rng = numpy_generator(generator)
        nodes, classes = labelled.nodes.cpu().numpy(), labelled.classes.cpu().numpy()
        self.features = feature_rows(features, labelled.nodes)  # of labelled nodes
        k = config.negatives
        self.loss: ContextLoss = (ContextSigmoid if k else ContextSoftmax)(walker.n_nodes, config.embedding, generator)
        self.graph = graph_contexts(walker, config.graph_batch, config.walk_steps, config.window, rng, k)
        self.label = label_contexts(nodes, classes, config.label_batch, rng, k)
        self.batches: Iterator[np.ndarray] = in_batches(len(nodes), config.batch, rng)
        self.batch = torch.arange(len(nodes), device=labelled.nodes.device)
        self.few = False
        """Whether gradients may be sparse."""


def _takes_sparse_gradients(optimiser: torch.optim.Optimizer) -> bool:
    return isinstance(optimiser, torch.optim.SGD) and not any(group["weight_decay"] for group in optimiser.param_groups)


class PlanetoidT(Planetoid):
    """The transductive form: E holds an embedding for each node of the graph."""

    def __init__(self, walker: Walker, *args: Any) -> None:
        super().__init__(walker, *args)
        E = torch.empty(walker.n_nodes, self.config.embedding, device=self.generator.device)
        self.E = nn.Parameter(E.normal_(0.0, 0.01, generator=self.generator))

    def embed(self, features: Features | FewColumns, nodes: Tensor | None = None) -> Tensor:
        return self.E if nodes is None else self.E.index_select(0, nodes)

    @torch.no_grad()
    def learn_contexts(self, features: Features, batch: Contexts, loss: ContextLoss) -> None:
        nodes = torch.from_numpy(batch.nodes).to(self.E.device)
        rate = self.config.context_rate
        self.E[nodes] -= rate * loss.descend(self.E[nodes], batch, rate)


class PlanetoidI(Planetoid):
    """The inductive form: the embedding is a layer over the features.

    Reference: the layer has one bias for contexts and another for classes; so here, the former kept while learning.
    """

    def __init__(self, walker: Walker, n_features: int, *args: Any) -> None:
        super().__init__(walker, n_features, *args)
        self.embedding = Dense(n_features, self.config.embedding, self.generator)
        self._context_bias = torch.zeros(self.config.embedding, device=self.generator.device)

    def embed(self, features: Features | FewColumns, nodes: Tensor | None = None) -> Tensor:
        return torch.relu(self.embedding(features))

    def learn_contexts(self, features: Features, batch: Contexts, loss: ContextLoss) -> None:
        W, b, rate = self.embedding.W, self._context_bias.requires_grad_(), self.config.context_rate
        X = few_rows(features, torch.from_numpy(batch.nodes).to(W.device))
        H = torch.relu(X @ W + b)
        by_W, by_b = torch.autograd.grad(H, (W, b), loss.descend(H, batch, rate))
        with torch.no_grad():
            W.add_(by_W, alpha=-rate)  # sparse where the features are
            b.sub_(by_b, alpha=rate)


class PlanetoidTMethod(FlatMethod):
    """The transductive form as a method."""

    inductive = False
    network: type[Planetoid] = PlanetoidT

    def structure(self, task: Task, device: torch.device) -> Walker:
        return Walker.on(task.adjacency)


class PlanetoidIMethod(PlanetoidTMethod):
    """The inductive form as a method."""

    inductive = True
    network = PlanetoidI
