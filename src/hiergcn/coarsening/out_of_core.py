"""Coarsening beyond memory: handshake matching as queries of DuckDB, which keeps its tables on disk.

`handshake.sql` has the queries. The groups are those of `coarsen(graph, levels, CoarsenConfig(strategy="handshake"))`,
to the last node. Edge weights must be whole numbers, whose sums are exact in any order.
"""

import re
import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from hiergcn.coarsening.handshake import ROUNDS
from hiergcn.errors import InputError
from hiergcn.files import written_whole
from hiergcn.graph.tables.column_roles import CsvOptions, EdgeColumns
from hiergcn.graph.tables.table_files import PARQUET, duckdb_table, naming_duckdb_failure, parquet_files, quoted
from hiergcn.graph.tables.text_columns import Origin, column_name

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
    on_level: Callable[[int, LevelSummary], None] | None = None,
) -> list[LevelSummary]:
    """Coarsen a graph on disk up to `levels` times and return the sizes of the levels, the input graph first.

    Args:
        edges: a Parquet file, a folder of them, or a table of a DuckDB database (`graph.duckdb/edges`).
        out: a new .csv or .parquet file of node, level and hyper_node. Temporary files are beside it, or in the
            system's folder, and take about 100 bytes per edge.
        memory: limit of DuckDB, such as 8GB; by default 80 % of the machine's.
        threads: by default one per core.
        weight: column of the edge weights; by default `weight`, if there is one.
        on_level: called with the number and the sizes of each level.
    """
    if out is not None and out.suffix not in ENDINGS:
        raise InputError(f"{out}: DuckDB writes {' or '.join(ENDINGS)}; give a name that ends so.")
    if memory is not None and not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", memory):
        raise InputError(f"--memory {memory} is not a size; give one such as 8GB or 500MB.")
    text = resources.files("hiergcn.coarsening").joinpath("handshake.sql").read_text(encoding="utf-8")
    _, *parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    queries = dict(zip(parts[::2], parts[1::2], strict=True))
    parent = None if out is None else out.absolute().parent
    with (
        tempfile.TemporaryDirectory(prefix=".hiergcn-", dir=parent) as folder,
        naming_duckdb_failure(edges) as duckdb,
        duckdb.connect(str(Path(folder, "levels.duckdb"))) as connection,
    ):
        limits = {"memory_limit": memory, "threads": threads, "temp_directory": folder}
        for name, value in (limits | {"preserve_insertion_order": False}).items():
            if value is not None:
                connection.execute(f"SET {name} = {_literal(value)}")

        def run(*names: str) -> tuple[int, ...]:
            """Run queries and return the first row of the last one."""
            for name in names:
                connection.execute(queries[name])
            row: tuple[int, ...] = connection.fetchone()
            return row

        run("setup")
        weighted = _list_edges(connection, Path(edges), weight)
        run("number_nodes", "first_edges" if weighted else "first_edges_unweighted")
        summaries: list[LevelSummary] = []
        while True:
            summaries.append(LevelSummary(*run("sizes")))
            if on_level is not None:
                on_level(len(summaries) - 1, summaries[-1])
            if len(summaries) > levels:
                break
            run("open")
            for _ in range(ROUNDS):
                if not run("choose", "shake", "count_new")[0]:
                    break
            if not run("pair_up", "count_pairs")[0]:  # the next level would be no smaller
                break
            run("number_groups", "add_level", "contract")
        if out is not None:
            result, kind = queries["result"].strip().rstrip(";"), "PARQUET" if out.suffix == PARQUET else "CSV, HEADER"
            copy = Path(folder, "result")
            connection.execute(f"COPY ({result}) TO {_literal(copy)} (FORMAT {kind})")
            with written_whole(out) as part:
                copy.replace(part)
    return summaries


def _list_edges(connection: Any, source: Path, weight: str | None) -> bool:
    """Make the view of the edges as they are listed, with checks; return whether they have weights."""
    database, files = duckdb_table(source), parquet_files(source)
    if database is not None:
        connection.execute(f"ATTACH {_literal(database[0])} AS given (READ_ONLY)")
        folder = Path(connection.execute("SELECT current_setting('temp_directory')").fetchone()[0])
        connection.execute(f"SET allowed_directories = [{_literal(folder)}]")  # but for its views, which are others'
        connection.execute("SET enable_external_access = false")
        table = f"given.{database[1]}"
    elif files:
        table = f"read_parquet([{', '.join(map(_literal, files))}])"
    else:
        raise InputError(
            f"{source} is neither Parquet nor a DuckDB table; write it as Parquet first, for example with "
            f"duckdb -c \"COPY '{source.name}' TO 'edges.parquet'\"."
        )
    listed = connection.execute(f"DESCRIBE FROM {table}").fetchall()
    described = {column_name(name): (quoted(name), kind) for name, kind, *_ in listed}
    columns = EdgeColumns.choose(Origin(source), list(described), CsvOptions(weight=weight))
    ends, kinds = ([described[end][part] for end in columns.ends] for part in (0, 1))
    numbers = all(kind in _INTEGERS for kind in kinds)
    if not all(kind in (*_INTEGERS, "VARCHAR") for kind in kinds):
        raise InputError(f"{source}: ids are of type {' and '.join(kinds)}; give whole numbers or text.")
    if not numbers:
        ends = [f"nullif(trim({end}::VARCHAR, {_BLANKS}), '')" for end in ends]
    blank = " OR ".join(f"{end} IS NULL" for end in ends)
    whole = " AND ".join("true" if numbers else f"regexp_full_match({end}, '{WHOLE}')" for end in ends)
    counts = f"SELECT count(*) FILTER ({blank}), bool_and({whole}), count(*) FROM {table}"  # noqa: S608
    blanks, all_whole, rows = connection.execute(counts).fetchone()
    if blanks:
        raise InputError(f"{source}: {blanks:,} rows have a blank id; an edge needs two ends.")
    if not rows:
        raise InputError(f"{source} has no rows; give a row per edge.")
    if all_whole:
        ends = [f"{end}::BIGINT" for end in ends]
    amount = "1"
    if columns.weight is not None:
        amount, _ = described[columns.weight]
        check = f"bool_and(coalesce({amount} >= 0 AND {amount}::DOUBLE = floor({amount}::DOUBLE), false))"
        exact, total = connection.execute(f"SELECT {check}, sum({amount}::DOUBLE) FROM {table}").fetchone()  # noqa: S608
        if not exact or total > 2**53:
            raise InputError(
                f"{source}, column {columns.weight!r}: DuckDB adds weights up exactly if they are whole numbers, not "
                "negative, with a sum below 2^53; multiply them by a power of ten and round, or coarsen in memory."
            )
    view = f"SELECT {ends[0]} AS source, {ends[1]} AS target, {amount}::BIGINT AS weight FROM {table}"  # noqa: S608
    connection.execute(f"CREATE VIEW listed AS {view}")
    return columns.weight is not None


def _literal(value: object) -> str:
    """Return a text of SQL."""
    return "'" + str(value).replace("'", "''") + "'"
