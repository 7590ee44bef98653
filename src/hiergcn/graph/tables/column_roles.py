"""Columns with a role: ids, labels or targets, splits, ends of edges and weights. All others of the nodes are features.

A column has the role that the caller gives it, or that its name usually has, or that its place suggests.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from hiergcn.errors import InputError
from hiergcn.graph.tables.delimited import Layout, Origin
from hiergcn.graph.tables.feature_columns import FeatureColumn
from hiergcn.graph.tables.label_columns import SPLIT
from hiergcn.graph.tables.text_columns import column_name

ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("fromnodeid", "tonodeid"),
    ("u", "v"),
    ("citing", "cited"),
)
WEIGHT = ("weight",)
INDEX = "__index_level_0__"
"""The name under which pandas writes an index without a name to Parquet: ids, if no column holds them, or nothing."""
ID = ("id", "node", "node_id", "nodeid", INDEX)
LABEL = ("label", "class")
SHOWN = 10  # columns in a sentence


@dataclass(frozen=True)
class CsvOptions:
    """Roles of columns that the caller names; None means to detect them."""

    id: str | None = None
    label: str | None = None
    split: str | None = None
    drop: Sequence[str] = ()
    """Columns of the nodes to leave out."""
    ends: tuple[str, str] | None = None
    """Columns of the edges that name their ends."""
    target: str | None = None
    """Column of the nodes that holds a number to predict."""
    weight: str | None = None
    delimiter: str | None = None
    unknown: Sequence[str] | None = None
    """Labels that mean unknown, instead of the usual words."""
    known: Sequence[FeatureColumn] | None = None
    """Columns of another table of nodes, by which these are encoded; a split is not read then."""

    @property
    def of_nodes(self) -> str | None:
        """A column of the nodes that the caller names, if any."""
        return self.id or self.label or self.target or self.split or next(iter(self.drop), None)


@dataclass(frozen=True)
class NodeColumns:
    """The roles of the columns of the nodes; columns without one are features."""

    id: str
    label: str | None
    split: str | None = None
    dropped: tuple[str, ...] = ()
    target: str | None = None
    label_named: bool = False
    """Whether the caller named the column of the labels."""

    @classmethod
    def choose(cls, origin: Origin, columns: Sequence[str], options: CsvOptions) -> "NodeColumns":
        """Return the roles, by the names given or by usual names."""
        for name in options.drop:
            _pick(origin, columns, name)
        dropped = tuple(column_name(name) for name in options.drop)
        features = {column.name for column in options.known or ()}
        left = [name for name in columns if name not in dropped]
        free = [name for name in left if name not in features]  # for roles that the caller gives no column
        if not left:
            raise InputError(f"{origin}: every column is dropped; keep at least the column of the ids.")
        id_column = _pick(origin, left, options.id) or _usual(free, ID) or (free or left)[0]
        if INDEX in left and id_column != INDEX:
            dropped = (*dropped, INDEX)
        target_column = _pick(origin, left, options.target)
        if target_column is not None and options.label is not None:
            raise InputError("Both a label (classes) and a target (numbers) are named; give one of them.")
        label_column = _pick(origin, left, options.label)
        if label_column is None and target_column is None:
            label_column = _usual(free, LABEL)
        aim = label_column or target_column
        split_column = _pick(origin, left, options.split)
        if options.known is None and split_column is None:
            split_column = _usual([name for name in left if name not in (id_column, aim)], (SPLIT,))
        if id_column == aim:
            role = "label" if target_column is None else "target"
            raise InputError(f"{origin}: column {id_column!r} is the id and cannot be the {role}, too; name another.")
        if split_column in (id_column, aim) and split_column is not None:
            raise InputError(f"{origin}: column {split_column!r} cannot be split and id or label; name another.")
        return cls(id_column, label_column, split_column, dropped, target_column, options.label is not None)

    @property
    def text(self) -> set[str]:
        """The columns that are kept as written."""
        return {name for name in (self.id, self.label, self.split) if name is not None}


@dataclass(frozen=True)
class EdgeColumns:
    """The roles of the columns of the edges; columns without one are not used."""

    ends: tuple[str, str]
    weight: str | None
    usual: bool
    """Whether the ends have usual names."""

    @classmethod
    def choose(cls, origin: Origin, columns: Sequence[str], options: CsvOptions) -> "EdgeColumns":
        """Return the roles, by the names given, by usual names, or by the first two places."""
        if len(columns) < 2:
            raise InputError(f"{origin}: one column, but an edge has two ends; give a column for each.")
        usual = usual_ends(columns)
        given = options.ends or (None, None)
        named = [
            _pick(origin, columns, name) or _usual(columns, (usual or ())[k : k + 1]) for k, name in enumerate(given)
        ]
        free = [name for name in columns if name not in named]
        weight = _pick(origin, columns, options.weight) or _usual(free, WEIGHT)
        left = sorted((name for name in free if name != weight), key=lambda name: name == "")
        if len(left) < named.count(None):
            raise InputError(f"{origin}: one column beside {weight!r:.80}, but an edge has two ends; give both.")
        ends = [name if name is not None else left.pop(0) for name in named]  # unnamed columns last
        if weight in ends:
            raise InputError(f"{origin}: column {weight!r:.80} cannot be an end and the weight; name another.")
        if ends[0] == ends[1]:
            raise InputError(f"{origin}: column {ends[0]!r} cannot be both ends of an edge; name two columns.")
        return cls((ends[0], ends[1]), weight, usual is not None)


def usual_ends(columns: Sequence[str]) -> tuple[str, str] | None:
    """Return the usual names of the ends of an edge that are among the columns."""
    return next((pair for pair in ENDS if set(pair) <= {name.lower() for name in columns}), None)


def shown_names(names: Sequence[str], most: int = SHOWN, width: int = 80) -> str:
    """Return the first of the names, for a sentence."""
    return ", ".join(f"{name!r:.{width}}" for name in names[:most]) + (", .." if len(names) > most else "")


def _usual(columns: Sequence[str], words: Sequence[str]) -> str | None:
    """Return the first column that has one of the names, in any case."""
    return next((name for word in words for name in columns if name.lower() == word), None)


def _pick(origin: Origin, columns: Sequence[str], wanted: str | None) -> str | None:
    """Return the column that the caller names, which must exist; None if none is named."""
    if wanted is None:
        return None
    name = column_name(wanted)
    if name not in columns:
        near = difflib.get_close_matches(name, columns, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else "."
        if isinstance(origin, Layout) and len(columns) == 1:
            meant = "; if it has several columns, name their delimiter (--delimiter, delimiter=)."
        raise InputError(f"{origin} has no column {name!r}{meant} Its columns are {shown_names(columns)}.")
    return name
