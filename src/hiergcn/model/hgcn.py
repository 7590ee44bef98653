"""H-GCN, the network of Hu et al. (IJCAI 2019), Section 3, top to bottom.

With L coarsening layers there are l = 2L + 1 layers:

    coarsening, i = 1..L       G_i = GCN([H_i ‖ S_i]) on A_i           H_{i+1} = M_iᵀ G_i
    refining, i = L+1..2L      G_i = GCN([H_i ‖ S_i]) on A_{l-i+1}     H_{i+1} = M_{l-i} G_i + G_{l-i}
    output, i = l              softmax(ReLU(Â_1 H_l θ_l))

(The paper counts the output of a refining layer as H_i; here H is always what a layer takes in.) Levels of a
`Hierarchy` count from 0, so A_i is level i - 1.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

import torch
from torch import Tensor, nn

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.config_checks import check_rates, check_scaling, check_whole
from hiergcn.model.features import Scaling, feature_tensor
from hiergcn.model.levels import HierarchyTensors, LevelTensors, Pooling
from hiergcn.model.memory_cost import Layer, MemoryPlan, Workload, layers_memory
from hiergcn.model.method import Features, Method, NodeModel, Prepared, Weights
from hiergcn.model.ops.channels import mixed_channels, mixed_product
from hiergcn.model.ops.dropout import dropout, dropped_join
from hiergcn.model.ops.recompute import recomputed
from hiergcn.model.ops.sparse import SparseFeatures, dense_product, with_product
from hiergcn.model.ops.vmap import nodes_first


@dataclass(frozen=True)
class HGCNConfig:
    """The network's settings; the defaults are the paper's text (preset `paper`)."""

    levels: int = 4
    """Coarsening layers L. The paper: 4 (9 layers) on citation networks, 5 (11 layers) on NELL."""
    hidden: int = 32
    """Width d of every hidden layer. The text gives none; 32 is what the authors' code uses on Cora."""
    channels: int = 4
    """GCNs side by side in each coarsening and refining layer."""
    weight_embedding: int = 8
    """Width p of the node-weight embedding; 0 leaves it out. The text gives none; 8 as in the authors' code on Cora."""
    dropout: float = 0.85
    """Rate of dropout on what each layer takes in."""
    pooling: Pooling = "sum"
    """Eq. 4 sums. Reference: l2, which divides by the root of the group's size."""
    channel_mix: Literal["after_relu", "before_relu"] = "after_relu"
    """The text weighs channels after their ReLU (w_j = 1/c at first). Reference: before it, w_j Glorot-initialised."""
    output_relu: bool = True
    """ReLU before the softmax, as the output layer's equation has it. Reference: none."""
    output_channels: int = 1
    """Channels of the output layer. Reference: as many as elsewhere."""
    embed_input: bool = True
    """Node-weight embedding in the first layer too ("in every coarsening and refining layer"). Reference: not there."""
    scaling: Scaling = "row"
    """Of the features: rows that sum to 1, as in Kipf & Welling, whose setting the paper follows."""
    coarsening: bool = True
    """False keeps the layers and short-cuts but makes every level the input graph (the paper's first ablation)."""
    networks: int = 1
    """Networks that learn each by itself and predict by the mean of their probabilities; see `ensemble`."""

    def __post_init__(self) -> None:
        check_whole(self, levels=0, hidden=1, channels=1, weight_embedding=0, output_channels=1, networks=1)
        check_rates(self, "dropout")
        check_scaling(self)
        if self.pooling not in ("sum", "mean", "l2"):
            raise InputError(f"pooling is {self.pooling!r}; give sum, mean or l2.")
        if self.channel_mix not in ("after_relu", "before_relu"):
            raise InputError(f"channel_mix is {self.channel_mix!r}; give after_relu or before_relu.")


def _glorot(parameter: nn.Parameter, fan_in: int, fan_out: int, generator: torch.Generator | None) -> None:
    bound = (6.0 / (fan_in + fan_out)) ** 0.5
    with torch.no_grad():
        parameter.uniform_(-bound, bound, generator=generator)


class GraphConvolution(nn.Module):
    r"""Eq. 1 in c channels, which a trainable weighted sum then combines.

    .. math:: G = \sum_{j=1}^{c} w_j \operatorname{ReLU}(\hat A H \theta_j)
    """

    def __init__(self, fan_in: int, fan_out: int, channels: int, mix: str, relu: bool) -> None:
        super().__init__()
        self.fan_out, self.channels, self.mix, self.relu = fan_out, channels, mix, relu
        self.theta = nn.Parameter(torch.empty(fan_in, fan_out * channels))  # θ_j is every c-th column from j on
        self.w = nn.Parameter(torch.empty(channels)) if channels > 1 else None

    def reset_parameters(self, generator: torch.Generator | None) -> None:
        _glorot(self.theta, self.theta.shape[0], self.fan_out, generator)  # each channel by itself
        if self.w is not None and self.mix == "before_relu":
            _glorot(self.w, self.channels, 1, generator)
        elif self.w is not None:
            nn.init.constant_(self.w, 1.0 / self.channels)

    def forward(self, level: LevelTensors, H: Features, S: Tensor | None = None) -> Tensor:
        if S is not None:
            for_H, for_S = self.theta.split([H.shape[1], S.shape[1]])  # [H ‖ S] θ is the sum of two products
            return self._combined_product(self._propagated(level, H, for_H), level.propagate(S), for_S)
        if self._is_narrow(H):
            return self._combined_product(None, level.propagate(H), self.theta)
        return self.combine(self._propagated(level, H, self.theta))

    def _propagated(self, level: LevelTensors, H: Features, theta: Tensor) -> Tensor:
        """Â H θ, propagated on the narrower side."""
        if self._is_narrow(H):
            return dense_product(level.propagate(H), theta)
        return level.propagate(H @ theta if isinstance(H, SparseFeatures) else dense_product(H, theta))

    def _is_narrow(self, H: Features) -> TypeGuard[Tensor]:
        return isinstance(H, Tensor) and H.shape[1] <= self.theta.shape[1]

    def _combined_product(self, Z: Tensor | None, H: Tensor, theta: Tensor) -> Tensor:
        """`combine` of Z + H θ, or of H θ."""
        if self.w is not None and self.mix == "after_relu" and self.relu:
            return mixed_product(Z, H, theta, self.w)
        return self.combine(dense_product(H, theta) if Z is None else with_product(Z, H, theta))

    def combine(self, Z: Tensor) -> Tensor:
        """ReLU and channel weights, in the order that `mix` says; Z is (n, out * c)."""
        if self.w is not None and self.mix == "after_relu":
            return mixed_channels(Z, self.w, rectify=self.relu)
        mixed = Z if self.w is None else mixed_channels(Z, self.w, rectify=False)
        return torch.relu(mixed) if self.relu else mixed

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.theta.shape[0]}, {self.fan_out}, channels={self.channels})"


class HGCN(NodeModel):
    """The network over one hierarchy. `forward(features)` gives the logits (n, classes) of every node.

    Args:
        hierarchy: the levels as tensors; their depth is L.
        n_features: columns of the feature matrix.
        n_classes: number of classes.
        config: the settings; the default is the paper's text.
        generator: draws the initial weights, then the dropout masks.
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
        self.recompute = False
        self.config = config = config or HGCNConfig()
        self.hierarchy = hierarchy
        L, d, p = hierarchy.depth, config.hidden, config.weight_embedding
        self.V = nn.Parameter(torch.empty(len(hierarchy.weights), p)) if p and L else None
        self.register_buffer("T", torch.from_numpy(hierarchy.weights))  # saved beside V, whose rows it names
        fan_in = ([n_features + p * config.embed_input] + [d + p] * (2 * L - 1)) if L else []
        self.layers = nn.ModuleList(
            GraphConvolution(f, d, config.channels, config.channel_mix, relu=True) for f in fan_in
        )
        self.output = GraphConvolution(
            d if L else n_features, n_classes, config.output_channels, config.channel_mix, config.output_relu
        )
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None) -> None:
        """Draw the initial weights, and from now on the dropout masks, from the generator."""
        self.generator = generator
        for layer in (*self.layers, self.output):
            layer.reset_parameters(generator)
        if self.V is not None:
            _glorot(self.V, self.V.shape[0], self.V.shape[1], generator)

    def forward(self, features: Features) -> Tensor:
        H = self.embed(features) if self.hierarchy.depth else features
        return self._convolve(self.output, self.hierarchy.levels[0], H)

    def embed(self, features: Features) -> Tensor:
        """H_{l-1}, the representation of each node that the output layer takes in; (n, hidden)."""
        coarse, near = self.embedding_parts(features)
        return coarse + near

    def embedding_parts(self, features: Features) -> tuple[Tensor, Tensor]:
        """The two that make it up: from the hyper-nodes, and by the short-cut from the graph; (n, hidden) each."""
        levels, L = self.hierarchy.levels, self.hierarchy.depth
        H: Any = features
        S = self._weight_embeddings()
        G: list[Tensor] = []
        for i in range(L):  # coarsening
            G.append(self._convolve(self.layers[i], levels[i], H, S[i], join=i > 0))  # (n_i, hidden)
            H = levels[i].pool(G[i], self.config.pooling)  # (n_{i+1}, hidden)
        for i in reversed(range(L)):  # refining, from level i + 1 to level i
            coarse = self._convolve(self.layers[2 * L - 1 - i], levels[i + 1], H, S[i + 1])  # (n_{i+1}, hidden)
            refined = levels[i].unpool(coarse)
            H = refined + G[i] if i else None  # (n_i, hidden)
        return refined, G[0]

    def _weight_embeddings(self) -> list[Tensor | None]:
        """S_i of each level: the row of V for each node's weight; (n_i, p)."""
        levels = self.hierarchy.levels
        if self.V is None:
            return [None] * len(levels)
        V, first = nodes_first(self.V), 0 if self.config.embed_input else 1
        return [None] * first + [level.embed_weight(V) for level in levels[first:]]

    def _convolve(
        self, layer: nn.Module, level: LevelTensors, H: Features, S: Tensor | None = None, join: bool = True
    ) -> Tensor:
        if self.recompute and self.training:
            return recomputed(self._dropped_and_convolved, self.generator, layer, level, H, S, join)
        return self._dropped_and_convolved(layer, level, H, S, join)

    def _dropped_and_convolved(
        self, layer: nn.Module, level: LevelTensors, H: Features, S: Tensor | None, join: bool
    ) -> Tensor:
        """Dropout on H and S, then the layer: on [H ‖ S], or on both apart where H, the features, may be sparse."""
        rate = self.config.dropout if self.training else 0.0
        convolved: Tensor
        if join and S is not None and isinstance(H, Tensor):
            convolved = layer(level, dropped_join(H, S, rate, self.generator))
            return convolved
        dropped = H.dropped(rate, self.generator) if isinstance(H, SparseFeatures) else dropout(H, rate, self.generator)
        convolved = layer(level, dropped, S if S is None else dropout(S, rate, self.generator))
        return convolved

    def regularised(self) -> list[nn.Parameter]:
        """What the L2 penalty falls on: every θ, as in the authors' code; V and w stay free."""
        return [parameter for name, parameter in self.named_parameters() if name.endswith("theta")]


class HGCNMethod(Method):
    """H-GCN as a method: the hierarchy becomes tensors once, each seed gets its own network."""

    uses_hierarchy = True
    replicates = True

    def __init__(self, config: HGCNConfig) -> None:
        self.config = config

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        if hierarchy is None:
            raise TypeError("H-GCN needs the hierarchy of the graph")
        depth = min(self.config.levels, hierarchy.depth) if self.config.coarsening else self.config.levels
        T = None if weights is None else weights["T"].numpy()
        levels = HierarchyTensors(hierarchy, depth, self.config.coarsening, T).to(device)
        return Prepared(feature_tensor(task, self.config.scaling, device), levels)

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> HGCN:
        return HGCN(prepared.structure, prepared.features.shape[1], n_classes, self.config, generator)

    def memory(self, work: Workload) -> MemoryPlan:
        config, n = self.config, work.nodes
        d, p, width = config.hidden, config.weight_embedding, config.hidden * config.channels
        levels = work.levels if config.coarsening else work.levels[:1] * (config.levels + 1)
        first = Layer(n, work.dense, p * config.embed_input, width)
        inner = [Layer(level.nodes, 0, d + p, width) for level in [*levels[1:-1], *levels[:0:-1]]]
        hidden = [first, *inner] if len(levels) > 1 else []
        fixed, learned = (0, d) if hidden else (work.dense, 0)
        output = Layer(n, fixed, learned, work.n_classes * config.output_channels)
        return layers_memory(work, levels, [*hidden, output])

    def redraw(self, model: NodeModel, generator: torch.Generator) -> bool:
        assert isinstance(model, HGCN)
        model.reset_parameters(generator)
        return True
