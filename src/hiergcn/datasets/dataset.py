"""What a named dataset is."""

from dataclasses import dataclass

from hiergcn.graph import Graph, Split


@dataclass(frozen=True)
class PaperClaim:
    """Table 2 of the H-GCN paper: mean and standard deviation of the test accuracy over 20 runs, as fractions of 1."""

    accuracy: float
    std: float
    levels: int
    """Coarsening levels L; the network has 2L + 1 layers."""


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset as it is known before it is read."""

    name: str
    title: str
    nodes: int
    edges: int
    """Distinct undirected edges, without self-loops."""
    features: int
    classes: int
    paper: PaperClaim | None = None


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph with the split it comes with."""

    name: str
    graph: Graph
    split: Split
    info: DatasetInfo

    @property
    def paper(self) -> PaperClaim | None:
        """What the H-GCN paper claims on this dataset, if it uses it."""
        return self.info.paper

    @property
    def paper_levels(self) -> int | None:
        """Coarsening levels that the H-GCN paper uses on this dataset."""
        return None if self.info.paper is None else self.info.paper.levels
