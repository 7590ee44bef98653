"""Long tables of edges by pyarrow's reader: several times as fast as pandas', on all cores."""

from collections.abc import Collection

import pandas as pd

from hiergcn.graph.tables.delimited import MISSING, Layout

LONG = 1 << 24
"""Bytes of a file from which on it is worth it; a shorter one is read by pandas, which reads short ones as fast."""


def read_long_table(
    layout: Layout, names: list[str], *, header: bool, text: Collection[str], number: Collection[str]
) -> pd.DataFrame | None:
    """The columns named: `text` as categories, `number` as float64. None where pandas must read the file.

    That is where the file is short, or anything is wrong with it: pandas' reader is the one that tells what.
    """
    if layout.delimiter == " " or layout.path.stat().st_size < LONG:
        return None
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyarrow import csv

    types = dict.fromkeys(text, pa.dictionary(pa.int32(), pa.string())) | dict.fromkeys(number, pa.float64())
    try:
        table = csv.read_csv(
            layout.path,
            read_options=csv.ReadOptions(column_names=names, skip_rows_after_names=1 if header else 0),
            parse_options=csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=_has_quotes(layout)),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=[*text, *number],
                null_values=list(MISSING),
                strings_can_be_null=False,
            ),
        )
        frame: pd.DataFrame = table.unify_dictionaries().to_pandas()
        return frame
    except (pa.ArrowException, ValueError):
        return None


def _has_quotes(layout: Layout) -> bool:
    """Whether a field may hold a line break, which keeps the reader from cutting the file at any line."""
    with layout.path.open("rb") as stream:
        return any(b'"' in chunk for chunk in iter(lambda: stream.read(1 << 22), b""))
