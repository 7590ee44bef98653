"""NELL, the knowledge graph of Planetoid's 0.001 split: entities carry words and labels, relations link them.

Nodes are 9,891 entities and 55,864 relation nodes. A relation node has no words; as in Kipf & Welling (2017), each
gets a feature of its own, 5,414 + 55,864 = 61,278 in all. The neighbour lists name 125,775 distinct edges, many of them
more than once. The H-GCN paper sets edge weights to one, and so does this reader unless `multiplicity` is set.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.datasets.planetoid_files import VALIDATION, PlanetoidFiles, read_files, row_of_node
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split

NELL = "nell.0.001"
RECOVERED = "recovered_labels.npz"
SEED = 0  # of the validation nodes; the paper draws its own at random


def read_nell(folder: Path, *, multiplicity: bool = False) -> tuple[Graph, Split]:
    """Return graph and split: the listed training and test nodes, and 500 other labelled nodes for validation."""
    files = read_files(folder, NELL, multiplicity=multiplicity)
    columns = _all_known_labels(folder, files)
    train = np.arange(files.n_train)
    others = np.setdiff1d(np.flatnonzero(columns >= 0), np.concatenate([train, files.test]))
    if others.size < VALIDATION:
        raise InputError(
            f"NELL has no labels for its {VALIDATION} validation nodes; put ind.{NELL}.ally of the authors' archive "
            f"nell_data.tar.gz, or {RECOVERED}, into {folder}."
        )
    validation = np.random.default_rng(SEED).choice(others, VALIDATION, replace=False)
    classes = np.unique(columns[columns >= 0])
    labels = np.where(columns >= 0, np.searchsorted(classes, columns), -1)
    names = tuple(str(column) for column in classes)  # as numbered in the files, which use half of their columns
    graph = Graph(files.adjacency, _features(files), labels, class_names=names, name="nell")
    return graph, Split(train, validation, files.test)


def _features(files: PlanetoidFiles) -> Any:
    """Return the words of the entities, and one column per relation node, in ascending order."""
    own = sp.eye_array(files.n_nodes - files.features.shape[0], dtype=files.features.dtype)
    return sp.csr_array(sp.block_diag([files.features, own], format="csr"))[row_of_node(files)]


def _all_known_labels(folder: Path, files: PlanetoidFiles) -> NDArray[np.int64]:
    """Return the labels of `ally` if it is present (`read_files` has read them then), else the recovered labels."""
    path = folder / RECOVERED
    if (folder / f"ind.{NELL}.ally").exists() or not path.exists():
        return files.labels
    labels = files.labels.copy()
    with np.load(path, allow_pickle=False) as recovered:
        labels[recovered["node"]] = recovered["label"]
    return labels
