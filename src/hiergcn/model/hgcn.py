"""H-GCN, the network of Hu et al. (IJCAI 2019), Section 3.

With L coarsening layers there are l = 2L + 1 layers:

    3.1  graph convolution       G = ReLU(Â H θ),  Â = D̃^-1/2 (A + I) D̃^-1/2                         Eq. 1
    3.3  coarsening, i = 1..L    G_i from [H_i ‖ S_i] on A_i,        H_{i+1} = M_iᵀ G_i              Eq. 4
    3.4  refining, i = L+1..2L   G_i from [H_i ‖ S_i] on A_{l-i+1},  H_{i+1} = M_{l-i} G_i + G_{l-i}   Eq. 6
    3.5  node weights            S_i = V[node weight]
         channels                G_i = Σ_j w_j G_iʲ                                                  Eq. 7
    3.6  output, i = l           softmax(ReLU(Â_1 H_l θ_l))                                          Eq. 8

H_i is always the input of layer i; the paper writes H_i for the output of a refining layer. Levels of a `Hierarchy`
count from 0, so A_i is that of level i - 1. `coarsen` makes them (plainly in `coarsening/reference.py`): grouping and
Eq. 2, M (Eq. 3), A' = MᵀAM (Eq. 5). Eqs. 1 and 7 are one call, `ops/layer.py`; Â is made in `ops/sparse.py`. The
softmax and the loss (Eq. 9) of training are in `Labelled.loss`, the softmax of predictions in
`train/loop.py`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hiergcn.coarsening import Hierarchy
from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.inputs import feature_tensor
from hiergcn.model.levels import Field, HierarchyTensors, LevelTensors
from hiergcn.model.method import (
    Features,
    Labelled,
    Layer,
    MemoryPlan,
    Method,
    NodeModel,
    Prepared,
    Weights,
    Workload,
    layers_memory,
)
from hiergcn.model.ops.dropout import ReplicaGenerator
from hiergcn.model.ops.layer import choose_backend, convolve
from hiergcn.settings.methods import HGCNConfig


class GraphConvolution(nn.Module):
    r"""Eq. 1 in c channels, combined by Eq. 7, with dropout on H and S.

    .. math:: G = \sum_{j=1}^{c} w_j \operatorname{ReLU}(\hat A [H ‖ S] \theta_j)

    [H ‖ S] has `fan_in` columns, G has `fan_out`. If H is the feature matrix (`on_features`), which may be sparse,
    dropout draws for H and S separately.
    """

    def __init__(
        self, fan_in: int, fan_out: int, channels: int, config: HGCNConfig, relu: bool = True, on_features: bool = False
    ) -> None:
        super().__init__()
        self.fan_out, self.channels, self.config, self.relu = fan_out, channels, config, relu
        self.on_features, self.recompute = on_features, False
        self.theta = nn.Parameter(torch.empty(fan_in, fan_out * channels))  # θ_j is every c-th column from j on
        self.phi = nn.Parameter(torch.empty(fan_in, fan_out * channels)) if config.own_weights else None
        self.w = nn.Parameter(torch.empty(channels)) if channels > 1 else None

    def reset_parameters(self, generator: torch.Generator | None) -> None:
        """Draw θ and w, and from now on the dropout masks, from the generator."""
        self.generator = generator
        for weights in (self.theta,) if self.phi is None else (self.theta, self.phi):
            glorot(weights, weights.shape[0], self.fan_out, generator)  # each channel by itself
        if self.w is not None and self.config.channel_mix == "before_relu":
            glorot(self.w, self.channels, 1, generator)
        elif self.w is not None:
            nn.init.constant_(self.w, 1.0 / self.channels)

    def forward(self, level: LevelTensors, H: Features, S: Tensor | None = None) -> Tensor:
        if level.inputs is not None and S is not None:
            S = S.index_select(0, level.inputs.index)
        return convolve(  # (n, fan_out)
            level.adjacency,
            H,
            S,
            self.theta,
            self.w,
            phi=self.phi,
            mix=self.config.channel_mix,
            relu=self.relu,
            rate=self.config.dropout if self.training else 0.0,
            generator=self.generator,
            joint=not self.on_features,
            recompute=self.recompute and self.training,
            rows=level.inputs,
            transposed=level.transposed,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.theta.shape[0]}, {self.fan_out}, channels={self.channels})"


class HGCN(NodeModel):
    """The network over one hierarchy of L levels: L coarsening layers, L refining layers and an output layer.

    Args:
        hierarchy: the levels as tensors of a hierarchy that `hiergcn.coarsening` made; `.to(device)` moves them, too.
        n_features: columns of the features, dense or sparse CSR, that `forward` takes.
        n_classes: columns of the logits that it returns.
        config: the settings; those of the paper by default.
        generator: draws the initial weights, then the dropout masks; torch's global one by default.
    """

    def __init__(
        self,
        hierarchy: HierarchyTensors,
        n_features: int,
        n_classes: int,
        config: HGCNConfig | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.config = config = config or HGCNConfig()
        self.n_features = n_features
        self.hierarchy, self.draws = hierarchy, config.dropout > 0.0
        L, p = hierarchy.depth, config.weight_embedding
        self.V = nn.Parameter(torch.empty(len(hierarchy.weights), p)) if p and L else None
        self.register_buffer("T", torch.from_numpy(hierarchy.weights))  # saved with V: the weight of each row
        self.layers = nn.ModuleList(self.hidden_layers(n_features) if L else ())
        width = config.hidden if L else n_features
        relu = config.output_relu and n_classes > 1  # a number may be negative
        self.output = GraphConvolution(width, n_classes, config.output_channels, config, relu)
        self.reset_parameters(generator)

    def hidden_layers(self, n_features: int) -> list[nn.Module]:
        """Return new layers: L for coarsening, then L for refining."""
        config, d, p = self.config, self.config.hidden, self.config.weight_embedding
        fan_in = [n_features + p * config.embed_input] + [d + p] * (2 * self.hierarchy.depth - 1)
        return [GraphConvolution(f, d, config.channels, config, on_features=i == 0) for i, f in enumerate(fan_in)]

    def reset_parameters(self, generator: torch.Generator | None) -> None:
        """Draw the initial weights, and from now on the dropout masks, from the generator."""
        for layer in (*self.layers, self.output):
            layer.reset_parameters(generator)
        if self.V is not None:
            glorot(self.V, self.V.shape[0], self.V.shape[1], generator)

    def forward(self, features: Features) -> Tensor:
        """Return the logits of Eq. 8; (n, f) -> (n, classes)."""
        return self.logits_of(features, self.hierarchy.levels)

    def objective(self, features: Features, labelled: Labelled, epoch: int) -> Tensor:
        """Return the loss. If the receptive field is known, refining layers compute no other rows."""
        if labelled.cached is None:
            return super().objective(features, labelled, epoch)
        return labelled.loss_of_rows(self.logits_of(features, labelled.cached))

    def precompute(self, labelled: Labelled) -> Field | None:
        return self.receptive_field(labelled.nodes)

    def receptive_field(self, nodes: Tensor) -> Field | None:
        """Return the receptive field of the nodes on the way up; None if all rows are to be computed."""
        layers = [layer for layer in self.modules() if isinstance(layer, GraphConvolution)]
        for layer in layers:
            settings = layer.theta, layer.w, layer.phi, layer.config.channel_mix, layer.relu
            replicas = isinstance(layer.generator, ReplicaGenerator) and layer.phi is None
            if not replicas and choose_backend(*settings, layer.generator) != "numba":
                return None  # such a layer cannot compute some rows of its result alone
        if not self.hierarchy.depth:
            return None
        field = self.hierarchy.receptive_field(nodes, self.refined_levels)
        return None if field[0].inputs is None else field

    @property
    def refined_levels(self) -> int:
        """Levels, from the input graph on, whose rows only depend on coarser rows and on short-cuts on the way up."""
        return self.hierarchy.depth

    def logits_of(self, features: Features, field: Field) -> Tensor:
        H = field[0].unpool_onto(*self.last_outputs(features, field)) if self.hierarchy.depth else features
        logits: Tensor = self.output(field[0], H)
        return logits

    def embed(self, features: Features) -> Tensor:
        """Return H_l, the input of the output layer (Eq. 6); (n, d)."""
        levels = self.hierarchy.levels
        return levels[0].unpool_onto(*self.last_outputs(features, levels))

    def embedding_parts(self, features: Features) -> tuple[Tensor, Tensor]:
        """Return the two terms of Eq. 6 for the input graph: M_1 G_2L, from the hyper-nodes, and the short-cut G_1."""
        levels = self.hierarchy.levels
        coarse, shortcut = self.last_outputs(features, levels)
        return levels[0].unpool(coarse), shortcut

    def last_outputs(self, features: Features, field: Field) -> tuple[Tensor, Tensor]:
        """Return what Eq. 6 adds up for the input graph: G_2L of its hyper-nodes, (n_1, d), and G_1, (n, d).

        On the way up, layers compute the rows of the receptive `field`, which are all if it is the levels themselves.
        """
        levels, L = self.hierarchy.levels, self.hierarchy.depth
        self.check_shape(features)
        S: list[Tensor | None] = [None] * len(levels)  # of each level, the row of V for each node's weight; (n_i, p)
        if self.V is not None:
            S = [*self.hierarchy.weight_embeddings(self.V)]
            S[0] = S[0] if self.config.embed_input else None
        H: Any = features
        G: list[Tensor] = []
        for i in range(L):  # coarsening layers, from level i to level i + 1
            G_i = self.layers[i](levels[i], H, S[i])  # Eq. 1 and 7: (n_i, d)
            H, kept = levels[i].pool_and_keep(G_i, self.config.pooling, field[i].inputs)  # Eq. 4: (n_{i+1}, d)
            G.append(kept)
        for i in reversed(range(1, L)):  # refining layers, from level i + 1 to level i
            G_next = self.layers[2 * L - 1 - i](field[i + 1], H, S[i + 1])  # Eq. 1 and 7: (n_{i+1}, d)
            H = field[i].unpool_onto(G_next, G[i])  # Eq. 6: (n_i, d)
        return self.layers[2 * L - 1](field[1], H, S[1]), G[0]

    def check_shape(self, features: Features) -> None:
        """Refuse features of other nodes or columns, which compiled operations would read beyond the end."""
        expected = len(self.hierarchy.levels[0].weight_row), self.n_features
        if tuple(features.shape) != expected:
            raise InputError(f"The features have the shape {tuple(features.shape)}; this network takes {expected}.")

    def recompute_layers(self, on: bool = True) -> bool:
        for layer in self.modules():
            if isinstance(layer, GraphConvolution):
                layer.recompute = on
        return True

    def regularised(self) -> list[nn.Parameter]:
        """Return every θ, as in the authors' code, and φ; V and w are not penalised."""
        return [parameter for name, parameter in self.named_parameters() if name.rpartition(".")[2] not in ("V", "w")]


def glorot(parameter: nn.Parameter, fan_in: int, fan_out: int, generator: torch.Generator | None) -> None:
    """Draw the parameter from Glorot's uniform distribution."""
    bound = (6.0 / (fan_in + fan_out)) ** 0.5
    with torch.no_grad():
        parameter.uniform_(-bound, bound, generator=generator)


class HGCNMethod(Method):
    """H-GCN as a method: the hierarchy becomes tensors once, each seed gets its own network."""

    replicates = True
    network: type[HGCN] = HGCN
    config: HGCNConfig

    def inner_levels(self, levels: Sequence[Any]) -> list[Any]:
        """Return the level of each hidden layer but the first."""
        return [*levels[1:-1], *levels[:0:-1]]

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        if hierarchy is None:
            raise TypeError("H-GCN needs the graph's hierarchy.")
        T = (self.statistics(task, hierarchy) if weights is None else weights)["T"].numpy()
        levels = HierarchyTensors(hierarchy, self._depth(hierarchy), self.config.coarsening, T).to(device)
        return Prepared(feature_tensor(task, self.config.scaling, device), levels)

    def statistics(self, task: Task, hierarchy: Hierarchy | None) -> dict[str, Tensor]:
        """Return T, the node weights that have a row in V, ascending."""
        assert hierarchy is not None
        depth = self._depth(hierarchy)
        if self.config.round_weights:
            return {
                "T": torch.from_numpy(2 ** np.arange(int(hierarchy.levels[depth].node_weight.max()).bit_length() + 1))
            }
        levels = hierarchy.levels[: depth + 1] if self.config.coarsening else hierarchy.levels[:1]
        return {"T": torch.from_numpy(np.unique(np.concatenate([level.node_weight for level in levels])))}

    def _depth(self, hierarchy: Hierarchy) -> int:
        return min(self.config.levels, hierarchy.depth) if self.config.coarsening else self.config.levels

    def memory(self, work: Workload) -> MemoryPlan:
        config, n = self.config, work.nodes
        d, p, width = config.hidden, config.weight_embedding, config.hidden * config.channels
        levels = work.levels if config.coarsening else work.levels[:1] * (config.levels + 1)
        first = Layer(n, work.dense, p * config.embed_input, width)
        inner = [Layer(level.nodes, 0, d + p, width) for level in self.inner_levels(levels)]
        hidden = [first, *inner] if len(levels) > 1 else []
        fixed, learned = (0, d) if hidden else (work.dense, 0)
        output = Layer(n, fixed, learned, work.n_classes * config.output_channels)
        return layers_memory(work, levels, [*hidden, output])

    def redraw(self, model: NodeModel, generator: torch.Generator) -> bool:
        assert isinstance(model, HGCN)
        model.reset_parameters(generator)
        return True
