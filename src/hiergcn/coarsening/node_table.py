"""A graph as a table for any tabular learner: own features, means of neighbours and hyper-nodes, harmonic columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from hiergcn.coarsening.diffusion import Diffusion
from hiergcn.coarsening.multilevel import coarsen
from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.tables.feature_columns import unnamed

LARGEST = 2**28
"""Most entries of the table: 2 GB."""


def node_table(
    graph: Graph, hops: int = 2, levels: int = 3, *, harmonic: bool = True, train: ArrayLike | None = None
) -> pd.DataFrame:
    """Return a data frame with a row per node, indexed by id, for any tabular learner.

    Columns are the degree, the features, their means over neighbours (`hop1:NAME`, ..) and over hyper-nodes
    (`level1:NAME`, ..), and the labels nearby (`near:CLASS`): known labels, diffused over the graph. Those of a
    labelled node come from the labels of other folds, so that no row sees its own label.

    Args:
        graph: the graph whose nodes become rows.
        hops: number of neighbourhoods to average over.
        levels: number of levels of the hierarchy to average over.
        harmonic: whether to add the labels nearby.
        train: numbers of the nodes whose labels may be used; by default the training nodes of the graph's split, or
            all labelled nodes. Leave out those that you test on.
    """
    for name, value in (("hops", hops), ("levels", levels)):
        if not isinstance(value, int) or value < 0:
            raise InputError(f"{name} is {value!r}; give a whole number of at least 0.")
    n, names = graph.n_nodes, [name for column in graph.columns for name in column.features]
    names = names or unnamed(graph.n_features)
    if n * len(names) * (1 + hops + levels) > LARGEST:
        raise InputError(
            f"The table would have {n:,} rows and {len(names) * (1 + hops + levels):,} columns, too many; "
            "give fewer hops or levels, or fewer features."
        )
    parts: list[tuple[Sequence[str], NDArray[Any]]] = [(["degree"], np.diff(graph.adjacency.indptr)[:, None])]
    if graph.features is not None:
        features = graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()
        X = values = np.asarray(features, dtype=np.float64)
        parts.append((names, X))
        sums = np.asarray(graph.adjacency.sum(axis=1), dtype=np.float64)
        lonely = sp.diags_array((sums == 0).astype(np.float64))  # a node without neighbours keeps its own
        mean = sp.csr_array(sp.diags_array(1.0 / np.where(sums > 0, sums, 1.0)) @ graph.adjacency + lonely)
        for hop in range(1, hops + 1):
            values = mean @ values
            parts.append(([f"hop{hop}:{name}" for name in names], values))
        hierarchy = coarsen(graph, levels)
        for level in range(1, hierarchy.depth + 1):
            group = hierarchy.hyper_nodes(level)
            members = sp.csr_array((np.ones(n), (group, np.arange(n))))
            means = np.asarray(members @ X) / np.bincount(group)[:, None]
            parts.append(([f"level{level}:{name}" for name in names], means[group]))
    if harmonic and graph.target.values is not None:
        default = graph.labelled if graph.split is None else graph.split.train
        known = np.intersect1d(default if train is None else np.asarray(train, dtype=np.int64), graph.labelled)
        if known.size < 2:
            raise InputError("Harmonic columns need two labels or more; give them, or set harmonic to False.")
        columns = Diffusion(graph.adjacency).cross_fitted(known, graph.truth[known], graph.n_outputs)
        parts.append(([f"near:{name}" for name in graph.target.names], columns))  # a node never sees its own label
    values = np.hstack([array for _, array in parts]).astype(np.float32)
    return pd.DataFrame(values, pd.Index(graph.ids, name="id"), [name for some, _ in parts for name in some])
