"""The file layout in which Planetoid (Yang et al., 2016) published Cora, Citeseer, Pubmed and NELL.

It has pickles. They are read without running any code that they name.

NELL is the knowledge graph of the 0.001 split: entities carry words and labels, relations link them. Nodes are 9,891
entities and 55,864 relation nodes. A relation node has no words; as in Kipf & Welling (2017), each gets a feature of
its own, 5,414 + 55,864 = 61,278 in all. The neighbour lists name 125,775 distinct edges, many of them more than once.
The H-GCN paper sets edge weights to one, and so does this reader unless `multiplicity` is set.
"""

import collections
import io
import pickle  # read only, through the list below; nothing is ever written as a pickle
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy._core.multiarray import _reconstruct
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.adjacency import symmetric_adjacency

VALIDATION = 500
NELL = "nell.0.001"
RECOVERED = "recovered_labels.npz"
SEED = 0  # of the validation nodes of NELL; the paper draws its own at random


class PlanetoidFiles(NamedTuple):
    """The content of a set of `ind.<name>.*` files: nodes of `x` train, and those of `test` test."""

    adjacency: sp.csr_array
    features: sp.csr_array
    labels: NDArray[np.int64]  # the column of the one-hot row of each node; -1 if the files give none
    train: NDArray[np.int64]
    test: NDArray[np.int64]


def read_planetoid(folder: Path, name: str, *, multiplicity: bool = False) -> tuple[Graph, Split]:
    """Return graph and public split: training nodes first, the next 500 for validation, the listed ones for test.

    Nodes that neither `allx` nor the test list has (15 in Citeseer) have edges, but no features and no label.
    """
    adjacency, features, labels, train, test = read_files(folder, name, multiplicity)
    split = Split(train, np.arange(train.size, train.size + VALIDATION), test)
    return Graph(adjacency, features, labels, name=name), split


def read_files(folder: Path, name: str, multiplicity: bool, one_each: bool = False) -> PlanetoidFiles:
    """Read the files. With `multiplicity` an edge weighs as often as a neighbour list names it, otherwise 1.

    Nodes that neither `allx` nor the test list has get a feature of their own with `one_each`, and none otherwise.
    """

    def part(suffix: str) -> Any:
        return read_pickle(folder / f"ind.{name}.{suffix}")

    x, y, allx, tx, ty = part("x"), part("y"), part("allx"), part("tx"), part("ty")
    index, lists = folder / f"ind.{name}.test.index", part("graph")
    try:
        test = np.array(index.read_text(encoding="ascii").split(), dtype=np.int64)
    except ValueError as error:
        raise InputError(f"{index} is not a list of node numbers; put the original file there.") from error
    sizes = [len(neighbours) for neighbours in lists.values()]
    source = np.repeat(np.fromiter(lists.keys(), np.int64, len(lists)), sizes)
    target = np.fromiter(chain.from_iterable(lists.values()), np.int64, sum(sizes))
    n = int(max(source.max(), target.max(), test.max(), allx.shape[0] - 1)) + 1
    known = part("ally") if (folder / f"ind.{name}.ally").exists() else y
    rows = (len(y), len(known), len(ty), tx.shape[0])
    if rows != (x.shape[0], min(len(known), allx.shape[0]), test.size, test.size) or known.shape[1] != y.shape[1]:
        raise InputError(f"The files ind.{name}.* in {folder} do not belong together; get them all from one source.")
    labels = np.full(n, -1, np.int64)
    labels[: len(known)] = np.where(known.any(axis=1), known.argmax(axis=1), -1)
    labels[test] = np.where(ty.any(axis=1), ty.argmax(axis=1), -1)
    adjacency = symmetric_adjacency(source, target, np.ones(source.size) if multiplicity else None, n)
    listed = np.concatenate([np.arange(allx.shape[0]), test])  # the node of each row of features, then all others
    others = np.setdiff1d(np.arange(n), listed, assume_unique=True)
    features: Any = sp.csr_array(sp.vstack([allx, tx], format="csr"))
    if one_each:
        features = sp.block_diag([features, sp.eye_array(others.size, dtype=features.dtype)], format="csr")
    else:
        features = sp.vstack([features, sp.csr_array((others.size, features.shape[1]), dtype=features.dtype)])
    row_of_node = np.argsort(np.concatenate([listed, others]))
    return PlanetoidFiles(adjacency, sp.csr_array(features)[row_of_node], labels, np.arange(x.shape[0]), test)


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


def read_nell(folder: Path, *, multiplicity: bool = False) -> tuple[Graph, Split]:
    """Return graph and split: the listed training and test nodes, and 500 other labelled nodes for validation."""
    adjacency, features, columns, train, test = read_files(folder, NELL, multiplicity, one_each=True)
    recovered = folder / RECOVERED
    if not (folder / f"ind.{NELL}.ally").exists() and recovered.exists():
        with np.load(recovered, allow_pickle=False) as saved:
            columns[saved["node"]] = saved["label"]
    others = np.setdiff1d(np.flatnonzero(columns >= 0), np.concatenate([train, test]))
    if others.size < VALIDATION:
        raise InputError(
            f"NELL has no labels for its {VALIDATION} validation nodes; put ind.{NELL}.ally of the authors' archive "
            f"nell_data.tar.gz, or {RECOVERED}, into {folder}."
        )
    validation = np.random.default_rng(SEED).choice(others, VALIDATION, replace=False)
    classes = np.unique(columns[columns >= 0])
    labels = np.where(columns >= 0, np.searchsorted(classes, columns), -1)
    names = tuple(str(column) for column in classes)  # as numbered in the files, which use half of their columns
    return Graph(adjacency, features, labels, class_names=names, name="nell"), Split(train, validation, test)
