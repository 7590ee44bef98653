"""Pickles give arrays, lists and dictionaries; anything else they ask for is refused before it runs."""

import collections
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.datasets.planetoid_files import read_pickle
from hiergcn.errors import InputError


class Evil:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


def test_the_content_of_the_files_is_read(tmp_path: Path) -> None:
    lists = collections.defaultdict(list, {0: [1, 2], 1: [0]})
    values: tuple[Any, ...] = (np.eye(3, dtype=np.float32), sp.csr_matrix(np.eye(2)), lists)
    for k, value in enumerate(values):
        path = tmp_path / str(k)
        path.write_bytes(pickle.dumps(value, protocol=3))
        found = read_pickle(path)
        assert type(found) is type(value)
        assert found == value if isinstance(value, dict) else np.array_equal(found.sum(0), value.sum(0))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_code_in_a_pickle_does_not_run(tmp_path: Path, protocol: int) -> None:
    trace = tmp_path / "trace"
    path = tmp_path / "evil"
    for attack in (
        Evil(os.system, f"touch {trace}"),
        Evil(eval, f"open({str(trace)!r}, 'w')"),
        Evil(os.mkdir, str(trace)),
    ):
        path.write_bytes(pickle.dumps([1, attack], protocol=protocol))
        with pytest.raises(InputError, match=r"evil cannot be read \(it asks for (posix|builtins|__builtin__|nt)\."):
            read_pickle(path)
        assert not trace.exists()


DOTTED = b"\x80\x04\x8c\x05numpy\x8c\x10ndarray.tofile.x\x93."  # an attribute of what is admitted


@pytest.mark.parametrize("content", [b"", b"garbage", pickle.dumps(np.eye(5))[:-20], DOTTED])
def test_damaged_pickles(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged cannot be read"):
        read_pickle(path)
