"""A column of ids, labels or words, told apart as text."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of ids or labels: the distinct values, and which of them each row has (-1: blank)."""

    code: NDArray[np.int64]
    values: "pd.Index[str]"

    @classmethod
    def of(cls, column: "pd.Series[Any]") -> "TextColumn":
        if isinstance(column.dtype, pd.CategoricalDtype):
            rough, raw = column.cat.codes.to_numpy(np.int64), column.cat.categories
        else:
            rough, raw = pd.factorize(column)
        written = pd.Index(raw, dtype=object)
        if not _has_blanks(written):
            return cls(rough.astype(np.int64, copy=False), written)
        refined, values = pd.factorize(written.str.strip())
        refined = np.where(values[refined] == "", -1, refined) if len(values) else refined
        return cls(np.append(refined, -1)[rough], pd.Index(values, dtype=object))


def _has_blanks(values: "pd.Index[str]") -> bool:
    """Whether a value is empty or has a blank in it: told of millions at once, for few have one."""
    joined = "\0".join(values)
    return (
        joined.startswith("\0") or joined.endswith("\0") or "\0\0" in joined or re.search(r"\s|^$", joined) is not None
    )
