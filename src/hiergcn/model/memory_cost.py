"""Memory that training takes, in bytes, counted from the arrays that are alive at the same time.

Each method counts its own in `Method.memory`. `benchmarks/memory.py` compares the counts with measured peaks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

WORD = 4  # a float32
_MASK = 2  # a dropout mask, per entry; our GPU kernel makes it again instead
_CSR = 8  # a CSR tensor, per entry: column and value
_LEVEL = 60  # a level, per node: row of its weight, group, and the sums over both; on a GPU also chunks of rows
_NORMALISE = 48  # normalising an adjacency in double precision, per entry
_SPARSE = 20  # sparse features, per entry: value, column, transpose, and the values that dropout leaves


class LevelSize(NamedTuple):
    """Nodes of a level and entries of its adjacency, diagonal included."""

    nodes: int
    entries: int


@dataclass(frozen=True)
class Workload:
    """Sizes of a graph, and the settings of training that change the memory."""

    levels: tuple[LevelSize, ...]
    """The input graph first, then the coarser levels if the method uses them."""
    n_features: int
    stored: int | None
    """Entries of sparse features; None if the features are dense."""
    n_classes: int
    batches: int = 1
    recompute: bool = False
    full_validation: bool = True
    """Whether validation is full-batch even if training is batched."""
    networks: int = 1

    @property
    def nodes(self) -> int:
        return self.levels[0].nodes

    @property
    def dense(self) -> int:
        """Columns of dense features; 0 if the features are sparse."""
        return self.n_features if self.stored is None else 0

    @property
    def features(self) -> int:
        """Bytes of the features as a tensor."""
        return WORD * self.nodes * self.n_features if self.stored is None else _SPARSE * self.stored

    @property
    def normalise(self) -> int:
        """Bytes of normalising the input graph's adjacency."""
        return _NORMALISE * self.levels[0].entries

    def in_batches(self, whole: int) -> int:
        """Return the bytes of two batches, that of the model and the one in use, if the whole graph is not needed."""
        return whole if self.batches == 1 or self.full_validation else 2 * whole // self.batches


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes needed to train one seed, on top of the memory the process already uses."""

    structure: int
    """Features and levels as tensors."""
    kept: int
    """Activations kept for the backward pass."""
    working: int
    """Temporary arrays of a training step, or of validation."""
    preparing: int = 0
    """Temporary arrays of preparing the graph, in host memory; nothing is kept by then."""
    hierarchy: int = 0
    """The coarser levels, in host memory."""
    full_validation: bool = True
    """Whether validation is full-batch even if training is batched."""

    @property
    def temporary(self) -> int:
        """Bytes on top of `structure`, if host and device are the same."""
        return max(self.kept + self.working, self.preparing)

    @property
    def on_device(self) -> int:
        """Bytes of training, if host and device are the same."""
        return self.structure + self.temporary

    @property
    def on_gpu(self) -> int:
        """Bytes of training in a GPU's memory."""
        return self.structure + self.kept + self.working

    @property
    def total(self) -> int:
        """Bytes of hierarchy and training, if host and device are the same."""
        return self.hierarchy + self.on_device


def tensor_bytes(levels: Sequence[LevelSize]) -> int:
    """Return the bytes of levels as tensors."""
    return sum(_CSR * level.entries + _LEVEL * level.nodes for level in levels)


def flat_memory(work: Workload, hidden: int, per_entry: int = 32, layers: int = 2) -> MemoryPlan:
    """Return a rule of thumb: features, three arrays of hidden width per layer, `per_entry` bytes per entry of Â."""
    (nodes, entries), batches = work.levels[0], work.batches
    kept = WORD * nodes * (work.dense + 3 * layers * hidden) // batches
    return MemoryPlan(work.in_batches(work.features + _CSR * entries), kept, per_entry * entries // batches)


class Layer(NamedTuple):
    """A graph convolution of H-GCN: it keeps Â H, the dropout mask and the channels for the backward pass."""

    nodes: int
    fixed: int  # columns of features, which need no gradient
    learned: int  # columns that need one
    width: int  # columns of all channels together

    @property
    def arrays(self) -> int:
        return WORD * self.nodes * (self.fixed + self.learned + self.width)

    @property
    def kept(self) -> int:
        return self.arrays + _MASK * self.nodes * self.learned


def layers_memory(work: Workload, levels: Sequence[LevelSize], layers: Sequence[Layer]) -> MemoryPlan:
    """Return the memory of layers over levels. Nothing is kept while the graph is validated."""
    kept = [WORD * layer.nodes * layer.learned if work.recompute else layer.kept for layer in layers]
    kept_by_all = work.networks * (sum(kept) // work.batches)
    largest = max(layers, key=lambda layer: layer.kept)
    step = (2 * largest.arrays + (largest.kept if work.recompute else 0)) // work.batches
    validate = 2 * largest.arrays if work.full_validation and work.batches > 1 else 0
    prepare = _NORMALISE * max(level.entries for level in levels) + 2 * work.features
    structure = tensor_bytes(levels) + work.features
    if work.batches > 1 and work.full_validation:
        structure += structure // work.batches  # the batch in use has tensors of its own
    outputs = 2 * WORD * work.nodes * work.n_classes
    working = max(step, validate - kept_by_all)
    return MemoryPlan(work.in_batches(structure) + outputs, kept_by_all, working, work.in_batches(prepare))
