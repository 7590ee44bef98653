"""Cora, which is part of the package; `scripts/build_cora.py` builds its file."""

from importlib.resources import files
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.graph import Graph, Split


def read_cora() -> tuple[Graph, Split]:
    """Return Cora (Sen et al., 2008) as Planetoid numbers it, and its public split; ids are those of LINQS."""
    with files("hiergcn.datasets").joinpath("cora.npz").open("rb") as stream, np.load(stream) as archive:
        parts: dict[str, NDArray[Any]] = {name: archive[name] for name in archive.files}
    words, starts = parts["feature_indices"].astype(np.int32), parts["feature_indptr"].astype(np.int32)
    n, width = starts.size - 1, int(parts["n_features"])
    graph = Graph.from_edges(
        parts["edge_source"],
        parts["edge_target"],
        n=n,
        features=sp.csr_array((np.ones(words.size, np.float32), words, starts), shape=(n, width)),
        labels=parts["labels"].astype(np.int64),
        ids=parts["paper_ids"].astype(np.int64),
        class_names=parts["class_names"].tolist(),
        name="cora",
    )
    return graph, Split(parts["train"], parts["validation"], parts["test"])
