"""City-Networks, from small files of the published form."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hiergcn.datasets import load_dataset
from hiergcn.errors import InputError
from hiergcn_experiments import graphs
from hiergcn_experiments.graphs import entries
from hiergcn_experiments.graphs.city_networks import (
    EDGES,
    FEATURES,
    FILES,
    LABELS,
    MASKS,
    read_city_network,
    read_tensor,
)

N = 30


def write_files(folder: Path, **changes: Any) -> Path:
    """A ring of 30 nodes, both directions of each edge, as `torch.save` writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes = torch.arange(N)
    ends = torch.stack([nodes, (nodes + 1) % N])
    part = torch.arange(N) % 10
    tensors = {
        EDGES: torch.cat([ends, ends.flip(0)], dim=1),
        FEATURES: torch.arange(N * 37, dtype=torch.float32).reshape(N, 37),
        LABELS: nodes // 3,
        **dict(zip(MASKS, (part == 0, part == 1, part > 1), strict=True)),
    }
    for name, tensor in (tensors | changes).items():
        torch.save(tensor, folder / name)
    return folder


def test_the_reader(tmp_path: Path) -> None:
    graph, split = read_city_network(write_files(tmp_path), "ring", N)
    assert repr(graph) == "Graph('ring', nodes=30, edges=30, features=37, classes=10, labelled=30)"
    assert set(graph.adjacency.data.tolist()) == {1.0}
    assert graph.truth.tolist() == [node // 3 for node in range(N)]
    assert np.asarray(graph.features)[2].tolist() == list(range(74, 111))
    assert (split.train.tolist(), split.validation.tolist(), split.test.size) == ([0, 10, 20], [1, 11, 21], 24)


def test_files_are_found_in_a_folder_of_their_own(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path / "city-networks" / "paris")
    paris = graphs.CITY_NETWORKS[0]
    small = replace(entries.entry(paris), read=lambda folder, _: read_city_network(folder, "paris", N))
    monkeypatch.setattr(entries, "entry", lambda _: small)
    assert load_dataset("paris", tmp_path).graph.n_nodes == N
    assert small.files is not None
    assert small.files.url.endswith("/City-Networks/raw/refs/heads/main/data/paris.tar.gz")
    assert set(small.files.names) == set(FILES)


def test_another_citys_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has shape \(30, 37\), but london has 568,795 nodes"):
        read_city_network(write_files(tmp_path), "london", 568_795)
    with pytest.raises(InputError, match=r"edge_indices\.pt has shape \(3, 5\)"):
        read_city_network(write_files(tmp_path, **{EDGES: torch.zeros(3, 5, dtype=torch.long)}), "ring", N)


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


def test_code_in_a_file_does_not_run(tmp_path: Path) -> None:
    torch.save([Evil(tmp_path / "trace")], tmp_path / "evil.pt")
    with pytest.raises(InputError, match=r"evil\.pt cannot be read"):
        read_tensor(tmp_path / "evil.pt")
    assert not (tmp_path / "trace").exists()
