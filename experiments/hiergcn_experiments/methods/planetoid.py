"""Planetoid, Yang et al., Revisiting Semi-Supervised Learning with Graph Embeddings (ICML 2016).

With x the features of a node and h its embedding, each of three layers is trained by its own cross-entropy:

    p_x = softmax(W_x x + b_x)      p_h = softmax(W_h h + b_h)      p = softmax(W_y [p_x ‖ p_h] + b_y)

T (transductive) has a free embedding for each node. I (inductive) computes it, h = ReLU(W x + b), and so classifies new
nodes. The embedding learns to predict contexts: nodes nearby on a random walk, and labelled nodes of the same class.
Both kinds come first. Then the classes are learned, in the inductive form alternating with walks.

The loss of a batch of pairs (i, c) of a node and a context is one of

    -Σ log softmax(C h_i + b)_c                          over all nodes: n scores for each node of the batch
    -Σ log σ(γ c_c · h_i)      γ = 1, or -1 for a negative sample: one score for each pair

The paper's text has the second. The authors' demo has the first, whose cost over a pass of all nodes grows with n².

Reference (github.com/kimiyoung/planetoid): the demo scripts keep the parameters of the best accuracy on the test set
and never end; here validation chooses. The inductive demo walks through test nodes but takes no pair with one; here
the features of all nodes are known in training, as for every other method.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hiergcn.extend import (
    SCALING,
    Count,
    Features,
    FlatMethod,
    InputConfig,
    Labelled,
    NodeModel,
    Optimiser,
    Pattern,
    Positive,
    Scaling,
    Share,
    SparseMatrix,
    Task,
    Whole,
    numpy_generator,
    setting,
)
from hiergcn_experiments.methods.walks import Contexts, Walker, graph_contexts, in_batches, label_contexts

_SCORES_AT_ONCE = 1 << 26  # entries of the (nodes, contexts) matrix in memory together


@dataclass(frozen=True)
class PlanetoidTConfig(InputConfig):
    """Settings of the transductive form; the defaults are those of the authors' demo."""

    embedding: Count = setting(50, "Width of h.")
    walk_steps: Count = setting(10, "Steps of a random walk.")
    window: Whole = setting(3, "Largest distance on a walk between a node and its context.")
    batch: Count = setting(200, "Labelled nodes in a class step.")
    graph_batch: Count = setting(200, "Walks in a graph-context step.")
    label_batch: Count = setting(100, "Pairs in a label-context step.")
    context_rate: Positive = setting(
        0.01, "Learning rate of both kinds of context; that of the classes is `learning_rate`."
    )
    label_steps: Whole = setting(2000, "Label-context steps before the classes are learned.")
    graph_steps: Whole = setting(70, "Graph-context steps before the classes are learned.")
    negatives: Whole = setting(0, "Negative samples per context; 0 is a softmax over all nodes, as in the demo.")
    graph_share: Share = setting(0.0, "Probability of a graph-context step before each class step.")
    steps: Count = setting(
        10, "Class steps in an epoch, after which validation follows. The demos validate after each one."
    )
    use_features: bool = setting(
        True, "Without them p is p_h alone: the paper's Planetoid-G, and its transductive form on NELL."
    )
    scaling: Scaling = setting("none", SCALING)


@dataclass(frozen=True)
class PlanetoidIConfig(PlanetoidTConfig):
    """Settings of the inductive form; the defaults are those of the authors' demo."""

    graph_batch: Count = 20
    label_batch: Count = 20
    context_rate: Positive = 0.001
    label_steps: Whole = 10_000
    graph_steps: Whole = 400
    graph_share: Share = 0.1


# Rows of features that may be sparse, for steps on a few nodes


@dataclass(frozen=True, eq=False)
class FewColumns:
    """Rows with entries in few of many columns: `X @ W` reads only the rows of W that they need.

    The gradient by W is sparse too, so that a step of plain gradient descent costs as little as the entries.
    """

    inner: SparseMatrix  # (rows, columns in use)
    columns: Tensor  # (columns in use,), ascending

    def __matmul__(self, weight: Tensor) -> Tensor:
        return self.inner @ nn.functional.embedding(self.columns, weight, sparse=True)


def feature_rows(features: Features, nodes: Tensor) -> Features:
    """Return X[nodes], sparse if X is."""
    if isinstance(features, Tensor):
        return features.index_select(0, nodes)
    pattern = features.pattern
    first = pattern.row_start[nodes]
    length = pattern.row_start[nodes + 1] - first
    row_start = torch.cat([length.new_zeros(1), length.cumsum(0)])
    places = torch.arange(int(row_start[-1]), device=nodes.device)
    places = places + torch.repeat_interleave(first - row_start[:-1], length)
    kept = Pattern((len(nodes), features.shape[1]), row_start, pattern.column[places])
    return SparseMatrix(features.values[places], kept)


def few_rows(features: Features, nodes: Tensor) -> Features | FewColumns:
    """Return X[nodes] with a sparse gradient, for plain gradient descent; other optimisers need `feature_rows`."""
    rows = feature_rows(features, nodes)
    if isinstance(rows, Tensor):
        return rows
    columns, place = torch.unique(rows.pattern.column, return_inverse=True)
    used = Pattern((len(nodes), len(columns)), rows.pattern.row_start, place)
    return FewColumns(SparseMatrix(rows.values, used), columns)


# Losses of contexts


class ContextSigmoid:
    """σ(c · h) for each pair. Its cost does not depend on the size of the graph."""

    def __init__(self, n: int, width: int, generator: torch.Generator) -> None:
        self.C = torch.empty(n, width, device=generator.device).normal_(0.0, 0.01, generator=generator)

    @torch.no_grad()
    def descend(self, H: Tensor, batch: Contexts, rate: float) -> Tensor:
        """Take a gradient step of C and return the gradient by H (s, width), both summed over the pairs."""
        row, context, count = _tensors(batch, H.device)
        of_H, of_C = H.index_select(0, row), self.C.index_select(0, context)  # (entries, width)
        probability = torch.sigmoid((of_H * of_C).sum(dim=1))
        by_score = (count.abs() * (probability - (count > 0).float()))[:, None]
        self.C.index_put_((context,), -rate * by_score * of_H, accumulate=True)
        return torch.zeros_like(H).index_put_((row,), by_score * of_C, accumulate=True)


class ContextSoftmax:
    """softmax(C h + b) over all n nodes; counts must be positive."""

    def __init__(self, n: int, width: int, generator: torch.Generator) -> None:
        self.C = nn.init.xavier_uniform_(torch.empty(n, width, device=generator.device), generator=generator)
        self.b = torch.zeros(n, device=generator.device)

    @torch.no_grad()
    def descend(self, H: Tensor, batch: Contexts, rate: float) -> Tensor:
        """Take a gradient step of C and b and return the gradient by H (s, width), all summed over the pairs."""
        row, context, count = _tensors(batch, H.device)
        pairs = torch.from_numpy(np.bincount(batch.row, batch.count, len(H)).astype(np.float32)).to(H.device)  # (s,)
        by_H, by_C, by_b = torch.empty_like(H), torch.zeros_like(self.C), torch.zeros_like(self.b)
        at_once = max(1, _SCORES_AT_ONCE // len(self.C))
        for low in range(0, len(H), at_once):
            high = min(low + at_once, len(H))
            inside = slice(*np.searchsorted(batch.row, (low, high)).tolist())
            by_score = torch.softmax(torch.addmm(self.b, H[low:high], self.C.T), dim=1)
            by_score.mul_(pairs[low:high, None])  # (high - low, n)
            by_score[row[inside] - low, context[inside]] -= count[inside]
            by_H[low:high] = by_score @ self.C
            by_C.addmm_(by_score.T, H[low:high])
            by_b += by_score.sum(dim=0)
        self.C.sub_(by_C, alpha=rate)
        self.b.sub_(by_b, alpha=rate)
        return by_H


def _tensors(batch: Contexts, device: torch.device) -> tuple[Tensor, ...]:
    """Return row, context and count as tensors."""
    arrays = (batch.row, batch.context, batch.count.astype(np.float32))
    return tuple(torch.from_numpy(array).to(device) for array in arrays)


# The networks


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
    """Code that both forms share: the three layers of the classes, and the order of learning."""

    weighs_classes = False

    def __init__(
        self, walker: Walker, n_features: int, n_classes: int, config: PlanetoidTConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.walker, self.config, self.generator = walker, config, generator
        self.by_embedding = Dense(config.embedding, n_classes, generator)
        if config.use_features:
            self.by_features = Dense(n_features, n_classes, generator)
            self.output = Dense(2 * n_classes, n_classes, generator)
        self._samples: _Samples | None = None

    def embed(self, features: Features | FewColumns, nodes: Tensor | None = None) -> Tensor:
        """Return h of the nodes with these features; `nodes` are their numbers, None means all."""
        raise NotImplementedError

    def learn_contexts(self, features: Features, batch: Contexts, loss: ContextSigmoid | ContextSoftmax) -> None:
        """Take a gradient step of the embedding and the context weights on a batch."""
        raise NotImplementedError

    def forward(self, features: Features) -> Tensor:
        return self._logits(features, self.embed(features))[-1]

    def _logits(self, X: Features | FewColumns, h: Tensor) -> tuple[Tensor, ...]:
        """Return the logits of p_x, p_h and p; without features those of p_h alone, which then is p."""
        z_h = self.by_embedding(h)
        if not self.config.use_features:
            return (z_h,)
        z_x = self.by_features(X)
        joined = torch.cat([torch.softmax(z_x, dim=1), torch.softmax(z_h, dim=1)], dim=1)
        return z_x, z_h, self.output(joined)

    def step(self, features: Features, labelled: Labelled, optimiser: Optimiser, epoch: int) -> float:
        """Take `steps` class steps, each perhaps after a graph-context step; all other contexts come before."""
        samples = self._samples or self._begin(features, labelled)
        decays = any(group["weight_decay"] for group in optimiser.param_groups)
        samples.sparse_gradients = isinstance(optimiser, torch.optim.SGD) and not decays
        total = 0.0
        for _ in range(self.config.steps):
            if samples.rng.random() < self.config.graph_share:
                self.learn_contexts(features, next(samples.graph), samples.loss)
            samples.batch = torch.from_numpy(next(samples.batches)).to(labelled.nodes.device)
            total += float(super().step(features, labelled, optimiser, epoch))
        return total / self.config.steps

    def objective(self, features: Features, labelled: Labelled, epoch: int) -> Tensor:
        samples = self._samples or self._begin(features, labelled)
        batch = samples.batch
        X = (few_rows if samples.sparse_gradients else feature_rows)(samples.features, batch)
        rows = replace(labelled, nodes=torch.arange(len(batch), device=batch.device), classes=labelled.classes[batch])
        logits = self._logits(X, self.embed(X, labelled.nodes[batch]))
        return torch.stack([rows.loss(z) for z in logits]).sum()

    def _begin(self, features: Features, labelled: Labelled) -> "_Samples":
        self._samples = samples = _Samples(self, features, labelled)
        for _ in range(self.config.label_steps):
            self.learn_contexts(features, next(samples.label), samples.loss)
        for _ in range(self.config.graph_steps):
            self.learn_contexts(features, next(samples.graph), samples.loss)
        return samples


class _Samples:
    """Batches and the context loss of one training; not saved."""

    def __init__(self, model: Planetoid, features: Features, labelled: Labelled) -> None:
        walker, config, k = model.walker, model.config, model.config.negatives
        self.rng = rng = numpy_generator(model.generator)
        nodes, classes = labelled.nodes.cpu().numpy(), labelled.classes.cpu().numpy()
        self.features = feature_rows(features, labelled.nodes)
        loss = ContextSigmoid if k else ContextSoftmax
        self.loss = loss(walker.n_nodes, config.embedding, model.generator)
        self.graph = graph_contexts(walker, config.graph_batch, config.walk_steps, config.window, rng, k)
        self.label = label_contexts(nodes, classes, config.label_batch, rng, k)
        self.batches = in_batches(len(nodes), config.batch, rng)
        self.batch = torch.arange(len(nodes), device=labelled.nodes.device)
        self.sparse_gradients = False


class PlanetoidT(Planetoid):
    """The transductive form: E holds an embedding for each node of the graph."""

    def __init__(self, walker: Walker, *args: Any) -> None:
        super().__init__(walker, *args)
        E = torch.empty(walker.n_nodes, self.config.embedding, device=self.generator.device)
        self.E = nn.Parameter(E.normal_(0.0, 0.01, generator=self.generator))

    def embed(self, features: Features | FewColumns, nodes: Tensor | None = None) -> Tensor:
        return self.E if nodes is None else self.E.index_select(0, nodes)

    @torch.no_grad()
    def learn_contexts(self, features: Features, batch: Contexts, loss: ContextSigmoid | ContextSoftmax) -> None:
        nodes = torch.from_numpy(batch.nodes).to(self.E.device)
        rate = self.config.context_rate
        self.E[nodes] -= rate * loss.descend(self.E[nodes], batch, rate)


class PlanetoidI(Planetoid):
    """The inductive form: the embedding is a layer over the features.

    Reference: the layer has one bias for contexts, used in training alone, and another for classes; so has this one.
    """

    def __init__(self, walker: Walker, n_features: int, *args: Any) -> None:
        super().__init__(walker, n_features, *args)
        self.embedding = Dense(n_features, self.config.embedding, self.generator)
        self._context_bias = torch.zeros(self.config.embedding, device=self.generator.device)

    def embed(self, features: Features | FewColumns, nodes: Tensor | None = None) -> Tensor:
        return torch.relu(self.embedding(features))

    def learn_contexts(self, features: Features, batch: Contexts, loss: ContextSigmoid | ContextSoftmax) -> None:
        W, b, rate = self.embedding.W, self._context_bias.requires_grad_(), self.config.context_rate
        X = few_rows(features, torch.from_numpy(batch.nodes).to(W.device))
        H = torch.relu(X @ W + b)
        by_W, by_b = torch.autograd.grad(H, (W, b), loss.descend(H, batch, rate))
        with torch.no_grad():
            W.add_(by_W, alpha=-rate)  # sparse if the features are
            b.sub_(by_b, alpha=rate)


class PlanetoidTMethod(FlatMethod):
    inductive = False
    network: type[Planetoid] = PlanetoidT

    def structure(self, task: Task, device: torch.device) -> Walker:
        return Walker.on(task.adjacency)


class PlanetoidIMethod(PlanetoidTMethod):
    inductive = True
    network = PlanetoidI
