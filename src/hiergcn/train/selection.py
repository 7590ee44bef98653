"""The training history, and the best epoch by validation, for several models at once.

Everything stays on the models' device, so that a GPU need not wait for the host after each epoch.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from hiergcn.model.method import activated
from hiergcn.model.ops import gpu_kernels
from hiergcn.settings.training import TrainConfig
from hiergcn.train.learners import Evaluation

HISTORY = ("train_loss", "validation_loss", "train_accuracy", "validation_accuracy")
"""The accuracy of numbers is `Measured.score`."""


_LARGE, _BUFFER = 2**18, 2**24  # entries of a tensor, and of the memory through which it is copied

_STATE = ("history", "epoch", "length", "best_epoch", "rank", "failed", "over")


class Selection:
    """Scores of each epoch, and logits and weights of each model's best one.

    A model is over if a loss is not finite or its patience has run out; later epochs do not count.
    """

    def __init__(self, config: TrainConfig, models: int, device: torch.device) -> None:
        self.config = config
        self.history = torch.full((config.epochs, len(HISTORY), models), math.nan, dtype=torch.float64, device=device)
        self.epoch = torch.zeros(1, dtype=torch.int64, device=device)
        self.length, self.best_epoch = (torch.zeros(models, dtype=torch.int64, device=device) for _ in range(2))
        self.rank = torch.full((2, models), -math.inf, dtype=torch.float64, device=device)
        self.failed, self.over = (torch.zeros(models, dtype=torch.bool, device=device) for _ in range(2))
        self.best: dict[str, Tensor] = {}

    def offer(self, loss: Tensor, scores: Evaluation, weights: Callable[[], dict[str, Tensor]]) -> None:
        """Record an epoch and keep it for each model whose best it is; `loss` is the training loss.

        On a CPU, `weights` is called only if a model is better than before.
        """
        parts = (loss, scores.validation_loss, scores.train_accuracy, scores.validation_accuracy)
        row = torch.stack(parts).double()  # (4, models)
        self.history.index_copy_(0, self.epoch, row.unsqueeze(0))
        self.epoch += 1
        going = ~self.over
        finite = row[:2].isfinite().all(dim=0)
        rank = torch.stack([row[3], -row[1]]) if self.config.selection == "accuracy" else torch.stack([-row[1], row[3]])
        higher = (rank[0] > self.rank[0]) | ((rank[0] == self.rank[0]) & (rank[1] > self.rank[1]))
        better = going & finite & higher
        torch.where(better, rank, self.rank, out=self.rank)
        torch.where(better, self.epoch, self.best_epoch, out=self.best_epoch)
        torch.where(going, self.epoch, self.length, out=self.length)
        self.failed |= going & ~finite
        self.over |= self.failed
        if self.config.patience is not None:
            self.over |= self.epoch - self.best_epoch >= self.config.patience
        if better.is_cuda or not self.best or better.any():  # on a GPU the last test would wait for it
            state = {f"weights.{name}": value for name, value in weights().items()}
            state |= {} if scores.logits is None else {"logits": scores.logits}
            if not self.best:
                self.best = {name: torch.empty_like(value) for name, value in state.items()}
            for name, value in state.items():
                if better.is_cuda and gpu_kernels() and value.dim() == 3 and value.stride(2) == 1:
                    gpu_kernels().keep_better(better, value, self.best[name])
                else:
                    chosen = better.view(-1, *[1] * (value.dim() - 1))
                    torch.where(chosen, value, self.best[name], out=self.best[name])

    def complete(self, logits: Callable[[dict[str, Tensor]], Tensor]) -> None:
        """Compute the logits of the best epochs by their weights, if evaluations gave none of all nodes."""
        if "logits" not in self.best:
            self.best["logits"] = logits({name.removeprefix("weights."): value for name, value in self.best.items()})

    def accuracies(self) -> list[float]:
        """Return the best validation accuracy of each model so far."""
        row = 0 if self.config.selection == "accuracy" else 1
        accuracy = self.rank[row].tolist()
        return [value if epoch else math.nan for value, epoch in zip(accuracy, self.best_epoch.tolist(), strict=True)]

    def state(self) -> dict[str, Tensor]:
        """Return all tensors, by name."""
        return {name: getattr(self, name) for name in _STATE} | {f"best.{k}": value for k, value in self.best.items()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go on from tensors that `state` returned."""
        for name in _STATE:
            getattr(self, name).copy_(state[name])
        device = self.history.device
        best = {name.removeprefix("best."): value for name, value in state.items() if name.startswith("best.")}
        self.best = {name: value.to(device) for name, value in best.items()}

    def to_host(self) -> list[tuple[Tensor, dict[str, Tensor]]]:
        """Return probabilities, or numbers, and weights of each model's best epoch, on the host."""
        probabilities = _each_on_host(activated(self.best["logits"]))
        named = {name.removeprefix("weights."): value for name, value in self.best.items() if name != "logits"}
        weights = {name: _each_on_host(value) for name, value in named.items()}
        return [(own, {name: each[k] for name, each in weights.items()}) for k, own in enumerate(probabilities)]


def _each_on_host(stacked: Tensor) -> list[Tensor]:
    """Return the tensor of each model on the host, a copy of its own, so that the others can be freed.

    Every copy waits for the GPU, so small tensors take one for all models. Large ones go through a buffer that the GPU
    writes to directly: it is up to 40 times as fast as into other memory, and 10 times with the copy from there.
    """
    if stacked.is_cuda and stacked[0].numel() >= _LARGE:
        return [_through_buffer(value) for value in stacked]
    whole = stacked.cpu()
    if len(whole) == 1:
        return [whole[0].contiguous()]
    return [value.clone(memory_format=torch.contiguous_format) for value in whole]


def _through_buffer(value: Tensor) -> Tensor:
    copy, flat = torch.empty(value.shape, dtype=value.dtype), value.reshape(-1)
    buffer = torch.empty(min(flat.numel(), _BUFFER), dtype=value.dtype, pin_memory=True)
    for part, into in zip(flat.split(_BUFFER), copy.view(-1).split(_BUFFER), strict=True):
        into.copy_(buffer[: len(part)].copy_(part))
    return copy
