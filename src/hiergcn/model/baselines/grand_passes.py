"""All random passes of a training step of GRAND on a CPU, with the draws of one pass after the other.

Without X̄, the passes are more columns of one propagation, and X W is the same for all of them unless X has dropout.
With X̄, batch normalisation and dropout are done on the propagated columns while they are in the cache; see
`ops.cpu_propagation`. Its product is X̄ W for X̄ = M (γ x̂ + β), where x̂ has a mean of 0 and a variance of 1 and M is
the dropout mask: (M x̂) (γ W) + M (β W), so that no gradient as wide as X̄ is needed.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from hiergcn.model.ops.cpu_propagation import masked_product, spread_entries, spread_features
from hiergcn.model.ops.dense import dense_product
from hiergcn.model.ops.dropout import Dropout, Mask, draw_mask
from hiergcn.model.ops.replicas import apply
from hiergcn.model.ops.sparse import Features, feature_dropout

if TYPE_CHECKING:
    from hiergcn.model.baselines.grand import GRAND

Drawn = tuple[Tensor, list[Mask | None]]
"""X̄ W of every pass, (S, n, hidden), and the dropout masks of the second layer."""


def passes_at_once(model: "GRAND", features: Features) -> Tensor:
    """Return the logits of S passes; (n, f) -> (S, n, classes)."""
    H, masks = _from_products(model, features) if model.graph.smoothed is None else _from_features(model, features)
    H = (H + model.first_bias).relu_()
    if model.config.batch_norm:
        H = torch.stack([model.hidden_norm(one) for one in H])
    drawn = [mask for mask in masks if mask is not None]
    if drawn:
        H = apply(Dropout, H, replace(drawn[0], seeds=tuple(seed for mask in drawn for seed in mask.seeds)))
    logits = dense_product(H.flatten(0, 1), model.second) + model.second_bias  # (S n, classes)
    return logits.view(*H.shape[:2], -1)


def _from_products(model: "GRAND", features: Features) -> Drawn:
    """Propagate X W of all passes, each with its own dropped nodes."""
    rate, generator = model.config.input_dropout, model.generator
    products: list[Tensor] = []
    masks = []
    for _ in range(model.config.passes):
        keep = model._kept_nodes()
        if rate or not products:
            product = feature_dropout(features, rate, generator) @ model.first
        products.append(product * keep)
        masks.append(_hidden_mask(model))
    return model.graph.spread(torch.stack(products)), masks


def _from_features(model: "GRAND", features: Features) -> Drawn:
    """Propagate X in every pass, and multiply it by W."""
    assert isinstance(features, Tensor)
    norm, rate, graph = model.input_norm, model.config.input_dropout, model.graph
    weight: Tensor = model.first
    shift = epsilon = by_column = None
    if isinstance(norm, nn.BatchNorm1d):
        weight, shift, epsilon = norm.weight.unsqueeze(1) * weight, norm.bias.unsqueeze(1) * weight, norm.eps
    else:
        by_column = graph.by_column
    products, masks = [], []
    for _ in range(model.config.passes):
        keep = model._kept_nodes()
        assert isinstance(keep, Tensor)
        mask = draw_mask(rate, features.shape, features.device, model.generator)
        if by_column is not None:
            panels = spread_entries(graph.spread.dense, by_column, keep, mask)
        else:
            panels, mean, variance = spread_features(graph.spread.stacked, features, keep, mask, epsilon)
        if isinstance(norm, nn.BatchNorm1d):
            _track(norm, mean, variance, len(features))
        if mask is None and shift is not None:
            products.append(masked_product(panels, weight) + shift.sum(dim=0))
        else:
            products.append(masked_product(panels, weight, shift, mask))
        masks.append(_hidden_mask(model))
    return torch.stack(products), masks


def _hidden_mask(model: "GRAND") -> Mask | None:
    shape = model.graph.n_nodes, model.config.hidden
    return draw_mask(model.config.hidden_dropout, shape, model.first.device, model.generator)


@torch.no_grad()
def _track(norm: nn.BatchNorm1d, mean: Tensor, variance: Tensor, n: int) -> None:
    """Update the running statistics, as the module itself does."""
    assert norm.momentum is not None
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    norm.running_mean.lerp_(mean, norm.momentum)
    norm.running_var.lerp_(variance * (n / max(n - 1, 1)), norm.momentum)
    norm.num_batches_tracked += 1
