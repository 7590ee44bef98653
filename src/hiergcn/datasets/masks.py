"""Published splits of a graph in an npz file: a boolean mask per part, with a row for each split."""

import zipfile
from pathlib import Path

import numpy as np

from hiergcn.errors import InputError
from hiergcn.graph import Split
from hiergcn.graph.split import PARTS


def read_masks(path: Path) -> tuple[Split, ...]:
    """Return the splits of `train_masks`, `validation_masks` and `test_masks`, each (splits, nodes)."""
    try:
        with np.load(path, allow_pickle=False) as parts:
            masks = [parts[f"{part}_masks"] for part in PARTS]
        return tuple(Split.from_masks(*of_split) for of_split in zip(*masks, strict=True))
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} has no masks of splits ({error!s:.200}); get the original.") from error
