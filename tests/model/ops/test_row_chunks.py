"""Rows cut into chunks: the sums of the chunks, added up, are the sums of the rows."""

from itertools import pairwise

import pytest
import torch

from hiergcn.model.ops.row_chunks import RowChunks, row_chunks


def added_up(chunks: RowChunks, terms: torch.Tensor) -> torch.Tensor:
    """Add the terms as a product with ones does, chunk by chunk."""
    long = 0 if chunks.sums is None else chunks.sums.column.numel()
    out = torch.full((chunks.rows + long,), torch.nan)
    for start, end, target in zip(chunks.start, chunks.end, chunks.target, strict=True):
        out[target] = terms[start:end].sum()
    if chunks.sums is not None:
        above = chunks.sums.chunks
        for start, end, target in zip(above.start, above.end, above.target, strict=True):
            out[target] = out[chunks.rows + chunks.sums.column[start:end].long()].sum()
    assert not out.isnan().any()
    return out[: chunks.rows]


@pytest.mark.parametrize("lengths", [[0], [3, 0, 1], [4, 5, 0, 20, 1, 9], [8, 8], [100]])
def test_chunks_make_up_their_rows(lengths: list[int]) -> None:
    row_start = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)
    terms = torch.arange(float(row_start[-1])) + 1.0
    chunks = row_chunks(row_start, longest=4)
    assert (chunks.end - chunks.start).max() <= 4
    assert {part.dtype for part in (chunks.start, chunks.end, chunks.target)} == {torch.int32}
    expected = torch.stack([terms[a:b].sum() for a, b in pairwise(row_start)])
    assert torch.equal(added_up(chunks, terms), expected)


def test_short_rows_are_not_cut() -> None:
    assert row_chunks(torch.tensor([0, 2, 2, 5]), longest=4).sums is None
