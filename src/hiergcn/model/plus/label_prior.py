r"""What the training labels say of every other node, spread along the edges: a prior that needs no features.

.. math:: F^{(t+1)} = \alpha \hat A F^{(t)} + (1 - \alpha) Y, \qquad G_{ic} = \frac{F_{ic}}{\sum_j F_{jc}}, \qquad
   Q_{ic} = (1 - \epsilon) \frac{G_{ic}}{\sum_d G_{id}} + \frac{\epsilon}{C}

Y holds a 1 for the class of each training node; F begins as Y and takes ten such steps. G gives every class the same
mass over the graph, so that a label on a node with many neighbours does not drown the others (class mass normalisation
of Zhu, Ghahramani & Lafferty, ICML 2003, with equal classes). A node that no label reaches has all classes alike.
"""

import torch
from torch import Tensor

from hiergcn.model.method import Labelled
from hiergcn.model.ops.sparse import propagate

_SPREAD = 0.5  # α
_STEPS = 10
_ALIKE = 0.01  # ε
_TINY = 1e-12


def label_prior(adjacency: Tensor, labelled: Labelled, n_classes: int) -> Tensor:
    """log Q for the normalised adjacency Â; (n, classes)."""
    one = torch.ones((), device=labelled.nodes.device)
    Y = torch.zeros(adjacency.shape[0], n_classes, device=labelled.nodes.device)
    Y = Y.index_put((labelled.nodes, labelled.classes), one)
    F = Y
    for _ in range(_STEPS):
        F = _SPREAD * propagate(adjacency, F) + (1.0 - _SPREAD) * Y
    G = F / F.sum(dim=0).clamp_min(_TINY)
    Q = G / G.sum(dim=1, keepdim=True).clamp_min(_TINY)
    return ((1.0 - _ALIKE) * Q + _ALIKE / n_classes).log()
