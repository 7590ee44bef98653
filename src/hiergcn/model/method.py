"""The interface of all methods: `Method` prepares a graph and builds a `NodeModel` for each seed.

`Method.memory` counts the memory that training takes, in bytes, from the arrays that are alive at the same time.
`benchmarks/memory.py` compares the counts with measured peaks.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from hiergcn.coarsening import Hierarchy
from hiergcn.graph.target import Kind
from hiergcn.graph.task import Task
from hiergcn.model.ops.replicas import under_vmap
from hiergcn.model.ops.sparse import Features as Features

WORD = 4  # a float32
_MASK = 2  # a dropout mask, per entry; our GPU kernel makes it again instead
_CSR = 8  # a CSR tensor, per entry: column and value
_LEVEL = 60  # a level, per node: row of its weight, group, and the sums over both; on a GPU also chunks of rows
NORMALISE = 48  # normalising an adjacency in double precision, per entry
_SPARSE = 20  # sparse features, per entry: value, column, transpose, and the values that dropout leaves


class LevelSize(NamedTuple):
    """Nodes of a level and entries of its adjacency, diagonal included."""

    nodes: int
    entries: int


@dataclass(frozen=True)
class Workload:
    """Sizes of a graph, and the settings of training that change the memory."""

    levels: tuple[LevelSize, ...]
    """The input graph first, then the coarser levels if the method uses them."""
    n_features: int
    stored: int | None
    """Entries of sparse features; None if the features are dense."""
    n_classes: int
    batches: int = 1
    recompute: bool = False
    full_validation: bool = True
    """Whether validation is full-batch even if training is batched."""
    networks: int = 1

    @property
    def nodes(self) -> int:
        return self.levels[0].nodes

    @property
    def dense(self) -> int:
        """Columns of dense features; 0 if the features are sparse."""
        return self.n_features if self.stored is None else 0

    @property
    def features(self) -> int:
        """Bytes of the features as a tensor."""
        return WORD * self.nodes * self.n_features if self.stored is None else _SPARSE * self.stored

    def in_batches(self, whole: int) -> int:
        """Return the bytes of two batches, that of the model and the one in use, if the whole graph is not needed."""
        return whole if self.batches == 1 or self.full_validation else 2 * whole // self.batches


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes needed to train one seed, on top of the memory the process already uses."""

    structure: int
    """Features and levels as tensors."""
    kept: int
    """Activations kept for the backward pass."""
    working: int
    """Temporary arrays of a training step, or of validation."""
    preparing: int = 0
    """Temporary arrays of preparing the graph, in host memory; nothing is kept by then."""
    hierarchy: int = 0
    """The coarser levels, in host memory."""
    full_validation: bool = True
    """Whether validation is full-batch even if training is batched."""

    @property
    def temporary(self) -> int:
        """Bytes on top of `structure`, if host and device are the same."""
        return max(self.kept + self.working, self.preparing)

    @property
    def on_device(self) -> int:
        """Bytes of training, if host and device are the same."""
        return self.structure + self.temporary

    @property
    def on_gpu(self) -> int:
        """Bytes of training in a GPU's memory."""
        return self.structure + self.kept + self.working

    @property
    def total(self) -> int:
        """Bytes of hierarchy and training, if host and device are the same."""
        return self.hierarchy + self.on_device


def tensor_bytes(levels: Sequence[LevelSize]) -> int:
    """Return the bytes of levels as tensors."""
    return sum(_CSR * level.entries + _LEVEL * level.nodes for level in levels)


def flat_memory(work: Workload, hidden: int, per_entry: int = 32, layers: int = 2) -> MemoryPlan:
    """Return a rule of thumb: features, three arrays of hidden width per layer, `per_entry` bytes per entry of Â."""
    (nodes, entries), batches = work.levels[0], work.batches
    kept = WORD * nodes * (work.dense + 3 * layers * hidden) // batches
    return MemoryPlan(work.in_batches(work.features + _CSR * entries), kept, per_entry * entries // batches)


class Layer(NamedTuple):
    """A graph convolution of H-GCN: it keeps Â H, the dropout mask and the channels for the backward pass."""

    nodes: int
    fixed: int  # columns of features, which need no gradient
    learned: int  # columns that need one
    width: int  # columns of all channels together

    @property
    def arrays(self) -> int:
        return WORD * self.nodes * (self.fixed + self.learned + self.width)

    @property
    def kept(self) -> int:
        return self.arrays + _MASK * self.nodes * self.learned


def layers_memory(work: Workload, levels: Sequence[LevelSize], layers: Sequence[Layer]) -> MemoryPlan:
    """Return the memory of layers over levels. Nothing is kept while the graph is validated."""
    kept = [WORD * layer.nodes * layer.learned if work.recompute else layer.kept for layer in layers]
    kept_by_all = work.networks * (sum(kept) // work.batches)
    largest = max(layers, key=lambda layer: layer.kept)
    step = (2 * largest.arrays + (largest.kept if work.recompute else 0)) // work.batches
    validate = 2 * largest.arrays if work.full_validation and work.batches > 1 else 0
    prepare = NORMALISE * max(level.entries for level in levels) + 2 * work.features
    structure = tensor_bytes(levels) + work.features
    if work.batches > 1 and work.full_validation:
        structure += structure // work.batches  # the batch in use has tensors of its own
    outputs = 2 * WORD * work.nodes * work.n_classes
    working = max(step, validate - kept_by_all)
    return MemoryPlan(work.in_batches(structure) + outputs, kept_by_all, working, work.in_batches(prepare))


Weights = Mapping[str, Tensor]


def activated(logits: Tensor) -> Tensor:
    """Return the probabilities of classes, the softmax over the last axis. A single column is a number and stays."""
    if logits.shape[-1] == 1:
        return logits
    if logits.is_cuda or logits.stride(-1) == 1:
        return torch.softmax(logits, dim=-1)
    return torch.softmax(logits.movedim(-1, 0), dim=0).movedim(0, -1)  # in this layout it takes a fifth of the time


def mean_logits(logits: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of mean probabilities, (n, classes), or the mean of numbers, (n, 1)."""
    each = torch.stack(list(logits))  # (models, n, classes)
    if each.shape[2] == 1:
        return each.mean(dim=0)
    return torch.logsumexp(torch.log_softmax(each, dim=2), dim=0) - math.log(len(logits))


@dataclass(frozen=True, eq=False)
class Labelled:
    """Some nodes with their classes, on the device."""

    nodes: Tensor  # (m,)
    classes: Tensor  # (m,); of `Measured`, numbers
    class_weights: Tensor | None = None  # (classes,) weight of each class in the loss; None weighs all alike
    reduction: str = field(default="mean", kw_only=True)  # of the loss over the nodes: mean or sum
    total: int | None = field(default=None, kw_only=True)  # such nodes in the whole graph, if these are a batch's
    cached: Any = field(default=None, kw_only=True)  # result of the model's `precompute`

    def count(self) -> int:
        """Return the number of such nodes in the whole graph."""
        return len(self.nodes) if self.total is None else self.total

    def loss(self, logits: Tensor, reduction: str | None = None) -> Tensor:
        """Return the loss over the nodes; `logits` (n, classes) are those of all nodes."""
        return self.loss_of_rows(logits.index_select(0, self.nodes), reduction)

    def loss_of_rows(self, logits: Tensor, reduction: str | None = None) -> Tensor:
        """Return the cross-entropy over the nodes; `logits` (m, classes) are those of these nodes."""
        how = reduction or self.reduction
        if not under_vmap():
            return nn.functional.cross_entropy(logits, self.classes, weight=self.class_weights, reduction=how)
        losses = -torch.log_softmax(logits, dim=1).gather(1, self.classes.unsqueeze(1)).squeeze(1)
        if self.class_weights is None:  # under `torch.vmap`, torch's own is in Python and imports sympy: half a second
            return losses.sum() if how == "sum" else losses.mean()
        weights = self.class_weights[self.classes]
        total = (losses * weights).sum()
        return total if how == "sum" else total / weights.sum()

    def score(self, logits: Tensor) -> Tensor:
        """Return the accuracy: the share of the nodes whose largest logit is that of their class."""
        return (logits.index_select(0, self.nodes).argmax(dim=1) == self.classes).double().mean()


class Measured(Labelled):
    """Some nodes with numbers, in units of the training values' standard deviation from their mean."""

    def loss_of_rows(self, logits: Tensor, reduction: str | None = None) -> Tensor:
        """Return the squared error over the nodes; `logits` (m, 1) are their numbers."""
        return nn.functional.mse_loss(logits.squeeze(1), self.classes, reduction=reduction or self.reduction)

    def score(self, logits: Tensor) -> Tensor:
        """Return 1 less the mean squared error: 1 is perfect, and the mean of the training values gives about 0."""
        return 1.0 - self.loss(logits, "mean").double()


LEARNED: Mapping[Kind, type[Labelled]] = {"classes": Labelled, "numbers": Measured}
"""How a network learns each kind of target."""


class Optimiser(Protocol):
    """What a training step needs of an optimiser."""

    param_groups: list[dict[str, Any]]

    def zero_grad(self) -> None: ...

    def step(self) -> object: ...


def descend(loss: Tensor, optimiser: Optimiser) -> Tensor:
    """Take one step along the gradient of the loss, and return the loss."""
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.detach()


class NodeModel(nn.Module):
    """A network over one graph that returns the logits of every node.

    The one loop in `train` trains every model. Most need only `forward`; a model with a loss of its own overrides
    `objective`, and one that does not take one gradient step per epoch overrides `step`.
    """

    weighs_classes: bool = True
    """Whether the objective is `Labelled.loss`, and so takes class weights."""
    draws: bool = True
    """Whether a training pass draws random numbers, as dropout does. If not, it is the same as an evaluation: one call
    of `forward_with_loss` serves both, and the model must inherit `step`."""

    def __init__(self) -> None:
        super().__init__()
        self.title = type(self).__name__  # the model's name in messages

    def forward(self, features: Features) -> Tensor:
        """Return the logits; (n, f) -> (n, classes)."""
        raise NotImplementedError

    def forward_with_loss(self, features: Features, labelled: Labelled) -> tuple[Tensor, Tensor]:
        """Return the logits and their objective."""
        logits = self(features)
        return logits, labelled.loss(logits)

    def objective(self, features: Features, labelled: Labelled, epoch: int) -> Tensor:
        """Return the loss of one training step, without the L2 penalty. Called in training mode."""
        return labelled.loss(self(features))

    def step(self, features: Features, labelled: Labelled, optimiser: Optimiser, epoch: int) -> Tensor | float:
        """Train for one epoch and return the loss."""
        return descend(self.objective(features, labelled, epoch), optimiser)

    def precompute(self, labelled: Labelled) -> Any:
        """Return what the objective derives once from the training nodes and labels; None if nothing.

        The objective finds it in `labelled.cached`. Replicas of several splits find tensors alone.
        """
        return None

    def receptive_field(self, nodes: Tensor) -> Any:
        """Return what `logits_of` needs to compute the logits of these nodes alone; None if it computes all."""
        return None

    def logits_of(self, features: Features, field: Any) -> Tensor:
        """Return the logits of the nodes of a receptive field; (n, f) -> (m, classes)."""
        raise NotImplementedError

    def recompute_layers(self, on: bool = True) -> bool:
        """Compute layers again in the backward pass, to save memory. Return False if that is not supported."""
        return False

    def regularised(self) -> list[nn.Parameter]:
        """Return the parameters under the L2 penalty."""
        return list(self.parameters())


@dataclass(frozen=True, eq=False)
class Prepared:
    """All tensors that depend on the graph alone; made once and shared by all seeds."""

    features: Features
    structure: Any
    """The graph in the method's own form: adjacency, levels, ..."""


class Method(ABC):
    """A way to classify nodes: prepares a graph once, then builds a model for each seed.

    What is known of a method without importing torch is in its settings, see `MethodConfig`.
    """

    replicates: bool = False
    """Whether its models can train side by side under `torch.vmap`. They must inherit `step`, their objective must be
    the same in every epoch, and their products and dropout must come from `ops`."""
    inductive: bool = True
    """Whether a trained model applies to other nodes; False if it has parameters for each node."""
    uses_labels: bool = False
    """Whether `prepare` uses the training labels, so that each split is prepared by itself."""
    needs_whole: bool = False
    """Whether its inputs come from all over the graph, which a batch does not have."""
    network: type[Any]
    """Its arguments: the structure, the number of features, the number of classes, the settings and a generator,
    which draws the initial weights and then the dropout masks."""

    def __init__(self, config: Any) -> None:
        self.config = config

    @abstractmethod
    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        """Return the tensors that depend on the graph alone. `weights` are those of a trained model to restore."""

    def statistics(self, task: Task, hierarchy: Hierarchy | None) -> dict[str, Tensor]:
        """Return those weights of a model that come from its graph, by name; `prepare` takes them from `weights`."""
        return {}

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> Any:
        """Return a new model. The generator supplies every random draw: initial weights and dropout."""
        return self.network(prepared.structure, prepared.features.shape[1], n_classes, self.config, generator)

    def memory(self, work: Workload) -> MemoryPlan:
        """Return the bytes that training one seed takes; unless overridden, by a rule of thumb."""
        return flat_memory(work, hidden=32)

    def redraw(self, model: NodeModel, generator: torch.Generator) -> bool:
        """Draw new initial weights for a built model, which is cheaper than building another one.

        The model draws from the generator from then on. Return False, and do nothing, if that is not supported.
        """
        return False


class WrappedMethod(Method):
    """A method around another one, whose properties it takes over."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.replicates, self.inductive = method.replicates, method.inductive
        self.uses_labels, self.needs_whole = method.uses_labels, method.needs_whole

    def statistics(self, task: Task, hierarchy: Hierarchy | None) -> dict[str, Tensor]:
        return self.method.statistics(task, hierarchy)

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> Any:
        return self.method.build(prepared, n_classes, generator)

    def memory(self, work: Workload) -> MemoryPlan:
        return self.method.memory(work)

    def redraw(self, model: NodeModel, generator: torch.Generator) -> bool:
        return self.method.redraw(model, generator)


def with_weights(
    method: Method, prepared: Prepared, weights: Weights, n_classes: int, device: torch.device
) -> NodeModel:
    """Build a model, give it trained weights and set it to evaluation mode."""
    with device:
        model: NodeModel = method.build(prepared, n_classes, torch.Generator(device)).to(device)
    model.load_state_dict(dict(weights))
    return model.eval()
