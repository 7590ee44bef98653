r"""Propagation through a graph and its hierarchy: H-GCN's coarsening and refining, linear and without parameters.

.. math:: P = \sum_{l=0}^{L} \beta_l \, B_l \Big( \frac{1}{K_l + 1} \sum_{k=0}^{K_l} \hat A_l^k \Big) B_l^\top,
   \qquad B_l = M_{0 \to l} (M_{0 \to l}^\top M_{0 \to l})^{-1/2}

M_{0→l} groups nodes into the hyper-nodes of level l. The columns of B_l have length 1, so B_l B_lᵀ H gives each node
the mean of its hyper-node. P is symmetric with eigenvalues between -1 and 1, so its gradient is P again. It is computed
level by level, as in H-GCN: sums go down, and the result of each level is added on the way up.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hiergcn.coarsening import Hierarchy
from hiergcn.model.baselines.grand import mixed_order
from hiergcn.model.levels import HierarchyTensors
from hiergcn.model.ops.cpu_propagation import Spread, Stacked, stacked_levels


class HierarchicalPropagation(Spread):
    """P of one graph, from the share β_l and the order K_l of each level. A share of 0 leaves a level out."""

    def __init__(
        self, hierarchy: Hierarchy, shares: Sequence[float], orders: Sequence[int], device: torch.device
    ) -> None:
        self.shares, self.orders = tuple(shares), tuple(orders)
        used = max((i for i, share in enumerate(shares) if share), default=0)
        self.levels = HierarchyTensors(hierarchy, used).to(device).levels
        self.weights = [level.node_weight for level in hierarchy.levels[: used + 1]]
        roots = [np.sqrt(weight, dtype=np.float32) for weight in self.weights]
        self.roots = [torch.from_numpy(root).unsqueeze(1).to(device) for root in roots]  # (n_l, 1)
        self.entries = sum(level.adjacency.values.numel() for level in self.levels)

    def stack(self) -> Stacked:
        adjacencies = [level.adjacency.scipy for level in self.levels]
        groups = [level.group.numpy() for level in self.levels[:-1]]
        used = len(self.levels)
        return stacked_levels(adjacencies, self.weights, groups, self.shares[:used], self.orders[:used])

    def plain(self, H: Tensor) -> Tensor:
        finer: list[Tensor] = []  # input of each level but the coarsest
        for level in self.levels[:-1]:
            finer.append(H)  # (n_i, d)
            H = level.pool(H)  # (n_{i+1}, d)
        spread = self._at_level(len(finer), H)
        for i in reversed(range(len(finer))):
            spread = self.levels[i].unpool(spread)
            if self.shares[i]:
                spread = spread + self._at_level(i, finer[i])
        return spread

    def _at_level(self, i: int, H: Tensor) -> Tensor:
        root = self.roots[i]
        return mixed_order(self.levels[i].adjacency, self.orders[i], H / root) * (self.shares[i] / root)
