"""Which column of a table is what: the caller names it, or it has a usual name, or it is one of the first."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from hiergcn.errors import InputError
from hiergcn.graph.tables.delimited import Origin

ENDS = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("citing", "cited"))
WEIGHT = ("weight",)
ID = ("id", "node", "node_id", "nodeid")
LABEL = ("label", "class")
SHOWN = 10  # columns in a sentence


@dataclass(frozen=True)
class NodeColumns:
    """Which column of the nodes is what; the others are features."""

    id: str
    label: str | None
    split: str | None = None
    dropped: tuple[str, ...] = ()

    @classmethod
    def choose(
        cls,
        origin: Origin,
        columns: Sequence[str],
        id_name: str | None,
        label_name: str | None,
        split_name: str | None = None,
        drop: Sequence[str] = (),
    ) -> "NodeColumns":
        for name in drop:
            _pick(origin, columns, name, ())
        left = [name for name in columns if name not in drop]
        if not left:
            raise InputError(f"{origin}: every column is dropped; keep that of the ids at least")
        id_column = _pick(origin, left, id_name, ID) or left[0]
        label_column = _pick(origin, left, label_name, LABEL)
        split_column = None if split_name is None else _pick(origin, left, split_name, ())
        if id_column == label_column:
            raise InputError(f"{origin}: column {id_column!r} is the id and cannot be the label as well")
        if split_column in (id_column, label_column) and split_column is not None:
            raise InputError(f"{origin}: column {split_column!r} cannot be the split and the id or label as well")
        return cls(id_column, label_column, split_column, tuple(drop))

    @property
    def text(self) -> set[str]:
        """The columns that are taken as they are written."""
        return {name for name in (self.id, self.label, self.split) if name is not None}


@dataclass(frozen=True)
class EdgeColumns:
    """Which column of the edges is what; the others are not used."""

    ends: tuple[str, str]
    weight: str | None
    usual: bool
    """Whether the ends have usual names."""

    @classmethod
    def choose(
        cls, origin: Origin, columns: Sequence[str], source: str | None, target: str | None, weight: str | None
    ) -> "EdgeColumns":
        if len(columns) < 2:
            raise InputError(f"{origin}: one column where an edge needs two ends; give a column for each")
        usual = usual_ends(columns)
        named = [
            _pick(origin, columns, name, usual[k : k + 1] if usual else ()) for k, name in enumerate((source, target))
        ]
        left = sorted((name for name in columns if name not in named), key=lambda name: name == "")  # unnamed ones last
        ends = [name if name is not None else left.pop(0) for name in named]
        if ends[0] == ends[1]:
            raise InputError(f"column {ends[0]!r} of {origin} cannot be both ends of an edge: name two columns")
        return cls((ends[0], ends[1]), _pick(origin, columns, weight, WEIGHT), usual is not None)

    @property
    def text(self) -> set[str]:
        """The columns that are taken as they are written."""
        return set(self.ends)


def usual_ends(columns: Sequence[str]) -> tuple[str, str] | None:
    """The usual names of the ends of an edge that are among the columns."""
    return next((pair for pair in ENDS if set(pair) <= {name.lower() for name in columns}), None)


def shown_names(columns: Sequence[str]) -> str:
    """The first of the columns, for a sentence."""
    return ", ".join(f"{name!r:.80}" for name in columns[:SHOWN]) + (", .." if len(columns) > SHOWN else "")


def _pick(origin: Origin, columns: Sequence[str], wanted: str | None, usual: Sequence[str]) -> str | None:
    """The column the caller names, which must be there, or one that has a usual name."""
    if wanted is None:
        return next((name for word in usual for name in columns if name.lower() == word), None)
    if wanted not in columns:
        near = difflib.get_close_matches(wanted, columns, n=1)
        meant = f", did you mean {near[0]!r}?" if near else ";"
        raise InputError(f"{origin} has no column {wanted!r}{meant} its columns are {shown_names(columns)}")
    return wanted
