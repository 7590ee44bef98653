"""What a setting is: a field of a dataclass that says which values it takes and what it means.

    @dataclass(frozen=True)
    class GCNConfig(InputConfig):
        hidden: Count = setting(16, "Width of the hidden layers.")

The dataclass refuses wrong values. `settings_of` lists its fields for the shell, for help and for completion.

Below stand the groups of settings that methods share: of inputs made from the graph and its labels (`model.inputs`
makes these), of training, and of coarsening, with the names of the grouping strategies.
"""

import math
import types
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cache
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from hiergcn.errors import InputError


class Limits(NamedTuple):
    """A test of a value, and the values that pass it in words."""

    allow: Callable[[Any], bool]
    words: str


def at_least(low: int) -> Limits:
    """Return the limits of whole numbers of at least `low`."""
    words = f"a whole number of at least {low}"
    return Limits(lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= low, words)


Whole = Annotated[int, at_least(0)]
Count = Annotated[int, at_least(1)]
Rate = Annotated[float, Limits(lambda value: 0.0 <= value < 1.0, "a rate from 0 up to, but not including, 1")]
Share = Annotated[float, Limits(lambda value: 0.0 <= value <= 1.0, "a number from 0 to 1")]
TrueShare = Annotated[float, Limits(lambda value: 0.0 < value < 1.0, "a number between 0 and 1")]
Positive = Annotated[float, Limits(lambda value: 0.0 < value < math.inf, "a number above 0")]
NonNegative = Annotated[float, Limits(lambda value: 0.0 <= value < math.inf, "a number of at least 0")]


def setting(default: Any, about: str) -> Any:
    """Return a field of a dataclass of settings, with its default and its meaning."""
    return field(default=default, metadata={"about": about})


class Setting(NamedTuple):
    """A field of a dataclass of settings."""

    name: str
    default: Any
    about: str
    kind: type[Any]
    """int, float, bool or str."""
    limits: Limits
    is_optional: bool = False
    """Whether it may be None."""
    group: str = ""
    """model, train or coarsen."""

    @property
    def values(self) -> str:
        """The values that it takes, in words."""
        return self.limits.words + (", or none" if self.is_optional else "")

    def check(self, value: Any) -> None:
        """Refuse a value that it does not take."""
        if not (value is None and self.is_optional) and not self.limits.allow(value):
            raise InputError(f"{self.name} is {value!r}; give {self.values}.")

    def parsed(self, given: Any) -> Any:
        """Return a value of the right type; text is parsed, so that `--set hidden=64` works. Refuse other values."""
        value = given
        if isinstance(given, str):
            word = given.lower()
            if self.is_optional and word in ("none", "null"):
                value = None
            elif self.kind is bool:
                value = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(word, given)
            elif self.kind in (int, float):
                try:
                    value = self.kind(given)
                except ValueError:
                    raise InputError(f"{self.name} is {given!r}; give {_ANY[self.kind].words}.") from None
        self.check(value)
        return value


_ANY = {
    bool: Limits(lambda value: isinstance(value, bool), "true or false"),
    int: Limits(lambda _: True, "a whole number"),
    float: Limits(lambda _: True, "a number"),
    str: Limits(lambda _: True, "a name"),
}


class CheckedConfig:
    """Base of dataclasses of settings: raises an `InputError` that names the setting with a wrong value."""

    removed: ClassVar[dict[str, Any]] = {}
    """Settings of older runs, with the value that changes nothing."""

    def __post_init__(self) -> None:
        config: Any = type(self)
        for name, setting in settings_of(config).items():
            setting.check(getattr(self, name))


@cache
def settings_of(config: type[Any]) -> dict[str, Setting]:
    """Return the fields of a dataclass of settings, by name. A field with another default keeps its base's meaning.

    A field is an int, float, str, bool or Literal, one of these with `Limits`, or one of all these or None.
    """
    meanings = dict[str, str]()
    for base in reversed(config.__mro__):
        declared = getattr(base, "__dataclass_fields__", {})
        meanings |= {name: part.metadata["about"] for name, part in declared.items() if part.metadata}
    kinds, settings = get_type_hints(config, include_extras=True), {}
    for part in fields(config):
        kind = kinds[part.name]
        kind, *others = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
        if get_origin(kind) is Annotated:
            of_type, limits = get_args(kind)
        elif get_origin(kind) is Literal:
            *choices, last = get_args(kind)
            of_type, limits = str, Limits((*choices, last).__contains__, f"{', '.join(map(str, choices))} or {last}")
        else:
            of_type, limits = kind, _ANY[kind]
        about, is_optional = meanings.get(part.name, ""), types.NoneType in others
        settings[part.name] = Setting(part.name, part.default, about, of_type, limits, is_optional)
    return settings


@dataclass(frozen=True)
class MethodConfig(CheckedConfig):
    """Base of the settings of a method, and what is known of the method without importing torch."""

    uses_hierarchy: ClassVar[bool] = False
    closed_form: ClassVar[bool] = False
    """Whether the first step learns everything, without gradients. Then no training setting has an effect."""
    predicts_numbers: ClassVar[bool] = False
    """Whether its models also learn numbers: built for one class, they return one column, and `Labelled.loss` of it is
    their objective."""
    label_only: ClassVar[bool] = False
    """Whether a model is its training labels alone. On another graph it learns again from those that it finds there."""


Scaling = Literal["row", "l2", "binary", "standard", "none"]
SCALINGS: tuple[Scaling, ...] = get_args(Scaling)
SCALING = (
    "Scaling of the features: rows that sum to 1 (row) or have length 1 (l2), 1 for non-zeros (binary), columns of "
    "mean 0 and deviation 1 (standard), or none."
)


@dataclass(frozen=True)
class InputConfig(MethodConfig):
    """Settings that every method with features has."""

    removed: ClassVar[dict[str, Any]] = {"fade": 0.0, "column_dropout": 0.0}
    _: KW_ONLY
    harmonic: bool = setting(False, "Add the training labels, diffused over the graph to convergence, as columns.")
    sharp: bool = setting(
        False, "Diffuse harmonic columns so that borders between classes move to bottlenecks of the graph."
    )
    degrees: bool = setting(
        False, "Take a node's degree, its neighbours' and its clustering coefficient as the only features."
    )
    hop_counts: bool = setting(
        False, "Add the logarithm of the number of nodes within 1, 2, 4, ..., 64 hops as columns."
    )
    hop_means: bool = setting(False, "Add the mean features of the nodes within 1, 2, 4, ..., 32 hops as columns.")
    nearness: bool = setting(False, "Add a perceptron over the hops to the nearest training label of each class.")
    nearness_shares: bool = setting(
        False, "Let that perceptron see the shares of the classes among the training labels around a node, too."
    )
    nearness_weight: TrueShare = setting(0.5, "Weight of that perceptron in the mean with the network.")


@dataclass(frozen=True)
class TrainConfig(CheckedConfig):
    """Settings of the training loop; the defaults are the paper's (Section 4.1, "Parameter Settings")."""

    learning_rate: Positive = setting(0.03, "Learning rate, the same in every epoch.")
    optimiser: Literal["adam", "sgd"] = setting("adam", "Adam, or plain gradient descent.")
    epochs: Count = setting(250, "Training epochs, one step over the whole graph each, with validation after each.")
    l2: NonNegative = setting(0.0007, "Factor λ of the penalty λ/2 ‖θ‖² on the weight matrices.")
    loss: Literal["sum", "mean"] = setting(
        "sum", "The text sums the cross-entropy over the labelled nodes. Reference: the mean."
    )
    selection: Literal["accuracy", "loss"] = setting(
        "accuracy",
        "Epoch whose weights are kept: best validation accuracy, ties by lower validation loss; or lowest loss alone.",
    )
    patience: Count | None = setting(
        None, "Epochs without improvement, by the selection rule, after which training stops; None never stops early."
    )
    class_weight: Literal["none", "balanced"] = setting(
        "none",
        "`balanced` weighs the loss of each node by n / (classes * nodes of its class), counted over the training "
        "nodes, so that rare classes count as much as common ones. Accuracies, also those that select, are not "
        "weighted.",
    )
    batches: Count = setting(
        1,
        "Subgraphs per epoch, cut along the hierarchy and drawn anew in each epoch. Gradients are accumulated over "
        "them, then one step is taken. 1 trains on the whole graph, as the paper does. More need less memory and more "
        "time, and each epoch leaves out the edges between its subgraphs.",
    )
    batch_validation: bool = setting(
        False,
        "Evaluate in batches, too, which leaves out the edges between them; the ranks of torchrun share these batches. "
        "By default that is done only if the whole graph does not fit into memory.",
    )
    recompute: bool = setting(
        False,
        "Compute each layer again in the backward pass instead of keeping its intermediate results: less memory, half "
        "as long again, the same result.",
    )

    @property
    def selection_rule(self) -> str:
        """The rule in words, stated with every result."""
        if self.selection == "accuracy":
            return "epoch of best validation accuracy, ties by lower validation loss"
        return "epoch of lowest validation loss"


if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import scipy.sparse as sp


class Strategy(Protocol):
    """One way to group the nodes of a level into hyper-nodes.

    Any function with this signature is one: give it as `CoarsenConfig(strategy=function)`, or name it with
    `register_strategy`.
    """

    def __call__(
        self,
        adjacency: "sp.csr_array",  # (n, n), canonical and symmetric
        node_weight: "npt.NDArray[np.int64]",  # (n,), original nodes in each node
        config: "CoarsenConfig",
        rng: "np.random.Generator",
        /,
    ) -> "npt.NDArray[Any]":
        """Return a label of 0..n-1 for each node, (n,): nodes with the same label become one hyper-node.

        The labels themselves do not matter: hyper-nodes are numbered afterwards, by smallest member.
        """


S = TypeVar("S", bound=Strategy)

STRATEGIES: dict[str, Strategy] = {}
"""Those registered so far."""
_HOME = "hiergcn.coarsening"  # registers ours when it is imported, which settings alone do not need


def register_strategy(name: str) -> Callable[[S], S]:
    """Decorate a strategy to register it as `CoarsenConfig(strategy=name)`, in saved hierarchies too."""

    def register(strategy: S) -> S:
        if STRATEGIES.setdefault(name, strategy) is not strategy:
            raise InputError(f"A grouping strategy named {name!r} exists already; choose another name.")
        return strategy

    return register


def strategy_names() -> tuple[str, ...]:
    """Return the names of the registered strategies, in alphabetical order."""
    import_module(_HOME)
    return tuple(sorted(STRATEGIES))


def find_strategy(strategy: str | Strategy) -> Strategy:
    """Return the strategy itself if it is given by name."""
    if not isinstance(strategy, str):
        return strategy
    if strategy not in strategy_names():
        raise InputError(f"There is no grouping strategy {strategy!r}; choose one of {', '.join(strategy_names())}.")
    return STRATEGIES[strategy]


def strategy_name(strategy: str | Strategy) -> str:
    """Return the name to save: as registered, else the function's own."""
    if isinstance(strategy, str):
        return strategy
    names = (name for name, known in STRATEGIES.items() if known is strategy)
    return next(names, str(getattr(strategy, "__name__", type(strategy).__name__)))


@dataclass(frozen=True)
class CoarsenConfig(CheckedConfig):
    """How nodes are grouped. The defaults follow the paper's text; `CoarsenConfig.reference()` the authors' code."""

    strategy: str | Callable[..., Any] = setting(
        "hgcn",
        "`hgcn` (the paper's equivalence and similarity grouping), `random`, `heavy-edge`, `two-hop`, a registered "
        "name, or a function (see `Strategy`).",
    )
    similarity: Literal["node_weight", "degree"] = setting(
        "node_weight",
        "D in the similarity A_jk / sqrt(D_j D_k): the node weight, as in the text, or the weighted degree, self-loop "
        "included. Reference: the authors' code divides by the degree (and reads the edge weight at a wrong index, "
        "which we do not repeat).",
    )
    equivalence_limit: Count | None = setting(
        None,
        "The most nodes that equivalence grouping puts into one hyper-node: None for whole classes, 2 for the pairs of "
        "the paper's text, 1 for no equivalence grouping.",
    )
    max_node_weight: Count | None = setting(
        None,
        "A pair whose node weights sum to more is not matched; equivalence grouping has no such limit. None for no "
        "limit. Reference: 50 in the authors' code.",
    )
    isolated: Literal["alone", "merge"] = setting(
        "alone",
        "Nodes without neighbours: each stays alone, since it shares no neighbours, or all are one equivalence class. "
        "Reference: merged in the authors' code.",
    )
    loops_are_neighbours: bool = setting(
        False,
        "Whether a node with a self-loop, as hyper-nodes have, is its own neighbour when neighbours are compared and "
        "counted. Reference: it is in the authors' code.",
    )
    seed: Whole = setting(0, "Seed of the strategies that draw at random; `hgcn` does not.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.strategy, str) and not callable(self.strategy):
            raise InputError(f"The strategy must be a name or a function, not {self.strategy!r}.")
        if isinstance(self.strategy, str) and self.strategy != "hgcn":
            find_strategy(self.strategy)

    @classmethod
    def reference(cls) -> "CoarsenConfig":
        """Return the choices of the authors' code."""
        return cls(similarity="degree", max_node_weight=50, isolated="merge", loops_are_neighbours=True)
