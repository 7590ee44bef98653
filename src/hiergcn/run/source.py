"""Where a graph comes from: a dataset by its name, or the user's own files. A run folder records it."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hiergcn.datasets import dataset_names, known_name
from hiergcn.datasets.dataset_info import dataset_info
from hiergcn.errors import InputError

if TYPE_CHECKING:  # imported when a graph is read, so that wrong names are answered at once
    from hiergcn.graph import Graph, Split
    from hiergcn.graph.tables.column_roles import Roles
    from hiergcn.graph.tables.csv_files import CsvGraph
    from hiergcn.graph.tables.feature_columns import FeatureColumn
    from hiergcn.run.run import Run

NPZ, GRAPHML = ".npz", ".graphml"
OnBytes = Callable[[int, int], None]
"""Called during a download with the bytes so far and in all."""


@dataclass(frozen=True)
class Source:
    """A dataset's name, or files with the names of their columns."""

    data: str
    nodes: str | None = None
    label: str | None = None
    id: str | None = None
    weight: str | None = None
    split_column: str | None = None
    drop: Sequence[str] = ()
    unknown: Sequence[str] | None = None
    delimiter: str | None = None
    labels: Sequence[str] = ()
    """CSV files of further labels."""
    target: str | None = None
    """Column of numbers to predict, instead of a label."""
    roles: "Roles | None" = None
    """Names of the columns of an earlier reading, by which files are read again."""

    def __post_init__(self) -> None:
        if not self.is_dataset and not _exists(self.data):
            if "://" in self.data:
                raise InputError(f"{self.data} is a web address; download the file and give its path.")
            if (known := known_name(self.data)) is None:
                near = get_close_matches(self.data.lower(), dataset_names(), n=1)
                hint = f"did you mean {near[0]}?" if near else "`hiergcn datasets` lists the datasets."
                raise InputError(f"There is no dataset and no file named {self.data!r}; {hint}")
            object.__setattr__(self, "data", known)  # Cora is cora
        for path in (self.nodes, *self.labels):
            if path is not None and not _exists(path):
                raise InputError(f"There is no file named {path!r}; give the path of a table.")
        named = any((self.label, self.target, self.weight, self.split_column, *self.drop, *(self.unknown or ())))
        of_files = any((self.nodes, self.id, self.delimiter))
        if self.is_dataset and (named or of_files):
            raise InputError(
                f"{self.data} is a dataset with labels of its own; leave out NODES and the names of columns, "
                f"or write ./{self.data} if you mean a file."
            )
        if self.is_whole_graph and of_files:
            raise InputError(f"{self.data} holds the whole graph; leave out NODES, --id and --delimiter.")
        if self.is_whole_graph and self.data.lower().endswith(NPZ) and named:
            raise InputError(
                f"{self.data} has labels, weights and perhaps a split of its own; leave out --label, --target, "
                f"--weight, --split-column, --drop and --unknown."
            )

    @classmethod
    def of_run(cls, run: "Run") -> Self:
        """Return the source that a run folder records, or the graph that it holds."""
        if run.graph_file is not None:
            return cls(str(run.graph_file))
        recorded = {key: value for key, value in run.config["source"].items() if key not in ("command", "split")}
        if "data" not in recorded:
            raise InputError(f"{run.path} does not say where its graph came from; it was not made by `hiergcn fit`.")
        return cls(**recorded, roles=run.roles)

    @property
    def is_dataset(self) -> bool:
        return dataset_info(self.data) is not None

    @property
    def is_whole_graph(self) -> bool:
        """Whether it is one file with edges, labels and features."""
        return not self.is_dataset and Path(self.data).suffix.lower() in (NPZ, GRAPHML)

    @property
    def dataset(self) -> str | None:
        """Name of the dataset whose recipes are used; None for files, and for numbers, which have none."""
        info = dataset_info(self.data)
        return None if info is None or info.target else self.data

    @property
    def name(self) -> str:
        if self.is_dataset:
            return self.data
        from hiergcn.graph.tables.csv_files import graph_name

        return graph_name(self.data)

    def read(self, on_bytes: OnBytes | None = None) -> "Data":
        """Read the graph, and its split if it has one; a dataset is downloaded if it is not here."""
        if self.is_dataset:
            from hiergcn.datasets import load_dataset

            dataset = load_dataset(self.data, progress=on_bytes)
            data = Data(dataset.graph, dataset.split, "the dataset's own")
        elif self.is_whole_graph:
            data = self._read_whole()
        else:
            files = self.read_files()
            split_from = f"column {files.nodes.columns.split!r}" if files.graph.split and files.nodes else None
            data = Data(files.graph, files.graph.split, split_from, files.obstacle, files)
        for path in self.labels:
            data = data.with_labels(path, self.unknown)
        if self.is_dataset or data.obstacle or data.split is None or data.split_from is None:
            return data
        try:
            data.split.check(data.graph)
        except InputError as error:  # no model can learn with the split that the data name
            where = data.split_from if data.files else "split"
            return replace(data, obstacle=f"{self.nodes or self.data}, {where}: {error}")
        return data

    def read_files(self, known: "Sequence[FeatureColumn] | None" = None) -> "CsvGraph":
        """Read tables of edges and nodes, with features that are encoded as `known` ones were."""
        from hiergcn.graph.tables.column_roles import read_like
        from hiergcn.graph.tables.csv_files import read_csv

        same = ("id", "label", "target", "drop", "weight", "delimiter", "unknown")
        options: Any = {name: getattr(self, name) for name in same} | {"split": self.split_column, "known": known}
        return read_csv(self.data, self.nodes, read_like(options, self.roles))

    def _read_whole(self) -> "Data":
        from hiergcn.graph import Graph

        if self.data.lower().endswith(NPZ):
            graph, remedy = Graph.from_npz(self.data), "add them with Graph.with_labels in Python"
        else:
            given: dict[str, Any] = {name: getattr(self, name) for name in ("label", "target", "drop", "unknown")}
            graph = Graph.from_graphml(self.data, split=self.split_column, weight=self.weight or "weight", **given)
            remedy = "name the node attribute that holds the class with --label, or a number with --target"
        obstacle = None if graph.labelled.size else f"{self.data} has no labels to learn from; {remedy}."
        return Data(graph, graph.split, None if graph.split is None else "the file's own", obstacle)

    def to_dict(self) -> dict[str, Any]:
        """Return what a run folder records, with paths that hold from any working directory."""
        labels = [str(Path(path).resolve()) for path in self.labels]
        if self.is_dataset:
            return {"data": self.data} | ({"labels": labels} if labels else {})
        files = {"data": str(Path(self.data).resolve()), "nodes": self.nodes and str(Path(self.nodes).resolve())}
        lists = {"drop": list(self.drop), "unknown": None if self.unknown is None else list(self.unknown)}
        recorded = asdict(self) | files | lists | {"labels": labels}
        return {name: value for name, value in recorded.items() if name != "roles"}  # which the run has


@dataclass(frozen=True, eq=False)
class Data:
    """A graph and its split, as read from a source."""

    graph: "Graph"
    split: "Split | None" = None
    split_from: str | None = None
    """Where the split comes from, in words; None if it is drawn."""
    obstacle: str | None = None
    """Why no model can learn from the labels, and what to do; None if one can."""
    files: "CsvGraph | None" = None
    """How the CSV files were understood; None for datasets and whole graphs."""

    def with_labels(self, path: str, unknown: Sequence[str] | None = None) -> "Data":
        """Return the data with further labels from a CSV file.

        Nodes that are in no part of the split join training. A split that is drawn is drawn here, so that the nodes
        that would test without the file test with it.
        """
        import numpy as np

        from hiergcn.graph import Split
        from hiergcn.graph.tables.label_columns import with_further_labels, with_more_training

        graph, split, drawn = with_further_labels(self.graph, path, unknown), self.split, self.split_from is None
        counts = np.zeros(1, np.int64) if graph.labels is None else np.bincount(graph.labels[graph.labelled])
        obstacle = None
        if np.count_nonzero(counts) == 1:
            name = graph.class_names[counts.argmax()]
            obstacle = f"With {path}, every label is {name!r}; give two classes or more."
        elif drawn and counts.max() == 1:
            obstacle = f"With {path}, every class has one label; give one of them a second, so that some can validate."
        if split is not None and not drawn:
            split = with_more_training(split, self.graph, graph)
            graph = replace(graph, split=split)
        elif graph.target.values is not None and obstacle is None:
            earlier = split or Split.by_id(self.graph.strata, graph.ids)
            split = Split.by_id(graph.strata, graph.ids, tested=earlier.test)
        return replace(self, graph=graph, split=split, obstacle=obstacle)

    def check_labels(self) -> None:
        """Raise an `InputError` if no model can learn from the labels."""
        if self.obstacle is not None:
            raise InputError(self.obstacle)


def _exists(path: str) -> bool:
    """Return whether there is such a file or folder, or a table of that name in a file, as in `graph.duckdb/edges`."""
    return Path(path).exists() or Path(path).parent.is_file()


def newer_graph(run: "Run", edges: str, nodes: str | None) -> "Graph":
    """Read newer files in the way that those of the run were read."""
    from hiergcn.graph.tables.feature_columns import STRUCTURAL, number_columns, unnamed

    newer = Source(edges, nodes)
    if newer.is_whole_graph:
        return replace(newer.read().graph, name=edges)  # which errors name
    known = [column for column in run.columns if column.kind != STRUCTURAL]
    if not run.columns:
        known = number_columns(unnamed(run.config["n_features"]))
    if known and nodes is None:
        raise InputError("The model was trained on features; name the CSV of nodes after that of the edges.")
    given = {name: run.config["source"].get(name) for name in ("weight", "delimiter", *(["id"] if nodes else []))}
    return replace(newer, **given, roles=run.roles).read_files(known).graph
