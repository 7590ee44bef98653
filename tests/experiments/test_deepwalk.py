"""DeepWalk: sentences, embedding, SVM and the saved model."""

import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.datasets import planted_graph
from hiergcn.errors import MissingPackageError
from hiergcn.graph import Split
from hiergcn.graph.task import Task
from hiergcn.model.method import Labelled
from hiergcn_experiments.methods.deepwalk import DeepWalk, DeepWalkConfig, DeepWalkMethod, Sentences
from hiergcn_experiments.methods.walks import Walker

SMALL = DeepWalkConfig(walks=5, walk_length=10, window=3, embedding=8)


def built(config: DeepWalkConfig = SMALL, classes: int = 3) -> tuple[DeepWalk, Any, Labelled, np.ndarray]:
    graph = planted_graph(150, classes=classes, features=0, seed=5)
    task = Task.of(graph, Split.random(graph.truth, per_class=10, validation=20, seed=0))
    method = DeepWalkMethod(config)
    prepared = method.prepare(task, None, torch.device("cpu"))
    labelled = Labelled(torch.from_numpy(task.train.copy()), torch.from_numpy(task.train_labels.copy()))
    model = method.build(prepared, classes, torch.Generator().manual_seed(0))
    return model, prepared.features, labelled, graph.truth


def learnt(config: DeepWalkConfig = SMALL, classes: int = 3) -> tuple[DeepWalk, torch.Tensor, np.ndarray]:
    pytest.importorskip("gensim")
    model, X, labelled, labels = built(config, classes)
    model.step(X, labelled, torch.optim.SGD([torch.zeros(1)]), 1)
    return model, model(X), labels


def test_sentences_begin_at_every_node_and_can_be_read_twice() -> None:
    path = sp.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    sentences = Sentences(Walker.on(path), walks=4, length=3, seed=0)
    read = list(sentences)
    assert read == list(sentences)
    assert len(read) == 12
    starts = [sentence[0] for sentence in read]
    assert all(sorted(starts[i : i + 3]) == ["0", "1", "2"] for i in range(0, 12, 3))
    assert {tuple(sentence) for sentence in read} == {("0", "1", "0"), ("1", "0", "1"), ("2",)}


@pytest.mark.parametrize("classes", [2, 3])
def test_learns_from_the_edges_alone(classes: int) -> None:
    _, logits, labels = learnt(DeepWalkConfig(walks=20, walk_length=20, window=5, embedding=16), classes)
    assert logits.shape == (150, classes)
    assert (logits.argmax(dim=1).numpy() == labels).mean() > 0.8


def test_a_restored_model_predicts_without_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    model, logits, _ = learnt()
    monkeypatch.setattr(Walker, "walks", None)
    restored, X, _, _ = built()
    restored.load_state_dict(model.state_dict())
    assert torch.equal(restored(X), logits)


def test_without_gensim_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    model, X, labelled, _ = built()
    with pytest.raises(MissingPackageError, match=r"pip install gensim"):
        model.step(X, labelled, torch.optim.SGD([torch.zeros(1)]), 1)
