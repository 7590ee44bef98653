"""Cora (Sen et al., 2008) as Planetoid numbers and splits it, from a file that `scripts/build_cora.py` makes."""

from importlib.resources import files

import numpy as np
import scipy.sparse as sp

from hiergcn.graph import Graph, Split


def read_cora() -> tuple[Graph, Split]:
    """Return the graph and the public split. Ids are the paper ids of the LINQS files."""
    with (
        files("hiergcn.datasets").joinpath("cora.npz").open("rb") as stream,
        np.load(stream, allow_pickle=False) as parts,
    ):
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
