"""Files that hold a table with types: Parquet, Arrow, DuckDB, JSON lines, Excel; and Matrix Market, which holds edges.

A file is recognised by its content, not by its name. `typed_table` returns None for text, which `text_files` reads.
Tables of a DuckDB database are named `graph.duckdb/edges`: the file, then the table or view, with its schema if needed.
"""

import json
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.types as pt  # type: ignore[import-untyped]

from hiergcn.errors import InputError, MissingPackageError
from hiergcn.graph.tables.node_ids import IdColumn
from hiergcn.graph.tables.text_columns import Origin, column_names
from hiergcn.graph.tables.text_files import check_regular, naming_failure, opened

PARQUET = ".parquet"
MATRIX_MARKET = b"%%MatrixMarket"
NUMBERS, SYMMETRIES = {"real", "double", "integer", "pattern"}, {"general", "symmetric"}
MOST_UNNAMED = 10
"""Rows per entry of a matrix up to which empty rows are nodes, too."""
DUCKDB = b"DUCK"
"""At bytes 8 to 12 of a database."""


@dataclass(frozen=True)
class TableFile(Origin):
    """A file with a table whose columns have types."""

    kind: str
    written: dict[str, str]
    """The names of the columns as they are in the file, by their names without blanks around them."""
    load: Callable[[list[str]], "pa.Table | pd.DataFrame"]
    """Returns columns by their names in the file."""
    first_row: int = 1
    """The row of the first entry: spreadsheets have the names in row 1."""
    nodes: IdColumn | None = None
    """The ids of all nodes, if the file counts them."""

    def row(self, position: int | np.integer[Any]) -> int:
        return int(position) + self.first_row

    @property
    def names(self) -> list[str]:
        return list(self.written)

    def read(self, wanted: Sequence[str], text: object = ()) -> "tuple[pa.Table | pd.DataFrame, TableFile]":
        """Return the columns wanted, which must hold single values, and the file."""
        with naming_failure(self.path, self.kind):
            table = self.load([self.written[name] for name in wanted])
        columns = [table[name] for name in table] if isinstance(table, pd.DataFrame) else table.columns
        for name, column in zip(wanted, columns, strict=True):
            if isinstance(column, pd.Series):
                known = column.dropna() if column.dtype == object else column.iloc[:0]
                holds_lists = known.map(lambda cell: isinstance(cell, list | dict | tuple | bytes | np.ndarray)).any()
            else:
                holds_lists = pt.is_nested(column.type) or pt.is_binary(column.type) or pt.is_large_binary(column.type)
            if holds_lists:
                raise InputError(
                    f"{self}, column {name!r:.80} holds lists or bytes; give a column per number, or drop it (--drop)."
                )
        names = list(wanted)
        return (table.set_axis(names, axis=1) if isinstance(table, pd.DataFrame) else table.rename_columns(names)), self


def typed_table(path: str | Path) -> TableFile | None:
    """Return the table in a file, a folder of Parquet files or a DuckDB database; None if the file holds text."""
    file = Path(path)
    if source := duckdb_table(file):
        database, table = source

        def load(columns: Iterable[str], rows: str = "") -> Any:
            return _from_duckdb(database, f"SELECT {', '.join(columns)} FROM {table} {rows}", file)  # noqa: S608

        return _named(file, "DuckDB", load("*", "LIMIT 0").column_names, lambda names: load(map(quoted, names)))
    if parquet_files(file):
        return _parquet(file)
    check_regular(file)
    with naming_failure(file):
        with file.open("rb") as stream:
            head = stream.read(8)
        with opened(file)[0] as unpacked:
            begin = unpacked.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
        if head.startswith(b"ARROW1"):
            from pyarrow import feather

            with naming_failure(file, "Arrow"):
                arrow = feather.read_table(file)
            return _named(file, "Arrow", arrow.column_names, arrow.select)
        if head.startswith(b"PK\x03\x04"):
            with suppress(zipfile.BadZipFile), zipfile.ZipFile(file) as archive:
                if any(name.startswith("xl/") for name in archive.namelist()):
                    return _excel(file)
        if begin.startswith(MATRIX_MARKET):
            return _matrix_market(file)
        if begin.startswith(b"{"):
            return _json_lines(file)
    return None


def _named(path: Path, kind: str, names: Sequence[object], load: Callable[..., Any], **more: Any) -> TableFile:
    """Return a table whose names are cleaned as in every format."""
    clean = column_names(names, path)
    return TableFile(path, kind, dict(zip(clean, names, strict=True)), load, **more)  # type: ignore[arg-type]


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

    index = []
    with naming_failure(path, "Parquet"):
        files = parquet_files(path)
        table = dataset.dataset([str(file) for file in files], format="parquet")
        if path.is_file():  # pandas leaves an index 0, 1, .. out of the file; if it has a name, it is a column, too
            about = ((table.schema.pandas_metadata or {}).get("index_columns") or [None])[0]
            if isinstance(about, dict) and isinstance(about.get("name"), str):
                values = range(*(int(about[key]) for key in ("start", "stop", "step")))
                index = [(about["name"], pa.array(values))] if len(values) == table.count_rows() else []

    def load(names: Sequence[str]) -> "pa.Table":
        columns = table.to_table(columns=[name for name in names if name in table.schema.names])
        return columns.append_column(*index[0]).select(names) if index else columns

    kind = "Parquet" if path.is_file() else f"Parquet in {len(files)} files"
    return _named(path, kind, [*table.schema.names, *(name for name, _ in index)], load)


def _json_lines(path: Path) -> TableFile:
    rows: list[Any] = []
    with naming_failure(path), opened(path)[0] as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            rows.append(None)
            with suppress(ValueError, RecursionError):
                rows[-1] = json.loads(line)
            if not isinstance(rows[-1], dict):
                raise InputError(f"{path}, line {number} is not a JSON object; write one object per line (JSON lines).")
    columns = {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}
    whole = [name for name, cells in columns.items() if pd.api.types.infer_dtype(cells, skipna=True) == "integer"]
    exact = {name: pd.Series(columns[name], dtype=object) for name in whole if None in columns[name]}
    frame = pd.DataFrame(columns | exact)
    return _named(path, "JSON lines", list(frame), lambda names: frame[names])


def _excel(path: Path) -> TableFile:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl's, on styles and extensions, which do not concern the cells
            frame = pd.read_excel(path, dtype=object, keep_default_na=False, na_values=[""])
    except ImportError:
        raise MissingPackageError(
            f"{path} is an Excel workbook, which needs openpyxl; run pip install openpyxl, or save it as CSV."
        ) from None
    except Exception as error:  # a damaged workbook can fail in any way
        raise InputError(f"{path} is a damaged Excel workbook ({error!s:.100}); save it again.") from error
    names = ["" if str(name).startswith("Unnamed: ") else name for name in frame.columns]
    frame.columns = pd.Index(names, dtype=object)
    return _named(path, "Excel, first sheet", names, lambda names: frame[names], first_row=2)


def _matrix_market(path: Path) -> TableFile:
    """Read a square matrix as edges between the nodes 1, 2, ..; its entries are weights.

    scipy's reader is not used: it reads beyond the end of a damaged file, which can end the process.
    """
    with naming_failure(path, "Matrix Market"), opened(path)[0] as stream:
        head = stream.readline().decode("ascii").lower().split()
        if head[1:3] != ["matrix", "coordinate"] or not {*head[3:4]} & NUMBERS or not {*head[4:]} <= SYMMETRIES:
            form = " ".join(head[1:])
            raise InputError(f"{path} holds a {form:.80}; give a coordinate matrix of real numbers, not an array.")
        columns = 2 if head[3] == "pattern" else 3
        lines = pd.read_csv(stream, sep=r"\s+", comment="%", header=None, names=range(3), dtype=float)
    sizes = lines.iloc[0] if len(lines) else np.full(3, np.nan)
    n, width, entries = (int(size) for size in np.nan_to_num(sizes, nan=-1.0, posinf=-1.0))
    table = lines.iloc[1:]
    if n != width:
        raise InputError(f"{path} holds a matrix of {n:,} by {width:,}; give a square one, a row for each node.")
    ends = table[[0, 1]].to_numpy()
    are_nodes = bool(((ends >= 1) & (ends <= n) & (ends == np.floor(ends))).all())
    if len(table) != entries or table.iloc[:, :columns].isna().any(axis=None) or not are_nodes:
        raise InputError(
            f"{path} cannot be read as Matrix Market (its entries are not those it counts); write it again."
        )
    frame = pd.DataFrame(ends.astype(np.int64), columns=["source", "target"])
    if columns == 3 and (table[2] != 1).any():
        frame["weight"] = table[2].to_numpy()
    every = IdColumn(np.arange(1, n + 1)) if n <= MOST_UNNAMED * len(frame) + 1000 else None
    return _named(path, "Matrix Market", list(frame), lambda names: frame[names], nodes=every)


CLOSED = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
}
"""Settings of DuckDB for databases of others: their views read no other file and load nothing."""


def _from_duckdb(file: Path, query: str, named: Path) -> Any:
    """Return the result of a query as an Arrow table; the user `named` the database or a table of it."""
    with naming_duckdb_failure(named) as duckdb, duckdb.connect(str(file), read_only=True, config=CLOSED) as connection:
        return connection.sql(query).to_arrow_table()


def duckdb_table(path: Path) -> tuple[Path, str] | None:
    """Return the database, and the table or view as SQL takes it, that a path names; None if it is of no database."""
    for file in (path, path.parent):
        with suppress(OSError, ValueError):  # of a path that the system does not accept
            if file.is_file():
                with file.open("rb") as stream:
                    if stream.read(12)[8:] == DUCKDB:
                        break
    else:
        return None
    query = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database()"
    rows = _from_duckdb(file, f"{query} ORDER BY ALL", file).to_pylist()
    tables = [".".join(map(quoted, row.values())) for row in rows]
    shown = [name.replace('"', "") for name in tables]
    if file == path:
        if len(tables) == 1:
            return path, tables[0]
        example = shown[0].removeprefix("main.") if shown else "edges"
        raise InputError(f"{path} holds {len(tables)} tables; name one of them, as in {path}/{example}.")
    wanted = ".".join(quoted(part) for part in path.name.lower().split("."))
    for name in tables:
        if wanted in (name.lower(), name.partition(".")[2].lower()):
            return file, name
    raise InputError(f"{file} has no table {path.name!r:.80}; its tables are {', '.join(shown[:10]) or 'none'}.")


def quoted(name: str) -> str:
    """Return an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def naming_duckdb_failure(what: object) -> Iterator[Any]:
    """Import DuckDB, and turn its errors into a sentence, also that it is missing."""
    try:
        import duckdb
    except ImportError:
        raise MissingPackageError(f"{what}: this needs DuckDB; run pip install duckdb.") from None
    try:
        yield duckdb
    except duckdb.OutOfMemoryException as error:
        raise InputError(f"{what}: DuckDB needs more memory ({error!s:.200}); give a larger --memory.") from error
    except duckdb.Error as error:
        raise InputError(f"{what} cannot be read by DuckDB ({error!s:.200}).") from error
