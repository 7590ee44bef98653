"""One reading of the data: the shell and Python give the same predictions, whatever the order of rows and columns."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from hiergcn import Graph, NodeClassifier
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.run.predict import predictions_again, predictions_on
from hiergcn.run.run import Run
from hiergcn.run.source import Source, newer_graph

Tables = tuple[pd.DataFrame, pd.DataFrame]
QUICK: dict[str, Any] = {"epochs": 15, "device": "cpu"}


@pytest.fixture(scope="module")
def tables() -> Tables:
    """Edges and nodes with numbers, some missing, and a category."""
    rng, planted = np.random.default_rng(0), planted_graph(90, classes=3, depth=1, homophily=0.9, seed=1)
    edges, _ = planted.to_pandas()
    assert isinstance(planted.features, np.ndarray)
    nodes = pd.DataFrame({"id": np.arange(90), "label": np.array(["art", "law", "sport"])[planted.truth]})
    nodes["size"] = np.where(rng.random(90) < 0.1, np.nan, 50 * planted.features[:, 0])
    nodes["noise"] = rng.normal(size=90)
    nodes["city"] = np.array(["Rome", "Oslo", "Bonn"])[planted.truth]
    nodes.loc[rng.random(90) < 0.4, "label"] = None
    for table, columns in ((edges, ["source", "target"]), (nodes, ["id"])):
        table[columns] = "p" + table[columns].astype(str)  # p10 comes before p2: not the order of the file
    return edges, nodes


def by_id(classifier: NodeClassifier, graph: Graph | None, ids: Any) -> pd.DataFrame:
    return pd.DataFrame(classifier.predict_proba(graph), index=pd.Index(ids)).sort_index()


def shuffled(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    return table.sample(frac=1.0, random_state=seed)


@pytest.mark.parametrize("model", ["hgcn", "gcn", "deepwalk"])
def test_the_order_of_rows_changes_nothing_but_rounding(tables: Tables, model: str) -> None:
    """Splits, dropout and coarsening once depended on it, so that single predictions changed."""
    pytest.importorskip("gensim", reason="gensim is not installed") if model == "deepwalk" else None
    given = QUICK if model != "deepwalk" else {"device": "cpu"}
    graphs = [Graph.from_pandas(*tables), Graph.from_pandas(shuffled(tables[0], 1), shuffled(tables[1], 2))]
    one, other = (NodeClassifier(model, **given).fit(graph) for graph in graphs)
    expected = by_id(one, None, graphs[0].ids)
    pd.testing.assert_frame_equal(by_id(other, None, graphs[1].ids), expected, rtol=1e-3, atol=1e-4)
    trained = [set(graph.ids[c.result_.split.train]) for graph, c in zip(graphs, (one, other), strict=True)]
    assert trained[0] == trained[1]
    for graph in graphs:  # the fitted graph again, in either order
        pd.testing.assert_frame_equal(by_id(one, graph, graph.ids), expected, rtol=1e-3, atol=1e-4)
    if model == "hgcn":
        assert other.hierarchy_ is not None
        groups = [pd.Series(c.hierarchy_.hyper_nodes(1), g.ids) for c, g in zip((one, other), graphs, strict=True)]  # type: ignore[union-attr]
        assert groups[0].sort_index().equals(groups[1].sort_index())


@pytest.fixture(scope="module")
def fitted(tables: Tables) -> NodeClassifier:
    return NodeClassifier("gcn", **QUICK).fit(Graph.from_pandas(*tables))


def test_features_are_matched_by_name(fitted: NodeClassifier, tables: Tables) -> None:
    """Columns in another order once were taken for each other, without a word."""
    edges, nodes = tables
    graph = Graph.from_pandas(edges, nodes[["city", "id", "noise", "label", "size"]])
    np.testing.assert_allclose(fitted.predict_proba(graph), fitted.predict_proba(), rtol=1e-4)
    more = Graph.from_pandas(edges, nodes.assign(further=1.0))
    np.testing.assert_allclose(fitted.predict_proba(more), fitted.predict_proba(), rtol=1e-4)
    with pytest.raises(InputError, match="has no column 'noise', which the model was trained on"):
        fitted.predict(Graph.from_pandas(edges, nodes.drop(columns="noise")))
    with pytest.raises(InputError, match="has no column 'city', which the model was trained on"):
        fitted.predict(Graph.from_edges([0, 1], [1, 2], features=np.zeros((3, 5))))


def part_of(tables: Tables) -> Tables:
    """The nodes of two cities, most of them without a size."""
    edges, nodes = tables
    some = nodes[nodes["city"] != "Oslo"].reset_index(drop=True)
    some = some.assign(size=some["size"].where(np.arange(len(some)) % 3 == 0))
    return edges[edges["source"].isin(some["id"]) & edges["target"].isin(some["id"])], some


def test_other_categories_and_means_are_those_of_training(
    fitted: NodeClassifier, tables: Tables, tmp_path: Path
) -> None:
    """Categories by name, missing numbers by the first mean: as the shell reads newer files, and as `like` does."""
    edges, nodes = part_of(tables)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    files = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    fitted.save(tmp_path / "run")
    run = Run.load(tmp_path / "run")
    table = predictions_on(run, newer_graph(run, *map(str, files)), "cpu")
    found: list[NDArray[Any]] = [
        fitted.predict_proba(graph)
        for graph in (
            Graph.from_pandas(edges, nodes),
            Graph.from_csv(*files),
            Graph.from_csv(*files, like=fitted.result_.graph),
            Graph.from_pandas(edges, nodes, like=fitted.result_.graph),
        )
    ]
    np.testing.assert_allclose(found[0].max(axis=1), table["probability"], rtol=1e-4)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-4)
    foreign = Graph.from_pandas(edges, nodes.assign(city="Paris"))
    with pytest.warns(UserWarning, match="'city' that the model has not seen, such as 'Paris'"):
        fitted.predict(foreign)


def test_the_split_of_the_data_is_used(tables: Tables, tmp_path: Path) -> None:
    """Python once trained on nodes that the column marks as test, and said that it used the column."""
    edges, nodes = tables
    parts = np.array(["train", "validation", "test"])[np.arange(len(nodes)) % 3]
    nodes = nodes.assign(split=np.where(nodes["label"].notna(), parts, ""))
    edges.to_csv(tmp_path / "edges.csv", index=False)
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    shell = Source(str(tmp_path / "edges.csv"), str(tmp_path / "nodes.csv")).read()
    assert shell.split is not None
    for graph in (Graph.from_pandas(edges, nodes), Graph.from_csv(tmp_path / "edges.csv", tmp_path / "nodes.csv")):
        used = NodeClassifier("gcn", epochs=2, device="cpu").fit(graph).result_.split
        for part in ("train", "validation", "test"):
            np.testing.assert_array_equal(getattr(used, part), getattr(shell.split, part))
    assert shell.graph.with_labels(shell.graph.labels).split is None


def test_files_in_another_order_are_still_those_of_the_run(tables: Tables, tmp_path: Path) -> None:
    classifier = NodeClassifier("hgcn", levels=2, **QUICK).fit(Graph.from_pandas(*tables))
    classifier.save(tmp_path / "run")
    run = Run.load(tmp_path / "run")
    again = predictions_again(run, Graph.from_pandas(shuffled(tables[0], 3), shuffled(tables[1], 4)), "cpu")
    pd.testing.assert_frame_equal(again, run.table, rtol=0, atol=1e-4)


def test_a_table_instead_of_a_graph_is_refused() -> None:
    """The way of other estimators, fit(X, y), once ended in an AttributeError."""
    with pytest.raises(InputError, match=r"A graph is needed here, not a ndarray.*Graph.from_table"):
        NodeClassifier("gcn").fit(np.zeros((3, 3)), [0, 1, 1])  # type: ignore[arg-type]
