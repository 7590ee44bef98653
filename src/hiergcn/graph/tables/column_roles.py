"""Columns with a role: ids, labels or targets, splits, ends of edges and weights. All others of the nodes are features.

A column has the role that the caller gives it, or that its name usually has, or that its place suggests. All readers
choose here.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, cast

from hiergcn.errors import InputError
from hiergcn.graph.tables.feature_columns import FeatureColumn
from hiergcn.graph.tables.text_columns import Origin, column_name

if TYPE_CHECKING:
    from hiergcn.graph.graph import Graph

ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("fromnodeid", "tonodeid"),
    ("u", "v"),
    ("citing", "cited"),
)
WEIGHT, SPLIT = "weight", "split"
INDEX = "__index_level_0__"
"""The name under which pandas writes an index without a name to Parquet: ids, if no column holds them, or nothing."""
ID = ("id", "node", "node_id", "nodeid", INDEX)
LABEL = ("label", "class")
SHOWN = 10  # columns in a sentence


@dataclass(frozen=True)
class Roles:
    """The names of the columns by which a graph was read, and by which later tables are; None if there was none."""

    id: str | None = None
    ends: tuple[str, str] | None = None
    weight: str | None = None
    label: str | None = None

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any] | None) -> "Roles | None":
        return None if saved is None else cls(**{**saved, "ends": saved["ends"] and tuple(saved["ends"])})


class NodeOptions(TypedDict, total=False):
    """What is to be predicted, and the split: columns of the nodes, or attributes. None means to detect them."""

    label: str | None
    """Holds the classes; by default `label` or `class`. Blank means unknown."""
    target: str | None
    """Holds a number to predict, instead of a label."""
    split: str | None
    """Says train, validation or test, which `fit` uses; by default `split`."""
    drop: Sequence[str]
    """Columns of the nodes to leave out; all others are features."""
    unknown: Sequence[str] | None
    """Labels that mean unknown, instead of "unknown", "-1", "NA" and other usual words."""


class FrameOptions(NodeOptions, total=False):
    """Columns of two tables, too."""

    id: str | None
    """Column of the node ids; by default one named `id`, `node` or the like, else the first."""
    ends: tuple[str, str] | None
    """The two columns of the edges that hold ids; by default those with usual names, else the first two."""
    weight: str | None
    """Column of the edge weights; by default `weight`."""


class CsvOptions(FrameOptions, total=False):
    """How files are written, too."""

    delimiter: str | None
    """Between columns; guessed by default."""
    known: Sequence[FeatureColumn] | None
    """Columns of another table of nodes, by which these are encoded; a split is not read then."""
    roles: Roles | None
    """Names of the columns of other tables, by which these are read."""


def checked_options(options: Mapping[str, Any], kind: type[NodeOptions], like: "Graph | None" = None) -> CsvOptions:
    """Return options, whose names must be those of their kind: Python does not check them."""
    names = [name for name in kind.__annotations__ if name not in ("known", "roles")]
    for name in options:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            meant = f"did you mean {near[0]!r}? There are" if near else "there are"
            raise TypeError(f"There is no option {name!r}; {meant} {', '.join(names)}.")
    given = cast(CsvOptions, options)
    return given if like is None else read_like({**given, "known": like.columns}, like.roles)


def read_like(options: CsvOptions, roles: Roles | None) -> CsvOptions:
    """Return options by which tables are read like those that had these names of columns, if they had any."""
    if roles is None:
        return options
    given = cast(CsvOptions, {name: value for name, value in options.items() if value is not None})
    return {"id": roles.id, "ends": roles.ends, "weight": roles.weight, **given, "roles": roles}


def node_option(options: CsvOptions) -> str | None:
    """Return a column of the nodes that the caller names, if any."""
    named = (options.get(name) for name in ("id", "label", "target", "split"))
    return next((str(name) for name in (*named, *(options.get("drop") or ())) if name), None)


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
        dropped = tuple(str(_pick(origin, columns, name)) for name in (options.get("drop") or ()))
        known, roles = options.get("known"), options.get("roles")
        features = {column.name for column in known or ()}
        left = [name for name in columns if name not in dropped]
        free = [name for name in left if name not in features]  # for roles that the caller gives no column
        if not left:
            raise InputError(f"{origin}: every column is dropped; keep at least the column of the ids.")
        id_column = _pick(origin, left, options.get("id")) or _usual(free, ID) or (free or left)[0]
        if INDEX in left and id_column != INDEX:
            dropped = (*dropped, INDEX)
        target = _pick(origin, left, options.get("target"))
        if target is not None and options.get("label") is not None:
            raise InputError("Both a label (classes) and a target (numbers) are named; give one of them.")
        usual = LABEL if roles is None else () if roles.label is None else (roles.label.lower(),)
        label = _pick(origin, left, options.get("label")) or (None if target is not None else _usual(free, usual))
        aim = label or target
        split = _pick(origin, left, options.get("split"))
        if known is None and split is None:
            split = _usual([name for name in left if name not in (id_column, aim)], (SPLIT,))
        if id_column == aim:
            role = "label" if target is None else "target"
            raise InputError(f"{origin}: column {id_column!r} is the id and cannot be the {role}, too; name another.")
        if split in (id_column, aim) and split is not None:
            raise InputError(f"{origin}: column {split!r} cannot be split and id or label; name another.")
        return cls(id_column, label, split, dropped, target, options.get("label") is not None)

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
        given = options.get("ends") or (None, None)
        named = [
            _pick(origin, columns, name) or _usual(columns, (usual or ())[k : k + 1]) for k, name in enumerate(given)
        ]
        free = [name for name in columns if name not in named]
        by_usual_name = None if options.get("roles") else _usual(free, (WEIGHT,))
        weight = _pick(origin, columns, options.get("weight")) or by_usual_name
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


def _usual(columns: Iterable[str], words: Sequence[str]) -> str | None:
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
        if origin.is_delimited and len(columns) == 1:
            meant = "; if it has several columns, name their delimiter (--delimiter, delimiter=)."
        raise InputError(f"{origin} has no column {name!r}{meant} Its columns are {shown_names(columns)}.")
    return name
