"""Rows cut into pieces: the sums of the pieces, added up, are the sums of the rows."""

from itertools import pairwise

import pytest
import torch

from hiergcn.model.ops.row_chunks import Pieces, pieces_of


def added_up(pieces: Pieces, terms: torch.Tensor) -> torch.Tensor:
    """As a product with ones would, piece by piece."""
    below = 0 if pieces.sums is None else pieces.sums.column.numel()
    out = torch.full((pieces.rows + below,), torch.nan)
    for start, end, target in zip(pieces.start, pieces.end, pieces.target, strict=True):
        out[target] = terms[start:end].sum()
    if pieces.sums is not None:
        above = pieces.sums.pieces
        for start, end, target in zip(above.start, above.end, above.target, strict=True):
            out[target] = out[pieces.sums.column[start:end]].sum()
    assert not out.isnan().any()
    return out[: pieces.rows]


@pytest.mark.parametrize("lengths", [[0], [3, 0, 1], [4, 5, 0, 20, 1, 9], [8, 8], [100]])
def test_pieces_make_up_their_rows(lengths: list[int]) -> None:
    row_start = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)
    terms = torch.arange(float(row_start[-1])) + 1.0
    pieces = pieces_of(row_start, longest=4)
    assert (pieces.end - pieces.start).max() <= 4
    assert {part.dtype for part in (pieces.start, pieces.end, pieces.target)} == {torch.int32}
    expected = torch.stack([terms[a:b].sum() for a, b in pairwise(row_start)])
    assert torch.equal(added_up(pieces, terms), expected)


def test_short_rows_are_not_cut() -> None:
    assert pieces_of(torch.tensor([0, 2, 2, 5]), longest=4).sums is None
