"""A wrong answer with exit code 0 is worse than a crash: what once gave one, by the doors that users take.

`scripts/random_walk.py` looks for more; here it goes a few steps.
"""

import json
import os
import re
import shutil
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from safetensors.torch import load_file, save_file

from hiergcn import Graph, NodeClassifier, NodeRegressor
from hiergcn.errors import HierGCNError, InputError
from hiergcn.run.out_folder import MANIFEST, write_manifest
from mutated_files import Outcome, call
from random_walk import Walk

N = 90
QUICK: dict[str, Any] = {"epochs": 20, "hidden": 8, "device": "cpu"}
FIT = ("--label", "topic", "--seeds", "1", "--workers", "1", "--no-baselines", "--no-advice", "--device", "cpu")
GCN = (*FIT, "--model", "gcn", "--set", "epochs=20")


def tables(weighted: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return edges and nodes of three groups, whose columns have no usual names."""
    random = np.random.default_rng(1)
    group = np.arange(N) % 3
    ends = random.integers(0, N, (N * 4, 2))
    ends = ends[
        (ends[:, 0] != ends[:, 1]) & ((group[ends[:, 0]] == group[ends[:, 1]]) | (random.random(len(ends)) < 0.3))
    ]
    ids = np.array([f"n{k}" for k in range(N)])
    edges = pd.DataFrame({"a": ids[ends[:, 0]], "b": ids[ends[:, 1]]})
    if weighted:
        edges["weight"] = np.where(group[ends[:, 0]] == group[ends[:, 1]], 5.0, 0.01)
    topic = pd.Series(np.array(["art", "law", "war"], dtype=object)[group]).where(np.arange(N) % 5 < 2, None)
    nodes = pd.DataFrame({"paper": ids, "topic": topic})
    for k in range(4):
        nodes[f"f{k}"] = (random.normal(size=N) + 1.5 * (group == k)).round(3)
    nodes["open"] = random.random(N) < 0.4
    return edges, nodes


def written(folder: Path, edges: pd.DataFrame, nodes: pd.DataFrame, name: str = "") -> tuple[str, str]:
    paths = folder / f"edges{name}.csv", folder / f"nodes{name}.csv"
    edges.to_csv(paths[0], index=False)
    nodes.to_csv(paths[1], index=False)
    return str(paths[0]), str(paths[1])


def predicted(run: Path, files: tuple[str, str]) -> tuple[Outcome, pd.DataFrame | None]:
    """Return what `hiergcn predict` says, and its table by id."""
    out = run.parent / "predicted.csv"
    out.unlink(missing_ok=True)
    done = call("predict", str(run), *files, "--out", str(out))
    return done, pd.read_csv(out).set_index("id").sort_index() if out.exists() else None


@pytest.fixture(scope="module", params=[False, True], ids=["unweighted", "weighted"])
def fitted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bool]:
    folder = tmp_path_factory.mktemp("run")
    done = call("fit", *written(folder, *tables(request.param)), *GCN, "--out", str(folder / "run"))
    assert done.code == 0, done.err
    return folder / "run", request.param


@pytest.mark.parametrize("change", ["id not first", "label first", "edge column first", "rows", "a new weight"])
def test_later_files_are_read_by_the_names_of_the_columns(
    fitted: tuple[Path, bool], change: str, tmp_path: Path
) -> None:
    run, weighted = fitted
    edges, nodes = tables(weighted)
    _, before = predicted(run, written(tmp_path, edges, nodes))
    if change == "id not first":
        nodes.insert(0, "parent", np.roll(nodes["paper"], -1))
    elif change == "label first":
        nodes = nodes[["topic", *nodes.columns.drop("topic")]]
    elif change == "edge column first":
        edges.insert(0, "year", 2000 + np.arange(len(edges)) % 20)
    elif change == "rows":
        edges, nodes = edges.sample(frac=1, random_state=1), nodes.sample(frac=1, random_state=2)
    elif not weighted:
        edges["weight"] = np.linspace(0.001, 10, len(edges))
    done, after = predicted(run, written(tmp_path, edges, nodes, "-later"))
    assert done.code == 0, done.err
    assert before is not None
    assert after is not None
    assert np.abs(before["probability"] - after["probability"]).max() <= 1.5e-4
    if change == "a new weight" and not weighted:
        assert "column 'weight' of the edges was not used" in done.err


@pytest.mark.parametrize("column", ["paper", "a", "b", "weight", "f1"])
def test_a_column_that_is_missing_later_is_named(fitted: tuple[Path, bool], column: str, tmp_path: Path) -> None:
    run, weighted = fitted
    if column == "weight" and not weighted:
        pytest.skip("there is none")
    edges, nodes = (table.rename(columns={column: "other"}) for table in tables(weighted))
    done, _ = predicted(run, written(tmp_path, edges, nodes))
    assert (done.code, f"no column '{column}'" in done.err) == (2, True), done.err


def test_like_reads_frames_by_the_names_of_the_columns() -> None:
    edges, nodes = tables(weighted=True)
    graph = Graph.from_pandas(edges, nodes, id="paper", label="topic")
    later = Graph.from_pandas(edges[["weight", "b", "a"]], nodes[nodes.columns[::-1]], like=graph)
    assert list(later.ids) == list(graph.ids)
    assert np.array_equal(later.adjacency.toarray(), graph.adjacency.toarray())
    assert np.array_equal(later.features, graph.features)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no column 'weight'"):
        Graph.from_pandas(edges[["a", "b"]], nodes, like=graph)


@pytest.mark.parametrize("state", ["float64", "no_grad", "inference_mode", "autocast"])
@pytest.mark.parametrize("model", ["gcn", "mlp", "hgcn-plus"])
def test_what_the_caller_has_set_in_torch_changes_nothing(model: str, state: str) -> None:
    graph = Graph.from_pandas(*tables(), id="paper", label="topic")
    plain = NodeClassifier(model, **QUICK).fit(graph)
    contexts: dict[str, Any] = {
        "no_grad": torch.no_grad(),
        "inference_mode": torch.inference_mode(),
        "autocast": torch.autocast("cpu", torch.bfloat16),
    }
    try:
        if state == "float64":
            torch.set_default_dtype(torch.float64)
            again = NodeClassifier(model, **QUICK).fit(graph)
            assert torch.get_default_dtype() == torch.float64
        else:
            with contexts[state]:
                again = NodeClassifier(model, **QUICK).fit(graph)
    finally:
        torch.set_default_dtype(torch.float32)
    assert np.array_equal(plain.predict_proba(), again.predict_proba())
    assert np.allclose(again.predict_proba(graph), plain.predict_proba(), atol=1e-6)


def test_a_choice_whose_networks_all_fail_is_no_answer() -> None:
    graph = Graph.from_pandas(*tables(), id="paper", label="topic")
    with pytest.raises(HierGCNError, match=r"Every network failed, such as \w+: it failed .*diverged"):
        NodeClassifier(time_limit=3, learning_rate=1e300).fit(graph)


def test_a_network_that_failed_is_named_and_gives_the_winner_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from hiergcn.model.baselines.mlp import MLP

    def broken(*_: object) -> None:
        raise RuntimeError("expected m1 and m2 to have the same dtype")

    monkeypatch.setattr(MLP, "forward", broken)
    verdict = NodeClassifier(time_limit=2).fit(Graph.from_pandas(*tables(), id="paper", label="topic")).result_.verdict
    assert "not all could be compared: mlp" in str(verdict)


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_a_choice_that_the_clock_cuts_short_says_so(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still, or stands where a machine that was suspended finds it."""
    monkeypatch.setattr("hiergcn.choose.budget.Budget.seconds", lambda _: seconds)
    run = NodeClassifier(time_limit=2).fit(Graph.from_pandas(*tables(), id="paper", label="topic")).result_
    assert run.scores["cut_by_clock"] is (seconds > 0)
    said = "clock cut the choice short"
    assert any(said in note for note in run.notes) == (said in run.page()) == (seconds > 0)


@pytest.mark.parametrize("command", ["predict", "explain", "export", "suggest"])
@pytest.mark.parametrize("part", ["edges", "features"])
def test_changed_data_of_a_run_are_refused(fitted: tuple[Path, bool], command: str, part: str, tmp_path: Path) -> None:
    run, weighted = fitted
    edges, nodes = tables(weighted)
    more = {
        "predict": ("--out", tmp_path / "p.csv"),
        "explain": ("--node", "n1"),
        "export": ("--onnx", tmp_path / "m.onnx"),
        "suggest": ("--budget", "3", "--out", tmp_path / "s.csv"),
    }[command]
    words = (command, str(run), *map(str, more))
    try:
        if part == "edges":
            written(run.parent, edges.iloc[1:], nodes)
        else:
            written(run.parent, edges, nodes.assign(f0=np.roll(nodes["f0"], 1)))
        done = call(*words)
    finally:
        written(run.parent, edges, nodes)
    assert (done.code, f"other {part}. Run the fit again" in done.err) == (2, True), done.err
    assert not list(tmp_path.iterdir())
    shuffled = edges.sample(frac=1, random_state=3), nodes[nodes.columns[::-1]].sample(frac=1, random_state=4)
    written(run.parent, *shuffled)
    done = call(*words)
    written(run.parent, edges, nodes)
    assert done.code == 0, done.err


def test_labels_alone_do_not_guess_about_other_nodes(tmp_path: Path) -> None:
    edges, nodes = tables()
    run = tmp_path / "run"
    assert call("fit", *written(tmp_path, edges, nodes), *FIT, "--model", "harmonic", "--out", str(run)).code == 0
    others = edges.apply(lambda end: "x" + end), nodes.assign(paper="x" + nodes["paper"])
    done, table = predicted(run, written(tmp_path, *others, "-others"))
    assert (done.code, table, "comes from labels alone" in done.err) == (2, None, True)
    island = pd.concat([edges, pd.DataFrame({"a": ["z1"], "b": ["z2"]})])
    more = pd.concat([nodes, nodes.iloc[:2].assign(paper=["z1", "z2"], topic=None)])
    done, table = predicted(run, written(tmp_path, island, more, "-island"))
    assert table is not None
    assert not table.loc[["z1", "z2"], "reached"].any()
    assert "predictions are guesses (column `reached`)" in done.err


def test_numbers_of_nodes_are_no_ids_of_another_graph() -> None:
    edges, nodes = tables()
    graph = Graph.from_pandas(edges, nodes, id="paper", label="topic")
    unnamed = Graph.from_scipy(graph.adjacency, graph.features, graph.labels, class_names=graph.class_names)
    order = np.random.default_rng(0).permutation(N)
    other = Graph.from_scipy(sp.csr_array(graph.adjacency[order][:, order]), graph.features[order])  # type: ignore[index]
    by_labels = NodeClassifier("harmonic").fit(unnamed)
    assert np.allclose(by_labels.predict_proba(unnamed), by_labels.predict_proba(), atol=1e-6)
    with pytest.raises(InputError, match="labels alone"):
        by_labels.predict(other)


@pytest.mark.parametrize("door", ["parquet", "jsonl", "frames"])
def test_ids_and_labels_beyond_floats(door: str, tmp_path: Path) -> None:
    ids = np.arange(8, dtype=np.uint64) * np.uint64(3) + np.uint64(2**63 + 11)
    edges = pd.DataFrame({"source": ids[:-1], "target": ids[1:]})
    nodes = pd.DataFrame({"id": ids, "label": pd.array([2**53, 2**53 + 1] * 3 + [None] * 2, dtype="Int64")})
    if door == "frames":
        graph = Graph.from_pandas(edges, nodes)
    else:
        for name, table in (("e", edges), ("n", nodes)):
            path = tmp_path / f"{name}.{door}"
            table.to_parquet(path) if door == "parquet" else table.to_json(path, orient="records", lines=True)
        graph = Graph.from_csv(tmp_path / f"e.{door}", tmp_path / f"n.{door}")
    assert list(map(str, graph.ids)) == list(map(str, ids))
    assert graph.class_names == ("9007199254740992", "9007199254740993")


def test_the_order_of_columns_changes_nothing() -> None:
    edges, nodes = tables()
    graphs = [
        Graph.from_pandas(edges, table, id="paper", label="topic") for table in (nodes, nodes[nodes.columns[::-1]])
    ]
    first, second = (NodeClassifier("gcn", **QUICK).fit(graph).predict_proba() for graph in graphs)
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    ("odd", "said"),
    [("31y", "'31y' in a column of numbers"), ("-", "'-' in a column of numbers"), ("kg", "with units")],
)
def test_an_odd_cell_does_not_make_numbers_categories(odd: str, said: str) -> None:
    edges, nodes = tables()
    age = (20 + np.arange(N) % 17).astype(str).astype(object)
    if odd == "kg":
        age = age + " kg"
    else:
        age[40] = odd
    with pytest.raises(InputError, match=said):
        Graph.from_pandas(edges, nodes.assign(age=age), id="paper", label="topic")
    grades = np.array(["1", "2", "3", "4+"], dtype=object)[np.arange(N) % 4]  # categories stay categories
    graph = Graph.from_pandas(edges, nodes.assign(age=grades), id="paper", label="topic")
    assert next(column.kind for column in graph.columns if column.name == "age") == "category"


def test_a_boolean_column_is_no_column_of_codes() -> None:
    edges, nodes = tables()
    graph = Graph.from_pandas(edges, nodes, id="paper", label="topic")
    with pytest.raises(InputError, match="'2', but the model was trained on a boolean"):
        Graph.from_pandas(edges, nodes.assign(open=np.where(nodes["open"], 2, 1)), like=graph)
    zeros = Graph.from_pandas(edges, nodes.assign(open=nodes["open"].astype(int)), like=graph)
    assert np.array_equal(zeros.features, graph.features)  # type: ignore[arg-type]


def test_explanations_of_nodes_whose_ids_are_numbers() -> None:
    edges, nodes = tables()
    number = nodes["paper"].str[1:].astype(int)
    ends = edges.apply(lambda end: end.str[1:].astype(int))
    graph = Graph.from_pandas(ends, nodes.assign(paper=number, topic=number * 1.5), id="paper", target="topic")
    assert NodeRegressor("gcn", **QUICK).fit(graph).explain("3").id == "3"


def test_masks_without_those_of_training() -> None:
    data = pytest.importorskip("torch_geometric.data").Data(
        edge_index=torch.tensor([list(range(29)), [k + 1 for k in range(29)]]),
        x=torch.eye(30),
        y=torch.arange(30) % 2,
        test_mask=torch.arange(30) < 10,
        edge_attr=torch.ones(29, 2),
    )
    graph = Graph.from_pyg(data)
    assert graph.split is not None
    assert list(graph.split.test) == list(range(10))
    assert not np.isin(np.concatenate([graph.split.train, graph.split.validation]), range(10)).any()
    assert any("edge_attr of shape (29, 2) was not used" in note for note in graph.notes)


def test_a_view_of_a_database_reads_no_other_file(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "secret.txt").write_text("TOPSECRET-42")
    with duckdb.connect(str(tmp_path / "evil.duckdb")) as connection:
        secret = f"(select content from read_text('{tmp_path}/secret.txt'))"
        connection.execute(f"create view nodes as select 'n' || i as id, {secret} as label from range(40) t(i)")
        connection.execute(
            "create view edges as select 'n' || i as source, 'n' || (i + 1) as target from range(39) t(i)"
        )
    done = call("check", f"{tmp_path}/evil.duckdb/edges", f"{tmp_path}/evil.duckdb/nodes")
    assert done.code == 2
    assert "TOPSECRET" not in done.out + done.err


def test_a_link_is_written_to_and_permissions_are_the_users(tmp_path: Path) -> None:
    files = written(tmp_path, *tables())
    (tmp_path / "place").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "place")
    before = os.umask(0o077)
    try:
        done = call("fit", *files, *GCN, "--out", str(tmp_path / "link"))
    finally:
        os.umask(before)
    assert done.code == 0, done.err
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "place" / "predictions.csv").is_file()
    open_to_others = [path.name for path in (tmp_path / "place").iterdir() if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert not open_to_others
    assert not stat.S_IMODE((tmp_path / "place").stat().st_mode) & 0o077


def test_a_path_that_is_not_utf_8_is_refused_at_once(tmp_path: Path) -> None:
    done = call("fit", *written(tmp_path, *tables()), *GCN, "--out", os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff"))
    assert (done.code, "is not in UTF-8" in done.err) == (2, True), done.err


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_targets_whose_squares_no_float_holds(size: float) -> None:
    graph = Graph.from_pandas(*tables(), id="paper", label="topic")
    with pytest.raises(InputError, match="rescale"):
        graph.with_targets(size * np.arange(N), "price")


@pytest.mark.parametrize(
    "wrong", [{"seed": None}, {"seed": 1.5}, {"seed": -1}, {"seed": 2**64}, {"time_limit": np.nan}, {"time_limit": "5"},
              {"time_limit": np.inf}, {"time_limit": -1}, {"coverage": "0.9"}]
)  # fmt: skip
def test_arguments_that_mean_nothing(wrong: dict[str, Any]) -> None:
    graph = Graph.from_pandas(*tables(), id="paper", label="topic")
    with pytest.raises(InputError, match="; give"):
        NodeClassifier("gcn", **wrong).fit(graph)


def test_confidence_in_python_is_that_of_the_file(tmp_path: Path) -> None:
    graph = Graph.from_pandas(*tables(), id="paper", label="topic")
    classifier = NodeClassifier("gcn", **QUICK).fit(graph)
    classifier.save(tmp_path / "run")
    in_file = pd.read_csv(tmp_path / "run" / "predictions.csv")["confidence"]
    assert np.allclose(classifier.predictions()["confidence"], in_file)
    assert np.allclose(classifier.predictions(graph)["confidence"], in_file, atol=1e-4)


def test_a_short_random_walk(tmp_path: Path) -> None:
    walk = Walk(tmp_path, seed=7)
    walk.take(25)
    assert walk.problems == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("source", []),
        ("source", None),
        ("share", "x"),
        ("share", None),
        ("share", 1e308),
        ("temperature", 0),
        ("class_names", ["a", "a", "a"]),
        ("roles", [1]),
        ("data", 3),
        ("manifest", "[" * 100_000),
        ("tensor", None),
    ],
)
def test_run_folders_with_a_foreign_value(fitted: tuple[Path, bool], name: str, value: object, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(fitted[0], run)
    config = json.loads((run / "config.json").read_text())
    if name == "manifest":
        (run / MANIFEST).write_text(str(value))
    elif name == "tensor":
        weights = load_file(run / "model.safetensors")
        save_file({key: weights[key] for key in sorted(weights)[1:]}, run / "model.safetensors")
    else:
        (config["members"][0] if name in config["members"][0] else config)[name] = value
        (run / "config.json").write_text(json.dumps(config))
    if name != "manifest":
        write_manifest(run)
    for words in (("predict", str(run)), ("explain", str(run), "--node", "n1")):
        done = call(*words, "--out", str(tmp_path / "out"))
        assert (done.code, len(done.err.strip().splitlines())) == (2, 1), done.err
        assert re.search("[Ff]it .*again", done.err)
