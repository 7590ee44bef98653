"""Products of replicas: their layout, and that a ReLU in place may follow."""

import torch

from hiergcn.model.ops.dense import _nodes_first_product


def test_a_product_of_replicas_lies_by_nodes_and_can_be_changed_in_place() -> None:
    left, right = torch.randn(3, 5, 4), torch.randn(3, 4, 2)
    found = _nodes_first_product(left, right)
    torch.testing.assert_close(found, left @ right)
    assert found.stride() == (2, 6, 1)
    assert not found._is_view()
