"""CPU kernels in numba, twins of those in `triton`: sparse products, dropout and channel mixing, in one pass each.

The libraries' sparse product writes its result three times, converts the indices at every call and multiplies by the
zeros that dropout leaves. Torch's operations around it would each read and write everything once more. That does not
matter on small tensors: they are left to the libraries, which give the same bits, and numba is not even imported.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import _sparsetools
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function

from hiergcn.compiled.jit import kernel, run_over

Floats = npt.NDArray[np.floating]
Integers = npt.NDArray[np.integer]

_SMALL = 2**21  # multiplications that one thread does in the time it takes to wake others
_TINY = 2**18  # multiplications that are left to scipy
_NARROW = 16  # columns below which scipy is as fast as numba
_ROWS = 2**13  # rows whose contributions to a sum are added first, whatever the number of threads


def _in_threads(length: int, work: int, call: Callable[[int, int], None], chunk: int = 0) -> None:
    """Call `call(start, stop)` for ranges of `length`, on torch's threads if there is enough work.

    There is a range per thread, or one for every `chunk` of the length.
    """
    threads = torch.get_num_threads() if work >= _SMALL else 1
    if threads == 1 and not chunk:
        call(0, length)
        return
    parts = -(-length // chunk) if chunk else min(threads, length)
    cuts = [*range(0, length, chunk), length] if chunk else [length * t // parts for t in range(parts + 1)]
    run_over(list(pairwise(cuts)), call, threads)


@kernel(plain=0)
def _csr_product(
    row_start: Integers,
    column: Integers,
    values: Floats,
    dense: Floats,
    plus: Floats,
    out: Floats,
    start: int,
    stop: int,
) -> None:
    width = dense.shape[1]
    for i in range(np.uint64(start), np.uint64(stop)):
        for k in range(width):
            out[i, k] = 0.0
        for e in range(np.uint64(row_start[i]), np.uint64(row_start[i + np.uint64(1)])):
            value, j = values[e], np.uint64(column[e])
            if value != 0.0:  # rows of entries that dropout has zeroed are not read
                for k in range(width):
                    out[i, k] += value * dense[j, k]
        if plus.size:
            for k in range(width):
                out[i, k] += plus[i, k]


def csr_product(row_start: Tensor, column: Tensor, values: Tensor, dense: Tensor, plus: Tensor | None = None) -> Tensor:
    """Return the product of a sparse matrix, (n, m), given by its parts, and a dense one, (m, d), plus another."""
    if has_torch_function((dense,)):  # what records operations, as the export does, sees the product as one
        product: Tensor = handle_torch_function(csr_product, (dense,), row_start, column, values, dense)
        return product if plus is None else product + plus
    n, width = row_start.numel() - 1, dense.shape[1]
    pattern = row_start.numpy(), column.numpy(), _array(values)
    if values.numel() * width < _TINY and (width < _NARROW or "compiled" not in vars(_csr_product)):
        out = torch.zeros((n, width), dtype=dense.dtype)
        _sparsetools.csr_matvecs(n, len(dense), width, *pattern, _array(dense).ravel(), out.numpy().ravel())
        return out if plus is None else out.add_(plus)
    out = torch.empty((n, width), dtype=dense.dtype)
    result = out.numpy()
    arrays = *pattern, _array(dense), result[:0] if plus is None else _array(plus), result
    _in_threads(n, values.numel() * width, partial(_csr_product, *arrays))
    return out


@kernel(plain=0)
def _transpose_product(
    row_start: Integers, column: Integers, values: Floats, dense: Floats, out: Floats, start: int, stop: int
) -> None:
    """Compute columns start to stop of the result."""
    out[:, start:stop] = 0.0
    for i in range(np.uint64(dense.shape[0])):
        for e in range(np.uint64(row_start[i]), np.uint64(row_start[i + np.uint64(1)])):
            value, j = values[e], np.uint64(column[e])
            if value != 0.0:
                for k in range(np.uint64(start), np.uint64(stop)):
                    out[j, k] += value * dense[i, k]


def transpose_product(row_start: Tensor, column: Tensor, values: Tensor, dense: Tensor, m: int) -> Tensor:
    """Return the product of the transpose of a sparse matrix, (n, m), given by its parts, and a dense one, (n, d)."""
    n, width = dense.shape
    pattern = row_start.numpy(), column.numpy(), _array(values)
    if values.numel() * width < _TINY:
        out = torch.zeros((m, width), dtype=dense.dtype)
        _sparsetools.csc_matvecs(m, n, width, *pattern, _array(dense).ravel(), out.numpy().ravel())
        return out
    out = torch.empty((m, width), dtype=dense.dtype)
    arrays = *pattern, _array(dense), out.numpy()
    _in_threads(width, values.numel() * width, partial(_transpose_product, *arrays))
    return out


@kernel(plain=0)
def _add_rows(coarse: Floats, group: Integers, fine: Floats, out: Floats, start: int, stop: int) -> None:
    for i in range(np.uint64(start), np.uint64(stop)):
        j = np.uint64(group[i])
        for k in range(np.uint64(out.shape[1])):
            out[i, k] = coarse[j, k] + fine[i, k]


def add_rows(coarse: Tensor, group: Tensor, fine: Tensor) -> Tensor:
    """Return coarse[group] + fine; (m, d) (n,) (n, d) -> (n, d)."""
    if fine.numel() < _TINY or has_torch_function((coarse, fine)):
        return coarse.index_select(0, group).add_(fine)
    out = torch.empty(fine.shape, dtype=fine.dtype)
    arrays = _array(coarse), group.numpy(), _array(fine), out.numpy()
    _in_threads(len(fine), fine.numel(), partial(_add_rows, *arrays))
    return out


@kernel(plain=0)
def _kept_entries(
    row_start: Integers,
    column: Integers,
    values: Floats,
    bits: npt.NDArray[np.int16],
    limit: int,
    scale: float,
    new_start: Integers,
    new_column: Integers,
    new_values: Floats,
) -> int:
    factor, limit16, count = values.dtype.type(scale), np.int16(limit), np.uint64(0)
    for i in range(np.uint64(len(row_start) - 1)):
        new_start[i] = count
        for e in range(np.uint64(row_start[i]), np.uint64(row_start[i + np.uint64(1)])):
            new_column[count] = column[e]  # overwritten by the next entry if this one is dropped
            new_values[count] = values[e] * factor
            count += np.uint64(bits[e] < limit16)
    new_start[len(row_start) - 1] = count
    return int(count)


def kept_entries(
    row_start: Tensor, column: Tensor, values: Tensor, bits: Tensor, limit: int, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return a sparse matrix without the entries that `dropout` would make 0, as row starts, columns and values."""
    given = row_start.numpy(), column.numpy(), _array(values)
    new_start, new_column, new_values = np.empty_like(given[0]), np.empty_like(given[1]), np.empty_like(given[2])
    count = _kept_entries(*given, bits.numpy(), limit, scale, new_start, new_column, new_values)
    return torch.from_numpy(new_start), torch.from_numpy(new_column[:count]), torch.from_numpy(new_values[:count])


@kernel(plain=0)
def _dropout(
    values: Floats, bits: npt.NDArray[np.int16], out: Floats, limit: int, scale: float, start: int, stop: int
) -> None:
    factor, zero, limit16 = out.dtype.type(scale), out.dtype.type(0.0), np.int16(limit)
    for i in range(np.uint64(start), np.uint64(stop)):
        out[i] = values[i] * factor if bits[i] < limit16 else zero


def dropout(values: Tensor, bits: Tensor, limit: int, scale: float) -> Tensor:
    """Return `scale` times the values, (models, ...), whose int16 bits are below the limit, and 0 for the others."""
    out = torch.empty(values.shape, dtype=values.dtype)
    if out.numel():
        flat = values.detach().reshape(len(values), -1).numpy()
        for given in zip(flat, bits.numpy(), out.view(len(out), -1).numpy(), strict=True):
            _in_threads(len(given[0]), len(given[0]), partial(_dropout, *given, limit, scale))
    return out


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
    by_column = sums[start // _ROWS]  # (d * c,)
    c, zero = np.uint64(len(w)), grad.dtype.type(0.0)
    incoming, weight = np.empty_like(Z[0]), np.empty_like(Z[0])  # those of each place, so that its loop is vectorised
    for i in range(np.uint64(start), np.uint64(stop)):
        for k in range(np.uint64(grad.shape[1])):
            for j in range(len(w)):
                incoming[k * c + np.uint64(j)] = grad[i, k]
                weight[k * c + np.uint64(j)] = w[j]
        for place in range(np.uint64(Z.shape[1])):
            z = Z[i, place]
            grad_Z[i, place] = incoming[place] * weight[place] if z > zero else zero
            by_column[place] += incoming[place] * max(z, zero)


def mix_channels(Z: Tensor, w: Tensor) -> Tensor:
    """Return Σ_j w_j ReLU(Z_j); Z is (models, n, d * c), w (models, c)."""
    if has_torch_function((Z,)):
        seen: Tensor = handle_torch_function(mix_channels, (Z,), Z, w)
        return seen
    models, n, width = Z.shape
    out = torch.empty((models, n, width // w.shape[1]), dtype=Z.dtype)
    for own, weights, mixed in zip(_array(Z), _array(w), out.numpy(), strict=True):
        _in_threads(n, own.size, partial(_mix, own, tuple(weights), mixed))
    return out


def mix_channels_backward(grad: Tensor, Z: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients by Z and w."""
    grad_Z = torch.empty(Z.shape, dtype=Z.dtype)
    chunks = -(-Z.shape[1] // _ROWS)
    by_column = np.zeros((Z.shape[0], chunks, Z.shape[2]))  # in double precision, as there may be millions of rows
    arrays = _array(grad), _array(Z), _array(w), grad_Z.numpy(), by_column
    for incoming, own, weights, by_Z, sums in zip(*arrays, strict=True):
        _in_threads(Z.shape[1], own.size, partial(_mix_backward, incoming, own, tuple(weights), by_Z, sums), _ROWS)
    by_channel = by_column.sum(axis=1).reshape(len(Z), -1, w.shape[1]).sum(axis=1)
    return grad_Z, torch.from_numpy(by_channel).to(w.dtype)


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().contiguous().numpy()
    return array
