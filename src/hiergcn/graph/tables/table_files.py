"""Files that hold a table with types: Parquet, Arrow, DuckDB, JSON lines, Excel; and Matrix Market, which holds edges.

A file is recognised by its content, not by its name. `typed_table` returns None for text, which `delimited` reads.
"""

import json
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hiergcn.errors import InputError, MissingPackageError
from hiergcn.graph.tables.delimited import Origin
from hiergcn.graph.tables.duckdb_files import duckdb_table
from hiergcn.graph.tables.node_ids import IdColumn
from hiergcn.graph.tables.text_columns import column_names
from hiergcn.graph.tables.text_files import check_regular, naming_damage, opened

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

PARQUET = ".parquet"
MATRIX_MARKET = b"%%MatrixMarket"
NUMBERS, SYMMETRIES = {"real", "double", "integer", "pattern"}, {"general", "symmetric"}
ENDS = ("source", "target")
MOST_UNNAMED = 10
"""Rows per entry of a matrix up to which empty rows are nodes, too."""


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
        return table if isinstance(table, pd.DataFrame) else table.to_pandas()


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
    clean = column_names(names, path)
    if not clean:
        raise InputError(f"{path} has no columns; give a table with at least a column of ids.")
    written = dict(zip(clean, names, strict=True))

    def read_named(wanted: Sequence[str]) -> Any:
        with _reading(path, kind):
            table = read([written[name] for name in wanted])
        for name, one in zip(wanted, _columns_of(table), strict=True):
            if _holds_lists(one):
                raise InputError(
                    f"{path}, column {name!r:.80} holds lists or bytes; give a column per number, or drop it (--drop)."
                )
        return table.set_axis(list(wanted), axis=1) if isinstance(table, pd.DataFrame) else table.rename_columns(wanted)

    return TableFile(path, kind, clean, read_named, **more)


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
        counted = _counted_index(found) if path.is_file() else None
    kind = "Parquet" if path.is_file() else f"Parquet in {len(files)} files"

    def read(names: Sequence[str]) -> "pa.Table":
        table = found.to_table(columns=[name for name in names if name in found.schema.names])
        return table if counted is None else table.append_column(*counted).select(names)

    return _named(path, kind, [*found.schema.names, *([counted[0]] if counted else ())], read)


def _counted_index(table: Any) -> tuple[str, Any] | None:
    """Return the name and the values of a named index 0, 1, .., which pandas leaves out of the file; None without."""
    import pyarrow as pa

    found = (table.schema.pandas_metadata or {}).get("index_columns") or [None]
    if not isinstance(found[0], dict) or not isinstance(found[0].get("name"), str):
        return None
    values = range(*(int(found[0][key]) for key in ("start", "stop", "step")))
    return (found[0]["name"], pa.array(values)) if len(values) == table.count_rows() else None


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
            f"{path} is an Excel workbook, which needs openpyxl; run pip install openpyxl, or save it as CSV."
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl's, on styles and extensions, which do not concern the cells
            frame = pd.read_excel(path, dtype=object, keep_default_na=False, na_values=[""])
    except Exception as error:  # a damaged workbook can fail in any way
        raise InputError(f"{path} is a damaged Excel workbook ({error!s:.100}); save it again.") from error
    names = ["" if str(name).startswith("Unnamed: ") else name for name in frame.columns]
    return _named(path, "Excel, first sheet", names, lambda _: frame.set_axis(names, axis=1)[_], first_row=2)


def _matrix_market(path: Path) -> TableFile:
    """Read a square matrix as edges between the nodes 1, 2, ..; its entries are weights.

    scipy's reader is not used: it reads beyond the end of a damaged file, which can end the process.
    """
    with _reading(path, "Matrix Market"), opened(path) as stream:
        head = stream.readline().decode("ascii").lower().split()
        if head[1:3] != ["matrix", "coordinate"] or not {*head[3:4]} & NUMBERS or not {*head[4:]} <= SYMMETRIES:
            found = " ".join(head[1:])
            raise InputError(f"{path} holds a {found:.80}; give a coordinate matrix of real numbers, not an array.")
        columns = 2 if head[3] == "pattern" else 3
        lines = pd.read_csv(stream, sep=r"\s+", comment="%", header=None, names=range(3), dtype=float)
    sizes = lines.iloc[0] if len(lines) else np.full(3, np.nan)
    n, width, entries = (int(size) for size in np.nan_to_num(sizes, nan=-1.0, posinf=-1.0))
    table = lines.iloc[1:]
    if n != width:
        raise InputError(f"{path} holds a matrix of {n:,} by {width:,}; give a square one, a row for each node.")
    ends = table[[0, 1]].to_numpy()
    if len(table) != entries or table.iloc[:, :columns].isna().any(axis=None) or not _within(ends, n):
        raise InputError(
            f"{path} cannot be read as Matrix Market (its entries are not those it counts); write it again."
        )
    frame = pd.DataFrame(ends.astype(np.int64), columns=list(ENDS))
    if columns == 3 and (table[2] != 1).any():
        frame["weight"] = table[2].to_numpy()
    every = IdColumn(np.arange(1, n + 1)) if n <= MOST_UNNAMED * len(frame) + 1000 else None
    return _named(path, "Matrix Market", list(frame.columns), lambda names: frame[names], nodes=every)


def _within(ends: np.ndarray, n: int) -> bool:
    """Return whether all are whole numbers from 1 to n."""
    return bool(((ends >= 1) & (ends <= n) & (ends == np.floor(ends))).all())


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """Turn errors of a reader into a sentence."""
    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path} claims more than the memory of this machine holds; get the original.") from error
    except (pa.ArrowException, OSError, ValueError, OverflowError, EOFError) as error:
        raise InputError(f"{path} cannot be read as {kind} ({error!s:.150}); write it again.") from error


def _columns_of(table: "pa.Table | pd.DataFrame") -> list[Any]:
    return [column for _, column in table.items()] if isinstance(table, pd.DataFrame) else table.columns


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except zipfile.BadZipFile:
        return False


def _holds_lists(column: "pd.Series[Any] | pa.ChunkedArray") -> bool:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        return bool(
            pa.types.is_nested(column.type) or pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
        )
    known = column.dropna() if column.dtype == object else column.iloc[:0]
    return bool(known.map(lambda entry: isinstance(entry, list | dict | tuple | bytes | np.ndarray)).any())
