"""Features as a network takes them in: scaled, sparse if they came sparse."""

from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.preprocessing import normalize

from hiergcn.graph.task import Task
from hiergcn.model.method import Features
from hiergcn.model.ops.sparse_features import SparseFeatures

Scaling = Literal["row", "l2", "binary", "standard", "none"]
SCALINGS: tuple[Scaling, ...] = ("row", "l2", "binary", "standard", "none")  # `standard`: see `standardise`

_SPARSE_BELOW = 0.25  # dense features with fewer entries than this are multiplied faster as sparse ones


def scaled(features: np.ndarray | sp.csr_array, scaling: Scaling) -> np.ndarray | sp.csr_array:
    """`row`: absolute values of a row sum to 1 (Kipf & Welling); `l2`: rows of length 1; `binary`: 1 where not 0."""
    if scaling == "none":
        return features
    if scaling == "binary":
        return features.astype(bool).astype(np.float32)
    result: np.ndarray | sp.csr_array = normalize(features, norm="l1" if scaling == "row" else "l2", axis=1)
    return result


def feature_tensor(task: Task, scaling: Scaling, device: torch.device) -> Features:
    """The task's features on the device; a graph without any gets one column for each node."""
    features = sp.eye_array(task.n_nodes, format="csr") if task.features is None else scaled(task.features, scaling)
    if isinstance(features, np.ndarray) and np.count_nonzero(features) >= _SPARSE_BELOW * features.size:
        copy = np.array(features, dtype=np.float32, order="C")  # a graph's own arrays are read-only, tensors are not
        return torch.from_numpy(copy).to(device)
    return SparseFeatures.from_scipy(sp.csr_array(features), device)
