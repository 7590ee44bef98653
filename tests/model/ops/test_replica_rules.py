"""Layouts of replica tensors under `vmap`."""

import pytest
import torch

from hiergcn.model.ops.replicas import concat_columns, nodes_first, vmap


@pytest.mark.parametrize("axis", [0, 1, None])
def test_columns_of_replicas_are_concatenated_in_nodes_first_layout(axis: int | None) -> None:
    """The replicas of `left` are on the first or second axis, or shared."""
    right = torch.randn(3, 4, 2)
    left = torch.randn(4, 5) if axis is None else torch.randn(3, 4, 5).movedim(0, axis)
    together = vmap(concat_columns, in_dims=(axis, 0))(left, right)
    each = left.expand(3, 4, 5) if axis is None else left.movedim(axis, 0)
    assert torch.equal(together, torch.cat([each, right], dim=2))
    assert together.transpose(0, 1).is_contiguous()
    assert torch.equal(concat_columns(each[0], right[0]), together[0])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_nodes_first_changes_the_layout_alone(axis: int) -> None:
    each = torch.randn(3, 4, 5)
    together = vmap(nodes_first, in_dims=axis)(each.movedim(0, axis).contiguous())
    assert torch.equal(together, each)
    assert together.transpose(0, 1).is_contiguous()
    assert nodes_first(each) is each
