"""Checkpoints: a run that is killed and goes on ends with the same bits."""

from pathlib import Path

import numpy as np
import pytest
import torch

from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import checkpoint_of, fit
from hiergcn.run.run import Run
from hiergcn.settings.settings import settings_for
from hiergcn.train.checkpoint import Checkpoint
from hiergcn.train.events import EpochDone, FitEvent


class KilledError(Exception):
    """Stands for the end of the process."""


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(120, classes=3, degree=6, features=8, seed=1)


def trained(graph: Graph, folder: Path | None, changes: dict[str, object], kill: tuple[int, int] | None) -> Run:
    """Train two seeds; `kill` is the seed and the epoch after which the process ends."""
    split = Split.random(graph.truth, per_class=6, validation=30, seed=0)
    settings = settings_for(str(changes.get("model", "hgcn"))).override(
        {"epochs": 5, **{name: value for name, value in changes.items() if name != "model"}}
    )
    checkpoint = None if folder is None else checkpoint_of(graph, folder, every=0.0)

    def on_event(event: FitEvent) -> None:
        if isinstance(event, EpochDone) and kill == (event.seed, event.epoch):
            raise KilledError

    return fit(graph, split, settings, [0, 1], device="cpu", checkpoint=checkpoint, on_event=on_event)


@pytest.mark.parametrize(
    "changes",
    [
        {"levels": 2, "hidden": 8},
        {"levels": 2, "hidden": 8, "batches": 3},
        {"model": "hgcn-plus", "levels": 2, "hidden": 8},
        {"model": "gcn", "optimiser": "sgd", "patience": 2},
        {"model": "grand", "batch_norm": True, "order": 2},
    ],
    ids=lambda changes: "-".join(map(str, changes.values())),
)
def test_the_same_bits(graph: Graph, tmp_path: Path, changes: dict[str, object]) -> None:
    whole = trained(graph, None, changes, None)
    for kill in ((0, 2), (1, 3)):
        with pytest.raises(KilledError):
            trained(graph, tmp_path / "c", changes, kill)
    resumed = trained(graph, tmp_path / "c", changes, None)
    assert np.array_equal(resumed.probabilities, whole.probabilities)
    again = trained(graph, tmp_path / "c", changes, None)  # killed after its last seed, before anything was written
    assert np.array_equal(again.probabilities, whole.probabilities)
    columns = ["seed", "epoch", "train_loss", "validation_loss"]
    assert np.array_equal(resumed.history[columns].to_numpy(), whole.history[columns].to_numpy(), equal_nan=True)
    for one, other in zip(resumed.members, whole.members, strict=True):
        assert one.seed == other.seed
        assert all(torch.equal(weight, other.weights[name]) for name, weight in one.weights.items())


def test_training_does_not_start_again(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(KilledError):
        trained(graph, tmp_path / "c", {"levels": 2}, (1, 3))
    with pytest.raises(KilledError):  # seed 1 begins with epoch 3: the checkpoint is written after the callback
        trained(graph, tmp_path / "c", {"levels": 2}, (1, 3))
    resumed = trained(graph, tmp_path / "c", {"levels": 2}, (1, 2))  # would be killed if epoch 2 came again
    assert len(resumed.outcomes) == 2


def test_a_checkpoint_of_another_graph_is_refused(graph: Graph, tmp_path: Path) -> None:
    checkpoint_of(graph, tmp_path / "c")
    with pytest.raises(InputError, match="is of a run with another graph"):
        checkpoint_of(planted_graph(120, classes=3, seed=2), tmp_path / "c")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "c")
    checkpoint.write("one", {"epoch": 3}, {"w": torch.ones(2)})
    assert checkpoint.read("two") is None
    assert checkpoint.read("one") is not None
    (tmp_path / "c" / "one.safetensors").write_bytes(b"torn")
    with pytest.raises(InputError, match=r"one.safetensors is damaged"):
        checkpoint.read("one")


def test_a_full_disk_does_not_end_training(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds that were finished once were lost with it."""
    whole = trained(graph, None, {"levels": 2}, None)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    found = trained(graph, tmp_path / "c", {"levels": 2}, None)
    assert np.array_equal(found.probabilities, whole.probabilities)
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["run.json"]
