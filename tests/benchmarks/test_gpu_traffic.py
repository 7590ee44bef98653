"""Memory traffic of a replica, compared with a count by hand on a small graph."""

import numpy as np
import scipy.sparse as sp

from gpu_traffic import epoch_words, feature_words, needed, output_words, whole
from hiergcn.coarsening import coarsen
from hiergcn.graph import Graph, Split
from hiergcn.settings.methods import HGCNConfig
from roofline import entries_with_loops

PATH = sp.csr_array(np.eye(4, k=1) + np.eye(4, k=-1))  # 4 nodes, 6 entries, 10 with the diagonal
FEATURES = sp.csr_array(np.array([[1.0, 0, 2], [0, 0, 0], [0, 3, 0], [4, 0, 5]]))  # 5 entries
GRAPH = Graph(PATH, FEATURES, np.array([0, 1, 0, 1]))


def test_features_match_the_count_by_hand() -> None:
    """Half of 5 entries are kept: rows of 8 words are read for 2.5, 2.5 and 5 entries, and results written."""
    read = 8 * (2.5 + 2.5 + 5) + 5 * (1 + 1 + 3)  # dropout reads and writes the entries, three products read them
    written = 8 * (4 + 4 + 3)  # XW twice, the gradient once
    assert feature_words(GRAPH, width=8, kept=0.5) == read + written


def test_one_level_matches_the_count_by_hand() -> None:
    """Count a layer on 4 nodes with sparse features, one on their n hyper-nodes, and the output on all 4 nodes."""
    hierarchy = coarsen(PATH, 1)
    n, m = hierarchy.levels[1].n_nodes, entries_with_loops(hierarchy.levels[1].adjacency)
    config = HGCNConfig(levels=1, hidden=4, channels=2, weight_embedding=1, dropout=0.5, output_relu=False)
    first = feature_words(GRAPH, 8, 0.5) + 2 * (10 * 8 + 4 * (1 + 4)) + 4 * 8 + 4 * (16 + 4)
    first += 2 * 4 * (8 + 1) + (10 + 4) * 8  # thin products and the gradient's propagation
    beside = 3 * (10 + 4) + 4 * 4
    second = 3 * 2 * n * 5 + 3 * 5 * (m + n) + n * (5 + 8 + 4) + n * (5 + 4) + n * (16 + 4) + 2 * n * (5 + 8)
    last = 4 * 4 * 4 + 4 * 4 * (4 + 2) + 3 * 2 * (10 + 4) + 4 * 2
    between, adam = 3 * 2 * (4 + n) * 4, 7 * 3 * 8
    every = Split(np.array([0, 1, 2]), np.array([3]), np.array([], dtype=np.int64))
    assert epoch_words(GRAPH, hierarchy, config, every) == first + beside + second + last + between + adam


def test_rows_that_no_score_depends_on_are_not_counted() -> None:
    """Of a ring of 300 nodes, a node's output depends on itself and two others, and on their hyper-nodes."""
    ring = sp.csr_array(np.eye(300, k=1) + np.eye(300, k=-1) + np.eye(300, k=299) + np.eye(300, k=-299))
    hierarchy = coarsen(ring, 1)
    some, every = needed(hierarchy, np.array([7])), whole(hierarchy)
    assert some[0][:3] == (1, 3, 3)
    assert some[1] == every[1]  # it is the coarsest level, which the way down computes
    train, seen = some[0], every[0]
    assert output_words(train, train, 4, 2, False) == 4 * 3 * 4 + 4 * (4 + 2) + (2 * 3 + 1 + 3 + 3 + 1) * 2 + 2
    assert output_words(train, train, 4, 2, False) < output_words(train, seen, 4, 2, False)
