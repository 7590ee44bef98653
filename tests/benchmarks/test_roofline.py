"""Roofline of a step, compared with a count by hand on a small graph."""

import numpy as np
import scipy.sparse as sp

from hiergcn.coarsening import coarsen
from hiergcn.settings.methods import HGCNConfig
from roofline import Machine, Work, hgcn_work

PATH = sp.csr_array(np.eye(4, k=1) + np.eye(4, k=-1))  # 4 nodes, 6 entries, 10 with the diagonal


def test_one_layer_matches_the_count_by_hand() -> None:
    """No coarsening: Â (10 entries of 8 bytes), X (6 stored entries of 8 bytes), logits (4 x 3 words)."""
    work = hgcn_work(coarsen(PATH, 0), HGCNConfig(levels=0), 5, 6, 3, training=False)
    assert work == Work(80 + 48 + 48, 2 * 6 * 3 + 2 * 10 * 3)


def test_training_needs_two_to_three_times_the_work_of_evaluation() -> None:
    hierarchy, config = coarsen(PATH, 1), HGCNConfig(levels=1, hidden=4, channels=2, weight_embedding=1)
    once, both = (hgcn_work(hierarchy, config, 5, 6, 3, training) for training in (False, True))
    assert 2 * once.bytes < both.bytes < 3 * once.bytes
    assert 2 * once.operations < both.operations < 3 * once.operations


def test_features_count_as_dense_if_that_is_less() -> None:
    hierarchy = coarsen(PATH, 0)
    full, half = (hgcn_work(hierarchy, HGCNConfig(levels=0), 5, entries, 3, training=False) for entries in (20, 10))
    assert full.bytes == half.bytes  # 20 words as a matrix, 10 entries of two words


def test_the_slower_of_memory_and_arithmetic_decides() -> None:
    assert Machine(bandwidth=10.0, rate=1.0).least_seconds(Work(100, 20)) == 20
    assert Machine(bandwidth=10.0, rate=100.0).least_seconds(Work(100, 20)) == 10
