r"""Propagation through a graph and its hierarchy without parameters, for H-GCN+ and GRAND.

.. math:: P = \sum_l U_l \frac{\beta_l}{K_l + 1} \sum_{k=0}^{K_l} \tilde A_l^k D_l,
   \qquad \tilde A_l = R_l^{-1} \hat A_l R_l, \quad R_l = \operatorname{diag}(\sqrt{w_l})

D_l takes the mean over each hyper-node of level l, w_l is the number of nodes in it, and U_l gives each node the row of
its hyper-node. Â_l is D^-1/2 (A_l + I) D^-1/2. With one level, P is the mean of powers of Â.

On a CPU, 32 columns of all nodes stay in a core's caches through all products, and each row's sum stays in registers.
Threads take other columns: results do not depend on their number. What follows the propagation in a training pass,
batch normalisation and dropout, is done while the columns are still in the cache.

If the graph is small and X sparse, P X has fewer multiplications with dense P: one row of P for each entry of X.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.overrides import has_torch_function

from hiergcn.compiled.csr import Rows
from hiergcn.compiled.jit import kernel
from hiergcn.compiled.simd import load, multiply_add, splat, store
from hiergcn.model.ops.cpu import in_threads
from hiergcn.model.ops.dropout import Mask
from hiergcn.model.ops.replicas import apply
from hiergcn.model.ops.sparse import SparseMatrix, linear_map

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.integer]

COLUMNS = 32
_FEW_NODES = 4096  # whose P takes 64 MB
_CHUNK = 64  # rows that are summed in single precision
_SMALL = 2**19  # multiplications of a step that are left to other sparse products
_CACHED = 2**18  # floats that fit into a core's cache
_NO_MOMENTS = np.empty((2, 0))


class Stacked(NamedTuple):
    """The levels of P as one graph of N nodes for kernels: those of level 0, then those of level 1, ..."""

    first: npt.NDArray[np.int64]  # first node of each level, and N
    orders: npt.NDArray[np.int64]  # K_l
    factors: Floats  # β_l / (K_l + 1)
    adjacency: Rows  # Ã of all levels, (N, N)
    means: Rows  # a hyper-node's row takes the mean over its nodes in the next finer level, (N, N)
    group: Integers  # hyper-node of each node but those of the coarsest level
    inverse_weight: Floats  # 1 / w_0 of the nodes of level 0; empty if all are 1


class SpreadLevel(NamedTuple):
    """A level of P."""

    adjacency: SparseMatrix  # Â_l
    weight: npt.NDArray[Any]  # w_l
    share: float  # β_l
    order: int  # K_l
    group: Tensor | None = None  # hyper-node of each node; None at the coarsest level
    gather: SparseMatrix | None = None  # the sum over each hyper-node


class Spread:
    """P of one graph, a fixed symmetric matrix, as a function; its gradient is P again."""

    def __init__(self, levels: Sequence[SpreadLevel]) -> None:
        self.levels = levels
        self.entries = sum(level.adjacency.values.numel() for level in levels)
        roots = [torch.from_numpy(np.sqrt(level.weight, dtype=np.float32)).unsqueeze(1) for level in levels]
        self.roots = [root.to(level.adjacency.values.device) for root, level in zip(roots, levels, strict=True)]

    @cached_property
    def stacked(self) -> Stacked:
        """The levels of P on a CPU."""
        levels = self.levels
        first = np.cumsum([0, *(level.adjacency.shape[0] for level in levels)])
        groups = [level.group.numpy() for level in levels if level.group is not None]
        group = np.concatenate([nodes + start for nodes, start in zip(groups, first[1:], strict=False)] or [first[:0]])
        weight = np.concatenate([level.weight for level in levels]).astype(np.float64)
        root = np.sqrt(weight)
        blocks = sp.block_diag([level.adjacency.scipy for level in levels], format="csr")
        adjacency = sp.csr_array(sp.diags_array(1.0 / root) @ blocks @ sp.diags_array(root))
        members = np.arange(len(group))
        means = sp.csr_array((weight[members] / weight[group], (group, members)), shape=adjacency.shape)
        orders = np.array([level.order for level in levels], dtype=np.int64)
        factors = (np.array([level.share for level in levels]) / (orders + 1)).astype(np.float32)
        inverse = (1.0 / weight[: first[1]]).astype(np.float32)
        inverse = inverse[:0] if (inverse == 1.0).all() else inverse
        sums, averages = (Rows(one.indptr, one.indices, one.data.astype(np.float32)) for one in (adjacency, means))
        return Stacked(first.astype(np.int64), orders, factors, sums, averages, group.astype(np.int64), inverse)

    def __call__(self, H: Tensor) -> Tensor:
        """Return P H; (n, d) -> (n, d), or of each of m matrices, (m, n, d) -> (m, n, d)."""
        return linear_map(H, self._product, self._product)

    @cached_property
    def dense(self) -> Tensor:
        """P in panels of 32 columns, (panels, n, 32), for a graph of a few thousand nodes."""
        P = spread(self.stacked, torch.eye(int(self.stacked.first[1])).unsqueeze(0)).squeeze(0)
        P = nn.functional.pad(P, (0, -len(P) % COLUMNS))
        return P.view(len(P), -1, COLUMNS).transpose(0, 1).contiguous()

    def is_cheaper_dense(self, entries: int, f: int) -> bool:
        """Return whether P X is cheaper as a product of the entries of X (n, f) and dense P than by propagation."""
        n, propagated = (
            len(self.levels[0].weight),
            f * sum(level.order * level.adjacency.values.numel() for level in self.levels),
        )
        return n <= _FEW_NODES and n * entries <= propagated

    def is_large(self, columns: int) -> bool:
        """Return whether so many columns on a CPU are worth the kernels of this module."""
        return self.entries * columns >= _SMALL

    def _product(self, H: Tensor) -> Tensor:
        columns = H.shape[:-2].numel() * H.shape[-1]
        plain = H.is_cuda or H.dtype != torch.float32 or has_torch_function((H,))
        if plain or not self.is_large(columns):
            return self.plain(H) if H.dim() == 2 else torch.stack([self.plain(each) for each in H])
        return spread(self.stacked, H.view(-1, *H.shape[-2:])).view(H.shape)

    def plain(self, H: Tensor) -> Tensor:
        """Return P H by sparse products on any device, level by level as in H-GCN; (n, d) -> (n, d)."""
        inputs = [H]  # of each level, (n_l, d)
        for level in self.levels[:-1]:
            assert level.gather is not None
            inputs.append(level.gather.product(inputs[-1]))
        total: Tensor | None = None
        for level, root, H_l in reversed(list(zip(self.levels, self.roots, inputs, strict=True))):
            if total is not None:
                assert level.group is not None
                total = total.index_select(0, level.group)
            if total is None or level.share:
                term = mean_of_powers(level.adjacency, level.order, H_l / root) * (level.share / root)
                total = term if total is None else total + term
        assert total is not None
        return total


def mean_of_powers(adjacency: SparseMatrix, order: int, dense: Tensor) -> Tensor:
    """Return 1/(K+1) Σ_{k=0..K} Âᵏ H without a gradient; (n, d) -> (n, d)."""
    total = dense
    for _ in range(order):
        total = adjacency.product(total, dense)
    return total / (order + 1)


@kernel(plain=None)
def _take(given: Floats, first: Any, k: Any, valid: Any, keep: Floats, out: Floats, n: Any) -> None:
    """Copy columns k to k + valid of n rows, times the factor of each row, and set the other columns to 0."""
    for i in range(n):
        factor = keep[i] if keep.size else np.float32(1.0)
        if factor == np.float32(0.0) or valid < np.uint64(COLUMNS):
            for j in range(np.uint64(COLUMNS)):
                out[i, j] = np.float32(0.0)
        if factor != np.float32(0.0):
            for j in range(valid):
                out[i, j] = given[first + i, k + j] * factor


@kernel(plain=None)
def _sums(matrix: Any, source: Floats, plus: Floats, start: Any, stop: Any, out: Floats) -> None:
    """Write rows start to stop of a sparse product, plus those of `plus` unless it is empty."""
    zero = splat(np.float32(0.0))
    for i in range(start, stop):
        low, high = zero, zero
        if plus.size:
            low, high = load(plus, i, np.uint64(0)), load(plus, i, np.uint64(16))
        for e in range(np.uint64(matrix.indptr[i]), np.uint64(matrix.indptr[i + np.uint64(1)])):
            value, j = splat(matrix.data[e]), np.uint64(matrix.indices[e])
            low = multiply_add(low, value, load(source, j, np.uint64(0)))
            high = multiply_add(high, value, load(source, j, np.uint64(16)))
        store(out, i, np.uint64(0), low)
        store(out, i, np.uint64(16), high)


@kernel(plain=None)
def _copy(rows: Floats, start: Any, stop: Any, out: Floats) -> None:  # assigning slices takes seconds to compile
    for i in range(start, stop):
        store(out, i, np.uint64(0), load(rows, i, np.uint64(0)))
        store(out, i, np.uint64(16), load(rows, i, np.uint64(16)))


@kernel(plain=None)
def _add_coarse(rows: Floats, factor: Any, group: Integers, start: Any, stop: Any) -> None:
    """Multiply the rows by the factor, and add to each that of its hyper-node if it has one."""
    zero, by = splat(np.float32(0.0)), splat(factor)
    for i in range(start, stop):
        low, high = zero, zero
        if i < np.uint64(len(group)):
            j = np.uint64(group[i])
            low, high = load(rows, j, np.uint64(0)), load(rows, j, np.uint64(16))
        store(rows, i, np.uint64(0), multiply_add(low, by, load(rows, i, np.uint64(0))))
        store(rows, i, np.uint64(16), multiply_add(high, by, load(rows, i, np.uint64(16))))


@kernel(plain=None)
def _propagate(levels: Any, H: Floats, one: Floats, two: Floats) -> None:
    """Write P H to `one`. The arrays have a row for each node of all levels; those of H at level 0 are given."""
    none, depth = H[:0], len(levels.orders) - 1
    for level in range(1, depth + 1):
        _sums(levels.means, H, none, np.uint64(levels.first[level]), np.uint64(levels.first[level + 1]), H)
    for level in range(depth, -1, -1):
        start, stop = np.uint64(levels.first[level]), np.uint64(levels.first[level + 1])
        order = levels.orders[level] if levels.factors[level] else 0
        if order == 0:
            _copy(H, start, stop, one)
        source = H
        for k in range(order):
            out = one if (order - k) % 2 else two  # the last one is `one`
            _sums(levels.adjacency, source, H, start, stop, out)
            source = out
        if levels.factors[level] != np.float32(1.0) or depth:
            _add_coarse(one, levels.factors[level], levels.group, start, stop)


@kernel(plain=None)
def _mean(rows: Floats, n: Any, centre: Floats, squares: bool, means: npt.NDArray[np.float64]) -> None:
    """Write the mean of rows - centre, or of its squares, of each column."""
    near, zero, one = np.empty((1, COLUMNS), np.float32), splat(np.float32(0.0)), splat(np.float32(1.0))
    minus, none = splat(np.float32(-1.0)), np.uint64(0)
    mid_low, mid_high = load(centre, none, none), load(centre, none, np.uint64(16))
    for j in range(COLUMNS):
        means[j] = 0.0
    for begin in range(none, n, np.uint64(_CHUNK)):
        low, high = zero, zero
        for i in range(begin, min(begin + np.uint64(_CHUNK), n)):
            a = multiply_add(load(rows, i, none), minus, mid_low)
            b = multiply_add(load(rows, i, np.uint64(16)), minus, mid_high)
            low, high = multiply_add(low, a, a if squares else one), multiply_add(high, b, b if squares else one)
        store(near, none, none, low)
        store(near, none, np.uint64(16), high)
        for j in range(COLUMNS):
            means[j] += near[0, j]
    for j in range(COLUMNS):
        means[j] /= n


@kernel(plain=0)
def _spread_blocks(
    levels: Any,
    given: Floats,  # (matrices * n, f)
    keep: Floats,  # (n,), or empty
    mask: Any,  # bits of (n, f), or none; the limit below which they keep an entry; the factor of those that are kept
    epsilon: float,  # of batch normalisation; below 0 without
    out: Floats,  # (panels * n, columns of a panel)
    moments: npt.NDArray[np.float64],  # mean and variance of each column, (2, columns)
    start: int,
    stop: int,
) -> None:
    bits, limit, scale = mask[0], np.int16(mask[1]), np.float32(mask[2])
    n, f = np.uint64(levels.first[1]), np.uint64(given.shape[1])
    width, size, zero = np.uint64(out.shape[1]), np.uint64(COLUMNS), np.float32(0.0)
    rows = (levels.first[-1], COLUMNS)
    H, one, two = np.empty(rows, np.float32), np.empty(rows, np.float32), np.empty(rows, np.float32)
    shown, factor, total = np.zeros((1, COLUMNS), np.float32), np.empty(COLUMNS, np.float32), np.empty(COLUMNS)
    per_matrix, per_panel = (f + size - np.uint64(1)) // size, (width + size - np.uint64(1)) // size
    for b in range(np.uint64(start), np.uint64(stop)):
        k, to = b % per_matrix * size, b % per_panel * size
        valid = min(size, f - k)
        _take(given, b // per_matrix * n, k, valid, keep, H, n)
        _propagate(levels, H, one, two)
        for j in range(size):
            shown[0, j], factor[j] = zero, scale
        if epsilon >= 0.0:
            _mean(one, n, shown, False, total)
            for j in range(size):
                moments[0, b * size + j] = shown[0, j] = total[j]
            _mean(one, n, shown, True, total)
            for j in range(size):
                moments[1, b * size + j], factor[j] = total[j], scale / np.sqrt(total[j] + epsilon)
        at = b // per_panel * n
        for i in range(n):
            for j in range(valid):
                value = (one[i, j] - shown[0, j]) * factor[j]
                out[at + i, to + j] = value if not bits.size or bits[i * f + k + j] < limit else zero
            for j in range(valid, min(size, width - to)):
                out[at + i, to + j] = zero


def spread(levels: Stacked, H: Tensor) -> Tensor:
    """Return P H of each of m matrices; (m, n, d) -> (m, n, d)."""
    m, n, d = H.shape
    out = torch.empty(H.shape)
    _in_blocks(levels, m * -(-d // COLUMNS), H.reshape(m * n, d), out.view(m * n, d))
    return out


@kernel(plain=0)
def _spread_entries(by_column: Any, P: Floats, mask: Any, out: Floats, n: int, start: int, stop: int) -> None:
    """Write 32 rows of P X for each panel of P, with dropout; `by_column` is Xᵀ."""
    bits, limit, scale, zero = mask[0], np.int16(mask[1]), np.float32(mask[2]), np.float32(0.0)
    rows, width, size = np.uint64(n), np.uint64(out.shape[1]), np.uint64(COLUMNS)
    f = np.uint64(len(by_column.indptr) - 1)
    tile = np.zeros((out.shape[0] // n * out.shape[1], COLUMNS), np.float32)  # a row per column of X
    for b in range(np.uint64(start), np.uint64(stop)):
        _sums(by_column, P[b * rows : b * rows + rows], P[:0], np.uint64(0), f, tile)
        first = b * size
        for c in range(np.uint64(0), np.uint64(len(tile)), width):
            for i in range(first, min(first + size, rows)):
                to = c // width * rows + i
                for j in range(width):
                    out[to, j] = tile[c + j, i - first] * scale
                if bits.size:
                    for j in range(min(width, f - c)):
                        if bits[i * f + c + j] >= limit:
                            out[to, j] = zero


def spread_entries(P: Tensor, by_column: sp.csr_array, keep: Tensor, mask: Mask | None) -> Tensor:
    """Return dropout(P diag(keep) X) in panels of columns, for dense P in panels and Xᵀ by its entries."""
    factor = keep.numpy().ravel()[by_column.indices]
    kept = factor != 0.0
    start = np.concatenate([[0], np.cumsum(kept)])[by_column.indptr].astype(by_column.indptr.dtype)
    entries = Rows(start, by_column.indices[kept], (by_column.data * factor)[kept])
    n, panels = P.shape[1], _panels(P.shape[1], by_column.shape[0])
    arrays = entries, P.view(-1, COLUMNS).numpy(), _bits(mask), panels.view(-1, panels.shape[2]).numpy(), n
    in_threads(_spread_entries, arrays, len(P), part=-(-len(P) // torch.get_num_threads()))
    return panels


def _panels(n: int, f: int) -> Tensor:
    """Return an empty array for the columns of (n, f), up to 128 of them in each panel."""
    blocks = -(-f // COLUMNS)
    width = COLUMNS * next(count for count in (4, 3, 2, 1) if blocks % count == 0)
    return torch.empty(blocks * COLUMNS // width, n, width)


def spread_features(
    levels: Stacked, X: Tensor, keep: Tensor, mask: Mask | None, epsilon: float | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return dropout(P diag(keep) X) of dense X, (n, f), in panels of columns; those beyond f are 0.

    With epsilon, columns are normalised before dropout. Their mean and variance, (f,), come second; else empty tensors.
    """
    n, f = X.shape
    blocks, panels = -(-f // COLUMNS), _panels(n, f)
    moments = np.empty((2, 0 if epsilon is None else blocks * COLUMNS))
    _in_blocks(levels, blocks, X, panels.view(-1, panels.shape[2]), keep, mask, epsilon, moments)
    mean, variance = torch.from_numpy(moments[:, :f]).float()
    return panels, mean, variance


def _in_blocks(
    levels: Stacked,
    blocks: int,
    given: Tensor,
    out: Tensor,
    keep: Tensor | None = None,
    mask: Mask | None = None,
    epsilon: float | None = None,
    moments: npt.NDArray[np.float64] = _NO_MOMENTS,
) -> None:
    """Propagate blocks of columns, an equal share of them on each of torch's threads."""
    factors = levels.inverse_weight
    if keep is not None:
        factors = keep.numpy().ravel() * (factors if factors.size else np.float32(1.0))
    arrays = given.detach().contiguous().numpy(), factors, _bits(mask), -1.0 if epsilon is None else epsilon
    part = -(-blocks // torch.get_num_threads())
    in_threads(_spread_blocks, (levels, *arrays, out.numpy(), moments), blocks, part=part)


def _bits(mask: Mask | None) -> tuple[npt.NDArray[np.int16], int, float]:
    return (np.empty(0, np.int16), 0, 1.0) if mask is None else (mask.cpu_bits.numpy(), mask.limit, mask.scale)


def masked_product(panels: Tensor, weight: Tensor, shift: Tensor | None = None, mask: Mask | None = None) -> Tensor:
    """Return X W for features X in panels, plus M S for the factors M of their mask, (n, f); W and S are (f, d)."""
    width = panels.shape[0] * panels.shape[2]
    cut = nn.functional.pad(weight, (0, 0, 0, width - len(weight))).view(len(panels), -1, weight.shape[1])
    return apply(_MaskedProduct, cut, shift, panels, mask)


class _MaskedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, shift: Tensor | None, panels: Tensor, mask: Mask | None) -> Tensor:
        ctx.save_for_backward(panels)
        ctx.mask, ctx.shift_shape = (None, None) if shift is None else (mask, shift.shape)
        product = panels.new_zeros(panels.shape[1], weight.shape[2])
        for X, part in zip(panels, weight, strict=True):
            product.addmm_(X, part)
        if shift is not None:
            assert mask is not None
            for rows, M in _mask_factors(mask, len(product), len(shift)):
                product[rows].addmm_(M, shift)
        return product

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad, by_shift = grads[0].contiguous(), None
        if ctx.shift_shape is not None:
            by_shift = grad.new_zeros(ctx.shift_shape)
            for rows, M in _mask_factors(ctx.mask, len(grad), len(by_shift)):
                by_shift.addmm_(M.t(), grad[rows])
        (panels,) = ctx.saved_tensors
        return torch.matmul(panels.transpose(1, 2), grad), by_shift, None, None


def _mask_factors(mask: Mask, n: int, f: int) -> Iterator[tuple[slice, Tensor]]:
    """Return the factors of the entries of a mask of (n, f), some rows at a time, which stay in the cache."""
    length = max(_CACHED // f, 1)
    for start in range(0, n, length):
        rows = slice(start, min(start + length, n))
        bits, factors = mask.cpu_bits[start * f : rows.stop * f].view(-1, f), torch.empty(rows.stop - start, f)
        yield rows, torch.lt(bits, mask.limit, out=factors).mul_(mask.scale)
