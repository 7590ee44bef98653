r"""Labels diffused over a graph to convergence: the harmonic function of Zhu, Ghahramani & Lafferty (ICML 2003).

.. math:: (D - A)_{UU} F_U = A_{UL} Y_L

L are the nodes with a label, U all others: each node without a label holds the mean of its neighbours. Small graphs are
solved exactly by a sparse factorisation. Larger ones are solved by conjugate gradients. A few dozen steps with the
diagonal as preconditioner are enough if neighbourhoods grow fast; the factors of such a graph would be nearly full. If
not, the preconditioner is the factorisation, and on larger graphs the hierarchy as multigrid: smooth the error on a
level, pass what is left to the next, add its correction.

A sharp diffusion moves the borders between classes to the bottlenecks of the graph. It minimises the sum over edges of
w_ij |F_i - F_j|^p with p = 1.3 in place of 2 (the graph p-Laplacian), by two rounds in which each edge is weighted by
|F_i - F_j|^(p-2) of the last solution. An edge starts with the weight A_ij sqrt(d_i d_j), so hubs conduct better.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from hiergcn.coarsening.hierarchy import Hierarchy
from hiergcn.coarsening.multilevel import coarsen
from hiergcn.graph.split import stratified_folds

SMALL = 500
"""Most nodes without a label that are always solved by factorisation."""
EXACT = 3_000
"""The same if conjugate gradients are slow."""
EXACT_SPARSE = 100_000
"""The same if besides a node has at most four neighbours on average, as in streets and grids."""
TOLERANCE = 1e-6
"""Largest residual of conjugate gradients, relative to the right-hand side of each class."""
POWER = 1.3
"""The p of a sharp diffusion; it and the next two were chosen by validation accuracy on power grids."""
ROUNDS = 2
"""Times that a sharp diffusion weighs the edges again."""
_LEAST_DIFFERENCE = 0.03  # added to |F_i - F_j|, so that the weight of an edge between equals stays finite

_COARSEST = 1_000  # nodes at which coarsening stops and the factorisation takes over
_PLAIN_STEPS = 120  # with the diagonal as preconditioner
_FEWER_STEPS = 40  # of a large graph, whose hierarchy is worth more
_MOST_STEPS = 300
_DAMPING = 0.7  # of Jacobi's smoothing
_GROUND = 1e-8  # a part without labels is singular otherwise
_AT_ONCE = 80_000_000  # values that are solved side by side; each of the solver's six arrays has so many
_EDGES_AT_ONCE = 1_000_000

Floats = NDArray[np.float64]


class Diffusion:
    """Diffuses labels over one graph; the hierarchy is made when it is first needed."""

    def __init__(self, adjacency: sp.csr_array, sharp: bool = False) -> None:
        self.adjacency, self.rounds = adjacency, ROUNDS if sharp else 0
        if sharp:
            root = sp.diags_array(np.sqrt(adjacency.sum(axis=1)))
            self.adjacency = sp.csr_array(root @ adjacency @ root)
        self._hierarchy: Hierarchy | None = None

    def harmonic(self, nodes: NDArray[np.integer], labels: NDArray[Any], n_classes: int) -> Floats:
        """Return the share of each class at each node, (n, classes), or the numbers, (n, 1), if `n_classes` is 1.

        Labelled `nodes`, (m,), hold their labels. A part of the graph without any label gets the mean of the labels.
        """
        n, known = self.adjacency.shape[0], label_columns(labels, n_classes)
        prior = known.mean(axis=0) if len(nodes) else np.full(n_classes, 1.0 / n_classes if n_classes > 1 else 0.0)
        unknown = np.setdiff1d(np.arange(n), nodes)
        F, weights = np.zeros((n, n_classes)), self.adjacency
        F[nodes] = known
        for further in range(self.rounds, -1, -1) if unknown.size else ():
            A = weights[unknown]
            F[:] = 0.0
            F[nodes] = known - prior  # so that 0 is the answer far from any label
            F[unknown] = self._solve(_laplacian(A, unknown), A @ F, unknown)
            F += prior
            F = F if n_classes == 1 else np.clip(F, 0.0, 1.0)
            if further:
                weights = _weighted_by_agreement(self.adjacency, F)
        return F

    def cross_fitted(self, nodes: NDArray[np.integer], labels: NDArray[Any], n_classes: int) -> Floats:
        """Return the harmonic function; labelled nodes get theirs from the labels of the other folds."""
        F = self.harmonic(nodes, labels, n_classes)
        fold = stratified_folds(labels)
        for number in np.unique(fold):
            inside = fold == number
            F[nodes[inside]] = self.harmonic(nodes[~inside], labels[~inside], n_classes)[nodes[inside]]
        return F

    def label_weights(self, node: int, nodes: NDArray[np.integer]) -> Floats:
        """Return the weight of each label in the harmonic function at a node, (len(nodes),).

        The weights add up to 1, or to 0 if no label reaches the node. A node with a label has no other weight.
        """
        if node in nodes:
            return np.asarray(nodes == node, dtype=np.float64)
        unknown = np.setdiff1d(np.arange(self.adjacency.shape[0]), nodes)
        A = self.adjacency[unknown]
        unit = (unknown == node)[:, None].astype(np.float64)
        row = self._solve(_laplacian(A, unknown), unit, unknown)  # of the inverse, which is symmetric
        weights: Floats = (A[:, nodes].T @ row)[:, 0]
        return weights

    def _solve(self, system: sp.csr_array, right: Floats, unknown: NDArray[np.integer]) -> Floats:
        if len(unknown) <= SMALL:
            exact: Floats = splu(sp.csc_matrix(system)).solve(right)
            return exact
        solution = np.empty_like(right)
        strong: Callable[[Floats], Floats] | None = None
        inverse = 1.0 / system.diagonal()[:, None]
        steps = _PLAIN_STEPS if len(unknown) <= EXACT_SPARSE else _FEWER_STEPS
        columns = max(_AT_ONCE // len(unknown), 1)
        for first in range(0, right.shape[1], columns):
            B = right[:, first : first + columns]
            X, is_solved = np.zeros_like(B), False
            if strong is None:
                X, is_solved = conjugate_gradients(system, B, lambda R: inverse * R, X, steps)
            if not is_solved:
                strong = strong or self._preconditioner(system, unknown)
                X, _ = conjugate_gradients(system, B, strong, X)
            solution[:, first : first + columns] = X
        return solution

    def _preconditioner(self, system: sp.csr_array, unknown: NDArray[np.integer]) -> Callable[[Floats], Floats]:
        """Return the factorisation of a small or sparse system, else the hierarchy as multigrid."""
        n = self.adjacency.shape[0]
        if len(unknown) <= EXACT or (self.adjacency.nnz <= 4 * n and len(unknown) <= EXACT_SPARSE):
            factorised: Callable[[Floats], Floats] = splu(sp.csc_matrix(system)).solve
            return factorised
        self._hierarchy = self._hierarchy or coarsen(self.adjacency, int(np.log2(n / _COARSEST)) + 1)
        return multigrid(system, self._hierarchy, unknown)


def label_columns(labels: NDArray[Any], n_classes: int) -> Floats:
    """Return a 1 in the column of each label's class, (m, classes); a column of numbers if there is one class."""
    if n_classes == 1:
        return np.asarray(labels, dtype=np.float64)[:, None]
    columns: Floats = np.eye(n_classes)[labels]
    return columns


def conjugate_gradients(
    A: sp.csr_array, B: Floats, preconditioner: Callable[[Floats], Floats], X: Floats, steps: int = _MOST_STEPS
) -> tuple[Floats, bool]:
    """Solve A X = B, from X on, for all columns side by side; return X and whether the residual is small enough."""
    R = B - A @ X
    enough = TOLERANCE * np.linalg.norm(B, axis=0)
    P = Z = preconditioner(R)
    rz = np.einsum("ij,ij->j", R, Z)
    for _ in range(steps):
        if (np.linalg.norm(R, axis=0) <= enough).all():
            return X, True
        AP = A @ P
        step = _quotient(rz, np.einsum("ij,ij->j", P, AP))
        X += step * P
        R -= step * AP
        Z = preconditioner(R)
        before, rz = rz, np.einsum("ij,ij->j", R, Z)
        P = Z + _quotient(rz, before) * P
    return X, bool((np.linalg.norm(R, axis=0) <= enough).all())


def multigrid(
    A: sp.csr_array, hierarchy: Hierarchy, nodes: NDArray[np.integer], level: int = 0
) -> Callable[[Floats], Floats]:
    """Return a V-cycle from a level down as a symmetric preconditioner of A, the system of these nodes of the level."""
    inverse = 1.0 / A.diagonal()[:, None]
    if level == hierarchy.depth:
        return splu(sp.csc_matrix(A)).solve if A.shape[0] <= 10 * _COARSEST else lambda R: inverse * R
    above, group = np.unique(hierarchy.levels[level].grouping()[nodes], return_inverse=True)
    n = A.shape[0]
    M = sp.csr_array((np.ones(n), group.astype(np.int32), np.arange(n + 1)), shape=(n, len(above)))
    coarser = multigrid(sp.csr_array(M.T @ A @ M), hierarchy, above, level + 1)

    def cycle(R: Floats) -> Floats:
        X = _DAMPING * inverse * R
        X = X + M @ coarser(M.T @ (R - A @ X))
        smoothed: Floats = X + _DAMPING * inverse * (R - A @ X)
        return smoothed

    return cycle


def _weighted_by_agreement(adjacency: sp.csr_array, F: Floats) -> sp.csr_array:
    """Weigh each edge by |F_i - F_j|^(p-2), where |F_i - F_j| is half of the sum over the classes."""
    weighted = adjacency.copy()
    ends = np.repeat(np.arange(len(F)), np.diff(adjacency.indptr))
    for first in range(0, len(ends), _EDGES_AT_ONCE):
        part = slice(first, first + _EDGES_AT_ONCE)
        differ = 0.5 * np.abs(F[ends[part]] - F[adjacency.indices[part]]).sum(axis=1)
        weighted.data[part] *= (differ + _LEAST_DIFFERENCE) ** (POWER - 2.0)
    return weighted


def _laplacian(rows: sp.csr_array, unknown: NDArray[np.integer]) -> sp.csr_array:
    """Return D - A between nodes without a label, with a little more on the diagonal."""
    degree = rows.sum(axis=1)
    ground = _GROUND * np.maximum(degree, 1.0)
    return sp.csr_array(sp.diags_array(degree + ground) - rows[:, unknown])


def _quotient(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
