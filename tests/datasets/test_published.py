"""Every published dataset, read from its files, has the sizes and the split that the literature gives."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.datasets import load_dataset
from hiergcn.datasets.planetoid_files import read_files
from hiergcn.errors import InputError


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


def test_citeseers_gaps_have_neither_features_nor_label(published: Path) -> None:
    graph = load_dataset("citeseer", published).graph
    gaps = np.flatnonzero(graph.truth < 0)
    assert gaps.size == 15
    assert sp.issparse(graph.features)
    assert graph.features[gaps].nnz == 0
    assert (np.diff(graph.adjacency.indptr)[gaps] > 0).all()


def test_rows_of_test_nodes_are_put_where_the_list_says(published: Path) -> None:
    files = read_files(published / "planetoid", "citeseer")
    graph = load_dataset("citeseer", published).graph
    assert sp.issparse(graph.features)
    last = files.features[[files.features.shape[0] - 1]].toarray()
    assert (graph.features[[files.test[-1]]].toarray() == last).all()
    assert files.test[-1] != files.test.max()  # the list is not sorted, so the order matters


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


def test_nell_without_labels_for_validation(published: Path, tmp_path: Path) -> None:
    for file in (published / "nell").glob("ind.*"):
        if not file.name.endswith("ally"):
            (tmp_path / file.name).symlink_to(file)
    with pytest.raises(InputError, match=r"ind\.nell\.0\.001\.ally .* or recovered_labels\.npz"):
        load_dataset("nell", tmp_path)


def test_npz_split_is_drawn_once_and_for_all(published: Path) -> None:
    first, second = (load_dataset("amazon-photo", published) for _ in range(2))
    assert np.array_equal(first.split.train, second.split.train)
    assert first.split.test.size == 7650 - 160 - 500
