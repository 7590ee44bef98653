"""The settings of a network of two layers, as Kipf & Welling's GCN and the perceptron beside it have them."""

from dataclasses import dataclass

from hiergcn.model.config_checks import check_rates, check_scaling, check_whole
from hiergcn.model.features import Scaling


@dataclass(frozen=True)
class TwoLayerConfig:
    """The defaults are those of Kipf & Welling (ICLR 2017) on citation networks."""

    hidden: int = 16
    """Width of the hidden layer."""
    dropout: float = 0.5
    """Rate of dropout on what each layer takes in."""
    scaling: Scaling = "row"
    """Of the features: rows that sum to 1."""

    def __post_init__(self) -> None:
        check_whole(self, hidden=1)
        check_rates(self, "dropout")
        check_scaling(self)
