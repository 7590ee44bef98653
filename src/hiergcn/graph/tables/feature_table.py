"""The features of a table of nodes: a matrix of numbers, made of columns of the kinds in `feature_columns`.

`read_features` learns from a table how each column is encoded, or encodes it as another table was. Then a missing
number becomes the mean of the other table, and a new word is in none of the columns. Text makes the features sparse.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.tables.feature_columns import TEXT, Block, FeatureColumn, fit_column
from hiergcn.graph.tables.text_columns import MISSING, Origin, as_text, factorized

_PARTS = re.compile(r"(\d+)")


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The features that the columns of a table became."""

    matrix: Block | None
    """(n, features); None if there are none."""
    columns: tuple[FeatureColumn, ...] = ()
    missing: NDArray[np.bool_] | None = None
    """(n, columns): where a number is missing; None if none is."""
    texts: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """The entries of columns of text and dates, None if missing: another table may choose other words."""
    notes: tuple[str, ...] = ()

    def fields(self) -> dict[str, Any]:
        """Return the arguments of `Graph` that give these features."""
        columns = () if self.matrix is None else self.columns
        return {"features": self.matrix, "columns": columns, "missing": self.missing, "texts": self.texts}

    def with_blank_rows(self, extra: int) -> "FeatureTable":
        """Return the features with additional rows of missing values."""
        if not extra or self.matrix is None:
            return self
        means = [0.0 if column.mean is None or column.spread is not None else column.mean for column in self.columns]
        rows = np.tile(np.repeat(means, [column.width for column in self.columns]), (extra, 1))
        matrix: Block
        if isinstance(self.matrix, np.ndarray):
            matrix = np.vstack([self.matrix, rows])
        else:
            matrix = sp.csr_array(sp.vstack([self.matrix, sp.csr_array(rows)], format="csr"))
        shape = self.matrix.shape[0], len(self.columns)
        missing = np.zeros(shape, bool) if self.missing is None else self.missing
        return replace(
            self,
            matrix=matrix,
            missing=np.vstack([missing, np.ones((extra, shape[1]), bool)]),
            texts={name: np.append(texts, np.full(extra, None)) for name, texts in self.texts.items()},
        )

    def decoded(self, name: str) -> Any:
        """Return a column, (n,), that features were made of; a missing number is NaN."""
        if name in self.texts:
            return self.texts[name]
        number = next(number for number, column in enumerate(self.columns) if column.name == name)
        column, first = self.columns[number], sum(before.width for before in self.columns[:number])
        matrix: Any = self.matrix
        block = matrix[:, first : first + column.width]
        missing = None if self.missing is None else self.missing[:, number]
        return column.decode(block if isinstance(block, np.ndarray) else block.toarray(), missing)

    def frame(self) -> pd.DataFrame:
        """Return the table that the features were made of, without its empty columns."""
        assert self.matrix is not None
        kept = [column.name for column in self.columns if column.width or column.name in self.texts]
        return pd.DataFrame({name: self.decoded(name) for name in kept}, index=range(self.matrix.shape[0]))


def read_features(table: pd.DataFrame, origin: Origin, known: Sequence[FeatureColumn] | None = None) -> FeatureTable:
    """Return the features of a table of any values.

    `known` are the columns of another table, by which these are encoded; the table must have every column of them that
    became features, and other columns are ignored.
    """
    notes: list[str] = []
    if known is None:
        cells = _cells(table[natural_names(table.columns)])
        fitted = [fit_column(cells[name], origin) for name in cells.columns]
        has_text = any(column.kind == TEXT for _, column in fitted)
        for number, (block, column) in enumerate(fitted):
            if has_text and column.is_scaled and isinstance(block, np.ndarray) and column.mean is not None:
                spread = float(block.std()) or 1.0
                fitted[number] = (block - column.mean) / spread, replace(column, spread=spread)
        blocks, columns = [block for block, _ in fitted if block is not None], [column for _, column in fitted]
        notes += [column.note for column in columns if column.note is not None]
    else:
        names = {column.name for column in known}
        cells, columns = _cells(table[[name for name in table.columns if name in names]]), list(known)
        used = [column for column in columns if column.width]
        absent = [column.name for column in used if column.name not in cells.columns]
        if absent:
            more = f" ({len(absent):,} such columns)" if len(absent) > 1 else ""
            raise InputError(f"{origin} has no column {absent[0]!r:.80}, which the model was trained on; add it{more}.")
        blocks = [column.encode(cells[column.name], origin, notes) for column in used]
    if not blocks:
        matrix: Block | None = None
    elif all(isinstance(block, np.ndarray) for block in blocks):
        matrix = np.column_stack(blocks)  # type: ignore[arg-type]  # all are dense
    else:
        wide = [block.reshape(len(block), -1) if isinstance(block, np.ndarray) else block for block in blocks]
        matrix = sp.csr_array(sp.hstack([sp.csr_array(block) for block in wide], format="csr"))
    missing = None
    for number, column in enumerate(columns if matrix is not None else ()):
        if column.is_number and cells[column.name].hasnans:
            missing = np.zeros((len(cells), len(columns)), bool) if missing is None else missing
            missing[:, number] = cells[column.name].isna().to_numpy()
    texts = {column.name: as_text(cells[column.name]).to_numpy() for column in columns if column.keeps_entries}
    return FeatureTable(matrix, tuple(columns), missing, texts, tuple(notes))


def natural_names(names: Iterable[str]) -> list[str]:
    """Return names of columns in the order that features have, whatever that of the columns: x2 before x10."""
    return sorted(names, key=lambda name: [int(part) if part.isdecimal() else part for part in _PARTS.split(name)])


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table without blanks around its texts and without the usual words for a missing value."""
    bare: dict[str, pd.Series[Any]] = {}
    for name in table.columns:
        column = table[name]
        if not pd.api.types.is_numeric_dtype(column) and column.dtype.kind not in "mM":
            code, distinct = factorized(column)
            before = list(distinct)
            values = [cell.strip() if isinstance(cell, str) else cell for cell in before]
            values = [None if isinstance(cell, str) and cell in MISSING else cell for cell in values]
            if any(new is not old for new, old in zip(values, before, strict=True)):
                cells = np.empty(len(values) + 1, object)
                cells[:-1] = values
                bare[name] = pd.Series(cells[code], index=column.index, name=name)
    return table.assign(**bare)
