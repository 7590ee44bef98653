"""A single model with its own training step."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from hiergcn.coarsening import coarsen
from hiergcn.datasets import planted_graph
from hiergcn.graph import Split
from hiergcn.graph.task import Task
from hiergcn.model.hgcn import HGCN
from hiergcn.model.inputs import build_method
from hiergcn.model.method import Labelled, NodeModel
from hiergcn.settings.fields import TrainConfig
from hiergcn.settings.methods import HGCNConfig
from hiergcn.train.learners import Learner, LearningNodes, labelled_nodes


class Counting(NodeModel):
    """A model whose loss is a Python number, as without gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def step(self, *_: Any) -> float:
        return 3.0

    def forward(self, features: Any) -> Tensor:
        return torch.as_tensor(features)


def test_the_loss_is_on_the_device_of_the_nodes() -> None:
    some = torch.zeros(2, dtype=torch.int64, device="meta")  # stands for a GPU
    nodes = LearningNodes(Labelled(some, some), Labelled(some, some))
    learner = Learner(Counting(), torch.ones(2, 2), nodes, TrainConfig())
    loss = learner.step(1)
    assert loss.shape == (1,)
    assert loss.device.type == "meta"


CPU = torch.device("cpu")
PLAIN = HGCNConfig(levels=2, hidden=8, channels=1, weight_embedding=2, dropout=0.0)


def learner_of(config: HGCNConfig) -> Learner:
    graph = planted_graph(200, seed=1)
    task = Task.of(graph, Split.random(graph.truth, per_class=5, validation=40, seed=0))
    method = build_method("hgcn", config)
    prepared = method.prepare(task, coarsen(task.adjacency, config.levels), CPU)
    model = method.build(prepared, task.n_classes, torch.Generator().manual_seed(0))
    return Learner(model, prepared.features, labelled_nodes(task, CPU), TrainConfig())


@pytest.mark.parametrize("changes", [{}, {"networks": 2}, {"nearness": True}, {"nearness": True, "networks": 2}])
def test_one_forward_pass_serves_evaluation_and_next_step(changes: dict[str, Any]) -> None:
    shared, apart = (learner_of(replace(PLAIN, **changes)) for _ in range(2))
    assert not shared.model.draws
    apart.model.draws = True
    passes: list[None] = []
    for layer in shared.model.modules():
        if isinstance(layer, HGCN):
            layer.output.register_forward_hook(lambda *_: passes.append(None))
    for epoch in range(1, 5):
        assert torch.equal(shared.step(epoch), apart.step(epoch))
        ours: Any = shared.evaluate().logits
        theirs: Any = apart.evaluate().logits
        assert torch.equal(ours, theirs)
        assert not ours.requires_grad
    for name, value in shared.weights().items():
        assert torch.equal(value, apart.weights()[name])
    assert len(passes) == 5 * changes.get("networks", 1)  # of the first step, then one per evaluation


def test_a_restored_learner_takes_its_step_from_the_restored_weights() -> None:
    learner = learner_of(PLAIN)
    learner.step(1)
    state = {name: value.clone() for name, value in (learner.training_state() or {}).items()}
    learner.evaluate()
    second = learner.step(2)
    learner.evaluate()
    learner.load_training_state(state)
    assert torch.equal(learner.step(2), second)
