"""Files that hold a table with types: Parquet, Arrow, DuckDB, JSON lines, Excel; and Matrix Market, which holds edges.

A file is recognised by its content, not by its name. `typed_table` returns None for text, which `delimited` reads.
"""

import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from hiergcn.errors import InputError, MissingPackageError
from hiergcn.graph.tables.delimited import Origin
from hiergcn.graph.tables.duckdb_files import duckdb_table
from hiergcn.graph.tables.node_ids import IdColumn
from hiergcn.graph.tables.text_columns import column_name
from hiergcn.graph.tables.text_files import check_regular, naming_damage, opened

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

PARQUET = ".parquet"
MATRIX_MARKET = b"%%MatrixMarket"
ENDS = ("source", "target")
MOST_UNNAMED = 10
"""Nodes of a matrix per entry, up to which those without an entry are nodes, too."""


@dataclass(frozen=True)
class TableFile(Origin):
    """A file with a table whose columns have types."""

    kind: str
    names: list[str]
    read: Callable[[Sequence[str]], "pa.Table | pd.DataFrame"]
    """Returns the columns of these names."""
    first_row: int = 1
    """The row of the first entry: spreadsheets have the names in row 1."""
    nodes: IdColumn | None = None
    """The ids of all nodes, if the file counts them."""

    def row(self, position: int | np.integer[Any]) -> int:
        return int(position) + self.first_row

    @property
    def path(self) -> Path:
        return Path(self.name)

    def frame(self, names: Sequence[str]) -> pd.DataFrame:
        """Return columns as a frame."""
        table = self.read(names)
        frame: pd.DataFrame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
        nested = [name for name in frame.columns if _holds_lists(frame[name])]
        if nested:
            raise InputError(
                f"{self}, column {nested[0]!r:.80} holds lists; give a column for each number, or drop it (--drop)."
            )
        return frame


def typed_table(path: str | Path) -> TableFile | None:
    """Return the table in a file, a folder of Parquet files or a DuckDB database; None if the file holds text."""
    file = Path(path)
    if table := duckdb_table(file):
        return _named(file, "DuckDB", table.columns(), table.read)
    if parquet_files(file):
        return _parquet(file)
    check_regular(file)
    with naming_damage(file):
        with file.open("rb") as stream:
            head = stream.read(8)
        with opened(file) as stream:
            begin = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
        if head.startswith(b"ARROW1"):
            return _arrow(file)
        if head.startswith(b"PK\x03\x04") and _is_workbook(file):
            return _excel(file)
        if begin.startswith(MATRIX_MARKET):
            return _matrix_market(file)
        if begin.startswith(b"{"):
            return _json_lines(file)
    return None


def _named(path: Path, kind: str, names: Sequence[object], read: Callable[..., Any], **more: Any) -> TableFile:
    """Return a table whose names are cleaned as in every format."""
    clean = pd.Index([column_name(name) for name in names])
    if clean.has_duplicates:
        twice = clean[int(clean.duplicated().argmax())]
        raise InputError(f"{path}: two columns are named {twice!r:.80}; give every column its own name.")
    if clean.empty:
        raise InputError(f"{path} has no columns; give a table with at least a column of ids.")
    written = dict(zip(clean, names, strict=True))

    def read_named(wanted: Sequence[str]) -> Any:
        with _reading(path, kind):
            table = read([written[name] for name in wanted])
        return table.set_axis(list(wanted), axis=1) if isinstance(table, pd.DataFrame) else table.rename_columns(wanted)

    return TableFile(path, kind, list(clean), read_named, **more)


def parquet_files(path: Path) -> list[Path]:
    """Return a Parquet file itself, those in a folder in the order of their names, or nothing."""
    with suppress(OSError, ValueError):  # of a path that the system does not accept
        if path.is_dir():
            return sorted(path.glob(f"*{PARQUET}"))
        if path.is_file():
            with path.open("rb") as stream:
                return [path] if stream.read(4) == b"PAR1" else []
    return []


def _parquet(path: Path) -> TableFile:
    from pyarrow import dataset

    with _reading(path, "Parquet"):
        files = parquet_files(path)
        found = dataset.dataset([str(file) for file in files], format="parquet")
    kind = "Parquet" if path.is_file() else f"Parquet in {len(files)} files"
    return _named(path, kind, found.schema.names, lambda names: found.to_table(columns=names))


def _arrow(path: Path) -> TableFile:
    from pyarrow import feather

    with _reading(path, "Arrow"):
        table = feather.read_table(path)
    return _named(path, "Arrow", table.column_names, table.select)


def _json_lines(path: Path) -> TableFile:
    rows = []
    with naming_damage(path), opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise InputError(
                    f"{path}, line {number} is not JSON ({error!s:.100}); write one object per line (JSON lines)."
                ) from None
            if not isinstance(row, dict):
                raise InputError(f"{path}, line {number} is not a JSON object; write one object per line (JSON lines).")
            rows.append(row)
    frame = pd.DataFrame.from_records(rows)
    return _named(path, "JSON lines", list(frame.columns), lambda names: frame[names])


def _excel(path: Path) -> TableFile:
    try:
        import openpyxl  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise MissingPackageError(
            f"{path} is an Excel workbook, which needs openpyxl; run pip install 'hiergcn[excel]', or save it as CSV."
        ) from None
    try:
        frame = pd.read_excel(path, dtype=object, keep_default_na=False, na_values=[""])
    except Exception as error:  # a damaged workbook can fail in any way
        raise InputError(f"{path} is a damaged Excel workbook ({error!s:.100}); save it again.") from error
    names = ["" if str(name).startswith("Unnamed: ") else name for name in frame.columns]
    return _named(path, "Excel, first sheet", names, lambda _: frame.set_axis(names, axis=1)[_], first_row=2)


def _matrix_market(path: Path) -> TableFile:
    """Read a square matrix as edges between the nodes 1, 2, ..; its entries are weights."""
    from scipy.io import mmread

    with _reading(path, "Matrix Market"), opened(path) as stream:
        matrix: Any = mmread(cast(Any, stream))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or np.iscomplexobj(matrix):
        shape = " by ".join(f"{size:,}" for size in matrix.shape)
        raise InputError(f"{path} holds a matrix of {shape}; give a square one of real numbers, a row for each node.")
    rows, columns = matrix.nonzero() if isinstance(matrix, np.ndarray) else matrix.coords
    data = matrix[rows, columns] if isinstance(matrix, np.ndarray) else matrix.data
    n = int(matrix.shape[0])
    frame = pd.DataFrame({"source": rows.astype(np.int64) + 1, "target": columns.astype(np.int64) + 1})
    if (data != 1).any():
        frame["weight"] = np.asarray(data, np.float64)
    every = IdColumn(np.arange(1, n + 1)) if n <= MOST_UNNAMED * len(frame) + 1000 else None
    return _named(path, "Matrix Market", list(frame.columns), lambda names: frame[names], nodes=every)


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """Turn errors of a reader into a sentence."""
    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, EOFError) as error:
        raise InputError(f"{path} cannot be read as {kind} ({error!s:.150}); write it again.") from error


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except zipfile.BadZipFile:
        return False


def _holds_lists(column: "pd.Series[Any]") -> bool:
    known = column.dropna() if column.dtype == object else column.iloc[:0]
    return bool(known.map(lambda entry: isinstance(entry, list | dict | tuple | np.ndarray)).any())
