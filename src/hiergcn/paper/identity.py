"""When two runs are the same run: settings, data, split, seed and the code that decides a result.

The code version is a digest of the source files that decide it: the method's own, and every file of the package that
it, the training loop, the coarsening and the evaluation import. A change of a page, a document or another method makes
no new run of it; a change of one letter in those files does, be it in a comment. The settings carry what recipes say.
Versions of other packages and the machine are written beside a result and are no part of its identity: they shift
figures as another seed does.
"""

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiergcn.datasets import Dataset
from hiergcn.graph.split import SplitSpec
from hiergcn.model.registry import config_class
from hiergcn.run.settings import GROUPS, Settings

PACKAGE = Path(__file__).resolve().parents[1]
_TRAINING = (
    *("hiergcn.coarsen", "hiergcn.train.runs", "hiergcn.evaluate.metrics", "hiergcn.graph.split"),
    *("hiergcn.model.standardise", "hiergcn.model.ensemble"),  # what the registry puts around a method
)
_LENGTH = 32  # hexadecimal digits of an id


@dataclass(frozen=True)
class TrainJob:
    """One training."""

    dataset: str
    data: str
    """Digest of the dataset's content."""
    settings: Settings
    split: SplitSpec
    seed: int
    code: str

    def key(self) -> dict[str, Any]:
        groups = {group: getattr(self.settings, group) for group in GROUPS}
        return {
            "kind": "training",
            "dataset": self.dataset,
            "data": self.data,
            "method": self.settings.method,
            "settings": {name: vars(group) for name, group in groups.items()},
            "split": self.split.name,
            "seed": self.seed,
            "code": self.code,
        }

    @property
    def id(self) -> str:
        return _digest(self.key())


@dataclass(frozen=True)
class MeasureJob:
    """One measurement."""

    name: str
    arguments: Mapping[str, Any]
    data: str | None
    """Digest of the dataset's content, where it is about one."""
    code: str
    alone: bool = False

    def key(self) -> dict[str, Any]:
        return {
            "kind": "measurement",
            "name": self.name,
            "arguments": dict(self.arguments),
            "data": self.data,
            "code": self.code,
        }

    @property
    def id(self) -> str:
        return _digest(self.key())


Job = TrainJob | MeasureJob


def data_digest(dataset: Dataset) -> str:
    """Of graph, features, labels and split, whatever file they came from."""
    total = hashlib.sha256()
    graph = dataset.graph
    parts: list[Any] = [graph.adjacency.indptr, graph.adjacency.indices, graph.adjacency.data, graph.labels]
    if sp.issparse(graph.features):
        parts += [graph.features.indptr, graph.features.indices, graph.features.data]
    else:
        parts.append(graph.features)
    for part in (*parts, dataset.split.train, dataset.split.validation, dataset.split.test):
        array = np.ascontiguousarray(part)
        total.update(f"{array.dtype.kind}{array.shape}".encode())
        total.update((array.astype("<i8") if array.dtype.kind in "iu" else array.astype("<f8")).tobytes())
    return total.hexdigest()[:_LENGTH]


@cache
def training_code(method: str) -> str:
    """Version of the code that decides what the method gives."""
    return _code_digest((config_class(method).__module__, *_TRAINING))


@cache
def measuring_code(name: str) -> str:
    """Version of the code of a measurement, which has a file of its own."""
    return _code_digest((f"hiergcn.paper.measures.{name}",))


def source_files(roots: tuple[str, ...]) -> list[Path]:
    """The files of the package that these modules are made of, with all that they import, in a fixed order."""
    found: set[Path] = set()
    waiting = [path for root in roots for path in _files_of(root)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [one for module in _imports(path) for one in _files_of(module)]
    return sorted(found)


def _code_digest(roots: tuple[str, ...]) -> str:
    total = hashlib.sha256()
    for path in source_files(roots):
        total.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:16]


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _files_of(module: str) -> list[Path]:
    """The file of a module of the package, and of the packages it lies in; none for one from elsewhere."""
    parts = module.split(".")
    if parts[0] != PACKAGE.name or len(parts) == 1:
        return []
    files = []
    place = PACKAGE
    for part in parts[1:]:
        place = place / part
        if place.is_dir():
            files.append(place / "__init__.py")
        elif place.with_suffix(".py").is_file():
            files.append(place.with_suffix(".py"))
    return [path for path in files if path.is_file()]


def _digest(key: Mapping[str, Any]) -> str:
    text = json.dumps(key, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]
