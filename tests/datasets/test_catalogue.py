"""Names, the list of datasets, and errors for unknown names."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.datasets import catalogue, dataset_names, list_datasets, load_dataset
from hiergcn.datasets.folders import published_digests
from hiergcn.errors import InputError


def test_the_list_says_where_each_dataset_is(bare: Path, tmp_path: Path) -> None:
    numbers = ("activsg2000-magnitude", "activsg2000-angle", "us-counties")
    places = ("helsinki", "pegase", "pegase-eccentricity", "activsg2000", "activsg10k", *numbers)
    cities = ("paris", "shanghai", "la", "london")
    generated = ("city-50000", "city-50000-clustered")
    papers = ("cora", "citeseer", "pubmed", "nell", "amazon-photo", "coauthor-cs")
    assert dataset_names() == (*papers, "chameleon", "minesweeper", *places, *generated, *cities)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "amazon_photo.npz").touch()
    how, where = ({row.name: getattr(row, name) for row in list_datasets(tmp_path)} for name in ("how", "where"))
    assert how["cora"] == how["amazon-photo"] == ""
    assert "`hiergcn datasets get NAME` downloads it" in how["citeseer"]
    assert "put coauthor_cs.npz into the folder that HIERGCN_DATA names (the npz file ms_academic" in how["coauthor-cs"]
    assert where == {
        "cora": "embedded",
        "citeseer": "to download",
        "pubmed": "to download",
        "nell": "to download",
        "amazon-photo": str(tmp_path / "more"),
        "coauthor-cs": "add the file",
        **dict.fromkeys(places, "embedded"),
        **dict.fromkeys(generated, "generated"),
        **dict.fromkeys(cities, "to download"),
        "chameleon": "add the file",
        "minesweeper": "add the file",
    }
    cora = list_datasets()[0]
    assert (cora.nodes, cora.edges, cora.features, cora.classes) == (2708, 5278, 1433, 7)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("corra", r"no dataset 'corra'; did you mean 'cora'\? The names are cora, citeseer"),
        ("zzz", r"no dataset 'zzz'\. The names are cora"),
        ("", "no dataset ''"),
    ],
)
def test_unknown_names(name: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        load_dataset(name)
    with pytest.raises(InputError, match="do not say how often an edge is listed"):
        load_dataset("cora", multiplicity=True)


def test_upper_case_and_underscores_do_not_matter(bare: Path) -> None:
    assert load_dataset("Cora").name == "cora"
    assert load_dataset("City_60").graph.n_nodes == 60


def test_every_file_to_download_has_a_digest() -> None:
    for entry in (catalogue._entry(name) for name in catalogue._CATALOGUE):
        if entry.files is not None and entry.files.url:
            assert set(entry.files.names) <= set(published_digests())


def test_missing_files_without_a_source_are_named(bare: Path) -> None:
    with pytest.raises(InputError, match=r"put coauthor_cs\.npz into .* \(the npz file ms_academic_cs\.npz of"):
        load_dataset("coauthor-cs")


def test_npz_graphs_are_made_undirected_and_unweighted(bare: Path, tmp_path: Path) -> None:
    n = 600
    ring = sp.csr_array((np.full(n, 2.0, np.float32), (np.arange(n) + 1) % n, np.arange(n + 1)), shape=(n, n))
    parts = {"labels": np.arange(n, dtype=np.int32) % 3}
    for prefix, matrix in (("adj", ring), ("attr", sp.eye_array(n, 7, dtype=np.float32, format="csr"))):
        for part in ("data", "indices", "indptr", "shape"):
            parts[f"{prefix}_{part}"] = np.asarray(getattr(matrix, part))
    np.savez(tmp_path / "amazon_photo.npz", **parts)  # type: ignore[arg-type]
    dataset = load_dataset("amazon-photo", tmp_path)
    assert dataset.graph.n_edges == n
    assert set(dataset.graph.adjacency.data.tolist()) == {1.0}
    assert repr(dataset.split) == "Split(train=60, validation=500, test=40)"


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x05\x06" + b"\0" * 18])
def test_damaged_npz(bare: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "amazon_photo.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"amazon_photo\.npz is not a graph in npz form"):
        load_dataset("amazon-photo", tmp_path)
