"""Sizes of neighbourhoods, compared with shortest paths of scipy."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path

from hiergcn.datasets import planted_graph
from hiergcn.graph.neighbourhoods import SAMPLE, neighbourhood_sizes


def test_sizes_are_those_of_shortest_paths() -> None:
    adjacency = planted_graph(300, degree=2, seed=4).adjacency  # in several components
    sample = np.linspace(0, 299, SAMPLE).astype(int)
    distance = shortest_path(adjacency, unweighted=True)[sample]
    steps = (0, 1, 2, 5, 9, 300)
    expected = [(distance <= one).sum(axis=1) for one in steps]
    np.testing.assert_array_equal(neighbourhood_sizes(adjacency, steps), expected)


def test_few_nodes_are_all_sampled() -> None:
    path = sp.csr_array(np.eye(5, k=1) + np.eye(5, k=-1))
    np.testing.assert_array_equal(neighbourhood_sizes(path, [1, 2]), [[2, 3, 3, 3, 2], [3, 4, 5, 4, 3]])
