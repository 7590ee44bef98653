"""Linear maps and their gradients."""

import torch
from torch import Tensor

from hiergcn.model.ops.dense import add_product
from hiergcn.model.ops.sparse import linear_map


def doubled(dense: Tensor) -> Tensor:
    """Return 2 H as a view of a larger tensor, as the GPU kernels do."""
    n, width = dense.shape
    larger = torch.empty(n + 2, 1, width)
    larger[:n, 0] = 2.0 * dense
    return larger.transpose(0, 1)[:, :n].squeeze(0)


def test_a_product_is_added_in_place_to_the_result_of_a_map() -> None:
    H, S, W = (torch.randn(shape, requires_grad=True) for shape in ((4, 3), (4, 2), (2, 3)))
    weight = torch.randn(4, 3)
    total = add_product(linear_map(H, doubled, doubled), S, W)
    torch.testing.assert_close(total, 2.0 * H + S @ W)
    found = torch.autograd.grad((total * weight).sum(), (H, S, W))
    expected = torch.autograd.grad(((2.0 * H + S @ W) * weight).sum(), (H, S, W))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
