"""Columns of free text as TF-IDF weights of their words, by scikit-learn's `TfidfVectorizer` with its usual settings.

Words are runs of at least two letters or digits in lower case. Those that two rows or more have, but not all rows, are
candidates; the `MOST_WORDS` in most rows become columns. Vocabulary and inverse document frequencies are plain lists,
so that another table can be encoded in the same way later.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer

MOST_WORDS = 2_000
"""Most feature columns made from one text column."""
ID_SHARE = 0.95
"""Share of distinct entries, and of entries without a space, above which a column of words counts as ids."""


def looks_like_ids(known: "pd.Series[Any]") -> bool:
    """Return whether nearly all entries are different and nearly all are single words, as in ids, links and hashes."""
    single = ~known.str.strip().str.contains(r"\s", regex=True)
    return bool(known.nunique() >= ID_SHARE * len(known) and single.mean() >= ID_SHARE)


def fit_words(column: "pd.Series[Any]") -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return the words of a column and their inverse document frequencies; nothing if no two rows share a word."""
    from sklearn.feature_extraction.text import CountVectorizer

    known, counter = column.dropna().astype(str), CountVectorizer(binary=True)
    try:
        rows = counter.fit_transform(known).sum(axis=0).A1
    except ValueError:  # there are no words at all
        return (), ()
    order = np.argsort(-rows, kind="stable")  # of words in equally many rows, the first by the alphabet
    shared = order[(rows[order] >= 2) & (rows[order] < len(known))]
    words = counter.get_feature_names_out()[np.sort(shared[:MOST_WORDS])]
    if not words.size:
        return (), ()
    fitted = _vectoriser(words).fit(known)
    return tuple(map(str, words)), tuple(map(float, fitted.idf_))


def encode_words(column: "pd.Series[Any]", words: Sequence[str], weights: Sequence[float]) -> sp.csr_array:
    """Return the TF-IDF weights of each row, (n, words), rows of length 1; all 0 if the entry is missing."""
    vectoriser = _vectoriser(words)
    vectoriser.idf_ = np.array(weights)
    return sp.csr_array(vectoriser.transform(column.astype(object).where(column.notna(), "").astype(str)))


def _vectoriser(words: Any) -> "TfidfVectorizer":
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(vocabulary=list(words))
