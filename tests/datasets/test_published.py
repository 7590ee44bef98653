"""Every published dataset, read from its files, has the sizes and the split that the literature gives."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.datasets import load_dataset


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed", "nell", "amazon-photo", "coauthor-cs"])
def test_sizes_and_split(published: Path, name: str) -> None:
    dataset = load_dataset(name, published)
    graph, info = dataset.graph, dataset.info
    assert (graph.n_nodes, graph.n_edges, graph.n_features, graph.n_classes) == (
        info.nodes,
        info.edges,
        info.features,
        info.classes,
    )
    assert set(np.unique(graph.adjacency.data)) == {1.0}
    assert sp.issparse(graph.features)
    dataset.split.check(graph)
    if dataset.splits:
        return
    assert dataset.split.validation.size == 500
    per_class = np.bincount(graph.truth[dataset.split.train], minlength=graph.n_classes)
    assert set(per_class.tolist()) == {1 if name == "nell" else 20}


@pytest.mark.parametrize(("name", "sizes"), [("chameleon", (427, 302, 161)), ("minesweeper", (5000, 2500, 2500))])
def test_ten_published_splits(published: Path, name: str, sizes: tuple[int, ...]) -> None:
    dataset = load_dataset(name, published)
    assert len(dataset.splits) == 10
    assert len({split.train.tobytes() for split in dataset.splits}) == 10
    assert np.array_equal(dataset.split.test, dataset.splits[0].test)
    for split in dataset.splits:
        split.check(dataset.graph)
        assert sum(part.size for part in (split.train, split.validation, split.test)) == dataset.graph.n_nodes
    first = dataset.splits[1]
    assert (first.train.size, first.validation.size, first.test.size) == sizes


def test_nell(published: Path) -> None:
    nell = load_dataset("nell", published)
    graph, split = nell.graph, nell.split
    assert (split.train.size, split.test.size, graph.labelled.size) == (105, 969, 3577)
    assert len(graph.class_names) == 105
    assert max(map(int, graph.class_names)) > 105  # names are the columns of the files
    assert sp.issparse(graph.features)
    own = graph.features[:, 5414:]  # a column for each relation node, ascending, with a single one
    assert (own.sum(axis=0) == 1).all()
    relations = own.tocsc().indices
    assert (np.diff(relations) > 0).all()
    assert np.intersect1d(relations, split.test).size == 0
    again = load_dataset("nell", published)
    assert np.array_equal(again.split.validation, split.validation)


def test_nells_edges_by_multiplicity(published: Path) -> None:
    counted = load_dataset("nell", published, multiplicity=True).graph
    assert counted.n_edges == 125_775
    assert counted.adjacency.sum() / 2 == 266_144  # the edges that the literature counts
