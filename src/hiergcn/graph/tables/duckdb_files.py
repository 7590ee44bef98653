"""Tables of a DuckDB database, named `graph.duckdb/edges`: the file, then the table or view, with its schema if needed.

They are read column by column into Arrow, without a Python object per row.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hiergcn.errors import InputError, MissingPackageError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MAGIC = b"DUCK"
"""At bytes 8 to 12 of a database."""


@dataclass(frozen=True)
class DuckDBTable:
    """A table, or view, and the database that holds it."""

    file: Path
    name: str
    """As SQL takes it, with its schema and quotes."""

    @property
    def path(self) -> Path:
        """The name that users give."""
        return self.file / self.name.replace('"', "")

    @contextmanager
    def opened(self) -> Iterator["DuckDBPyConnection"]:
        """Open the database, which is not changed."""
        with naming_failure(self.path):
            connection = _package(self.file).connect(str(self.file), read_only=True)
            try:
                yield connection
            finally:
                connection.close()

    def columns(self) -> list[str]:
        """Return the names of the columns."""
        with self.opened() as connection:
            return [row[0] for row in connection.execute(f"DESCRIBE FROM {self.name}").fetchall()]

    def read(self, names: list[str]) -> Any:
        """Return columns as an Arrow table."""
        with self.opened() as connection:
            return connection.sql(f"SELECT {', '.join(map(quoted, names))} FROM {self.name}").to_arrow_table()  # noqa: S608


def duckdb_table(path: Path) -> DuckDBTable | None:
    """Return the table that a path names; None if no part of the path is a DuckDB database."""
    if _is_database(path):
        tables = _tables(path)
        if len(tables) == 1:
            return DuckDBTable(path, tables[0])
        raise InputError(f"{path} holds {len(tables)} tables; name one of them, as in {path}/{_example(tables)}.")
    if not _is_database(path.parent):
        return None
    tables, name = _tables(path.parent), ".".join(quoted(part) for part in path.name.lower().split("."))
    found = next((one for one in tables if name in (one.lower(), one.partition(".")[2].lower())), None)
    if found is None:
        shown = ", ".join(one.replace('"', "") for one in tables[:10]) or "none"
        raise InputError(f"{path.parent} has no table {path.name!r:.80}; its tables are {shown}.")
    return DuckDBTable(path.parent, found)


def quoted(name: str) -> str:
    """Return an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _is_database(path: Path) -> bool:
    with suppress(OSError, ValueError):  # of a path that the system does not accept
        if path.is_file():
            with path.open("rb") as stream:
                return stream.read(12)[8:] == MAGIC
    return False


def _tables(path: Path) -> list[str]:
    query = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database()"
    with naming_failure(path):
        connection = _package(path).connect(str(path), read_only=True)
        found = connection.execute(f"{query} ORDER BY ALL").fetchall()
        connection.close()
    return [f"{quoted(schema)}.{quoted(name)}" for schema, name in found]


def _example(tables: list[str]) -> str:
    return tables[0].replace('"', "").removeprefix("main.") if tables else "edges"


@contextmanager
def naming_failure(what: object) -> Iterator[None]:
    """Turn errors of DuckDB into a sentence, also that it is missing."""
    duckdb = _package(what)
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise InputError(f"{what}: DuckDB needs more memory ({error!s:.200}); give a larger --memory.") from error
    except duckdb.Error as error:
        raise InputError(f"{what} cannot be read by DuckDB ({error!s:.200}).") from error


def _package(what: object) -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingPackageError(f"{what}: this needs DuckDB; run pip install duckdb.") from None
    return duckdb
