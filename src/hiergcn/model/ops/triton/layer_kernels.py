"""Propagation, a thin product and the weighted sum of channels in one kernel, for the layer on sparse features."""

import triton
import triton.language as tl
from torch import Tensor

from hiergcn.model.ops.row_chunks import RowChunks
from hiergcn.model.ops.triton.channel_kernels import can_mix_product, rectified
from hiergcn.model.ops.triton.layout import contiguous_rows, nodes_first
from hiergcn.model.ops.triton.product_kernels import chunk_sum, entries_at_once, sums_of_long_rows

_THIN = 16  # columns of H; with more, a product of tiles is faster


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
