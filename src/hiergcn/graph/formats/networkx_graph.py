"""NetworkX graphs, and GraphML files, which NetworkX reads and writes.

Node attributes hold the label and the features. `x` is a node's row of features: a list of numbers, or {column: value}
if most are 0 (then the graph's `n_features` is the number of columns, and `feature_type` their type). The graph's
`class_names` keeps the order of the classes, and classes without a node. GraphML has no lists, so these are JSON text
there. A GraphML file that declares entities or a document type is refused unread.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any
from xml.parsers import expat

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.files import written_whole
from hiergcn.graph.graph import Graph
from hiergcn.graph.tables.column_roles import LABEL, SPLIT, CsvOptions, NodeColumns
from hiergcn.graph.tables.feature_table import FeatureTable, read_features
from hiergcn.graph.tables.label_columns import Labels, label_texts, part_names, read_target
from hiergcn.graph.tables.text_columns import Origin
from hiergcn.graph.target import Numbers

VECTOR = "x"
TARGETS = "target"  # the node attribute, and the graph attribute that says what it is
ORIGIN = Origin("The NetworkX graph")
KEPT = "hiergcn"  # the graph attribute for what GraphML has no place for
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def graph_from_networkx(
    g: Any, features: str | Sequence[str] | None, options: CsvOptions, weight: str, name: str | None
) -> Graph:
    """Implement `Graph.from_networkx`."""
    if not isinstance(g, nx.Graph):
        raise InputError(f"A {type(g).__name__} is not a NetworkX graph; give a networkx.Graph or DiGraph.")
    nodes = [attributes for _, attributes in g.nodes(data=True)]
    if not nodes:
        raise InputError("The NetworkX graph has no nodes; add at least one.")
    notes: list[str] = []
    ids = np.array([str(node) for node in g], dtype=object)
    if all(isinstance(node, int | np.integer) and not isinstance(node, bool) for node in g):
        with suppress(OverflowError):
            ids = np.array(list(g), dtype=np.int64)
    if ids.dtype == object and not all(isinstance(node, str) for node in g):  # such as pairs of numbers
        notes.append("nodes that are neither all whole numbers nor all text are named by their text")
    usual = (TARGETS,) if TARGETS in g.graph else ()
    target_name = _attribute(nodes, options.get("target"), "its target", usual)
    label = None if target_name else _attribute(nodes, options.get("label"), "its label", LABEL)
    if target_name and options.get("label"):
        raise InputError("Both a label (classes) and a target (numbers) are named; give one of them.")
    usual = () if SPLIT in (options.get("drop") or ()) else (SPLIT,)
    part = _attribute(nodes, options.get("split"), "its split", usual)
    roles = NodeColumns("", label, part if label or target_name else None, target=target_name)
    given = tuple(g.graph.get("class_names") or ())
    cells = {at: pd.Series([node.get(at) for node in nodes], name=at) for at in (label, target_name, part) if at}
    target, split, more = read_target(cells.__getitem__, roles, ids, ORIGIN, options.get("unknown"), given)
    notes += more
    names = tuple(map(str, given))
    if isinstance(target, Labels) and set(target.names) <= set(names) and len(set(names)) == len(names):
        values = np.array([*(names.index(name) for name in target.names), -1])[target.truth]
        target = replace(target, values=values, names=names)  # in the graph's order: its names cover all that occur
    table = _features(nodes, features, g.graph)
    notes += table.notes
    used = [features or VECTOR] if features is None or isinstance(features, str) else features
    taken = {str(name) for name in (*used, label, target_name, options.get("split") or SPLIT)}
    unused = sorted({str(name) for node in nodes for name in node} - taken)
    if unused:
        notes.append(f"node attributes that were not used: {', '.join(unused[:10])}")
    if g.is_directed() and g.number_of_edges():
        notes.append("directed edges were made undirected")
    name = name or str(g.graph.get("name") or "graph")
    graph = Graph.from_edges(
        *_edges(g, weight), len(ids), ids=ids, class_names=given if target is None else (), name=name
    )
    fields = {} if target is None else target.fields()
    if isinstance(target, Numbers):
        fields["target_name"] = str(g.graph.get(TARGETS) or target_name)
    return replace(graph, **table.fields(), **fields, notes=(*graph.notes, *notes), split=split)


def networkx_of(graph: Graph) -> Any:
    """Implement `Graph.to_networkx`."""
    g = nx.Graph(name=graph.name, class_names=list(graph.class_names))
    ids = graph.ids.tolist()
    g.add_nodes_from(ids)
    if graph.labels is not None:
        texts = label_texts(graph.labels, graph.class_names)
        nx.set_node_attributes(g, {ids[node]: texts[node] for node in graph.labelled}, "label")
    if graph.targets is not None:
        g.graph[TARGETS] = graph.target_name
        nx.set_node_attributes(g, {ids[node]: float(graph.targets[node]) for node in graph.labelled}, TARGETS)
    if graph.split is not None:
        parts = part_names(graph.split, graph.n_nodes)
        nx.set_node_attributes(g, {node: part for node, part in zip(ids, parts, strict=True) if part}, SPLIT)
    features: Any = graph.features
    if features is not None:
        g.graph |= {"n_features": graph.n_features, "feature_type": str(features.dtype)}
        if isinstance(features, np.ndarray):
            rows: list[Any] = list(features)
        else:
            starts, columns, values = (part.tolist() for part in (features.indptr, features.indices, features.data))
            spans = [slice(*span) for span in pairwise(starts)]
            rows = [dict(zip(columns[span], values[span], strict=True)) for span in spans]
        nx.set_node_attributes(g, dict(zip(ids, rows, strict=True)), VECTOR)
    upper = sp.triu(graph.adjacency, format="coo")
    ends = ([ids[node] for node in side.tolist()] for side in upper.coords)
    if (upper.data == 1).all():
        g.add_edges_from(zip(*ends, strict=True))
    else:
        g.add_weighted_edges_from(zip(*ends, upper.data.tolist(), strict=True))
    return g


def _attribute(nodes: list[dict[Any, Any]], wanted: str | None, role: str, usual: Sequence[str]) -> str | None:
    """Return the attribute that the caller names, which some node must have, or one with a usual name."""
    if wanted is None:
        return next((word for word in usual if any(word in node for node in nodes)), None)
    if not any(wanted in node for node in nodes):
        names = ", ".join(repr(name) for name in sorted({str(name) for node in nodes for name in node})[:10])
        raise InputError(
            f"No node has an attribute {wanted!r} to be {role}; nodes have {names or 'no attributes at all'}."
        )
    return wanted


def _features(nodes: list[dict[Any, Any]], wanted: str | Sequence[str] | None, about: dict[Any, Any]) -> FeatureTable:
    if wanted is not None and not isinstance(wanted, str):
        for name in wanted:
            _attribute(nodes, name, "a feature", ())
        cells = pd.DataFrame({name: [node.get(name) for node in nodes] for name in wanted})
        return read_features(cells.infer_objects(), ORIGIN)
    name = wanted or VECTOR
    if wanted is None and not any(name in node for node in nodes):
        return FeatureTable(None)
    for number, node in enumerate(nodes):
        if name not in node:
            raise InputError(f"Node {number} has no attribute {name!r} to be its features; give every node one.")
    rows = [node[name] for node in nodes]
    if all(isinstance(row, dict) for row in rows):
        try:
            columns = np.array([int(column) for row in rows for column in row], dtype=np.int64)
            kind = np.float32 if about.get("feature_type") == "float32" else np.float64
            values = np.array([float(value) for row in rows for value in row.values()], dtype=kind)
            ends = np.cumsum([0, *(len(row) for row in rows)])
            width = max(int(columns.max(initial=-1)) + 1, int(about.get("n_features") or 0))
            sparse = sp.csr_array((values, columns, ends), shape=(len(rows), width))
            sparse.check_format(full_check=True)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"Sparse features must be {{column: value}} with columns from 0 ({error!s:.100})."
            ) from None
        return FeatureTable(sparse)
    vectors: list[NDArray[Any]] = []
    for number, row in enumerate(rows):
        with suppress(ValueError):  # of lists of unequal length
            vectors.append(np.atleast_1d(np.asarray(row)))
        if len(vectors) <= number or vectors[-1].dtype.kind not in "buif" or vectors[-1].shape != vectors[0].shape:
            raise InputError(
                f"Node {number}: attribute {name!r} is {row!r:.80}, but must be a list of numbers, as many for every "
                f"node; to use attributes that hold one value each, name them in a list, features=[{name!r}]."
            )
    return FeatureTable(np.stack(vectors))


def _edges(g: Any, weight: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64] | None]:
    """Return ends as positions of the nodes, and weights. Undirected edges begin at the earlier node, to add up."""
    position = {node: k for k, node in enumerate(g)}
    listed = list(g.edges(data=weight))
    ends = np.array([(position[u], position[v]) for u, v, _ in listed], dtype=np.int64).reshape(-1, 2)
    if not g.is_directed():
        ends.sort(axis=1)
    if all(value is None for *_, value in listed):
        return ends[:, 0], ends[:, 1], None
    try:
        weights = np.array([1.0 if value is None else float(value) for *_, value in listed])
    except (TypeError, ValueError):
        bad = next((u, v, value) for u, v, value in listed if not isinstance(value, int | float | None))
        found = f"The edge {bad[0]!s:.80} to {bad[1]!s:.80} has {weight} {bad[2]!r:.80}"
        raise InputError(f"{found}; give a number.") from None
    return ends[:, 0], ends[:, 1], weights


def graph_from_graphml(
    path: str | PathLike[str], features: str | Sequence[str] | None, options: CsvOptions, weight: str
) -> Graph:
    """Implement `Graph.from_graphml`."""
    file = Path(path)
    _check_xml(file)
    try:
        g = nx.read_graphml(file)
    except (nx.NetworkXException, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{error!s:.200}".strip().rstrip(".") or type(error).__name__
        raise InputError(f"{file} is XML but not readable GraphML ({reason}); write it again.") from error
    try:
        kept = dict(json.loads(g.graph.get(KEPT, "{}")))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{file}: attribute {KEPT!r} of the graph is not JSON of an object; take it out.") from error
    g.graph.update({name: kept.get(name) for name in ("class_names", "n_features", "feature_type")})
    if kept.get(TARGETS):
        g.graph[TARGETS] = kept[TARGETS]
    kind = np.float32 if kept.get("feature_type") == "float32" else np.float64
    for node, attribute in g.nodes(data=True) if VECTOR in kept.get("json", ()) else ():
        try:
            row = json.loads(attribute[VECTOR])
            attribute[VECTOR] = row if isinstance(row, dict) else np.asarray(row, dtype=kind)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            where = f"{file}, node {node!r:.80}"
            raise InputError(f"{where}: its features are not a list of numbers in JSON; correct it.") from error
    try:
        graph = graph_from_networkx(g, features, options, weight, kept.get("name") or file.stem)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    return replace(graph, ids=graph.ids.astype(np.int64)) if kept.get("ids") == "whole numbers" else graph


def write_graphml(graph: Graph, path: str | PathLike[str]) -> None:
    """Implement `Graph.to_graphml`."""
    texts = [*graph.class_names, *(graph.ids if graph.ids.dtype.kind not in "iu" else ())]
    bad = next((text for text in texts if _NOT_XML.search(str(text))), None)
    if bad is not None:
        raise InputError(f"{bad!r:.80} holds a character that XML does not allow; rename it, or write an npz file.")
    g = networkx_of(graph)
    kept = {
        "name": graph.name,
        "class_names": list(graph.class_names),
        TARGETS: None if graph.targets is None else graph.target_name,
        "n_features": graph.n_features,
        "ids": "whole numbers" if graph.ids.dtype.kind in "iu" else "text",
        "json": [] if graph.features is None else [VECTOR],
        "feature_type": None if graph.features is None else str(graph.features.dtype),
    }
    g.graph.clear()
    g.graph[KEPT] = json.dumps(kept)
    for _, attribute in g.nodes(data=True):
        if VECTOR in attribute:
            row = attribute[VECTOR]
            attribute[VECTOR] = json.dumps(row if isinstance(row, dict) else row.tolist())
    with written_whole(path) as part:
        nx.write_graphml_xml(g, part)


def _check_xml(file: Path) -> None:
    """Refuse XML that is not well-formed or has a document type: entities can name other files or grow endlessly."""

    def refuse(*_: Any) -> None:
        raise InputError(f"{file}, line {parser.CurrentLineNumber}: a document type is declared; take it out.")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        with file.open("rb") as stream:
            parser.ParseFile(stream)
    except expat.ExpatError as error:
        raise InputError(
            f"{file}, line {error.lineno} is not well-formed XML ({expat.ErrorString(error.code)}); correct it."
        ) from None
    except (OSError, ValueError, LookupError) as error:
        raise InputError(f"{file} cannot be read ({error!s:.200}); give the path of a GraphML file.") from error
