"""GraphML files, read and written by NetworkX. A file that declares entities or a document type is refused unread.

GraphML has no lists, so what `networkx_graph` keeps in lists (a node's features, the class names) is JSON text here.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any
from xml.parsers import expat

import networkx as nx
import numpy as np

from hiergcn.errors import InputError
from hiergcn.files import written_whole
from hiergcn.graph.formats.networkx_graph import VECTOR, graph_from_networkx, networkx_of
from hiergcn.graph.graph import Graph

KEPT = "hiergcn"  # the attribute of the graph that holds what GraphML has no place for
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def graph_from_graphml(
    path: str | PathLike[str], label: str | None, features: str | Sequence[str] | None, weight: str
) -> Graph:
    """See `Graph.from_graphml`."""
    file = Path(path)
    _check_xml(file)
    try:
        g = nx.read_graphml(file)
    except (nx.NetworkXException, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file} is XML but no GraphML that can be read: {_sentence(error)}") from error
    kept = _kept(g, file)
    g.graph.update({name: kept.get(name) for name in ("class_names", "n_features", "feature_type")})
    if VECTOR in kept.get("json", ()):
        _read_vectors(g, kept, file)
    graph = graph_from_networkx(g, label, features, weight, kept.get("name") or file.stem)
    if kept.get("ids") == "whole numbers":
        graph = replace(graph, ids=graph.ids.astype(np.int64))
    return graph


def write_graphml(graph: Graph, path: str | PathLike[str]) -> None:
    """See `Graph.to_graphml`."""
    texts = [*graph.class_names, *(graph.ids if graph.ids.dtype.kind not in "iu" else ())]
    bad = next((text for text in texts if _NOT_XML.search(str(text))), None)
    if bad is not None:
        raise InputError(f"{bad!r:.80} holds a character that XML has no place for: rename it, or write an npz file")
    g = networkx_of(graph)
    kept = {
        "name": graph.name,
        "class_names": list(graph.class_names),
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
    try:
        with written_whole(path) as part:
            nx.write_graphml_xml(g, part)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): name another file") from error


def _check_xml(file: Path) -> None:
    """Well-formed, and without a document type: that is where entities are declared, which can name other files or
    grow to any size."""

    def refuse(*_: Any) -> None:
        raise InputError(f"{file}, line {parser.CurrentLineNumber}: a document type is declared; take it out")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        with file.open("rb") as stream:
            parser.ParseFile(stream)
    except expat.ExpatError as error:
        raise InputError(
            f"{file}, line {error.lineno} is not well-formed XML: {expat.ErrorString(error.code)}"
        ) from None
    except (OSError, ValueError, LookupError) as error:
        raise InputError(f"{file} cannot be read ({error!s:.200}): give the path of a GraphML file") from error


def _kept(g: Any, file: Path) -> dict[str, Any]:
    if KEPT not in g.graph:
        return {}
    try:
        kept = json.loads(g.graph[KEPT])
    except (TypeError, ValueError) as error:
        raise InputError(f"{file}: attribute {KEPT!r} of the graph is not JSON: take it out") from error
    if not isinstance(kept, dict):
        raise InputError(f"{file}: attribute {KEPT!r} of the graph is not a JSON object: take it out")
    return kept


def _read_vectors(g: Any, kept: dict[str, Any], file: Path) -> None:
    kind = np.float32 if kept.get("feature_type") == "float32" else np.float64
    for node, attribute in g.nodes(data=True):
        try:
            row = json.loads(attribute[VECTOR])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{file}, node {node!r:.80}: its features are not a list in JSON") from error
        attribute[VECTOR] = row if isinstance(row, dict) else np.asarray(row, dtype=kind)


def _sentence(error: Exception) -> str:
    return f"{error!s:.200}".strip().rstrip(".") or type(error).__name__
