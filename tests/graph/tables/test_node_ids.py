"""Columns of ids: which texts are whole numbers, and where each number is."""

import numpy as np
import pandas as pd
import pytest

from hiergcn.graph.tables.node_ids import IdColumn

LARGEST = 2**63 - 1
USUAL = ["0", "-1", "9", "10", "-10", "99", "100", "1000000000000", str(LARGEST), str(-LARGEST)]


def test_texts_in_the_usual_form_become_whole_numbers() -> None:
    assert IdColumn.from_column(pd.Series(USUAL)).to_numpy().tolist() == [int(text) for text in USUAL]


@pytest.mark.parametrize("odd", ["007", "-0", "+7", "0xFFFFFFFFFF", "0xFF", "1e3", "7.0", "", "a", str(2**63), "٣"])
def test_one_other_form_keeps_them_all_as_text(odd: str) -> None:
    found = IdColumn.from_column(pd.Series([*USUAL, odd])).to_numpy()
    assert found.tolist() == [*USUAL, odd or None]


@pytest.mark.parametrize("spread", [1, 10, 10**6])
def test_places_of_whole_numbers_near_and_far(spread: int) -> None:
    rng = np.random.default_rng(spread)
    numbers = spread * (rng.permutation(3000)[:2000] - 500)
    wanted = np.concatenate(
        [rng.choice(numbers, 500), numbers[:5] + 1, [numbers.max() + 1, numbers.min() - 1, LARGEST]]
    )
    place = {number: k for k, number in enumerate(numbers.tolist())}
    ids = IdColumn(numbers)
    assert IdColumn(wanted).positions_in(ids).tolist() == [place.get(number, -1) for number in wanted.tolist()]
