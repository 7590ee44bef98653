"""How a model is trained."""

from dataclasses import dataclass
from typing import Literal

from hiergcn.errors import InputError


@dataclass(frozen=True)
class TrainConfig:
    """Settings of the training loop; the defaults are the paper's (Section 4.1, "Parameter Settings")."""

    learning_rate: float = 0.03
    """Of the optimiser."""
    optimiser: Literal["adam", "sgd"] = "adam"
    """Adam, or plain gradient descent."""
    epochs: int = 250
    """Steps over the whole graph; validation follows each one."""
    l2: float = 0.0007
    """Factor λ of the penalty λ/2 ‖θ‖² on the weight matrices."""
    loss: Literal["sum", "mean"] = "sum"
    """The text sums the cross-entropy over the labelled nodes. Reference: the mean."""
    selection: Literal["accuracy", "loss"] = "accuracy"
    """Epoch whose weights are kept: best validation accuracy, ties by lower validation loss; or lowest loss alone."""

    patience: int | None = None
    """Epochs without a better one, by the selection rule, after which training ends; None goes on to the last."""

    class_weight: Literal["none", "balanced"] = "none"
    """`balanced` weighs the loss of each node by n / (classes * nodes of its class), counted over the training nodes,
    so that rare classes count as much as common ones. Accuracies, also those that select, stay as they are."""

    batches: int = 1
    """Parts of the graph, cut along the hierarchy and put together anew in each epoch, whose gradients it adds up, one
    part after the other. 1 takes the whole graph at once, as the paper does; more need less memory and more time, and
    leave out in each epoch the edges between its parts."""

    recompute: bool = False
    """Compute each layer once more in the backward pass instead of keeping what it made: less memory, half as long
    again, the same result."""

    def __post_init__(self) -> None:
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate is {self.learning_rate!r}; give a number above 0.")
        if not isinstance(self.epochs, int) or self.epochs < 1:
            raise InputError(f"epochs is {self.epochs!r}; give a whole number of at least 1.")
        if not self.l2 >= 0:
            raise InputError(f"l2 is {self.l2!r}; give a number of at least 0.")
        if self.loss not in ("sum", "mean"):
            raise InputError(f"loss is {self.loss!r}; give sum or mean.")
        if self.optimiser not in ("adam", "sgd"):
            raise InputError(f"optimiser is {self.optimiser!r}; give adam or sgd.")
        if self.patience is not None and (not isinstance(self.patience, int) or self.patience < 1):
            raise InputError(f"patience is {self.patience!r}; give a whole number of at least 1, or none.")
        if not isinstance(self.batches, int) or self.batches < 1:
            raise InputError(f"batches is {self.batches!r}; give a whole number of at least 1.")
        if self.class_weight not in ("none", "balanced"):
            raise InputError(f"class_weight is {self.class_weight!r}; give none or balanced.")
        if self.selection not in ("accuracy", "loss"):
            raise InputError(f"selection is {self.selection!r}; give accuracy or loss.")

    @property
    def selection_rule(self) -> str:
        """The rule in words, for every result to state."""
        if self.selection == "accuracy":
            return "epoch of best validation accuracy, ties by lower validation loss"
        return "epoch of lowest validation loss"
