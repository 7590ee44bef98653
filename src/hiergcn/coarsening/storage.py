"""Hierarchies as npz files, without pickle.

Only the input graph and the groupings are stored. The coarser graphs are computed again by A' = MᵀAM when the file is
read, and are the same to the last bit. So the file is small, and its levels cannot contradict each other.

| array                       | meaning                                                          |
|-----------------------------|------------------------------------------------------------------|
| `header`                    | JSON, as UTF-8 bytes: format, requested levels, depth, config    |
| `indptr` `indices` `data`   | the adjacency of the input graph, CSR                            |
| `group_0` ... `group_<d-1>` | the hyper-node of each node of that level                        |
"""

import json
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiergcn.coarsening.hierarchy import Hierarchy, Level
from hiergcn.coarsening.multilevel import first_level, next_level
from hiergcn.compiled.csr import frozen
from hiergcn.errors import InputError
from hiergcn.files import DAMAGED_ARRAYS, write_csv, written_whole
from hiergcn.graph.adjacency import checked_adjacency
from hiergcn.settings.fields import CoarsenConfig, strategy_name, strategy_names

FORMAT = "hiergcn hierarchy 1"
ENDINGS = (".csv", ".parquet", ".npz")
"""Files that `write_levels` can write."""


@dataclass(frozen=True)
class UnknownStrategy:
    """Replaces, in a loaded configuration, a strategy that is not registered in this program."""

    __name__: str

    def __call__(self, *_: Any) -> NoReturn:
        raise InputError(f"The grouping strategy {self.__name__!r} is unknown; register it with register_strategy.")


def save_hierarchy(hierarchy: Hierarchy, path: str | PathLike[str]) -> None:
    """Write `hierarchy` to `path`, whole or not at all."""
    config = vars(hierarchy.config) | {"strategy": strategy_name(hierarchy.config.strategy)}
    header = {"format": FORMAT, "requested": hierarchy.requested, "depth": hierarchy.depth, "config": config}
    finest = hierarchy.levels[0].adjacency
    arrays: dict[str, npt.NDArray[Any]] = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    arrays |= {part: getattr(finest, part) for part in ("indptr", "indices", "data")}
    arrays |= {f"group_{i}": level.group for i, level in enumerate(hierarchy.levels) if level.group is not None}
    with written_whole(path) as part, part.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def write_levels(hierarchy: Hierarchy, path: Path, ids: npt.ArrayLike | None = None) -> None:
    """Write a table of node, level and hyper-node to a .csv or .parquet file, or the hierarchy itself to .npz."""
    if path.suffix == ".npz":
        save_hierarchy(hierarchy, path)
    elif path.suffix == ".csv":
        write_csv(hierarchy.to_frame(ids), path)
    else:
        with written_whole(path) as part:
            hierarchy.to_frame(ids).to_parquet(part, index=False)


def load_hierarchy(path: str | PathLike[str]) -> Hierarchy:
    """Read and check a file that `save_hierarchy` wrote."""
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("it is not an archive")
        with archive:
            arrays = dict(archive)
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path}; give the path of a saved hierarchy.") from error
    except DAMAGED_ARRAYS as error:
        raise InputError(f"{path} cannot be read as a hierarchy ({error!s:.200}); make it again.") from error
    try:
        header = json.loads(np.asarray(arrays["header"]).tobytes())
        if header["format"] != FORMAT:
            raise InputError(f"its format is {header['format']!r}, and this version reads {FORMAT!r}")
        config = header["config"]
        if config["strategy"] not in strategy_names():
            config["strategy"] = UnknownStrategy(config["strategy"])
        n = len(arrays["indptr"]) - 1
        matrix = sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, n))
        matrix.check_format(full_check=True)
        level = first_level(checked_adjacency(matrix))
        finer: list[Level] = []
        for i in range(header["depth"]):
            grouped = replace(level, group=arrays[f"group_{i}"])  # checks its form
            group = grouped.grouping()
            if group.max() >= len(group) or not np.bincount(group).all():
                raise InputError(f"group_{i} must number the hyper-nodes from 0 without gaps")
            finer.append(replace(level, group=frozen(group, np.int32)))
            level = next_level(finer[-1], int(group.max()) + 1)
        return Hierarchy((*finer, level), CoarsenConfig(**config), header["requested"])
    except (KeyError, ValueError, TypeError, IndexError) as error:  # InputError is a ValueError
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise InputError(f"{path} is not a usable hierarchy: {reason}; make it again with coarsen.") from error
