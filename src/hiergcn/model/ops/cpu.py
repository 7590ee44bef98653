"""CPU kernels in numba, twins of those in `triton`: sparse products, dropout and channel mixing, in one pass each.

The libraries' sparse product writes its result three times and multiplies by the zeros that dropout leaves. Torch's
operations around it would each read and write everything once more. That does not matter on small tensors: they are
left to the libraries, which give the same bits, and numba is not even imported.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.compiled.csr import Floats, Integers
from hiergcn.compiled.jit import kernel, run_over
from hiergcn.compiled.jit import mix as splitmix64
from hiergcn.compiled.simd import FLOATS, add_product, load, prefetch, splat, store

Bits = npt.NDArray[np.int16]

_SMALL = 2**19  # multiplications of a sparse product that one thread does in the time it takes to start others
_RANGES = 4  # for each thread
_ENTRY = 2  # multiplications that take as long as a pass over one entry
_TINY = 2**18  # multiplications that are left to scipy
_FEW = 2**15  # entries that torch's own operations handle while numba is not loaded, with the same bits
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio, odd: the step of SplitMix64
_AHEAD = np.uint64(16)  # entries between the prefetch of a row and its use
_LINE = np.uint64(16)  # floats of a cache line
_CACHED = 2**19  # floats that fit into a core's caches, where a prefetch would only cost time
_ALL = np.empty(0, dtype=np.int64)  # stands for all rows
_PARTS = 4  # sums of a transposed product that threads make side by side
_ROWS = 2**11  # rows whose contributions to a sum are added first, whatever the number of threads


def in_threads(
    function: Callable[..., None], given: tuple[Any, ...], length: int, work: int = _SMALL, part: int | None = None
) -> None:
    """Call `function(*given, start, stop)` for ranges of `length`, on several threads if there is enough work.

    All ranges have the length `part`. Without it there are several ranges per thread, as rows differ in their work.
    """
    threads = torch.get_num_threads() if work >= _SMALL else 1
    if threads == 1 and part is None:
        function(*given, 0, length)
        return
    step = -(-length // (_RANGES * threads)) if part is None else part
    run_over(list(pairwise([*range(0, length, max(step, 1)), length])), partial(function, *given), threads)


@kernel(plain=0)
def _csr_product(matrix: Any, dense: Floats, plus: Floats, out: Floats, start: int, stop: int) -> None:
    """Keep up to 64 columns of a row's sum in registers; 16 columns at least."""
    row_start, column, values = matrix
    width, flat, last = np.uint64(dense.shape[1]), dense.ravel(), np.uint64(len(column) - 1)
    far, unit, zero = dense.size > _CACHED, splat(np.float32(1.0)), splat(np.float32(0.0))
    for i in range(np.uint64(start), np.uint64(stop)):
        first, end = np.uint64(row_start[i]), np.uint64(row_start[i + np.uint64(1)])
        if far:
            for e in range(first, end):
                soon = np.uint64(column[min(e + _AHEAD, last)]) * width
                for address in range(soon, soon + width, _LINE):
                    prefetch(flat, address)
        for k in range(np.uint64(0), width, np.uint64(4 * FLOATS)):
            k3 = min(k + np.uint64(3 * FLOATS), width - np.uint64(FLOATS))  # the last columns may come twice
            k0, k1, k2 = min(k, k3), min(k + np.uint64(FLOATS), k3), min(k + np.uint64(2 * FLOATS), k3)
            a, b, c, d = zero, zero, zero, zero
            for e in range(first, end):
                value, j = splat(values[e]), np.uint64(column[e])
                a = add_product(a, value, load(dense, j, k0))
                b = add_product(b, value, load(dense, j, k1))
                c = add_product(c, value, load(dense, j, k2))
                d = add_product(d, value, load(dense, j, k3))
            if plus.size:
                a, b = add_product(a, unit, load(plus, i, k0)), add_product(b, unit, load(plus, i, k1))
                c, d = add_product(c, unit, load(plus, i, k2)), add_product(d, unit, load(plus, i, k3))
            store(out, i, k0, a)
            store(out, i, k1, b)
            store(out, i, k2, c)
            store(out, i, k3, d)


def _parts(matrix: sp.csr_array) -> tuple[Integers, Integers, Floats]:
    """Return the arrays of a sparse matrix, as kernels take them."""
    return matrix.indptr, matrix.indices, matrix.data


def csr_product(matrix: sp.csr_array, dense: Tensor, plus: Tensor | None = None) -> Tensor:
    """Return the product of a sparse matrix, (n, m), and a dense one, (m, d), plus another."""
    n, width = matrix.shape[0], dense.shape[1]
    small = matrix.nnz * width < _TINY and not _is_loaded(_csr_product)
    if small or width < FLOATS or dense.dtype != torch.float32:  # scipy is as fast, with the same bits
        out = torch.from_numpy(matrix @ array_of(dense))
        return out if plus is None else out.add_(plus)
    out = torch.empty(n, width, dtype=dense.dtype)
    result = out.numpy()
    added = result[:0] if plus is None else array_of(plus)
    in_threads(_csr_product, (_parts(matrix), array_of(dense), added, result), n, matrix.nnz * width)
    return out


@kernel(plain=0)
def _transpose_product(matrix: Any, dense: Floats, rows: int, sums: Floats, start: int, stop: int) -> None:
    """Sum the contributions of the rows from `start` to `stop`, `rows` at most, in a part of the sums of their own."""
    row_start, column, values = matrix
    out, width = sums[start // rows], np.uint64(dense.shape[1])
    out[:] = 0.0
    for i in range(np.uint64(start), np.uint64(stop)):
        for e in range(np.uint64(row_start[i]), np.uint64(row_start[i + np.uint64(1)])):
            value, j = values[e], np.uint64(column[e])
            if value != 0.0:
                for k in range(width):
                    out[j, k] += value * dense[i, k]


def transpose_product(matrix: sp.csr_array, dense: Tensor) -> Tensor:
    """Return the product of the transpose of a sparse matrix, (n, m), and a dense one, (n, d)."""
    (n, m), width = matrix.shape, dense.shape[1]
    if matrix.nnz * width < _TINY:
        return torch.from_numpy(matrix.T @ array_of(dense))
    parts = max(1, min(_PARTS, matrix.nnz // (_PARTS * m)))  # whatever the number of threads, for the same bits
    rows = -(-n // parts)
    sums = torch.empty(-(-n // rows), m, width, dtype=dense.dtype)
    arrays = _parts(matrix), array_of(dense), rows, sums.numpy()
    in_threads(_transpose_product, arrays, n, matrix.nnz * width, part=rows)
    return sums[0] if len(sums) == 1 else sums.sum(dim=0)


@kernel(plain=0)
def _random_words(seed: np.uint64, words: npt.NDArray[np.uint64], start: int, stop: int) -> None:
    for i in range(np.uint64(start), np.uint64(stop)):
        words[i] = splitmix64(seed + i * _GOLDEN)


def random_bits(seed: int, n: int) -> Tensor:
    """Return 16 random bits for each of n entries, which depend on the seed and the entry's place alone; int16.

    Four entries share a word of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): n is rounded up to a multiple of 4.
    """
    words, first = np.empty(-(-n // 4), dtype=np.uint64), np.uint64(seed)
    if n < _FEW and not _is_loaded(_random_words):
        words = splitmix64.__wrapped__(first + np.arange(len(words), dtype=np.uint64) * _GOLDEN)  # type: ignore[attr-defined]
    else:
        in_threads(_random_words, (first, words), len(words), n * _ENTRY)
    return torch.from_numpy(words.view(np.int16))


@kernel(plain=0)
def _kept_entries(
    matrix: Any, bits: Bits, right: Floats, right_bits: Bits, width: int, limit: int, scale: float, new: Any
) -> None:
    (row_start, column, values), (new_start, new_column, new_values) = matrix, new
    factor, limit16, p, count = values.dtype.type(scale), np.int16(limit), np.uint64(right.shape[1]), np.uint64(0)
    for i in range(np.uint64(len(right))):  # an entry that is dropped is overwritten by the next one
        new_start[i] = count
        for e in range(np.uint64(row_start[i]), np.uint64(row_start[i + np.uint64(1)])):
            new_column[count] = column[e]
            new_values[count] = values[e] * factor
            count += np.uint64(bits[e] < limit16)
        for k in range(p):
            new_column[count] = np.uint64(width) + k
            new_values[count] = right[i, k] * factor
            count += np.uint64(right_bits[i * p + k] < limit16)
    new_start[len(right)] = count


def kept_entries(
    matrix: sp.csr_array, bits: Tensor, right: Tensor, right_bits: Tensor, limit: int, scale: float
) -> sp.csr_array:
    """Return [sparse matrix ‖ right] without the entries that dropout would make 0."""
    beside, (n, width) = array_of(right), matrix.shape
    most = matrix.nnz + beside.size + 1
    new = np.empty_like(matrix.indptr), np.empty(most, matrix.indices.dtype), np.empty(most, matrix.data.dtype)
    _kept_entries(_parts(matrix), bits.numpy(), beside, right_bits.numpy(), width, limit, scale, new)
    count = int(new[0][-1])
    return sp.csr_array((new[2][:count], new[1][:count], new[0]), shape=(n, width + beside.shape[1]))


@kernel(plain=0)
def _dropout_concat(left: Floats, right: Floats, rows: Integers, mask: Any, out: Floats, start: int, stop: int) -> None:
    seed, limit, scale = mask
    factor, zero, limit16 = out.dtype.type(scale), out.dtype.type(0.0), np.int16(limit)
    d, width = np.uint64(left.shape[1]), np.uint64(out.shape[1])
    words = np.empty(out.shape[1] // 4 + 2, dtype=np.uint64)
    bits = words.view(np.int16)
    for i in range(np.uint64(start), np.uint64(stop)):
        first = np.uint64(rows[i] if rows.size else i) * width
        for q in range(np.uint64(len(words))):  # the words that hold the bits of the row
            words[q] = splitmix64(seed + ((first >> np.uint64(2)) + q) * _GOLDEN)
        at = first & np.uint64(3)
        for k in range(d):
            out[i, k] = left[i, k] * factor if bits[at + k] < limit16 else zero
        for k in range(d, width):
            out[i, k] = right[i, k - d] * factor if bits[at + k] < limit16 else zero


def dropout_concat(
    left: Tensor, right: Tensor, rows: Tensor | None, seed: int, limit: int, scale: float, out: Tensor | None = None
) -> Tensor:
    """Return dropout of [left ‖ right], which are some rows of a matrix or all; (n, d) (n, e) -> (n, d + e)."""
    n, width = len(left), left.shape[1] + right.shape[1]
    out = torch.empty(n, width, dtype=left.dtype) if out is None else out
    if n * width < _FEW and not _is_loaded(_dropout_concat):
        bits = random_bits(seed, (n if rows is None else int(rows[-1]) + 1) * width)
        bits = bits[: len(bits) // width * width].view(-1, width)
        kept = (bits[:n] if rows is None else bits.index_select(0, rows)) < limit
        return torch.cat([left, right], dim=1, out=out).mul_(kept.to(left.dtype).mul_(scale))
    index, mask = _ALL if rows is None else rows.numpy(), (np.uint64(seed), limit, scale)
    in_threads(_dropout_concat, (array_of(left), array_of(right), index, mask, out.numpy()), n, out.numel() * _ENTRY)
    return out


def _is_loaded(function: Any) -> bool:
    return "compiled" in vars(function)


@kernel(plain=0)
def _mix(Z: Floats, w: tuple[float, ...], out: Floats, start: int, stop: int) -> None:
    c, zero = np.uint64(len(w)), out.dtype.type(0.0)
    for i in range(np.uint64(start), np.uint64(stop)):
        for k in range(np.uint64(out.shape[1])):
            total = zero
            for j in range(len(w)):  # a tuple's length is known at compile time, so the loop is unrolled
                total += max(Z[i, k * c + np.uint64(j)], zero) * w[j]
            out[i, k] = total


@kernel(plain=0)
def _mix_backward(
    grad: Floats, Z: Floats, w: tuple[float, ...], grad_Z: Floats, sums: Floats, start: int, stop: int
) -> None:
    """Write the gradient by Z, and that by w, not yet summed over columns, to the row of sums of these `_ROWS` rows."""
    c, zero, by_column = np.uint64(len(w)), grad.dtype.type(0.0), sums[start // _ROWS]  # (d * c,)
    incoming, weight, near = np.empty_like(Z[0]), np.empty_like(Z[0]), np.empty_like(Z[0])  # of each place in a row
    for k in range(np.uint64(grad.shape[1])):
        for j in range(len(w)):
            weight[k * c + np.uint64(j)] = w[j]
    for first in range(np.uint64(start), np.uint64(stop), np.uint64(32)):
        near[:] = zero  # a sum of few rows needs no double precision
        for i in range(first, min(first + np.uint64(32), np.uint64(stop))):
            for k in range(np.uint64(grad.shape[1])):
                for j in range(len(w)):
                    incoming[k * c + np.uint64(j)] = grad[i, k]
            for place in range(np.uint64(Z.shape[1])):
                z = Z[i, place]
                grad_Z[i, place] = incoming[place] * weight[place] if z > zero else zero
                near[place] += incoming[place] * max(z, zero)
        for place in range(np.uint64(Z.shape[1])):
            by_column[place] += near[place]


def mix_channels(Z: Tensor, w: Tensor) -> Tensor:
    """Return Σ_j w_j ReLU(Z_j); (n, d * c) (c,) -> (n, d)."""
    (n, width), c = Z.shape, w.shape[0]
    out = torch.empty(n, width // c, dtype=Z.dtype)
    in_threads(_mix, (array_of(Z), tuple(array_of(w)), out.numpy()), n, n * width * _ENTRY)
    return out


def mix_channels_backward(grad: Tensor, Z: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of `mix_channels` by Z and w."""
    (n, width), c = Z.shape, w.shape[0]
    by_Z = torch.empty(n, width, dtype=Z.dtype)
    sums = np.zeros((-(-n // _ROWS), width))  # in double precision, as there may be millions of rows
    arrays = array_of(grad), array_of(Z), tuple(array_of(w)), by_Z.numpy(), sums
    in_threads(_mix_backward, arrays, n, n * width * _ENTRY, part=_ROWS)
    return by_Z, torch.from_numpy(sums.sum(axis=0).reshape(-1, c).sum(axis=0)).to(w.dtype)


def array_of(given: Tensor) -> npt.NDArray[Any]:
    """Return the tensor as an array whose rows are whole; nothing is copied if they are."""
    array: npt.NDArray[Any] = given.detach().contiguous().numpy()
    return array
