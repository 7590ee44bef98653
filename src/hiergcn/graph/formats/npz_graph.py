"""Graphs as npz files of plain arrays; text is UTF-8 JSON in an array of bytes, so there is no pickle.

The layout of Shchur et al. (2018) is read, too: CSR parts of adjacency (`adj_*`) and features (`attr_*`), and labels.
"""

import json
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiergcn.errors import InputError
from hiergcn.files import DAMAGED_ARRAYS, written_whole
from hiergcn.graph.coordinates import Coordinates
from hiergcn.graph.graph import Graph
from hiergcn.graph.split import PARTS, Split
from hiergcn.graph.tables.feature_columns import FeatureColumn
from hiergcn.graph.target import TARGET

FORMAT = "hiergcn graph 1"
CSR = ("data", "indices", "indptr", "shape")


def write_npz(graph: Graph, path: str | PathLike[str]) -> None:
    """Implement `Graph.to_npz`."""
    whole = graph.ids.dtype.kind in "iu"
    about = {
        "format": FORMAT,
        "name": graph.name,
        "class_names": list(graph.class_names),
        "target_name": graph.target_name,
        "notes": list(graph.notes),
        "columns": [asdict(column) for column in graph.columns],
        "texts": {name: texts.tolist() for name, texts in graph.texts.items()},
        "ids": None if whole else [str(name) for name in graph.ids],  # numpy's own text type drops trailing NULs
        "degrees": graph.coordinates is not None and graph.coordinates.degrees,
    }
    parts: dict[str, Any] = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}
    parts |= _parts_of("adjacency", graph.adjacency)
    if graph.features is not None:
        parts |= _parts_of("features", graph.features)
    coordinates = None if graph.coordinates is None else graph.coordinates.values
    arrays = {"labels": graph.labels, "targets": graph.targets, "missing": graph.missing, "coordinates": coordinates}
    arrays["ids"] = graph.ids if whole else None
    parts |= {name: array for name, array in arrays.items() if array is not None}
    if graph.split is not None:
        parts |= {f"split_{part}": getattr(graph.split, part) for part in PARTS}
    with written_whole(path) as part, part.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **parts)


def graph_from_npz(path: str | PathLike[str]) -> Graph:
    """Implement `Graph.from_npz`."""
    file = Path(path)
    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise InputError(f"{file} holds a single array; give an npz file that `Graph.to_npz` wrote.")
        with loaded as parts:
            if "about" not in parts and "adj_data" not in parts:
                held = ", ".join(parts)[:200] or "nothing"
                raise InputError(f"{file} is not a graph in npz form: it holds {held}; write one with Graph.to_npz.")
            if "about" in parts:
                return _graph(parts)
            adjacency = _matrix("adj", parts).tocoo()  # a published graph, made undirected and unweighted
            features, labels = _matrix("attr", parts), parts["labels"]
            source, target = adjacency.coords
            n = adjacency.shape[0]
            return Graph.from_edges(source, target, n=n, features=features, labels=labels, name=file.stem)
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror or error!s:.200}); give an npz file.") from error
    except InputError as error:
        raise InputError(f"{file}: {error}" if str(file) not in str(error) else str(error)) from error
    except MemoryError as error:
        raise InputError(f"{file} claims arrays larger than the memory of this machine; get the original.") from error
    except DAMAGED_ARRAYS as error:
        pickled = "pickle" in str(error)  # numpy's own message advises to load it unsafely
        reason = "it holds Python objects, which could run code" if pickled else f"{error!s:.200}"
        raise InputError(f"{file} is not a graph in npz form ({reason}); get the original.") from error


def _graph(parts: Any) -> Graph:
    about = json.loads(np.asarray(parts["about"]).tobytes())
    if about["format"] != FORMAT:
        raise InputError(f"The format is {about['format']!r:.80}, not {FORMAT!r}; read it with the hiergcn it is from.")
    ids = parts["ids"] if about["ids"] is None else np.array(about["ids"], dtype=object)
    return Graph(
        adjacency=_matrix("adjacency", parts),
        features=_matrix("features", parts) if "features" in parts or "features_data" in parts else None,
        labels=parts.get("labels"),
        targets=parts.get("targets"),
        target_name=about.get("target_name", TARGET),
        ids=ids,
        class_names=tuple(about["class_names"]),
        name=about["name"],
        notes=tuple(about["notes"]),
        columns=tuple(map(FeatureColumn.from_dict, about["columns"])),
        missing=parts.get("missing"),
        texts={name: np.array(texts, dtype=object) for name, texts in about.get("texts", {}).items()},
        split=Split(*(parts[f"split_{part}"] for part in PARTS)) if "split_train" in parts else None,
        coordinates=Coordinates(parts["coordinates"], about["degrees"]) if "coordinates" in parts else None,
    )


def _parts_of(name: str, matrix: Any) -> dict[str, Any]:
    """Return a dense matrix as one array, a sparse one as the arrays of its CSR form."""
    if isinstance(matrix, np.ndarray):
        return {name: matrix}
    return {f"{name}_{part}": np.asarray(getattr(matrix, part)) for part in CSR}


def _matrix(name: str, parts: Any) -> Any:
    if name in parts:
        return parts[name]
    data, indices, indptr, shape = (parts[f"{name}_{part}"] for part in CSR)
    if not all(np.issubdtype(places.dtype, np.integer) for places in (indices, indptr)):
        raise ValueError(f"the places of entries of {name} are no whole numbers")
    matrix = sp.csr_array((data, indices, indptr), shape=(int(shape[0]), int(shape[1])))
    matrix.check_format(full_check=True)  # an index out of range would read foreign memory
    return matrix


def read_masks(path: Path) -> tuple[Split, ...]:
    """Return the splits of `train_masks`, `validation_masks` and `test_masks`, each (splits, nodes)."""
    try:
        with np.load(path, allow_pickle=False) as parts:
            masks = [parts[f"{part}_masks"] for part in PARTS]
        return tuple(Split.from_masks(*of_split) for of_split in zip(*masks, strict=True))
    except DAMAGED_ARRAYS as error:
        raise InputError(f"{path} has no masks of splits ({error!s:.200}); get the original.") from error
