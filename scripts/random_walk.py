"""Do answers depend on what must not matter? A random walk over fits, later files and commands.

    python scripts/random_walk.py --steps 2000

Each step takes a run, writes its graph again, in a random format and with random changes, and uses a random command.
Changes that mean nothing (the order of rows and columns, additional columns, types, formats) must give the answers of
the fit; changes that matter (a missing column, other ids, other data) must be refused in a sentence that names them.
What went wrong is printed, and the exit code is 1.
"""

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hiergcn import Graph, NodeClassifier
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from mutated_files import Outcome, call, problem_of

NODES = 60
MODELS = ("gcn", "mlp", "harmonic")
IDS = ("text", "whole", "large")
FORMATS = ("csv", "parquet", "jsonl", "duckdb")
QUICK = ("--seeds", "1", "--workers", "1", "--no-baselines", "--no-advice", "--device", "cpu")
CLOSE = 1.5e-4
"""Difference of probabilities that rounding to four digits may make."""
FEATURES = ("height", "city", "open", "size", "age")


@dataclass
class Tables:
    """Two tables, as they will be written."""

    edges: pd.DataFrame
    nodes: pd.DataFrame


@dataclass(frozen=True)
class Fitted:
    """A run, the tables it was made of, and its answer."""

    run: Path
    tables: Tables
    files: tuple[Path, ...]
    id: str
    ends: tuple[str, str]
    weighted: bool
    model: str
    answer: pd.DataFrame


@dataclass
class Later(Tables):
    """The tables of a run as they are later."""

    fitted: Fitted
    rng: random.Random


class FoundError(Exception):
    """An answer that differs, or a change that was not refused."""


def make_tables(
    rng: random.Random, ids: str, weighted: bool, usual: bool, id_first: bool
) -> tuple[Tables, str, tuple[str, str]]:
    """Return a graph as tables, the name of the id column, and those of the ends."""
    seed = rng.randrange(1000)
    graph, numbers = planted_graph(NODES, classes=3, depth=1, homophily=0.85, noise=1.0, seed=seed), np.arange(NODES)
    random_numbers = np.random.default_rng(seed)
    values: dict[str, np.ndarray] = {
        "text": np.array([f"n {k}" for k in numbers], dtype=object),
        "whole": 1000 + 7 * numbers,
        "large": np.uint64(2**63 + 11) + np.uint64(3) * numbers.astype(np.uint64),
    }
    names = values[ids]
    rows, columns = graph.adjacency.nonzero()
    once = rows < columns
    id_name, ends = ("id", ("source", "target")) if usual else ("paper", ("first", "second"))
    edges = pd.DataFrame({ends[0]: names[rows[once]], ends[1]: names[columns[once]]})
    if weighted:
        same = graph.truth[rows[once]] == graph.truth[columns[once]]
        edges["weight"] = np.where(same, 3.0, 0.25)
    features = np.asarray(graph.features)
    topics = np.array(["art", "law", "war"], dtype=object)[graph.truth]
    nodes = (
        pd.DataFrame({id_name: names})
        if id_first
        else pd.DataFrame({"height": features[:, 1].round(3), id_name: names})
    )
    nodes["topic"] = pd.Series(topics).where(random_numbers.random(NODES) < 0.6, None)
    nodes.loc[numbers[graph.truth == 0][:3], "topic"] = "art"
    nodes["height"] = features[:, 1].round(3)
    nodes["city"] = np.array(["Rome", "Oslo", "Łódź"], dtype=object)[
        (graph.truth + (random_numbers.random(NODES) < 0.3)) % 3
    ]
    nodes["open"] = (graph.truth == 1) ^ (random_numbers.random(NODES) < 0.2)
    nodes["size"] = pd.Series(features[:, 0].round(3)).where(numbers % 9 != 0, np.nan)
    nodes["age"] = (20 + 10 * graph.truth + random_numbers.integers(0, 12, NODES)).astype(np.int64)
    return Tables(edges, nodes), id_name, ends


def write_tables(tables: Tables, folder: Path, form: str) -> tuple[Path, Path]:
    """Write both tables in a format; return how the shell calls them."""
    folder.mkdir(parents=True, exist_ok=True)
    if form == "duckdb":
        import duckdb

        file = folder / "graph.duckdb"
        file.unlink(missing_ok=True)
        with duckdb.connect(str(file)) as connection:
            for name, table in (("edges", tables.edges), ("nodes", tables.nodes)):
                connection.register("given", table)
                connection.execute(f"create table {name} as select * from given")
                connection.unregister("given")
        return file / "edges", file / "nodes"
    paths = folder / f"edges.{form}", folder / f"nodes.{form}"
    for path, table in zip(paths, (tables.edges, tables.nodes), strict=True):
        if form == "csv":
            table.to_csv(path, index=False)
        elif form == "parquet":
            table.to_parquet(path, index=False)
        else:
            table.to_json(path, orient="records", lines=True, force_ascii=False)
    return paths


def by_id(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(id=table["id"].astype(str)).set_index("id").sort_index()


# changes without meaning


def shuffled_rows(later: Later) -> str:
    later.nodes = later.nodes.sample(frac=1, random_state=later.rng.randrange(2**31))
    later.edges = later.edges.sample(frac=1, random_state=later.rng.randrange(2**31))
    return "rows shuffled"


def moved_columns(later: Later) -> str:
    later.nodes = later.nodes[later.rng.sample(list(later.nodes), later.nodes.shape[1])]
    return "columns of the nodes in another order"


def moved_edge_columns(later: Later) -> str:
    later.edges = later.edges[later.rng.sample(list(later.edges), later.edges.shape[1])]
    return "columns of the edges in another order"


def more_node_columns(later: Later) -> str:
    n = len(later.nodes)
    own: dict[str, Any] = {
        "parent": np.roll(later.nodes[later.fitted.id].to_numpy(), -1),
        "year": 2000 + np.arange(n) % 20,
        "note": "x",
    }
    name = later.rng.choice([name for name in (*own, "node", "class") if name not in later.nodes])
    later.nodes.insert(later.rng.choice((0, later.nodes.shape[1])), name, own.get(name, np.arange(n) % 7))
    return f"additional column {name!r} of the nodes"


def more_edge_columns(later: Later) -> str:
    m = len(later.edges)
    columns: dict[str, Any] = {"year": 2000 + np.arange(m) % 20, "kind": "cites", "source_rank": 1.0 + np.arange(m) % 3}
    name = later.rng.choice([name for name in columns if name not in later.edges])
    later.edges.insert(later.rng.choice((0, later.edges.shape[1])), name, columns[name])
    return f"additional column {name!r} of the edges"


def new_weight(later: Later) -> str:
    if later.fitted.weighted or "weight" in later.edges:
        return shuffled_rows(later)
    later.edges["weight"] = np.random.default_rng(later.rng.randrange(999)).random(len(later.edges)) * 9 + 0.01
    return "a new column 'weight' of the edges"


def no_labels(later: Later) -> str:
    if "topic" in later.nodes and later.rng.random() < 0.5:
        later.nodes = later.nodes.drop(columns="topic")
        return "without the column of labels"
    later.nodes["topic"] = None
    return "with labels left blank"


def ids_as_text(later: Later) -> str:
    later.nodes[later.fitted.id] = later.nodes[later.fitted.id].astype(str)
    for end in later.fitted.ends:
        later.edges[end] = later.edges[end].astype(str)
    return "ids as text"


def numbers_of_other_types(later: Later) -> str:
    later.nodes["age"] = later.nodes["age"].astype(later.rng.choice(("float64", "int32", "uint8")))
    return "whole numbers of another type"


MEANINGLESS: tuple[Callable[[Later], str], ...] = (
    shuffled_rows,
    moved_columns,
    moved_edge_columns,
    more_node_columns,
    more_edge_columns,
    new_weight,
    no_labels,
    ids_as_text,
    numbers_of_other_types,
)


# changes that must be refused; each returns what it is, and a word that the sentence must have


def without_id(later: Later) -> tuple[str, str]:
    later.nodes = later.nodes.rename(columns={later.fitted.id: "other"})
    return "the column of ids has another name", later.fitted.id


def without_end(later: Later) -> tuple[str, str]:
    end = later.rng.choice(later.fitted.ends)
    later.edges = later.edges.rename(columns={end: "other"})
    return "an end of the edges has another name", end


def without_weight(later: Later) -> tuple[str, str]:
    if not later.fitted.weighted:
        return without_end(later)
    later.edges = later.edges.drop(columns="weight")
    return "without the column of weights", "weight"


def without_feature(later: Later) -> tuple[str, str]:
    name = later.rng.choice(FEATURES)
    later.nodes = later.nodes.drop(columns=name)
    return f"without the feature {name!r}", name


def other_booleans(later: Later) -> tuple[str, str]:
    later.nodes["open"] = np.where(later.nodes["open"].astype(bool), 2, 1)
    return "a boolean column of 1 and 2", "open"


def odd_cell(later: Later) -> tuple[str, str]:
    ages = later.nodes["age"].astype(str)
    ages.iloc[later.rng.randrange(NODES)] = "31y"
    later.nodes["age"] = ages
    return "an odd cell in a column of numbers", "age"


REFUSED: tuple[Callable[[Later], tuple[str, str]], ...] = (
    without_id,
    without_end,
    without_weight,
    without_feature,
    other_booleans,
    odd_cell,
)


def other_ids(later: Later) -> tuple[str, str]:
    later.nodes[later.fitted.id] = "x" + later.nodes[later.fitted.id].astype(str)
    for end in later.fitted.ends:
        later.edges[end] = "x" + later.edges[end].astype(str)
    return "no node of the training graph", ""


# changes of the run's own data


def moved_values(later: Later) -> str:
    name = later.rng.choice(("height", "age"))
    later.nodes[name] = np.roll(later.nodes[name].to_numpy(), later.rng.randrange(1, NODES))
    return f"the values of {name!r} moved"


def changed_cell(later: Later) -> str:
    later.nodes.loc[later.nodes.index[later.rng.randrange(NODES)], "height"] += 1.0
    return "a value of 'height' changed"


def other_edges(later: Later) -> str:
    column = later.fitted.ends[1]
    later.edges[column] = np.roll(later.edges[column].to_numpy(), later.rng.randrange(1, 9))
    return "an end of the edges moved"


def edge_less(later: Later) -> str:
    later.edges = later.edges.drop(index=later.edges.index[later.rng.randrange(len(later.edges))])
    return "an edge less"


OTHER_DATA: tuple[Callable[[Later], str], ...] = (moved_values, changed_cell, other_edges, edge_less)


class Walk:
    """A folder of runs, and steps over them."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.folder, self.rng = folder, random.Random(seed)
        self.runs: dict[tuple[object, ...], Fitted] = {}
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []

    def fitted(self) -> Fitted:
        """Return a run of a random kind, which is fitted when it is first needed."""
        rng = self.rng
        kind = (
            rng.choice(IDS),
            rng.random() < 0.5,
            rng.random() < 0.5,
            rng.random() < 0.5,
            rng.choice(MODELS),
            rng.choice(FORMATS),
        )
        if kind not in self.runs:
            self.runs[kind] = self.fit(*kind)
        return self.runs[kind]

    def fit(self, ids: str, weighted: bool, usual: bool, id_first: bool, model: str, form: str) -> Fitted:
        tables, id_name, ends = make_tables(self.rng, ids, weighted, usual, id_first)
        folder = self.folder / f"run-{len(self.runs)}"
        files = write_tables(tables, folder / "data", form)
        named = () if usual or id_first else ("--id", id_name)
        epochs = () if model == "harmonic" else ("--set", "epochs=20")
        words = ("fit", *map(str, files), "--label", "topic", *named, *QUICK, *epochs, "--model", model)
        done = call(*words, "--out", str(folder / "run"))
        if done.code != 0:
            raise FoundError(f"{words} failed: {done.err[-300:]}")
        answer = by_id(pd.read_csv(folder / "run" / "predictions.csv", dtype={"id": str}))
        true_ids = sorted(tables.nodes[id_name].astype(str))
        if sorted(answer.index) != true_ids:
            raise FoundError(f"{words}: ids are not what they were, such as {answer.index[0]} for {true_ids[0]}")
        return Fitted(folder / "run", tables, files, id_name, ends, weighted, model, answer)

    def step(self) -> str:
        """Take one step; return what it was. Raise a `FoundError` if an answer is not as it must be."""
        rng, fitted = self.rng, self.fitted()
        later = Later(fitted.tables.edges.copy(), fitted.tables.nodes.copy(), fitted, rng)
        weights = "weighted" if fitted.weighted else "unweighted"
        about = [f"{fitted.model} from {fitted.files[0].name} ({weights}, {fitted.id})"]
        about += [change(later) for change in rng.sample(MEANINGLESS, rng.randint(0, 3))]
        action = rng.choice((self.newer_files, self.newer_files, self.newer_graph, self.own_data))
        try:
            what = action(later, about)
        except FoundError as problem:
            raise FoundError(f"{'; '.join(about)}: {problem}") from None
        self.counts[what] += 1
        return what

    def newer_files(self, later: Later, about: list[str]) -> str:
        """`hiergcn predict RUN EDGES NODES`."""
        fitted = later.fitted
        wanted = self.refusal(later, about)
        form = self.rng.choice(FORMATS)
        files = write_tables(later, self.clean("later"), form)
        out = self.folder / "predictions.csv"
        out.unlink(missing_ok=True)
        about.append(f"predict on {form}")
        done = call("predict", str(fitted.run), *map(str, files), "--out", str(out))
        if wanted is not None:
            self.check_refused(done, wanted)
            return "newer files refused"
        self.check_sound(done)
        self.compare(fitted, by_id(pd.read_csv(out, dtype={"id": str})))
        return "newer files predicted"

    def newer_graph(self, later: Later, about: list[str]) -> str:
        """`NodeClassifier.load(run).predict_proba(graph)`, of a graph that is read like the training graph."""
        fitted = later.fitted
        wanted = self.refusal(later, about)
        classifier = NodeClassifier.load(fitted.run)
        paths = [str(path) for path in fitted.files]
        trained = Graph.from_csv(*paths, label="topic", id=fitted.id)
        form = self.rng.choice(("frames", "csv", "parquet"))
        about.append(f"like= with {form}")
        try:
            if form == "frames":
                graph = Graph.from_pandas(later.edges, later.nodes, like=trained)
            else:
                graph = Graph.from_csv(*map(str, write_tables(later, self.clean("later"), form)), like=trained)
            found = classifier.predict_proba(graph)
        except InputError as error:
            if wanted is None:
                raise FoundError(f"refused: {error}") from None
            if wanted not in str(error):
                raise FoundError(f"refused without {wanted!r}: {error}") from None
            return "newer graph refused"
        if wanted is not None:
            raise FoundError("accepted")
        best, names = found.argmax(axis=1), np.array(classifier.classes_)
        table = pd.DataFrame({"id": graph.ids.astype(str), "predicted": names[best], "probability": found.max(axis=1)})
        self.compare(fitted, by_id(table))
        return "newer graph predicted"

    def refusal(self, later: Later, about: list[str]) -> str | None:
        """Make a change that must be refused, or none. Return a word of the refusal."""
        fitted = later.fitted
        if self.rng.random() < 0.5:
            return None
        changes = (*REFUSED, other_ids) if fitted.model == "harmonic" else REFUSED
        change = self.rng.choice(changes)
        what, word = change(later)
        about.append(what)
        return word

    def own_data(self, later: Later, about: list[str]) -> str:
        """A command that reads the run's own data again, which may have changed."""
        fitted = later.fitted
        kept = [
            (path, path.read_bytes()) for path in sorted(fitted.files[0].parent.parent.glob("data/*")) if path.is_file()
        ]
        if not kept:  # tables in one file
            kept = [(fitted.files[0].parent, fitted.files[0].parent.read_bytes())]
        changed = self.rng.random() < 0.5
        if changed:
            change = self.rng.choice(OTHER_DATA[2:] if fitted.model == "harmonic" else OTHER_DATA)
            about.append(change(later))
        if "topic" not in later.nodes or later.nodes["topic"].isna().all():
            later.nodes["topic"] = fitted.tables.nodes["topic"].reindex(later.nodes.index)
        form = "duckdb" if fitted.files[0].parent.suffix == ".duckdb" else fitted.files[0].suffix[1:]
        write_tables(later, fitted.run.with_name("data"), form)
        name = self.rng.choice(("predict", "explain", "export", "suggest"))
        node = str(self.rng.choice(sorted(fitted.answer.index)))
        out = {"predict": "own.csv", "explain": "own.json", "export": "own.onnx", "suggest": "own.csv"}[name]
        for path in self.folder.glob("own*"):
            path.unlink()
        words = {
            "predict": ("predict", str(fitted.run)),
            "explain": ("explain", str(fitted.run), "--node", node),
            "export": ("export", str(fitted.run)),
            "suggest": ("suggest", str(fitted.run), "--budget", "3"),
        }[name]
        about.append(name)
        try:
            done = call(*words, "--onnx" if name == "export" else "--out", str(self.folder / out))
        finally:
            for path, content in kept:
                path.write_bytes(content)
        if changed:
            self.check_refused(done, "")
            return f"{name} of changed data refused"
        if fitted.model == "harmonic" and name == "export" and done.code == 2:
            return "nothing to export"
        self.check_sound(done)
        if name == "predict":
            self.compare(fitted, by_id(pd.read_csv(self.folder / out, dtype={"id": str})))
        elif name == "explain":
            said = json.loads((self.folder / out).read_text())
            if said["predicted"] != (wanted := str(fitted.answer.loc[node, "predicted"])):
                raise FoundError(f"explains {said['predicted']} for {wanted}")
        return f"{name} of its own data"

    def clean(self, name: str) -> Path:
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def check_sound(self, done: Outcome) -> None:
        if done.code != 0:
            raise FoundError(f"refused: {done.err.strip()[-400:]}")

    def check_refused(self, done: Outcome, word: str) -> None:
        if done.code == 0:
            raise FoundError("accepted")
        if problem := problem_of(done, [""]):
            raise FoundError(f"{problem}: {done.err.strip()[-400:]}")
        if word not in done.err:
            raise FoundError(f"refused without {word!r}: {done.err.strip()[-400:]}")

    def compare(self, fitted: Fitted, found: pd.DataFrame) -> None:
        """Raise a `FoundError` if predictions are not those of the fit."""
        if list(found.index) != list(fitted.answer.index):
            raise FoundError(f"other ids, such as {found.index[0]} for {fitted.answer.index[0]}")
        apart = np.abs(found["probability"].to_numpy() - fitted.answer["probability"].to_numpy()) > CLOSE
        tied = fitted.answer["probability"].to_numpy() < 0.5 + CLOSE
        other = (found["predicted"].to_numpy() != fitted.answer["predicted"].to_numpy()) & ~tied
        if apart.any() or other.any():
            raise FoundError(f"{apart.sum()} of {len(apart)} probabilities differ and {other.sum()} predictions")

    def take(self, steps: int) -> None:
        """Take steps, and note what went wrong."""
        for number in range(steps):
            try:
                self.step()
            except FoundError as problem:
                self.problems.append(f"step {number}: {problem}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        walk = Walk(Path(folder), arguments.seed)
        walk.take(arguments.steps)
    for what, count in sorted(walk.counts.items()):
        print(f"{count:6,} {what}")
    kinds = Counter(re.sub(r"[\d.]+", "#", problem.split("; ", 1)[-1]) for problem in walk.problems)
    print(f"{len(walk.problems):6,} problems of {len(kinds):,} kinds; {len(walk.runs)} runs")
    for problem in walk.problems[:40]:
        print(problem)
    sys.exit(bool(walk.problems))


if __name__ == "__main__":
    main()
