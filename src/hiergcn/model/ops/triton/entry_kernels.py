"""Memory layout of replica tensors, the index arithmetic that the kernels share, and kernels over single entries.

Dropout makes its random bits itself, and can concatenate or split columns on the way.
"""

import triton
import triton.language as tl
from torch import Tensor

PRECISION = tl.constexpr("ieee")  # of products: the default of tensor cores has three digits


def contiguous_rows(values: Tensor) -> Tensor:
    """Return the values with the columns of a row next to each other, as every kernel expects."""
    return values if values.stride(-1) == 1 else values.contiguous()


def nodes_first(like: Tensor, width: int) -> Tensor:
    """Allocate (replicas, n, width) in the layout (n, replicas, width)."""
    replicas, rows, _ = like.shape
    return like.new_empty((rows, replicas, width)).transpose(0, 1)


def needs_64_bits(size: int) -> bool:
    """Return whether indices a little above this size need 64 bits, in which a GPU divides slowly."""
    return size >= 2**30


@triton.jit
def block_entries(size, width, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    """Return row and column of each entry of this program's block, and whether it exists."""
    block = tl.program_id(0)
    if WIDE:
        block = block.to(tl.int64)
    flat = block * BLOCK + tl.arange(0, BLOCK)
    return (flat // width).to(tl.int64), flat % width, flat < size


@triton.jit
def _keep(
    better, new, kept, size, width, new_replica, new_row, kept_replica, kept_row,
    BLOCK: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(1).to(tl.int64)
    if tl.load(better + replica):
        row, column, inside = block_entries(size, width, BLOCK, WIDE)
        value = tl.load(new + replica * new_replica + row * new_row + column, mask=inside)
        tl.store(kept + replica * kept_replica + row * kept_row + column, value, mask=inside)


def keep_better(better: Tensor, new: Tensor, kept: Tensor) -> None:
    """Copy the new values, (replicas, n, d), over the kept ones for each replica that is better."""
    replicas, rows, width = new.shape
    _keep[(triton.cdiv(rows * width, 4096), replicas)](
        better, new, kept, rows * width, width, new.stride(0), new.stride(1), kept.stride(0), kept.stride(1),
        BLOCK=4096, WIDE=needs_64_bits(rows * width),
    )  # fmt: skip


Bits = tuple[Tensor, Tensor, int]
"""Seed, offset and how many of 2^16 values are kept; see `dropout`."""


@triton.jit
def _dropout(
    values, right, seed, offset, index, out, right_out, size, width, cut, value_replica, value_row, right_replica,
    right_row, out_replica, out_row, right_out_replica, right_out_row, kept, scale,
    DROP: tl.constexpr, SOME: tl.constexpr, JOIN: tl.constexpr, CUT: tl.constexpr, BLOCK: tl.constexpr,
    WIDE: tl.constexpr,
):  # fmt: skip
    """Apply dropout to this program's entries; columns from `cut` on come from `right`, or go to `right_out`."""
    replica, block = tl.program_id(1).to(tl.int64), tl.program_id(0)
    if WIDE:
        block = block.to(tl.int64)
    row, column, inside = block_entries(size, width, BLOCK, WIDE)
    here = inside
    if DROP:
        draw = tl.load(offset + replica) // 4  # as in torch's kernels: a thread takes four words
        if SOME:  # rows of a larger matrix, so that each entry has a thread of its own
            place = tl.load(index + row, mask=inside, other=0) * width + column
            thread = place // 8
        else:
            thread = block * (BLOCK // 8) + tl.arange(0, BLOCK // 8)
        first, second, third, fourth = tl.philox(
            tl.load(seed + replica), draw.to(tl.uint32), (draw >> 32).to(tl.uint32),
            thread.to(tl.uint32), (thread.to(tl.int64) >> 32).to(tl.uint32),
        )  # fmt: skip
        if SOME:
            early = tl.where(place % 8 < 2, first, second)
            word = tl.where(place % 8 < 4, early, tl.where(place % 8 < 6, third, fourth))
            bits = tl.where(place % 2 == 0, word & 0xFFFF, word >> 16)
        else:
            word = tl.interleave(tl.interleave(first, third), tl.interleave(second, fourth))  # in their order
            bits = tl.interleave(word & 0xFFFF, word >> 16)
        here = inside & (bits.to(tl.int32) < kept)
    left = column < cut
    values += replica * value_replica + row * value_row + column
    if JOIN:
        right += replica * right_replica + row * right_row + (column - cut)
        value = tl.load(values, mask=here & left, other=0.0) + tl.load(right, mask=here & ~left, other=0.0)
    else:
        value = tl.load(values, mask=here, other=0.0)
    if DROP:
        value *= scale
    out += replica * out_replica + row * out_row + column
    if CUT:
        right_out += replica * right_out_replica + row * right_out_row + (column - cut)
        tl.store(out, value, mask=inside & left)
        tl.store(right_out, value, mask=inside & ~left)
    else:
        tl.store(out, value, mask=inside)


def dropout(values: Tensor, bits: Bits, index: Tensor | None = None) -> Tensor:
    """Keep each value with probability p = kept / 2^16 and divide it by p; zero the others.

    Values are (replicas, n, d); a stride of 0 shares one replica's among all. A replica's bits depend on its seed and
    offset, both (replicas,), alone: an entry has 16 bits of their Philox stream, at its position counted row by row.
    If the values are some rows of a matrix, `index` (n,) says which, and they have the bits that they have there.
    The result is (replicas, n, d) in the layout (n, replicas, d).
    """
    out = nodes_first(values, values.shape[2])
    _drop((values,), (out,), bits, index)
    return out


def dropout_concat(left: Tensor, right: Tensor, bits: Bits | None, index: Tensor | None = None) -> Tensor:
    """Return [left ‖ right], (replicas, n, d) and (replicas, n, e), with dropout if `bits` are given."""
    out = nodes_first(left, left.shape[2] + right.shape[2])
    _drop((left, right), (out,), bits, index)
    return out


def dropout_split(values: Tensor, cut: int, bits: Bits | None, index: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the columns before the cut and those from it on, with dropout if `bits` are given."""
    left, right = nodes_first(values, cut), nodes_first(values, values.shape[2] - cut)
    _drop((values,), (left, right), bits, index)
    return left, right


def _drop(sources: tuple[Tensor, ...], targets: tuple[Tensor, ...], bits: Bits | None, index: Tensor | None) -> None:
    replicas, rows, cut = (sources[0] if len(sources) > 1 else targets[0]).shape
    width = sum(source.shape[2] for source in sources)
    values, right = (contiguous_rows(part) for part in (sources[0], sources[-1]))
    out, right_out = targets[0], targets[-1]
    seed, offset, kept = (values, values, 2**16) if bits is None else bits
    if rows * width:
        _dropout[(triton.cdiv(rows * width, 1024), replicas)](
            values, right, seed, offset, seed if index is None else index, out, right_out, rows * width, width, cut,
            values.stride(0), values.stride(1), right.stride(0), right.stride(1), out.stride(0), out.stride(1),
            right_out.stride(0), right_out.stride(1), kept, 2**16 / kept, DROP=bits is not None,
            SOME=index is not None, JOIN=len(sources) > 1, CUT=len(targets) > 1, BLOCK=1024,
            WIDE=needs_64_bits(rows * width),
        )  # fmt: skip
