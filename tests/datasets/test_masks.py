"""Masks of published splits."""

from pathlib import Path

import numpy as np
import pytest

from hiergcn.errors import InputError
from hiergcn.graph.formats.npz_graph import read_masks


def test_each_row_is_a_split(tmp_path: Path) -> None:
    train = np.array([[1, 0, 0, 0], [0, 0, 0, 1]], dtype=bool)
    validation = np.array([[0, 1, 0, 0], [1, 0, 0, 0]], dtype=bool)
    np.savez(tmp_path / "graph.npz", train_masks=train, validation_masks=validation, test_masks=~(train | validation))
    first, second = read_masks(tmp_path / "graph.npz")
    assert [part.tolist() for part in (first.train, first.validation, first.test)] == [[0], [1], [2, 3]]
    assert [part.tolist() for part in (second.train, second.validation, second.test)] == [[3], [0], [1, 2]]


def test_a_file_without_masks_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "graph.npz", train_masks=np.ones((1, 2), dtype=bool))
    with pytest.raises(InputError, match=r"graph\.npz has no masks of splits"):
        read_masks(tmp_path / "graph.npz")
