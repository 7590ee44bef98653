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

SMALL = 500
"""Most nodes without a label that are always solved by factorisation."""
EXACT = 3_000
"""The same if conjugate gradients are slow."""
EXACT_SPARSE = 100_000
"""The same if besides a node has at most four neighbours on average, as in streets and grids."""
TOLERANCE = 1e-6
"""Largest residual of conjugate gradients, relative to the right-hand side of each class."""
FOLDS = 5
"""Parts of the training nodes, each of which gets values from the labels of the others."""
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
    """Diffuses labels over one graph; the hierarchy is made when it is first needed.

    Args:
        adjacency: symmetric, (n, n), non-negative weights.
        sharp: whether borders between classes move to bottlenecks.
    """

    def __init__(self, adjacency: sp.csr_array, sharp: bool = False) -> None:
        self.adjacency, self.rounds = adjacency, ROUNDS if sharp else 0
        if sharp:
            root = sp.diags_array(np.sqrt(adjacency.sum(axis=1)))
            self.adjacency = sp.csr_array(root @ adjacency @ root)
        self._hierarchy: Hierarchy | None = None

    def harmonic(self, nodes: NDArray[np.integer], labels: NDArray[Any], n_classes: int) -> Floats:
        """Return the share of each class at each node, (n, classes), or the numbers, (n, 1).

        Nodes with a label hold it. A part of the graph without any label gets the mean of the labels.

        Args:
            nodes: with a label, (m,).
            labels: their classes, or numbers if `n_classes` is 1, (m,).
            n_classes: number of classes.
        """
        F = self._solved(self.adjacency, nodes, labels, n_classes)
        for _ in range(self.rounds):
            F = self._solved(_weighted_by_agreement(self.adjacency, F), nodes, labels, n_classes)
        return F

    def _solved(
        self, weights: sp.csr_array, nodes: NDArray[np.integer], labels: NDArray[Any], n_classes: int
    ) -> Floats:
        n = weights.shape[0]
        F = np.zeros((n, n_classes))
        F[nodes] = label_columns(labels, n_classes)
        prior = F[nodes].mean(axis=0) if len(nodes) else np.full(n_classes, 1.0 / n_classes if n_classes > 1 else 0.0)
        unknown = np.setdiff1d(np.arange(n), nodes)
        if not unknown.size:
            return F
        A = weights[unknown]
        F[nodes] -= prior  # so that 0 is the answer far from any label
        right = A @ F
        system = _laplacian(A, unknown)
        F[unknown] = self._solve(system, right, unknown)
        F += prior
        return F if n_classes == 1 else np.clip(F, 0.0, 1.0)

    def cross_fitted(self, nodes: NDArray[np.integer], labels: NDArray[Any], n_classes: int) -> Floats:
        """Return the harmonic function; labelled nodes get theirs from the labels of the other folds."""
        F = self.harmonic(nodes, labels, n_classes)
        fold = folds(labels)
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
        asked = (unknown == node)[:, None].astype(np.float64)
        reached = self._solve(_laplacian(A, unknown), asked, unknown)  # the system is symmetric: a row by its column
        weights: Floats = (A[:, nodes].T @ reached)[:, 0]
        return weights

    def _solve(self, system: sp.csr_array, right: Floats, unknown: NDArray[np.integer]) -> Floats:
        if len(unknown) <= SMALL:
            exact: Floats = splu(sp.csc_matrix(system)).solve(right)
            return exact
        solution = np.empty_like(right)
        strong: Callable[[Floats], Floats] | None = None
        n = len(self.adjacency.indptr) - 1
        is_sparse = self.adjacency.nnz <= 4 * n and len(unknown) <= EXACT_SPARSE
        inverse = 1.0 / system.diagonal()[:, None]
        steps = _PLAIN_STEPS if len(unknown) <= EXACT_SPARSE else _FEWER_STEPS
        columns = max(_AT_ONCE // len(unknown), 1)
        for first in range(0, right.shape[1], columns):
            B = right[:, first : first + columns]
            found, is_solved = None, False
            if strong is None:
                found, is_solved = conjugate_gradients(system, B, lambda R: inverse * R, steps)
            if not is_solved:
                if strong is None and (len(unknown) <= EXACT or is_sparse):
                    strong = splu(sp.csc_matrix(system)).solve
                elif strong is None:
                    self._hierarchy = self._hierarchy or coarsen(self.adjacency, int(np.log2(n / _COARSEST)) + 1)
                    strong = _Multigrid(system, self._hierarchy, unknown)
                found, _ = conjugate_gradients(system, B, strong, start=found)
            solution[:, first : first + columns] = found
        return solution


def label_columns(labels: NDArray[Any], n_classes: int) -> Floats:
    """Return a 1 in the column of each label's class, (m, classes); a column of numbers if there is one class."""
    if n_classes == 1:
        return np.asarray(labels, dtype=np.float64)[:, None]
    columns = np.zeros((len(labels), n_classes))
    columns[np.arange(len(labels)), labels] = 1.0
    return columns


def folds(labels: NDArray[Any], n_folds: int = FOLDS) -> NDArray[np.int64]:
    """Return the fold of each labelled node, always the same; classes, or large and small numbers, are spread."""
    order = np.lexsort((np.random.default_rng(0).random(len(labels)), labels))
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.arange(len(labels)) % n_folds
    return fold


def conjugate_gradients(
    A: sp.csr_array,
    B: Floats,
    preconditioner: Callable[[Floats], Floats],
    steps: int = _MOST_STEPS,
    start: Floats | None = None,
) -> tuple[Floats, bool]:
    """Solve A X = B for all columns of B side by side; return X and whether the residual is within the tolerance."""
    X, R = (np.zeros_like(B), B.copy()) if start is None else (start, B - A @ start)
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


class _Multigrid:
    """One V-cycle over the levels of the hierarchy, as a symmetric preconditioner."""

    def __init__(self, system: sp.csr_array, hierarchy: Hierarchy, unknown: NDArray[np.integer]) -> None:
        self.grids: list[tuple[sp.csr_array, sp.csr_array]] = []  # the system of each level, and the grouping matrix
        A, inside = system, unknown  # nodes of the level that hold a node without a label
        for level in hierarchy.levels[:-1]:
            inside, group = np.unique(level.grouping()[inside], return_inverse=True)
            n = A.shape[0]
            M = sp.csr_array((np.ones(n), group.astype(np.int32), np.arange(n + 1)), shape=(n, len(inside)))
            self.grids.append((A, M))
            A = sp.csr_array(M.T @ A @ M)
        inverse = 1.0 / A.diagonal()[:, None]
        is_small = A.shape[0] <= 10 * _COARSEST
        self.solve_coarsest = splu(sp.csc_matrix(A)).solve if is_small else lambda R: inverse * R

    def __call__(self, R: Floats, level: int = 0) -> Floats:
        if level == len(self.grids):
            solved: Floats = self.solve_coarsest(R)
            return solved
        A, M = self.grids[level]
        inverse = 1.0 / A.diagonal()[:, None]
        X = _DAMPING * inverse * R
        X = X + M @ self(M.T @ (R - A @ X), level + 1)
        smoothed: Floats = X + _DAMPING * inverse * (R - A @ X)
        return smoothed


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
