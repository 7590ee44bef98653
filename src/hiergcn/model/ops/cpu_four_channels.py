r"""H-GCN's layer with four channels on a CPU with AVX-512: all that happens to a row, in one pass each way.

.. math:: Y = \hat A X, \qquad Z = Y \theta, \qquad G = \sum_j w_j \operatorname{ReLU}(Z_j)

Z is four times as wide as G. Here its rows, and those of its gradient, are used while they are in registers or the
first cache; separate operations read and write all of them up to five times. Sums over rows have a fixed order, so
results do not depend on the number of threads.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hiergcn.compiled.jit import kernel
from hiergcn.compiled.simd import (
    FLOATS,
    load,
    multiply_add,
    positive,
    repeat_fours,
    splat,
    store,
    sum_fours,
    where_positive,
)
from hiergcn.model.ops.cpu import CsrParts, array_of, in_threads, prefetch_row_of

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.integer]

CHANNELS = 4
_TILE = 4  # rows whose products are computed side by side
_BLOCK = 32  # rows that are in the first cache together
_PART = 512  # rows, at least, whose contributions to the gradients of θ and w are added first
_PARTS = 64  # such parts, at most
_SUMS = 4  # parts of the gradient by a θ with a row for each feature, which threads sum side by side
_NEAR = 8  # multiplications of numbers in registers that take as long as one of a sparse product
_AHEAD = np.uint64(16)  # entries between the prefetch of a row and its use
_CACHED = 2**19  # floats that fit into a core's caches
_FOUR = np.uint64(4 * FLOATS)  # columns of a tile, those of sixteen columns of G


def suits(H: Tensor, S: Tensor | None, theta: Tensor, w: Tensor) -> bool:
    """Return whether `forward` and `backward` take a layer of [H ‖ S] with such weights on this processor."""
    k, width = theta.shape
    if H.shape[1] + (0 if S is None else S.shape[1]) != k or H.dtype != torch.float32:
        return False  # separate operations say what is wrong
    return FLOATS <= k <= width and k % _TILE == 0 and _has_four_channels(theta, w)


def suits_features(theta: Tensor, w: Tensor, p: int) -> bool:
    """Return whether `mixed_product` and `feature_gradients` take such weights and p columns of S."""
    return p > 0 and p % _TILE == 0 and _has_four_channels(theta, w)


@cache
def _has_wide_registers() -> bool:
    return bool(torch.backends.cpu.get_cpu_capability() == "AVX512")


def _has_four_channels(theta: Tensor, w: Tensor) -> bool:
    if len(w) != CHANNELS or theta.shape[1] % int(_FOUR) or theta.dtype != torch.float32:
        return False
    return _has_wide_registers()


class Passed(NamedTuple):
    """The result of a layer, and what its backward pass needs: empty if there is none.

    Rows of Y and Z beyond n, up to a whole tile, mean nothing.
    """

    G: Tensor  # (n, d)
    Y: Tensor  # (n, k), or up to three rows more
    Z: Tensor  # (n, 4 d), or up to three rows more


def forward(adjacency: CsrParts, X: Tensor, theta: Tensor, w: Tensor, keep: bool) -> Passed:
    """Return the layer of X, (m, k), for Â, (n, m), and θ, (k, 4 d). `keep` what the backward pass needs."""
    n, (k, width) = len(adjacency[0]) - 1, theta.shape
    G = _empty(_whole(n, _TILE), width // CHANNELS)
    Y, Z = (_empty(_whole(n, _TILE) * keep, columns) for columns in (k, width))
    given = *adjacency, *map(array_of, (X, theta, w, Y, Z, G))
    in_threads(_forward, given, n, n * k * width // _NEAR, multiple=_TILE)
    return Passed(G[:n], Y, Z)


class Gradients(NamedTuple):
    """Gradients of a loss by the inputs of the product and of the channels."""

    Y: Tensor | None  # (n, k)
    theta: Tensor  # (k, 4 d)
    w: Tensor  # (4,)


def backward(grad: Tensor, Y: Tensor, Z: Tensor, theta: Tensor, w: Tensor, by_Y: bool) -> Gradients:
    """Return the gradients by Y, if wanted, θ and w, given that by G, (n, d)."""
    n, (k, width) = len(grad), theta.shape
    rows, parts = _parts(n)
    product, transposed = (_empty(_whole(n, _TILE), k), theta.t()) if by_Y else (theta[:0], theta[:0])
    by_theta, by_w = _empty(parts, k, width), _empty(parts, FLOATS)
    given = *map(array_of, (grad, Y, Z, w, transposed, product, by_theta, by_w)), rows
    in_threads(_backward, given, n, (1 + by_Y) * n * k * width // _NEAR, multiple=rows)
    return Gradients(product[:n] if by_Y else None, _total(by_theta), _by_channel(by_w))


class FeatureGradients(NamedTuple):
    """Gradients of a loss by the inputs of the first layer."""

    S: Tensor  # (n, p)
    theta: Tensor  # (f + p, 4 d)
    w: Tensor  # (4,)


def mixed_product(adjacency: CsrParts, H: Tensor, w: Tensor, keep: bool) -> tuple[Tensor, Tensor]:
    """Return G and Z for Z = Â H, (n, 4 d). `keep` Z, which the backward pass needs; else it is empty."""
    n, width = H.shape
    G, Z = _empty(n, width // CHANNELS), _empty(n * keep, width)
    in_threads(_mixed_product, (*adjacency, *map(array_of, (H, w, Z, G))), n, len(adjacency[1]) * width)
    return G, Z


def feature_gradients(
    grad: Tensor, Z: Tensor, w: Tensor, theta: Tensor, p: int, adjacency: CsrParts, X: tuple[Tensor, Tensor, Tensor]
) -> FeatureGradients:
    """Return the gradients by S, θ and w for Z = Âᵀ X θ, given that by G, (n, d). The last p columns of X are S."""
    n, width = Z.shape
    rows, parts = _parts(n)
    by_Z, by_S, by_w = _empty(n, width), _empty(n, p), _empty(parts, FLOATS)
    in_threads(_rows_before_channels, (*map(array_of, (grad, Z, w, by_Z, by_w)), rows), n, n * width, multiple=rows)
    parts = max(1, min(_SUMS, len(X[1]) // (_SUMS * len(theta))))
    rows = max(_BLOCK, _whole(-(-n // parts), _BLOCK))
    by_theta = _empty(-(-n // rows), *theta.shape)
    given = *adjacency, *map(array_of, (*X, by_Z, theta[-p:], by_S, by_theta)), rows
    in_threads(_feature_gradients, given, n, (len(X[1]) + len(adjacency[1])) * width, multiple=rows)
    return FeatureGradients(by_S, _total(by_theta), _by_channel(by_w))


def _parts(n: int) -> tuple[int, int]:
    """Return the number of rows whose contributions are added first, and how many such parts there are."""
    rows = max(_PART, _whole(-(-n // _PARTS), _BLOCK))
    return rows, -(-n // rows)


def _total(parts: Tensor) -> Tensor:
    return parts[0] if len(parts) == 1 else parts.sum(dim=0)


def _by_channel(by_w: Tensor) -> Tensor:
    return by_w.view(len(by_w) * FLOATS // CHANNELS, CHANNELS).sum(dim=0)


def _empty(*shape: int) -> Tensor:
    return torch.empty(shape, dtype=torch.float32)


def _whole(n: int, size: int) -> int:
    return -(-n // size) * size


@kernel(plain=None)
def _load_four(rows: Floats, i: Any, k: Any) -> Any:
    """Return the floats k to k + 63 of row i."""
    size = np.uint64(FLOATS)
    return load(rows, i, k), load(rows, i, k + size), load(rows, i, k + size + size), load(rows, i, k + _FOUR - size)


@kernel(plain=None)
def _store_four(rows: Floats, i: Any, k: Any, values: Any) -> None:
    size = np.uint64(FLOATS)
    store(rows, i, k, values[0])
    store(rows, i, k + size, values[1])
    store(rows, i, k + size + size, values[2])
    store(rows, i, k + _FOUR - size, values[3])


@kernel(plain=None)
def _add_four(totals: Any, number: Any, values: Any) -> Any:
    x, (a, b, c, d), (p, q, r, s) = splat(number), totals, values
    return multiply_add(a, x, p), multiply_add(b, x, q), multiply_add(c, x, r), multiply_add(d, x, s)


@kernel(plain=None)
def _add_three(totals: Any, number: Any, values: Any) -> Any:
    x, (a, b, c), (p, q, r) = splat(number), totals, values
    return multiply_add(a, x, p), multiply_add(b, x, q), multiply_add(c, x, r)


@kernel(plain=None)
def _tile_of_four(left: Floats, i: Any, right: Floats, k: Any) -> Any:
    """Return columns k to k + 63 of rows i to i + 3 of a product of matrices."""
    zero = splat(np.float32(0.0))
    a = b = c = d = (zero, zero, zero, zero)
    for j in range(np.uint64(right.shape[0])):
        values = _load_four(right, j, k)
        a = _add_four(a, left[i, j], values)
        b = _add_four(b, left[i + np.uint64(1), j], values)
        c = _add_four(c, left[i + np.uint64(2), j], values)
        d = _add_four(d, left[i + np.uint64(3), j], values)
    return a, b, c, d


@kernel(plain=None)
def _places(k: Any, width: Any) -> Any:
    """Return where three values of sixteen columns begin, from k on; the last columns may come twice."""
    last = width - np.uint64(FLOATS)
    return min(k, last), min(k + np.uint64(FLOATS), last), min(k + np.uint64(2 * FLOATS), last)


@kernel(plain=None)
def _product_of_four(left: Floats, i: Any, right: Floats, out: Floats, at: Any) -> None:
    """Write rows i to i + 3 of a product of matrices to rows `at` to at + 3."""
    width, zero, one = np.uint64(right.shape[1]), splat(np.float32(0.0)), np.uint64(1)
    for first in range(np.uint64(0), width, np.uint64(3 * FLOATS)):
        places = _places(first, width)
        a = b = c = d = (zero, zero, zero)
        for j in range(np.uint64(right.shape[0])):
            values = load(right, j, places[0]), load(right, j, places[1]), load(right, j, places[2])
            a = _add_three(a, left[i, j], values)
            b = _add_three(b, left[i + one, j], values)
            c = _add_three(c, left[i + one + one, j], values)
            d = _add_three(d, left[i + np.uint64(3), j], values)
        _store_three(out, at, places, a)
        _store_three(out, at + one, places, b)
        _store_three(out, at + one + one, places, c)
        _store_three(out, at + np.uint64(3), places, d)


@kernel(plain=None)
def _store_three(rows: Floats, i: Any, places: Any, values: Any) -> None:
    store(rows, i, places[0], values[0])
    store(rows, i, places[1], values[1])
    store(rows, i, places[2], values[2])


@kernel(plain=None)
def _sum_of_neighbours(
    row_start: Integers, column: Integers, values: Floats, X: Floats, flat: Floats, i: Any, out: Floats, at: Any
) -> None:
    """Write row i of a sparse product to row `at`."""
    width, zero = np.uint64(X.shape[1]), splat(np.float32(0.0))
    begin, end, last = np.uint64(row_start[i]), np.uint64(row_start[i + np.uint64(1)]), np.uint64(len(column) - 1)
    if X.size > _CACHED:
        for e in range(begin, end):
            prefetch_row_of(flat, column[min(e + _AHEAD, last)], width)
    for first in range(np.uint64(0), width, np.uint64(3 * FLOATS)):
        places = _places(first, width)
        sums = (zero, zero, zero)
        for e in range(begin, end):
            j = np.uint64(column[e])
            sums = _add_three(sums, values[e], (load(X, j, places[0]), load(X, j, places[1]), load(X, j, places[2])))
        _store_three(out, at, places, sums)


@kernel(plain=None)
def _repeated(w: Floats) -> Any:
    """Return the four weights, four times."""
    pattern = np.empty((1, FLOATS), np.float32)
    for j in range(np.uint64(FLOATS)):
        pattern[0, j] = w[j % np.uint64(CHANNELS)]
    return load(pattern, np.uint64(0), np.uint64(0))


@kernel(plain=None)
def _mix(Z: Any, weights: Any) -> Any:
    """Return sixteen columns of G."""
    zero = splat(np.float32(0.0))
    return sum_fours(
        multiply_add(zero, positive(Z[0]), weights),
        multiply_add(zero, positive(Z[1]), weights),
        multiply_add(zero, positive(Z[2]), weights),
        multiply_add(zero, positive(Z[3]), weights),
    )


@kernel(plain=0)
def _forward(
    row_start: Integers,
    column: Integers,
    values: Floats,
    X: Floats,
    theta: Floats,
    w: Floats,
    Y: Floats,
    Z: Floats,
    G: Floats,
    start: int,
    stop: int,
) -> None:
    """Compute rows of G, and of Y and Z unless they are empty."""
    weights, one, tile = _repeated(w), np.uint64(1), np.uint64(_TILE)
    flat, kept = X.ravel(), np.uint64(Y.size > 0)
    sums = Y if Y.size else np.empty((_TILE, X.shape[1]), np.float32)
    for i in range(np.uint64(start), np.uint64(stop), tile):
        first = i * kept
        for r in range(min(tile, np.uint64(stop) - i)):
            _sum_of_neighbours(row_start, column, values, X, flat, i + r, sums, first + r)
        for k in range(np.uint64(0), np.uint64(theta.shape[1]), _FOUR):
            a, b, c, d = _tile_of_four(sums, first, theta, k)
            if kept:
                _store_four(Z, i, k, a)
                _store_four(Z, i + one, k, b)
                _store_four(Z, i + one + one, k, c)
                _store_four(Z, i + np.uint64(3), k, d)
            to = k // np.uint64(CHANNELS)
            store(G, i, to, _mix(a, weights))
            store(G, i + one, to, _mix(b, weights))
            store(G, i + one + one, to, _mix(c, weights))
            store(G, i + np.uint64(3), to, _mix(d, weights))


@kernel(plain=None)
def _before_channels(
    grad: Floats, Z: Floats, weights: Any, first: Any, rows: Any, out: Floats, by_w: Floats, rows_of_part: Any
) -> None:
    """Write some rows of the gradient by Z to the first rows of `out`, and add to that by w of their part.

    Sums of few rows are added to the part's, so that no sum of floats has many terms.
    """
    zero, none, part = splat(np.float32(0.0)), np.uint64(0), first // np.uint64(rows_of_part)
    sums = zero
    for k in range(none, np.uint64(Z.shape[1]), _FOUR):
        for r in range(rows):
            a, b, c, d = _load_four(Z, first + r, k)
            p, q, s, t = repeat_fours(load(grad, first + r, k // np.uint64(CHANNELS)))
            sums = multiply_add(multiply_add(sums, p, positive(a)), q, positive(b))
            sums = multiply_add(multiply_add(sums, s, positive(c)), t, positive(d))
            by_a, by_b = multiply_add(zero, p, weights), multiply_add(zero, q, weights)
            by_c, by_d = multiply_add(zero, s, weights), multiply_add(zero, t, weights)
            by_Z = where_positive(a, by_a), where_positive(b, by_b), where_positive(c, by_c), where_positive(d, by_d)
            _store_four(out, r, k, by_Z)
    if first % np.uint64(rows_of_part) != none:
        sums = multiply_add(load(by_w, part, none), splat(np.float32(1.0)), sums)
    store(by_w, part, none, sums)


@kernel(plain=None)
def _accumulate(rows: Floats, i: Any, k: Any, values: Any) -> None:
    _store_four(rows, i, k, _add_four(values, np.float32(1.0), _load_four(rows, i, k)))


@kernel(plain=0)
def _backward(
    grad: Floats,
    Y: Floats,
    Z: Floats,
    w: Floats,
    theta_transposed: Floats,
    by_Y: Floats,
    by_theta: Floats,
    by_w: Floats,
    rows: int,
    start: int,
    stop: int,
) -> None:
    """Compute rows of the gradient by Y, unless it is empty, and for each `rows` of them what they add to θ and w."""
    weights, one, tile, block = _repeated(w), np.uint64(1), np.uint64(_TILE), np.uint64(_BLOCK)
    near = np.zeros((_BLOCK, Z.shape[1]), np.float32)
    for first in range(np.uint64(start), np.uint64(stop), block):
        part, count = first // np.uint64(rows), min(block, np.uint64(stop) - first)
        totals = by_theta[part]
        if first % np.uint64(rows) == np.uint64(0):
            totals[:] = np.float32(0.0)
        _before_channels(grad, Z, weights, first, count, near, by_w, rows)
        by_column, by_Z = Y[first : first + count].T, near[:count]
        for j in range(np.uint64(0), np.uint64(totals.shape[0]), tile):
            for k in range(np.uint64(0), np.uint64(Z.shape[1]), _FOUR):
                a, b, c, d = _tile_of_four(by_column, j, by_Z, k)
                _accumulate(totals, j, k, a)
                _accumulate(totals, j + one, k, b)
                _accumulate(totals, j + one + one, k, c)
                _accumulate(totals, j + np.uint64(3), k, d)
        if by_Y.size:
            for i in range(np.uint64(0), count, tile):
                _product_of_four(near, i, theta_transposed, by_Y, first + i)


@kernel(plain=None)
def _sum_of_four(values: Floats, column: Integers, H: Floats, k: Any, begin: Any, end: Any) -> Any:
    """Return columns k to k + 63 of the sum of rows of H with these weights."""
    zero = splat(np.float32(0.0))
    sums = (zero, zero, zero, zero)
    for e in range(begin, end):
        sums = _add_four(sums, values[e], _load_four(H, np.uint64(column[e]), k))
    return sums


@kernel(plain=None)
def _prefetch_rows(flat: Floats, column: Integers, begin: Any, end: Any, width: Any) -> None:
    last = np.uint64(len(column) - 1)
    for e in range(begin, end):
        prefetch_row_of(flat, column[min(e + _AHEAD, last)], width)


@kernel(plain=0)
def _mixed_product(
    row_start: Integers,
    column: Integers,
    values: Floats,
    H: Floats,
    w: Floats,
    Z: Floats,
    G: Floats,
    start: int,
    stop: int,
) -> None:
    weights, flat, width = _repeated(w), H.ravel(), np.uint64(H.shape[1])
    for i in range(np.uint64(start), np.uint64(stop)):
        begin, end = np.uint64(row_start[i]), np.uint64(row_start[i + np.uint64(1)])
        if H.size > _CACHED:
            _prefetch_rows(flat, column, begin, end, width)
        for k in range(np.uint64(0), width, _FOUR):
            sums = _sum_of_four(values, column, H, k, begin, end)
            if Z.size:
                _store_four(Z, i, k, sums)
            store(G, i, k // np.uint64(CHANNELS), _mix(sums, weights))


@kernel(plain=0)
def _rows_before_channels(
    grad: Floats, Z: Floats, w: Floats, out: Floats, by_w: Floats, rows: int, start: int, stop: int
) -> None:
    weights, block = _repeated(w), np.uint64(_BLOCK)
    for first in range(np.uint64(start), np.uint64(stop), block):
        _before_channels(grad, Z, weights, first, min(block, np.uint64(stop) - first), out[first:], by_w, rows)


@kernel(plain=0)
def _feature_gradients(
    row_start: Integers,
    column: Integers,
    values: Floats,
    X_start: Integers,
    X_column: Integers,
    X_values: Floats,
    by_Z: Floats,
    theta: Floats,
    by_S: Floats,
    by_theta: Floats,
    rows: int,
    start: int,
    stop: int,
) -> None:
    """Compute rows of the gradient by S, and for each `rows` of them what they add to θ; `theta` is S's part of it."""
    flat, none, one = by_Z.ravel(), np.uint64(0), np.uint64(1)
    near, dots = np.empty((1, by_Z.shape[1]), np.float32), np.empty((1, FLOATS), np.float32)
    for first in range(np.uint64(start), np.uint64(stop), np.uint64(rows)):
        totals = by_theta[first // np.uint64(rows)]
        totals[:] = np.float32(0.0)
        for i in range(first, min(first + np.uint64(rows), np.uint64(stop))):
            begin, end = np.uint64(row_start[i]), np.uint64(row_start[i + one])
            if by_Z.size > _CACHED:
                _prefetch_rows(flat, column, begin, end, np.uint64(by_Z.shape[1]))
            for k in range(none, np.uint64(by_Z.shape[1]), _FOUR):
                sums = _sum_of_four(values, column, by_Z, k, begin, end)
                _store_four(near, none, k, sums)
                for e in range(np.uint64(X_start[i]), np.uint64(X_start[i + one])):
                    j = np.uint64(X_column[e])
                    _store_four(totals, j, k, _add_four(_load_four(totals, j, k), X_values[e], sums))
            _dot_products(near, theta, dots, by_S, i)


@kernel(plain=None)
def _dot_products(row: Floats, theta: Floats, dots: Floats, out: Floats, i: Any) -> None:
    """Write the product of a single row and the transpose of θ to row i."""
    zero, none, one = splat(np.float32(0.0)), np.uint64(0), np.uint64(1)
    for j in range(none, np.uint64(theta.shape[0]), np.uint64(4)):
        a = b = c = d = zero
        for k in range(none, np.uint64(theta.shape[1]), np.uint64(FLOATS)):
            value = load(row, none, k)
            a = multiply_add(a, value, load(theta, j, k))
            b = multiply_add(b, value, load(theta, j + one, k))
            c = multiply_add(c, value, load(theta, j + one + one, k))
            d = multiply_add(d, value, load(theta, j + np.uint64(3), k))
        store(dots, none, none, sum_fours(a, b, c, d))
        for r in range(np.uint64(4)):
            q = r * np.uint64(4)
            out[i, j + r] = (dots[0, q] + dots[0, q + one]) + (dots[0, q + one + one] + dots[0, q + np.uint64(3)])
