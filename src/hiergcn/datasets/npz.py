"""The npz layout of Shchur et al. (2018): CSR parts of adjacency (`adj_*`) and features (`attr_*`), and labels."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split


def read_npz(path: Path, name: str) -> tuple[Graph, Split]:
    """Graph, made undirected and unweighted, and a split drawn with seed 0: the files bring none."""
    try:
        with np.load(path, allow_pickle=False) as parts:
            adjacency, features, labels = _csr(parts, "adj").tocoo(), _csr(parts, "attr"), parts["labels"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} is not a graph in npz form ({error!s:.200}): get the original") from error
    source, target = adjacency.coords
    graph = Graph.from_edges(source, target, n=adjacency.shape[0], features=features, labels=labels, name=name)
    return graph, Split.random(labels)


def _csr(parts: Any, prefix: str) -> Any:
    data, indices, indptr, shape = (parts[f"{prefix}_{part}"] for part in ("data", "indices", "indptr", "shape"))
    return sp.csr_array((data, indices, indptr), shape=tuple(shape))
