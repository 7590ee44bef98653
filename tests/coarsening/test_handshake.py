"""Handshake matching: a worked example, a plain version, and the same groups from DuckDB."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from coarsen_graphs import graph_of, integer_graphs
from hypothesis import given, settings

from hiergcn.coarsening import CoarsenConfig, coarsen
from hiergcn.coarsening.handshake import handshake_groups, hash32
from hiergcn.coarsening.out_of_core import LevelSummary, coarsen_out_of_core
from hiergcn.errors import InputError
from hiergcn.graph import Graph

HANDSHAKE = CoarsenConfig(strategy="handshake")


def groups(adjacency: sp.csr_array) -> list[int]:
    hierarchy = coarsen(adjacency, 1, HANDSHAKE)
    return hierarchy.hyper_nodes(hierarchy.depth).tolist()  # type: ignore[no-any-return]


def plain_hash(number: int) -> int:
    x = number * 2654435761 % 2**32
    x = (x ^ x >> 15) * 2246822519 % 2**32
    return x ^ x >> 13


def plain_groups(adjacency: sp.csr_array) -> list[int]:
    """Take the edges from the most similar to the least; one whose ends are both free becomes a pair."""
    n = adjacency.shape[0]
    neighbours = [[k for k in range(n) if k != j and adjacency[j, k]] for j in range(n)]
    edges = [(j, k) for j in range(n) for k in neighbours[j] if j < k]
    edges.sort(key=lambda e: -(adjacency[e[0], e[1]] ** 2 * (1 + plain_hash(sum(e)) / 2**40)))
    head = list(range(n))
    free = set(head)
    for j, k in edges:
        if {j, k} <= free:
            head[k] = j
            free -= {j, k}
    waiting: dict[int, int] = {}  # by the neighbour that a node chose
    for j in sorted(free):
        if neighbours[j]:
            hub = max(neighbours[j], key=plain_hash)
            if hub in waiting:
                head[j] = waiting.pop(hub)
            else:
                waiting[hub] = j
    number = {h: i for i, h in enumerate(sorted(set(head)))}
    return [number[h] for h in head]


class TestInMemory:
    def test_worked_example(self) -> None:
        # 1 and 2 choose each other; 0 and 3 would have chosen them. 3 then takes 4, and 0 is left over.
        path = graph_of(5, [(0, 1, 1), (1, 2, 9), (2, 3, 5), (3, 4, 1)])
        assert groups(path) == [0, 1, 1, 2, 2]

    def test_nodes_around_a_hub_pair_up(self) -> None:
        group = groups(graph_of(8, [(0, leaf, 1) for leaf in range(1, 8)]))
        assert sorted(np.bincount(group)) == [2, 2, 2, 2]

    def test_light_nodes_are_more_similar(self) -> None:
        star = graph_of(4, [(0, 1, 2), (0, 2, 2), (0, 3, 2)])
        head = handshake_groups(star, np.array([1, 3, 2, 3]), HANDSHAKE)
        assert head.tolist() == [0, 1, 0, 1]  # 1 and 3 are left over around the same hub

    @settings(deadline=None, max_examples=100)
    @given(integer_graphs())
    def test_equals_the_plain_version(self, adjacency: sp.csr_array) -> None:
        assert groups(adjacency) == plain_groups(adjacency)

    def test_the_hash_is_a_bijection_that_spreads(self) -> None:
        found = [int(hash32(np.uint64(i))) for i in range(1000)]
        assert found == [plain_hash(i) for i in range(1000)]
        assert len(set(found)) == 1000
        assert 0.45 < np.mean(found) / 2**32 < 0.55


class TestOutOfCore:
    @pytest.fixture(autouse=True)
    def duckdb(self) -> None:
        pytest.importorskip("duckdb", reason="duckdb is not installed")

    @pytest.mark.parametrize("weighted", [False, True])
    def test_equals_memory_with_200_mb(self, tmp_path: Path, weighted: bool) -> None:
        rng = np.random.default_rng(0)
        n, m = 3000, 12_000
        edges = pd.DataFrame({"source": (n * rng.random(m) ** 3).astype(int) * 7, "target": rng.integers(0, n, m) * 7})
        if weighted:  # some rows repeat an edge, some in the other direction, some weigh nothing
            edges["weight"] = rng.integers(0, 5, m).astype(float)
        (tmp_path / "edges").mkdir()
        for part in range(3):
            edges.iloc[part::3].to_parquet(tmp_path / "edges" / f"{part}.parquet")
        out = tmp_path / "hyper-nodes.parquet"
        sizes = coarsen_out_of_core(tmp_path / "edges", 3, out, memory="200MB")
        graph = Graph.from_csv(tmp_path / "edges")
        hierarchy = coarsen(graph, 3, HANDSHAKE)
        assert [(one.nodes, one.edges) for one in sizes] == list(zip(*hierarchy.sizes(), strict=True))
        assert [one.heaviest for one in sizes] == [level.node_weight.max() for level in hierarchy.levels]
        expected = hierarchy.to_frame(graph.ids)
        pd.testing.assert_frame_equal(pd.read_parquet(out), expected, check_dtype=False)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["edges", "hyper-nodes.parquet"]

    def test_text_ids_from_a_database_to_csv(self, tmp_path: Path) -> None:
        import duckdb

        with duckdb.connect(str(tmp_path / "g.duckdb")) as connection:
            connection.execute(
                "CREATE TABLE links AS FROM (VALUES ('b', ' a'), ('c', 'b'), ('é', 'c')) AS t(\"from\", \"to\")"
            )
        seen: list[tuple[int, LevelSummary]] = []
        coarsen_out_of_core(
            tmp_path / "g.duckdb" / "links", 9, tmp_path / "o.csv", on_level=lambda *one: seen.append(one)
        )
        graph = Graph.from_csv(tmp_path / "g.duckdb" / "links")
        expected = coarsen(graph, 9, HANDSHAKE).to_frame(graph.ids)
        pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "o.csv"), expected, check_dtype=False)
        assert [one.nodes for _, one in seen] == [4, 2, 1]

    def test_what_cannot_be_coarsened(self, tmp_path: Path) -> None:
        table = pd.DataFrame({"u": ["a", None], "v": ["b", "c"], "weight": [1.0, 0.5]})
        path = tmp_path / "e.parquet"
        table.to_parquet(path)
        with pytest.raises(InputError, match="1 rows have a blank id"):
            coarsen_out_of_core(path, 1)
        table.ffill().to_parquet(path)
        with pytest.raises(InputError, match="column 'weight': DuckDB adds weights up exactly if they are whole"):
            coarsen_out_of_core(path, 1)
        with pytest.raises(InputError, match="--memory much is not a size"):
            coarsen_out_of_core(path, 1, memory="much")
        (tmp_path / "e.csv").write_text("u,v\na,b\n")
        with pytest.raises(InputError, match="neither Parquet nor a DuckDB table"):
            coarsen_out_of_core(tmp_path / "e.csv", 1)
