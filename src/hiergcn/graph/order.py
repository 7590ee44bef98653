"""The order of nodes by their ids, which has no effect on any result, and random numbers that depend on ids alone."""

from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError


def canonical_order(ids: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the nodes in the natural order of their ids; None if they are in that order already.

    Whatever draws or depends on the order of nodes works in this one, so that the order of rows has no effect.
    """
    values = pd.Index(ids if ids.dtype.kind in "iu" else natural_values(pd.Index(ids, dtype=object)))
    return None if values.is_monotonic_increasing else np.argsort(values.to_numpy(), kind="stable")


def natural_order(texts: "pd.Index[str]") -> "pd.Index[str]":
    """Sort whole numbers by value, other texts by the alphabet."""
    return texts[np.argsort(natural_values(texts), kind="stable")]


def natural_values(texts: "pd.Index[str]") -> NDArray[Any]:
    """Return whole numbers if every text is one in its usual form, else the texts."""
    array = texts.to_numpy(object)
    try:
        whole = array.astype(np.int64)
    except (ValueError, OverflowError):
        return array
    return whole if (whole.astype(str).astype(object) == array).all() else array


def check_seed(seed: object) -> None:
    """Refuse a seed that is no whole number that every generator takes."""
    if not (isinstance(seed, Integral) and 0 <= int(seed) < 2**63):
        raise InputError(f"Seed {seed!r} is not a whole number from 0 to 2**63 - 1; give such a number.")


def numbers_by_id(ids: NDArray[Any], seed: int) -> NDArray[np.uint64]:
    """Return a random number for each id, which depends on the id and the seed alone."""
    check_seed(seed)
    return pd.util.hash_array(ids.astype(str).astype(object), hash_key=f"{seed % 10**16:016d}", categorize=False)
