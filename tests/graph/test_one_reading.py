"""The same data through every door: files, frames, NetworkX and PyG give the same graph."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hiergcn.graph import Graph
from hiergcn.run.source import Source

UNKNOWN = [None, "unknown", "-1", "NA", "?"]
FEATURES = ["size", "city", "open", "day"]


@st.composite
def tables(draw: st.DrawFn) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Edges and nodes as a user may have them: ids of any kind, labels unknown in many ways, cells missing."""
    n = draw(st.integers(3, 9))
    whole = draw(st.booleans())
    ids: Any = draw(
        st.lists(
            st.integers(-5, 400) if whole else st.sampled_from([f"p {k}" for k in range(9)] + ["007", "7", "NA", "Ä"]),
            min_size=n, max_size=n, unique=True,
        )
    )  # fmt: skip
    ends = st.sampled_from(ids)
    edges = draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=15))
    table = pd.DataFrame(edges, columns=["source", "target"])
    if draw(st.booleans()):
        table["weight"] = draw(
            st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=len(edges), max_size=len(edges))
        )

    def column(values: list[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    nodes = pd.DataFrame({"id": ids, "label": pd.Series(column(["art", "law", *UNKNOWN]), dtype=object)})
    if draw(st.booleans()):
        known = ~nodes["label"].isin(UNKNOWN)
        part = pd.Series(column(["train", "Val", "test", None]), dtype=object)
        nodes["split"] = part.where(known | (part == "test"), None)
    nodes["size"] = np.array(column([1.0, 2.5, -3.0, np.nan, 1e6]))
    nodes["city"] = pd.Series(column(["Rome", "Oslo", "Rome ", None, "N/A"]), dtype=object)
    nodes["open"] = pd.Series(column([True, False, None]), dtype=object)
    nodes["day"] = pd.to_datetime(column(["2024-01-31", "2024-02-01", None]))
    return table, nodes.set_axis(draw(st.permutations(range(n))))


def networkx_graph(edges: pd.DataFrame, nodes: pd.DataFrame) -> Any:
    """A multigraph with directions, which adds up and takes the heavier direction as tables do."""
    g = nx.MultiDiGraph()
    for row in nodes.to_dict("records"):
        g.add_node(row["id"], **{str(name): value for name, value in row.items() if name != "id"})
    for row in edges.to_dict("records"):
        g.add_edge(row["source"], row["target"], **{"weight": row["weight"]} if "weight" in row else {})
    return g


def content(graph: Graph) -> dict[str, Any]:
    """What a graph holds, by the ids and names of the user."""
    split = graph.split
    return {
        "ids": graph.ids.astype(str).tolist(),
        "adjacency": graph.adjacency.toarray().tolist(),
        "features": None if graph.features is None else np.asarray(graph.features).tolist(),
        "columns": [(one.name, one.kind, one.values, one.missing, one.mean) for one in graph.columns],
        "missing": None if graph.missing is None else graph.missing.tolist(),
        "labels": [None if k < 0 else graph.class_names[k] for k in graph.truth],
        "classes": graph.class_names,
        "split": split and [split.train.tolist(), split.validation.tolist(), split.test.tolist()],
    }


def as_json_lines(table: pd.DataFrame, path: Path) -> None:
    if "day" in table:  # JSON has no dates
        table = table.assign(day=table["day"].dt.strftime("%Y-%m-%d"))
    table.to_json(path, orient="records", lines=True, double_precision=15)


def doors(edges: pd.DataFrame, nodes: pd.DataFrame, folder: Path) -> dict[str, Graph]:
    """The graph as each door reads it."""
    paths = folder / "edges.csv", folder / "nodes.csv"
    for table, path in zip((edges, nodes), paths, strict=True):
        table.to_csv(path, index=False)
    named: dict[str, Any] = {"id": "id", "label": "label"}
    found = {
        "from_csv": Graph.from_csv(*paths, **named),
        "shell": Source(str(paths[0]), str(paths[1]), **named).read().graph,
        "from_pandas": Graph.from_pandas(edges, nodes, **named),
        "frames of text": Graph.from_pandas(*(pd.read_csv(path, dtype=str, keep_default_na=False) for path in paths)),
    }
    writers: dict[str, Any] = {"parquet": pd.DataFrame.to_parquet, "jsonl": as_json_lines}
    for form, write in writers.items():
        for table, name in ((edges, "edges"), (nodes, "nodes")):
            write(table, folder / f"{name}.{form}")
        found[form] = Graph.from_csv(folder / f"edges.{form}", folder / f"nodes.{form}", **named)
    present = [name for name in FEATURES if nodes[name].notna().any()]
    found["from_networkx"] = Graph.from_networkx(networkx_graph(edges, nodes), features=present)
    found["from_csv"].to_npz(folder / "g.npz")
    found["npz"] = Graph.from_npz(folder / "g.npz")
    found["to_pandas"] = Graph.from_pandas(*found["from_csv"].to_pandas(), id="id")
    found["from_csv"].to_csv(*paths)
    found["to_csv"] = Graph.from_csv(*paths, id="id")
    return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables())
def test_every_door_reads_the_same_graph(tmp_path: Path, data: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    found = doors(*data, tmp_path)
    expected = content(found["from_csv"])
    empty = {"columns", "missing"} if any(one.kind == "empty" for one in found["from_csv"].columns) else set()
    for door, graph in found.items():
        skipped = empty if door in ("from_networkx", "to_pandas", "to_csv") else set()
        assert {key: value for key, value in content(graph).items() if key not in skipped} == {
            key: value for key, value in expected.items() if key not in skipped
        }, door


def test_masks_of_pyg_are_the_split() -> None:
    torch = pytest.importorskip("torch")
    geometric = pytest.importorskip("torch_geometric.data")
    data = geometric.Data(edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), y=torch.tensor([0, 1, -1, 1]))
    for part, nodes in {"train": [0], "val": [1], "test": [2, 3]}.items():
        data[f"{part}_mask"] = torch.isin(torch.arange(4), torch.tensor(nodes))
    graph = Graph.from_pyg(data)
    assert graph.split is not None
    assert [graph.split.train.tolist(), graph.split.validation.tolist(), graph.split.test.tolist()] == [[0], [1], [3]]
    data.train_mask = torch.zeros(4, 10, dtype=torch.bool)
    several = Graph.from_pyg(data)
    assert several.split is None
    assert any("masks of 10 splits were not used" in note for note in several.notes)
