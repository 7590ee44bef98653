r"""A prior over the classes of every node: the training labels, propagated along the edges.

.. math:: F^{(t+1)} = \alpha \hat A F^{(t)} + (1 - \alpha) Y, \qquad G_{ic} = \frac{F_{ic}}{\sum_j F_{jc}}, \qquad
   Q_{ic} = (1 - \epsilon) \frac{G_{ic}}{\sum_d G_{id}} + \frac{\epsilon}{C}

Y holds a 1 for the class of each training node; F starts as Y and takes ten steps. G gives every class the same mass
over the graph, so that a label on a hub does not drown the others (class mass normalisation of Zhu, Ghahramani &
Lafferty, ICML 2003, with equal classes). All classes are equal for a node that no label reaches.
"""

import torch
from torch import Tensor

from hiergcn.model.method import Labelled
from hiergcn.model.ops.sparse import propagate

_ALPHA = 0.5
_STEPS = 10
_EPSILON = 0.01
_TINY = 1e-12


def label_prior(adjacency: Tensor, labelled: Labelled, n_classes: int) -> Tensor:
    """Return log Q for the normalised adjacency Â; (n, classes)."""
    one = torch.ones((), device=labelled.nodes.device)
    Y = torch.zeros(adjacency.shape[0], n_classes, device=labelled.nodes.device)
    Y = Y.index_put((labelled.nodes, labelled.classes), one)
    F = Y
    for _ in range(_STEPS):
        F = _ALPHA * propagate(adjacency, F) + (1.0 - _ALPHA) * Y
    G = F / F.sum(dim=0).clamp_min(_TINY)
    Q = G / G.sum(dim=1, keepdim=True).clamp_min(_TINY)
    return ((1.0 - _EPSILON) * Q + _EPSILON / n_classes).log()
