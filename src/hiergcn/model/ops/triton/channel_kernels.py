"""The weighted sum of channels, alone or fused with the product or the propagation before it."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from hiergcn.model.ops.row_chunks import RowChunks
from hiergcn.model.ops.triton.entry_kernels import PRECISION, block_entries, contiguous_rows, needs_64_bits, nodes_first
from hiergcn.model.ops.triton.product_kernels import chunk_sum, entries_at_once, sums_of_long_rows

_MANY_TILES = 512  # tiles of 64 rows that keep a GPU busy
_THIN = 16  # columns of H; with more, a product of tiles is faster


@triton.jit
def rectified(z):
    """ReLU that propagates NaN, unlike `tl.maximum`, so that divergence shows."""
    return tl.where(z < 0.0, 0.0, z)


@triton.jit
def _mix(
    Z, w, out, size, width, z_replica, z_row, out_replica, out_row,
    CHANNELS: tl.constexpr, PADDED: tl.constexpr, BLOCK: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(1).to(tl.int64)
    row, column, inside = block_entries(size, width, BLOCK, WIDE)
    channel = tl.arange(0, PADDED)
    place = replica * z_replica + row[:, None] * z_row + column[:, None] * CHANNELS + channel[None, :]
    valid = inside[:, None] & (channel < CHANNELS)[None, :]
    weight = tl.load(w + replica * CHANNELS + channel, mask=channel < CHANNELS, other=0.0)
    mixed = tl.sum(rectified(tl.load(Z + place, mask=valid, other=0.0)) * weight[None, :], axis=1)
    tl.store(out + replica * out_replica + row * out_row + column, mixed, mask=inside)


@triton.jit
def _mix_backward(
    grad, Z, w, grad_Z, partial_w, size, width, grad_replica, grad_row, z_replica, z_row,
    CHANNELS: tl.constexpr, PADDED: tl.constexpr, BLOCK: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Write the gradient by Z, in the layout of Z, and this program's share of the gradient by w."""
    replica = tl.program_id(1).to(tl.int64)
    row, column, inside = block_entries(size, width, BLOCK, WIDE)
    channel = tl.arange(0, PADDED)
    place = replica * z_replica + row[:, None] * z_row + column[:, None] * CHANNELS + channel[None, :]
    valid = inside[:, None] & (channel < CHANNELS)[None, :]
    weight = tl.load(w + replica * CHANNELS + channel, mask=channel < CHANNELS, other=0.0)
    incoming = tl.load(grad + replica * grad_replica + row * grad_row + column, mask=inside, other=0.0)
    z = tl.load(Z + place, mask=valid, other=0.0)
    tl.store(grad_Z + place, tl.where(z > 0.0, incoming[:, None] * weight[None, :], 0.0), mask=valid)
    share = partial_w + (replica * tl.num_programs(0) + tl.program_id(0)) * CHANNELS + channel
    tl.store(share, tl.sum(incoming[:, None] * rectified(z), axis=0), mask=channel < CHANNELS)


def mix_channels(Z: Tensor, w: Tensor) -> Tensor:
    """Return Σ_j w_j ReLU(Z_j); Z is (replicas, n, d * c), w (replicas, c), the result's layout (n, replicas, d)."""
    replicas, rows, _ = Z.shape
    Z, width = contiguous_rows(Z), Z.shape[2] // w.shape[1]
    out = nodes_first(Z, width)
    if out.numel():
        _mix[(triton.cdiv(rows * width, 512), replicas)](
            Z, w.contiguous(), out, rows * width, width, Z.stride(0), Z.stride(1), out.stride(0), out.stride(1),
            CHANNELS=w.shape[1], PADDED=triton.next_power_of_2(w.shape[1]), BLOCK=512,
            WIDE=needs_64_bits(rows * width),
        )  # fmt: skip
    return out


def mix_channels_backward(grad: Tensor, Z: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients by Z and w."""
    replicas, rows, width = grad.shape
    grad, Z = contiguous_rows(grad), contiguous_rows(Z)
    grad_Z = torch.empty_strided(Z.shape, Z.stride(), dtype=Z.dtype, device=Z.device)
    programs = triton.cdiv(rows * width, 512)
    partial_w = torch.empty((replicas, programs, w.shape[1]), dtype=Z.dtype, device=Z.device)
    if grad.numel():
        _mix_backward[(programs, replicas)](
            grad, Z, w.contiguous(), grad_Z, partial_w, rows * width, width, grad.stride(0), grad.stride(1),
            Z.stride(0), Z.stride(1), CHANNELS=w.shape[1], PADDED=triton.next_power_of_2(w.shape[1]), BLOCK=512,
            WIDE=needs_64_bits(rows * width),
        )  # fmt: skip
    return grad_Z, partial_w.sum(dim=1)


@triton.jit
def _mix_product(
    H, theta, onto, w, Z, out, rows, depth, width, h_replica, h_row, theta_replica, theta_row, onto_replica, onto_row,
    z_replica, z_row, out_replica, out_row, ONTO: tl.constexpr, KEEP: tl.constexpr,
    CHANNELS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Compute a tile of Z = onto + H θ and of the weighted sum of its channels."""
    replica, part = tl.program_id(2).to(tl.int64), tl.program_id(0).to(tl.int64)
    left = tl.program_id(1) * COLUMNS
    row, column, k = part * ROWS + tl.arange(0, ROWS), left + tl.arange(0, COLUMNS), tl.arange(0, DEPTH)
    below, inside = (row < rows)[:, None], (column < width)[None, :]
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(0, depth, DEPTH):
        valid = first + k < depth
        a = H + replica * h_replica + row[:, None] * h_row + (first + k)[None, :]
        b = theta + replica * theta_replica + (first + k)[:, None] * theta_row + column[None, :]
        total = tl.dot(
            tl.load(a, mask=below & valid[None, :], other=0.0),
            tl.load(b, mask=valid[:, None] & inside, other=0.0),
            total,
            input_precision=PRECISION,
        )
    if ONTO:
        place = onto + replica * onto_replica + row[:, None] * onto_row + column[None, :]
        total += tl.load(place, mask=below & inside, other=0.0)
    if KEEP:
        tl.store(Z + replica * z_replica + row[:, None] * z_row + column[None, :], total, mask=below & inside)
    weight = tl.load(w + replica * CHANNELS + tl.arange(0, CHANNELS))
    each = tl.reshape(rectified(total), (ROWS, COLUMNS // CHANNELS, CHANNELS))
    mixed = tl.sum(each * weight[None, None, :], axis=2)
    narrow = left // CHANNELS + tl.arange(0, COLUMNS // CHANNELS)
    place = out + replica * out_replica + row[:, None] * out_row + narrow[None, :]
    tl.store(place, mixed, mask=below & (narrow < width // CHANNELS)[None, :])


def can_mix_product(width: int, channels: int) -> bool:
    """Return whether `mix_product` supports these sizes: a power of 2 of channels, and rows that fit a program."""
    return channels & (channels - 1) == 0 and channels <= 128 and width <= 512


def mix_product(H: Tensor, theta: Tensor, w: Tensor, onto: Tensor | None, keep: bool) -> tuple[Tensor, Tensor | None]:
    """Return `mix_channels` of Z = (onto +) H θ, and Z if `keep`, in the memory of `onto`; H is (replicas, n, k)."""
    replicas, rows, depth = H.shape
    width, channels = theta.shape[2], w.shape[1]
    H, theta, onto = contiguous_rows(H), contiguous_rows(theta), None if onto is None else contiguous_rows(onto)
    out = nodes_first(H, width // channels)
    Z = nodes_first(H, width) if keep and onto is None else onto
    columns = max(min(triton.next_power_of_2(width), 128), 16)
    tiles = triton.cdiv(rows, 64) * triton.cdiv(width, columns) * replicas
    block = 64 if tiles >= _MANY_TILES else 16
    any_Z = out if Z is None else Z
    if out.numel():
        _mix_product[(triton.cdiv(rows, block), triton.cdiv(width, columns), replicas)](
            H, theta, any_Z, w.contiguous(), any_Z, out, rows, depth, width, H.stride(0), H.stride(1),
            theta.stride(0), theta.stride(1), any_Z.stride(0), any_Z.stride(1), any_Z.stride(0), any_Z.stride(1),
            out.stride(0), out.stride(1), ONTO=onto is not None, KEEP=keep, CHANNELS=channels, ROWS=block,
            COLUMNS=columns, DEPTH=16, num_stages=2,
        )  # fmt: skip
    return out, Z if keep else None


@triton.jit
def _propagate_mix(
    start, end, target, column, values, dense, H, theta, w, Z, out, long, rows, width, depth, dense_replica, dense_row,
    h_replica, h_row, theta_replica, theta_row, z_replica, z_row, out_replica, out_row, long_replica, long_row,
    KEEP: tl.constexpr, CHANNELS: tl.constexpr, ENTRIES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Compute a row of Z = Â Y + H θ and of the weighted sum of its channels, or a part of a long row of Â Y."""
    chunk, replica = tl.program_id(0), tl.program_id(1).to(tl.int64)
    columns = tl.arange(0, COLUMNS)
    inside = columns < width
    total = chunk_sum(
        chunk, start, end, column, column, values, dense + replica * dense_replica, dense_row, columns, inside,
        False, ENTRIES, COLUMNS,
    )  # fmt: skip
    row = tl.load(target + chunk).to(tl.int64)
    if row < rows:
        for k in range(depth):
            factor = tl.load(H + replica * h_replica + row * h_row + k)
            total += factor * tl.load(theta + replica * theta_replica + k * theta_row + columns, mask=inside, other=0.0)
        if KEEP:
            tl.store(Z + replica * z_replica + row * z_row + columns, total, mask=inside)
        weight = tl.load(w + replica * CHANNELS + tl.arange(0, CHANNELS))
        each = tl.reshape(rectified(total), (COLUMNS // CHANNELS, CHANNELS))
        mixed, narrow = tl.sum(each * weight[None, :], axis=1), tl.arange(0, COLUMNS // CHANNELS)
        tl.store(out + replica * out_replica + row * out_row + narrow, mixed, mask=narrow < width // CHANNELS)
    else:
        tl.store(long + replica * long_replica + (row - rows) * long_row + columns, total, mask=inside)


def can_propagate_mix(depth: int, width: int, channels: int) -> bool:
    """Return whether `propagate_mix` supports these sizes."""
    return can_mix_product(width, channels) and depth <= _THIN


def propagate_mix(
    chunks: RowChunks, column: Tensor, values: Tensor, Y: Tensor, H: Tensor, theta: Tensor, w: Tensor, keep: bool
) -> tuple[Tensor, Tensor | None]:
    """Return `mix_channels` of Z = Â Y + H θ, and Z if `keep`.

    Â is given by its chunks, columns and values; Y is (replicas, n, d * c), H (replicas, n, k), θ (replicas, k, d * c).
    """
    replicas, _, width = Y.shape
    Y, H, theta, channels = contiguous_rows(Y), contiguous_rows(H), contiguous_rows(theta), w.shape[1]
    out, long = nodes_first(Y, width // channels), sums_of_long_rows(chunks, Y)
    Z = nodes_first(Y, width) if keep else out

    def add_up(chunks: RowChunks, column: Tensor, values: Tensor, dense: Tensor) -> None:
        _propagate_mix[(chunks.start.numel(), replicas)](
            chunks.start, chunks.end, chunks.target, column, values, dense, H, theta, w.contiguous(), Z, out, long,
            chunks.rows, width, H.shape[2], dense.stride(0), dense.stride(1), H.stride(0), H.stride(1), theta.stride(0),
            theta.stride(1), Z.stride(0), Z.stride(1), out.stride(0), out.stride(1), long.stride(0), long.stride(1),
            KEEP=keep, CHANNELS=channels, ENTRIES=entries_at_once(chunks), COLUMNS=triton.next_power_of_2(width),
            num_warps=1,
        )  # fmt: skip

    add_up(chunks, column, values, Y)
    if chunks.sums is not None:
        add_up(chunks.sums.chunks, chunks.sums.column, chunks.sums.ones, long)
    return out, Z if keep else None
