"""The methods of this package: the settings of each, and what is known of it without importing torch.

The defaults are those of the papers. Each method is in the module that its registration names.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from hiergcn.errors import InputError
from hiergcn.settings.fields import (
    SCALING,
    Count,
    InputConfig,
    MethodConfig,
    NonNegative,
    Positive,
    Rate,
    Scaling,
    Share,
    TrueShare,
    Whole,
    at_least,
    setting,
)
from hiergcn.settings.registry import EpochPrice, register_method

Pooling = Literal["sum", "mean", "l2"]


@dataclass(frozen=True)
class HGCNConfig(InputConfig):
    """Settings of the network. The defaults follow the paper's text (preset `paper`).

    "Reference" below is the authors' code (preset `reference`).
    """

    uses_hierarchy: ClassVar[bool] = True
    predicts_numbers: ClassVar[bool] = True
    removed: ClassVar[dict[str, Any]] = InputConfig.removed | {"exchange": 0}
    levels: Whole = setting(
        4, "Coarsening layers L. The paper: 4 (9 layers) on citation networks, 5 (11 layers) on NELL."
    )
    hidden: Count = setting(
        32, "Width d of every hidden layer. The text gives none; 32 as in the authors' code on Cora."
    )
    channels: Count = setting(4, "Channels c of each coarsening and refining layer.")
    weight_embedding: Whole = setting(
        8,
        "Width p of the node-weight embedding; 0 leaves it out. The text gives none; 8 as in the authors' code on "
        "Cora.",
    )
    dropout: Rate = setting(0.85, "Dropout rate on the input of each layer.")
    pooling: Pooling = setting(
        "sum", "Eq. 4 sums. Reference: l2, which divides by the square root of the group's size."
    )
    channel_mix: Literal["after_relu", "before_relu"] = setting(
        "after_relu",
        "The text weighs channels after their ReLU (w_j = 1/c at first). Reference: before it, w_j Glorot-initialised.",
    )
    output_relu: bool = setting(True, "ReLU before the softmax, as in Eq. 8. Reference: none.")
    output_channels: Count = setting(1, "Channels of the output layer. Reference: as many as in other layers.")
    embed_input: bool = setting(
        True,
        'Node-weight embedding in the first layer too ("in every coarsening and refining layer"). Reference: not '
        "there.",
    )
    scaling: Scaling = setting(
        "row", "Feature scaling: rows sum to 1, as in Kipf & Welling, whose setting the paper follows."
    )
    coarsening: bool = setting(
        True, "False keeps layers and short-cuts, but every level is the input graph (the paper's first ablation)."
    )
    round_weights: bool = setting(
        False,
        "Round node weights to powers of two. Otherwise many large hyper-nodes have a row of V to themselves, "
        "which then stands for their place. Not in the paper.",
    )
    own_weights: bool = setting(
        False,
        "Weights φ of its own for each node beside θ: Â [H ‖ S] θ + [H ‖ S] φ instead of Â [H ‖ S] θ. Not in the "
        "paper.",
    )
    networks: Count = setting(1, "Networks in an ensemble, trained independently; their mean probabilities predict.")


@dataclass(frozen=True)
class GRANDConfig(InputConfig):
    """The settings; the defaults are the authors' for Cora."""

    predicts_numbers: ClassVar[bool] = True
    # Network
    hidden: Count = setting(32, "Width of the hidden layer.")
    input_dropout: Rate = setting(0.5, "Dropout rate on the input of the first layer.")
    hidden_dropout: Rate = setting(0.5, "Dropout rate on the input of the second layer.")
    batch_norm: bool = setting(False, "Batch normalisation of the input of each layer.")
    initial: Literal["shifted_normal", "uniform", "glorot"] = setting(
        "shifted_normal",
        "Initial weights. Reference: `shifted_normal`, with mean -s and deviation s = 1 / √(output width). "
        "`uniform` is torch's default for linear layers; `glorot` is uniform by both widths, with biases of 0.",
    )
    scaling: Scaling = setting("row", SCALING)
    networks: Count = setting(1, "Networks that train separately and predict by their mean probability.")
    # Random propagation
    order: Whole = setting(8, "Propagation steps K: powers 0 to K of Â are averaged.")
    drop_node: Rate = setting(0.5, "Rate δ at which whole nodes are dropped.")
    rescale: bool = setting(
        False,
        "Divide kept nodes by 1 - δ in training, as in the text. Reference: multiply by 1 - δ in prediction instead.",
    )
    input_dropout_on: Literal["auto", "propagated", "features"] = setting(
        "auto",
        "Where the input dropout is: on `propagated` features, as in the source, or on `features` before "
        "propagation, without batch normalisation of the input. `auto` is the first up to 2^28 entries (n times "
        "f), else the second.",
    )
    # Consistency
    passes: Count = setting(4, "Random passes S in each training step.")
    temperature: Positive = setting(0.5, "Temperature T of the sharpening: towards 0 the target becomes one class.")
    consistency: NonNegative = setting(1.0, "Weight λ of the consistency loss.")


@dataclass(frozen=True)
class HGCNPlusConfig(GRANDConfig):
    """GRAND's settings and those of hierarchy, target and features; the defaults are for graphs without a recipe."""

    uses_hierarchy: ClassVar[bool] = True
    removed: ClassVar[dict[str, Any]] = GRANDConfig.removed | {"drop_level": 0, "column_weight": "none"}

    # Hierarchy
    levels: Count = setting(4, "Coarsening levels L.")
    first_level: Count = setting(1, "Finest level F in use besides the input graph.")
    share: Share = setting(
        0.3, "Total weight of levels F to L in X̄, split evenly among them; 0 turns the hierarchy off."
    )
    order: Whole = setting(4, "Propagation steps K_0 on the input graph: powers 0 to K_0 of Â are averaged.")
    level_order: Whole = setting(1, "Propagation steps on each coarser level.")
    # Target and predictions
    warm_up: Whole = setting(
        100, "Steps in which λ grows from 0. Untrained passes may agree on one class for all nodes and stay there."
    )
    label_prior: NonNegative = setting(0.0, "Power γ of the label prior Q in the target; 0 leaves it out.")
    balance_below: Whole = setting(
        0,
        "Mean number of training nodes per class below which the target evens out class sizes: it is divided by "
        "(mean class probability)^(1 - nodes / balance_below). Few labels cannot tell how large the classes are. 0 "
        "is never.",
    )
    prediction_balance: Share = setting(
        0.0,
        "Divide predicted probabilities by (mean class probability)^b, 0 ≤ b ≤ 1. Counters a few classes "
        "swallowing most predictions when labels are too few to estimate class sizes.",
    )
    # Features and first layer
    scale: Positive = setting(
        1.0, "Factor on the scaled features. Larger features learn faster and are regularised less."
    )
    components: Whole = setting(
        0,
        "Principal components of the propagated features that replace the features, for few labels. Their mean "
        "length after propagation is `scale`. 0 keeps the features.",
    )
    initial: Literal["shifted_normal", "uniform", "glorot"] = setting("glorot", "Initial weights, as in GRAND.")
    input_dropout_on: Literal["auto", "propagated", "features"] = setting(
        "features", "Which side of the propagation the input dropout is on, as in GRAND."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first_level > self.levels:
            raise InputError(f"first_level is {self.first_level}; give a level of the hierarchy, 1 to {self.levels}.")


@dataclass(frozen=True)
class GCNConfig(InputConfig):
    """The settings; the defaults are those of Kipf & Welling on citation networks."""

    predicts_numbers: ClassVar[bool] = True
    layers: Annotated[int, at_least(2)] = setting(2, "Number of layers: the neighbourhood that a node sees, in edges.")
    hidden: Count = setting(16, "Width of the hidden layers.")
    dropout: Rate = setting(0.5, "Dropout rate on the input of each layer.")
    scaling: Scaling = setting("row", SCALING)
    bias: bool = setting(False, "Add a bias to each layer after propagation, as PyG's GCN does; the authors' has none.")


@dataclass(frozen=True)
class GATConfig(InputConfig):
    """The settings; the defaults are the paper's on Cora and Citeseer."""

    predicts_numbers: ClassVar[bool] = True
    hidden: Count = setting(8, "Width of each head of the first layer.")
    heads: Count = setting(8, "Heads of the first layer, side by side.")
    output_heads: Count = setting(1, "Heads of the output layer, averaged. The paper: 8 on Pubmed.")
    dropout: Rate = setting(0.6, "Dropout rate on the input of each layer.")
    attention_dropout: Rate = setting(0.6, "Dropout rate on the attention coefficients.")
    slope: Rate = setting(0.2, "Slope of the LeakyReLU below 0.")
    scaling: Scaling = setting("row", SCALING)


@dataclass(frozen=True)
class APPNPConfig(InputConfig):
    """The settings; the defaults are the paper's."""

    predicts_numbers: ClassVar[bool] = True
    hidden: Count = setting(64, "Width of the hidden layer.")
    dropout: Rate = setting(0.5, "Dropout rate on the input of each layer.")
    adjacency_dropout: Rate = setting(0.5, "Dropout rate on the entries of Â, drawn again in each step.")
    steps: Whole = setting(10, "Propagation steps K.")
    alpha: Share = setting(0.1, "Teleport probability α.")
    scaling: Scaling = setting("row", SCALING)


@dataclass(frozen=True)
class MLPConfig(InputConfig):
    """The settings; the defaults are those of Kipf & Welling for GCN."""

    predicts_numbers: ClassVar[bool] = True
    hidden: Count = setting(16, "Width of the hidden layer.")
    dropout: Rate = setting(0.5, "Dropout rate on the input of each layer.")
    scaling: Scaling = setting("row", SCALING)


@dataclass(frozen=True)
class LabelOnlyConfig(MethodConfig):
    """There are no settings."""

    closed_form: ClassVar[bool] = True
    predicts_numbers: ClassVar[bool] = True
    label_only: ClassVar[bool] = True


@dataclass(frozen=True)
class LabelPropagationConfig(LabelOnlyConfig):
    """The settings."""

    alpha: TrueShare = setting(0.9, "Share α that a node takes from its neighbours in each step.")
    steps: Count = setting(50, "Steps of the iteration.")


@dataclass(frozen=True)
class GraphSAGEConfig(InputConfig):
    """The settings."""

    predicts_numbers: ClassVar[bool] = True
    layers: Count = setting(2, "Number of layers: the neighbourhood that a node sees, in edges.")
    hidden: Count = setting(64, "Width of the hidden layers.")
    dropout: Rate = setting(0.5, "Dropout rate on the input of each layer.")
    scaling: Scaling = setting("row", SCALING)


@dataclass(frozen=True)
class GCNIIConfig(InputConfig):
    """The settings; the defaults are those of the paper on Cora, with 16 layers instead of 64."""

    predicts_numbers: ClassVar[bool] = True
    layers: Count = setting(16, "Graph convolutions: the neighbourhood that a node sees, in edges.")
    hidden: Count = setting(64, "Width of the hidden layers.")
    dropout: Rate = setting(0.6, "Dropout rate on the input of each layer.")
    alpha: Share = setting(0.1, "Share α of the first layer in every other one.")
    theta: Positive = setting(0.5, "Strength θ of the weights: layer l uses a share ln(θ / l + 1) of them.")
    scaling: Scaling = setting("row", SCALING)


def _register(
    name: str, config: type[Any], classes: str, title: str, about: str, colour: str, adapts: bool = False, **facts: Any
) -> None:
    """Register a method; `classes` is its module in `model` and how the name of its class begins there.

    Those that adapt to the graph have a function in `choose.adapt`.
    """
    adapt = f"hiergcn.choose.adapt:for_{name.replace('-', '_')}" if adapts else None
    method = f"hiergcn.model.{classes}Method"
    register_method(name, config, method, title=title, about=about, colour=colour, adapt=adapt, **facts)


_WITH_FEATURES: dict[str, Any] = {"reason_without_features": None}
_FROM_EDGES: dict[str, Any] = {
    "reason": "the edges say more than the features",
    "reason_without_features": "labels spread along the edges say most",
}

_about = "The paper's network: convolve, coarsen, refine back, classify (Hu et al., 2019)."
_facts = _WITH_FEATURES | {"reason": "coarser levels of the graph, which reach far, help here"}
_register("hgcn", HGCNConfig, "hgcn:HGCN", "H-GCN", _about, "blue", adapts=True, recomputes=True, **_facts)
_about = "Random propagation over graph and hierarchy, then a small network; for few labels."
_price = EpochPrice(0.0033)
_register("hgcn-plus", HGCNPlusConfig, "hgcn_plus:HGCNPlus", "H-GCN+", _about, "vermilion", adapts=True, price=_price)
_about = "Graph convolutions, two by default (Kipf & Welling, 2017)."
_price = EpochPrice(0.0011, 0.35e-9)
_register("gcn", GCNConfig, "baselines.gcn:GCN", "GCN", _about, "amber", adapts=True, price=_price)
_about = "Graph attention (Veličković et al., 2018)."
_register("gat", GATConfig, "baselines.gat:GAT", "GAT", _about, "green", package="torch_geometric")
_about = "A perceptron, then personalised PageRank of its outputs (Gasteiger et al., 2019)."
_register("appnp", APPNPConfig, "baselines.appnp:APPNP", "APPNP", _about, "sky", price=EpochPrice(0.0027, 0.78e-9))
_about = "A perceptron on the features alone, without edges."
_price = EpochPrice(0.0007, 0.38e-9)
_facts = _WITH_FEATURES | {"reason": "the features say more than the edges"}
_register("mlp", MLPConfig, "baselines.mlp:MLP", "MLP", _about, "brown", adapts=True, price=_price, **_facts)
_home = "baselines.label_propagation"
_about = "Labels spread along the edges, without features (Zhou et al., 2004)."
_facts = _FROM_EDGES | {"title": "label propagation", "about": _about, "colour": "green"}
_register("label-propagation", LabelPropagationConfig, f"{_home}:LabelPropagation", **_facts)
_about = "Every node is the mean of its neighbours, without features (Zhu et al., 2003)."
_register("harmonic", LabelOnlyConfig, f"{_home}:Harmonic", "harmonic function", _about, "pink", **_FROM_EDGES)
_about = "The mean number, or the shares of the classes: a floor for all others."
_facts = _WITH_FEATURES | {"reason": "neither features nor edges say more than the mean"}
_register("constant", LabelOnlyConfig, f"{_home}:Constant", "constant", _about, "grey", **_facts)
_about = "A node beside the mean of its neighbours, in each layer (Hamilton et al., 2017)."
_facts = _WITH_FEATURES | {"reason": "a node's own {features} and those of its neighbours say different things"}
_facts |= {"price": EpochPrice(0.0014, 1.1e-9)}
_register("graphsage", GraphSAGEConfig, "baselines.graphsage:GraphSAGE", "GraphSAGE", _about, "olive", **_facts)
_about = "A deep GCN that keeps its first layer in sight (Chen et al., 2020)."
_register("gcnii", GCNIIConfig, "baselines.gcnii:GCNII", "GCNII", _about, "violet")
_about = "Random propagation and consistency training (Feng et al., 2020)."
_price = EpochPrice(0.0026, 0.39e-9, 4.6e-9)
_register("grand", GRANDConfig, "baselines.grand:GRAND", "GRAND", _about, "wine", price=_price)
