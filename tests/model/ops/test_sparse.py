"""Maps and products that the layers are made of."""

import torch
from torch import Tensor

from hiergcn.model.ops.sparse import linear_map, with_product


def doubled(dense: Tensor) -> Tensor:
    """Part of something larger, as the kernels for a GPU leave it."""
    n, width = dense.shape
    lying = torch.empty(n + 2, 1, width)
    lying[:n, 0] = 2.0 * dense
    return lying.transpose(0, 1)[:, :n].squeeze(0)


def test_a_product_is_added_to_what_a_map_made() -> None:
    H, S, W = (torch.randn(shape, requires_grad=True) for shape in ((4, 3), (4, 2), (2, 3)))
    weight = torch.randn(4, 3)
    total = with_product(linear_map(H, doubled, doubled), S, W)
    torch.testing.assert_close(total, 2.0 * H + S @ W)
    found = torch.autograd.grad((total * weight).sum(), (H, S, W))
    expected = torch.autograd.grad(((2.0 * H + S @ W) * weight).sum(), (H, S, W))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
