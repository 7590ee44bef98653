"""Settings of the inputs that are made from the graph and its labels; `model.inputs` makes them."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, get_args

from hiergcn.settings.fields import MethodConfig, TrueShare, setting

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
