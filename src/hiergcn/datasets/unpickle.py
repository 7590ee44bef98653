"""A safe reader of the pickles in which Planetoid and NELL were published: it runs no code that they name."""

import collections
import io
import pickle  # read only, through the list below; nothing is ever written as a pickle
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy._core.multiarray import _reconstruct

from hiergcn.errors import InputError

# Every global that the files name, as Python 2 spelled it, and nothing else.
ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("scipy.sparse.csr", "csr_matrix"): sp.csr_matrix,
    ("scipy.sparse._csr", "csr_matrix"): sp.csr_matrix,
    ("collections", "defaultdict"): collections.defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which the originals do not") from None


def read_pickle(path: Path) -> Any:
    """Read a pickle of Python 2 that holds numpy and scipy.sparse arrays, lists and dictionaries."""
    try:
        return _Unpickler(io.BytesIO(path.read_bytes()), fix_imports=False, encoding="latin1").load()
    except Exception as error:  # a damaged pickle can fail in any way
        reason = str(error) or type(error).__name__
        raise InputError(f"{path} cannot be read ({reason:.200}); put the original file there.") from error
