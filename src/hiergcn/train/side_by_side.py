"""Models that train side by side on a GPU: they differ in their seed, and perhaps in their training nodes.

The network itself does not know that it has replicas; the rules for products and dropout are in `model.ops`. A step of
64 replicas launches as many kernels as that of one, and a CUDA graph launches them all at once.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from hiergcn.model.method import Features, Labelled, NodeModel
from hiergcn.model.ops.dropout import ReplicaGenerator
from hiergcn.model.ops.replicas import vmap
from hiergcn.settings.fields import TrainConfig
from hiergcn.train.learners import Evaluation, Learner, LearningNodes, make_optimiser, scores_of, with_cached

NODES_PER_LABEL = 8
"""Nodes for each labelled one from which on replicas are evaluated on the labelled nodes alone. It saves more than the
last evaluation, of all nodes, costs."""

MOST_REPLICAS = 64
_LARGE, _BUFFER = 2**18, 2**24  # entries of a tensor, and of the memory through which it is copied


class Replicas(Learner):
    """Models trained in parallel. Each draws the same random numbers as alone; results differ by rounding only.

    There is one module, `model`, and the parameters and buffers of all replicas: `state` holds each of them stacked,
    with the replicas on the first axis. `torch.vmap` calls the module for every replica at once: it hands each call its
    row of `state` and of everything else that differs between replicas, which are the replica's number, from which
    dropout draws, and its nodes. What all share, the features and the graph, is inside the module or closed over.
    The sum of all losses has the gradient of each loss in its own row, so one backward pass and one optimiser serve
    all.

    If all share one split, and the model can, a step computes the receptive field of the training nodes alone, and an
    evaluation that of the labelled nodes. Then the logits of all nodes are computed once, after training.

    Args:
        models: new models, read one after the other, so they may be one object with new weights.
        nodes: of each model.
    """

    def __init__(
        self, models: Iterable[NodeModel], features: Features, nodes: Sequence[LearningNodes], config: TrainConfig
    ) -> None:
        generators, states = [], []
        for model in models:
            drawing = [vars(module) for module in model.modules() if "generator" in vars(module)]
            generators += [attributes["generator"] for attributes in drawing[:1]]
            states.append({name: value.clone() for name, value in model.state_dict().items()})
        self.model = model
        self.generator = ReplicaGenerator(generators)
        for attributes in drawing:
            attributes["generator"] = self.generator

        learned = {name for name, _ in self.model.named_parameters()}
        self.features = features
        self.state = {name: torch.stack([state[name] for state in states]) for name in states[0]}
        self.parameters = {name: self.state[name].requires_grad_() for name in self.state if name in learned}
        self.optimiser = make_optimiser(self.model, self.parameters, config)
        self.replica = torch.arange(len(states), device=next(iter(self.state.values())).device)

        cached = {id(pair): with_cached(self.model, pair) for pair in {id(pair): pair for pair in nodes}.values()}
        self.labelled, self.reduction = type(nodes[0].train), nodes[0].train.reduction
        self.train, self.validation = (_stacked([cached[id(pair)][part] for pair in nodes]) for part in (0, 1))
        self.evaluated, self.field = (self.train, self.validation), None
        self.shared: dict[str, Any] = {}  # of one split, what the model precomputed if that is no tensor
        if len(cached) == 1:
            split = cached[id(nodes[0])]
            if "cached" not in self.train:
                self.shared = {"cached": split.train.cached}
            labelled = torch.unique(torch.cat([split.train.nodes, split.validation.nodes]))
            if NODES_PER_LABEL * len(labelled) <= features.shape[0]:
                self.field = self.model.receptive_field(labelled)
            if self.field is not None:  # rows of the logits that are computed take the place of nodes
                rows = [
                    part | {"nodes": torch.bucketize(part["nodes"].contiguous(), labelled)} for part in self.evaluated
                ]
                self.evaluated = (rows[0], rows[1])

    def step(self, epoch: int) -> Tensor:
        self.model.train()
        self.optimiser.zero_grad()

        def loss_of_replica(state: dict[str, Tensor], replica: Tensor, train: dict[str, Any]) -> Tensor:
            self.generator.replica = replica
            nodes = self.labelled(**train, **self.shared, reduction=self.reduction)
            return self._call("objective", state, self.features, nodes, epoch)

        losses: Tensor = vmap(loss_of_replica, randomness="error")(self.state, self.replica, self.train)
        losses.sum().backward()
        self.optimiser.step()
        return losses.detach()

    @torch.no_grad()
    def evaluate(self) -> Evaluation:
        self.model.eval()

        def scores_of_replica(state: dict[str, Tensor], *nodes: dict[str, Any]) -> tuple[Tensor, ...]:
            if self.field is None:
                logits = self._call("forward", state, self.features)
            else:
                logits = self._call("logits_of", state, self.features, self.field)
            return scores_of(logits, *(self.labelled(**part) for part in nodes))

        logits, *scores = vmap(scores_of_replica)(self.state, *self.evaluated)
        return Evaluation(logits if self.field is None else None, *scores)

    @torch.no_grad()
    def logits(self, weights: dict[str, Tensor]) -> Tensor:
        self.model.eval()
        logits: Tensor = vmap(lambda state: self._call("forward", state, self.features))(weights)
        return logits

    def _call(self, method: str, state: dict[str, Tensor], *given: Any) -> Tensor:
        """Call a method of the model with the parameters and buffers of one replica."""
        named = {f"model.{name}": value for name, value in state.items()}
        result: Tensor = functional_call(_Calls(self.model), named, (method, *given), tie_weights=False)
        return result

    def weights(self) -> dict[str, Tensor]:
        return {name: value.detach() for name, value in self.state.items()}

    def capture(self, epoch: Callable[[], None]) -> Callable[[], None]:
        return Captured(epoch, self.generator.generators)


class _Calls(nn.Module):
    """A module whose forward calls any method of the model, for `functional_call`."""

    def __init__(self, model: NodeModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, method: str, *given: Any) -> Tensor:
        result: Tensor = getattr(self.model, method)(*given)
        return result


def _stacked(parts: Sequence[Labelled]) -> dict[str, Tensor]:
    """Return the tensors of the parts, stacked, by name; a tensor that all parts share is expanded instead."""
    stacked = {}
    for name, first in vars(parts[0]).items():
        if isinstance(first, Tensor):
            column = [getattr(part, name) for part in parts]
            same = all(tensor is first for tensor in column)
            stacked[name] = first.expand(len(parts), *first.shape) if same else torch.stack(column)
    return stacked


class Captured:
    """A function without arguments or result, recorded as a CUDA graph, so that launching its kernels costs nothing.

    The first call runs the function itself: libraries initialise, and tensors that stay are made. Later ones replay the
    graph on the same memory. The generators advance at each call, as they would without a graph.
    """

    def __init__(self, function: Callable[[], None], generators: Sequence[torch.Generator]) -> None:
        self.function, self.generators = function, generators
        self.stream = torch.cuda.Stream()
        self.stream.wait_stream(torch.cuda.current_stream())
        self.is_warm = False
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        if not self.is_warm:
            self.is_warm = True
            with torch.cuda.stream(self.stream):
                self.function()
            torch.cuda.current_stream().wait_stream(self.stream)
            return
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            for generator in self.generators:
                self.graph.register_generator_state(generator)
            with torch.cuda.graph(self.graph, stream=self.stream):
                self.function()
        self.graph.replay()


def copy_to_host(stacked: Tensor) -> list[Tensor]:
    """Return the tensor of each model on the host, a copy of its own, so that the others can be freed.

    Every copy waits for the GPU, so small tensors take one for all models. Large ones go through a buffer that the GPU
    writes to directly: it is up to 40 times as fast as into other memory, and 10 times with the copy from there.
    """
    if stacked[0].numel() < _LARGE:
        return [value.clone(memory_format=torch.contiguous_format) for value in stacked.cpu()]
    copies = []
    for value in stacked:
        copy, flat = torch.empty(value.shape, dtype=value.dtype), value.reshape(-1)
        buffer = torch.empty(min(flat.numel(), _BUFFER), dtype=value.dtype, pin_memory=True)
        for part, into in zip(flat.split(_BUFFER), copy.view(-1).split(_BUFFER), strict=True):
            into.copy_(buffer[: len(part)].copy_(part))
        copies.append(copy)
    return copies
