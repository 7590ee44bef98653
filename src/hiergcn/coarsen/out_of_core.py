"""Coarsening beyond memory: handshake matching as queries of DuckDB, which keeps its tables on disk.

`handshake.sql` has the queries. The groups are those of `coarsen(graph, levels, CoarsenConfig(strategy="handshake"))`,
to the last node. Edge weights must be whole numbers, whose sums are exact in any order.
"""

import re
import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hiergcn.coarsen.handshake import ROUNDS
from hiergcn.errors import InputError
from hiergcn.files import written_whole
from hiergcn.graph.tables.column_roles import CsvOptions, EdgeColumns
from hiergcn.graph.tables.table_files import PARQUET, duckdb_table, naming_duckdb_failure, parquet_files, quoted
from hiergcn.graph.tables.text_columns import Origin, column_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ENDINGS = (".csv", ".parquet")
"""Files that the hyper-nodes can be written to."""
WHOLE = r"-?[1-9][0-9]{0,17}|0"
"""Text of a whole number in its usual form."""
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_BLANKS = "E' \\t\\r\\n'"


class LevelSummary(NamedTuple):
    """Sizes of a level."""

    nodes: int
    edges: int
    heaviest: int
    """Largest node weight."""


def coarsen_out_of_core(
    edges: str | Path,
    levels: int,
    out: Path | None = None,
    *,
    memory: str | None = None,
    threads: int | None = None,
    weight: str | None = None,
    scratch: Path | None = None,
    on_level: Callable[[int, LevelSummary], None] | None = None,
) -> list[LevelSummary]:
    """Coarsen a graph on disk up to `levels` times and return the sizes of the levels, the input graph first.

    Args:
        edges: a Parquet file, a folder of them, or a table of a DuckDB database (`graph.duckdb/edges`).
        out: a new .csv or .parquet file of node, level and hyper_node.
        memory: limit of DuckDB, such as 8GB; by default 80 % of the machine's.
        threads: by default one per core.
        weight: column of the edge weights; by default `weight`, if there is one.
        scratch: folder for temporary files, of about 100 bytes per edge; by default that of `out`, or the system's.
        on_level: called with the number and the sizes of each level.
    """
    if out is not None and out.suffix not in ENDINGS:
        raise InputError(f"{out}: DuckDB writes {' or '.join(ENDINGS)}; give a name that ends so.")
    place = scratch or (out.absolute().parent if out is not None else None)
    with tempfile.TemporaryDirectory(prefix=".hiergcn-", dir=place) as folder, naming_duckdb_failure(edges):
        connection = _connect(Path(folder), memory, threads)
        try:
            summaries = _Coarsening(connection, Path(edges), weight).run(levels, on_level)
            if out is not None:
                _write(connection, out)
        finally:
            connection.close()
    return summaries


def _connect(folder: Path, memory: str | None, threads: int | None) -> "DuckDBPyConnection":
    import duckdb

    if memory is not None and not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", memory):
        raise InputError(f"--memory {memory} is not a size; give one such as 8GB or 500MB.")
    connection = duckdb.connect(str(folder / "levels.duckdb"))
    limits = {
        "memory_limit": memory,
        "threads": threads,
        "temp_directory": str(folder),
        "preserve_insertion_order": False,
    }
    for name, value in limits.items():
        if value is not None:
            connection.execute(f"SET {name} = {_literal(str(value))}")
    return connection


def _write(connection: "DuckDBPyConnection", out: Path) -> None:
    kind = "PARQUET" if out.suffix == PARQUET else "CSV, HEADER"
    with written_whole(out) as part:
        result = _queries()["result"].strip().rstrip(";")
        connection.execute(f"COPY ({result}) TO {_literal(str(part))} (FORMAT {kind})")


def _queries() -> dict[str, str]:
    """Return the queries of `handshake.sql` by name."""
    text = resources.files("hiergcn.coarsen").joinpath("handshake.sql").read_text(encoding="utf-8")
    _, *parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


class _Coarsening:
    """The tables of one graph."""

    def __init__(self, connection: "DuckDBPyConnection", source: Path, weight: str | None) -> None:
        self.connection, self.queries = connection, _queries()
        self._run("setup")
        weighted = self._list_edges(source, weight)
        self._run("number_nodes")
        self._run("first_edges" if weighted else "first_edges_unweighted")

    def run(self, levels: int, on_level: Callable[[int, LevelSummary], None] | None) -> list[LevelSummary]:
        """Coarsen up to `levels` times, until a level would be no smaller."""
        summaries: list[LevelSummary] = []
        while True:
            summaries.append(LevelSummary(*self._one("sizes")))
            if on_level is not None:
                on_level(len(summaries) - 1, summaries[-1])
            if len(summaries) > levels or not self._pair():
                return summaries
            self._run("number_groups")
            self._run("add_level")
            self._run("contract")

    def _pair(self) -> bool:
        """Pair the nodes of the level and return whether there are pairs."""
        self._run("open")
        for _ in range(ROUNDS):
            self._run("choose")
            self._run("shake")
            if not self._one("count_new")[0]:
                break
        self._run("pair_up")
        return bool(self._one("count_pairs")[0])

    def _list_edges(self, source: Path, weight: str | None) -> bool:
        """Make the view of the edges as they are listed, with checks; return whether they have weights."""
        table = self._table(source)
        described = self.connection.execute(f"DESCRIBE FROM {table}").fetchall()
        written = {column_name(row[0]): quoted(row[0]) for row in described}
        kinds = {column_name(row[0]): row[1] for row in described}
        columns = EdgeColumns.choose(Origin(source), list(written), CsvOptions(weight=weight))
        ends = self._ends(source, table, [written[end] for end in columns.ends], [kinds[end] for end in columns.ends])
        amount = "1" if columns.weight is None else self._weight(source, table, columns.weight, written[columns.weight])
        view = f"SELECT {ends[0]} AS source, {ends[1]} AS target, {amount}::BIGINT AS weight FROM {table}"  # noqa: S608
        self.connection.execute(f"CREATE VIEW listed AS {view}")
        return columns.weight is not None

    def _table(self, source: Path) -> str:
        """Return the user's edges as SQL takes them."""
        table = duckdb_table(source)
        if table is not None:
            self.connection.execute(f"ATTACH {_literal(str(table.file))} AS given (READ_ONLY)")
            return f"given.{table.name}"
        files = parquet_files(source)
        if not files:
            raise InputError(
                f"{source} is neither Parquet nor a DuckDB table; write it as Parquet first, for example with "
                f"duckdb -c \"COPY '{source.name}' TO 'edges.parquet'\"."
            )
        return f"read_parquet([{', '.join(_literal(str(file)) for file in files)}])"

    def _ends(self, source: Path, table: str, ends: list[str], kinds: list[str]) -> list[str]:
        """Return both ends as whole numbers or, if one is anything else, as text; refuse blanks."""
        texts = [f"nullif(trim({end}::VARCHAR, {_BLANKS}), '')" for end in ends]
        numbers = all(kind in _INTEGERS for kind in kinds)
        if not numbers and not all(kind in (*_INTEGERS, "VARCHAR") for kind in kinds):
            raise InputError(f"{source}: ids are of type {' and '.join(kinds)}; give whole numbers or text.")
        blank = " OR ".join(f"{end} IS NULL" for end in (ends if numbers else texts))
        whole = " AND ".join(f"regexp_full_match({text}, '{WHOLE}')" for text in texts)
        found = "true" if numbers else f"bool_and({whole})"
        check = f"SELECT count(*) FILTER ({blank}), {found}, count(*) FROM {table}"  # noqa: S608
        blanks, all_whole, rows = self.connection.execute(check).fetchall()[0]
        if blanks:
            raise InputError(f"{source}: {blanks:,} rows have a blank id; an edge needs two ends.")
        if not rows:
            raise InputError(f"{source} has no rows; give a row per edge.")
        return [f"{text}::BIGINT" for text in (ends if numbers else texts)] if all_whole else texts

    def _weight(self, source: Path, table: str, name: str, column: str) -> str:
        check = f"SELECT bool_and(coalesce({column} >= 0 AND {column}::DOUBLE = floor({column}::DOUBLE), false))"
        found = self.connection.execute(f"{check}, sum({column}::DOUBLE) FROM {table}").fetchall()[0]
        if not found[0] or found[1] > 2**53:
            raise InputError(
                f"{source}, column {name!r}: DuckDB adds weights up exactly if they are whole numbers, not negative, "
                "with a sum below 2^53; multiply them by a power of ten and round, or coarsen in memory."
            )
        return column

    def _run(self, name: str) -> None:
        self.connection.execute(self.queries[name])

    def _one(self, name: str) -> tuple[int, ...]:
        row: tuple[int, ...] = self.connection.execute(self.queries[name]).fetchall()[0]
        return row


def _literal(text: str) -> str:
    """Return a text of SQL."""
    return "'" + text.replace("'", "''") + "'"
