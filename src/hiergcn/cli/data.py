"""The graph that a command is about: a dataset by its name, or the user's own files."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self

from hiergcn.cli.progress import download_progress
from hiergcn.datasets import dataset_names, load_dataset
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.tables.csv_files import CsvGraph, CsvOptions, graph_name, read_csv

NPZ, GRAPHML = ".npz", ".graphml"


@dataclass(frozen=True)
class Source:
    """What was named on the command line."""

    data: str
    nodes: str | None = None
    label: str | None = None
    id: str | None = None
    weight: str | None = None
    split_column: str | None = None
    drop: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.is_dataset and not Path(self.data).exists():
            near = get_close_matches(self.data.lower(), dataset_names(), n=1)
            hint = f"did you mean {near[0]}?" if near else f"the datasets are {', '.join(dataset_names())}."
            raise InputError(f"There is no dataset and no file named {self.data!r}; {hint}")
        if self.is_dataset and (self.nodes or self.label or self.id or self.weight or self.split_column or self.drop):
            raise InputError(
                f"{self.data} is a dataset with labels of its own: leave out NODES and the names of columns, "
                f"or write ./{self.data} if you mean a file."
            )
        if self.holds_all and (self.nodes or self.id or self.split_column or self.drop):
            raise InputError(f"{self.data} holds the whole graph: leave out NODES, --id, --split-column and --drop.")
        if self._ending == NPZ and (self.label or self.weight):
            raise InputError(f"{self.data} has labels and weights of its own: leave out --label and --weight.")

    @property
    def is_dataset(self) -> bool:
        return self.data in dataset_names()

    @property
    def holds_all(self) -> bool:
        """Whether it is a file with edges, labels and features in one."""
        return not self.is_dataset and self._ending in (NPZ, GRAPHML)

    @property
    def _ending(self) -> str:
        return Path(self.data).suffix.lower()

    @property
    def dataset(self) -> str | None:
        return self.data if self.is_dataset else None

    @property
    def name(self) -> str:
        return self.data if self.is_dataset else graph_name(self.data)

    def read(self) -> "Data":
        """Read the graph, with the split that the dataset comes with."""
        if self.is_dataset:
            with download_progress(self.data) as progress:
                dataset = load_dataset(self.data, progress=progress)
            return Data(dataset.graph, dataset.split, "the dataset's own")
        if self.holds_all:
            return self._read_whole()
        return Data.of(self.read_files())

    def read_files(self) -> CsvGraph:
        """The user's own files, with how they were understood."""
        options = CsvOptions(self.id, self.label, self.split_column, tuple(self.drop), weight=self.weight)
        return read_csv(self.data, self.nodes, options)

    def _read_whole(self) -> "Data":
        if self._ending == NPZ:
            graph, remedy = Graph.from_npz(self.data), "add them with Graph.with_labels in Python"
        else:
            graph = Graph.from_graphml(self.data, label=self.label, weight=self.weight or "weight")
            remedy = "name the attribute of the nodes that holds the class with --label"
        obstacle = None if graph.labelled.size else f"{self.data} has no labels to learn from: {remedy}"
        return Data(graph, obstacle=obstacle)

    def recorded(self) -> dict[str, Any]:
        """As kept in the run folder, where it must hold from any working directory."""
        if self.is_dataset:
            return {"data": self.data}
        nodes = str(Path(self.nodes).resolve()) if self.nodes else None
        return {
            "data": str(Path(self.data).resolve()),
            "nodes": nodes,
            "label": self.label,
            "id": self.id,
            "weight": self.weight,
            "split_column": self.split_column,
            "drop": list(self.drop),
        }


@dataclass(frozen=True, eq=False)
class Data:
    graph: Graph
    split: Split | None = None
    split_from: str | None = None
    """Where the split comes from, in words."""
    obstacle: str | None = None
    """Why no model can learn from the labels, and what to do; None where one can."""

    @classmethod
    def of(cls, read: CsvGraph) -> Self:
        """Files with how they were understood."""
        split_from = f"column {read.nodes.columns.split!r}" if read.split and read.nodes else None
        return cls(read.graph, read.split, split_from, read.obstacle)
