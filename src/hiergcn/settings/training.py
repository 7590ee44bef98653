"""Settings of the training loop."""

from dataclasses import dataclass
from typing import Literal

from hiergcn.settings.fields import CheckedConfig, Count, NonNegative, Positive, setting


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
