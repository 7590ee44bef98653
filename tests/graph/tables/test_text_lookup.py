"""The hash table of texts: the same places as a dictionary finds."""

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from hiergcn.graph.tables import node_ids
from hiergcn.graph.tables.node_ids import IdColumn
from hiergcn.graph.tables.text_lookup import WIDEST, TextLookup, is_dense

CLOSE = ["a", "a\0", "a\0\0", "", "é", "e", "abcdefg", "abcdefgh", "abcdefghi", "x" * WIDEST, "ä" * 31]


def chunks(texts: list[str], size: int = 700) -> pa.ChunkedArray:
    """Return texts in chunks, the second of which does not begin at the start of its memory."""
    parts = [pa.array(["before", *texts[k : k + size]], pa.large_string())[1:] for k in range(0, len(texts), size)]
    return pa.chunked_array(parts, pa.large_string())


def test_places_are_those_of_a_dictionary() -> None:
    rng = np.random.default_rng(0)
    letters = list("abc é漢")
    drawn = {"".join(rng.choice(letters, rng.integers(1, 12))) for _ in range(3000)}
    texts = [*CLOSE, *sorted(drawn - set(CLOSE))]
    rng.shuffle(texts)
    wanted = [texts[k] for k in rng.integers(0, len(texts), 2000)]
    wanted += [text + "z" for text in texts[:500]] + ["x" * 64, "x" * 255, "x" * 1000]
    place = {text: k for k, text in enumerate(texts)}
    lookup = TextLookup.of(chunks(texts), WIDEST)
    assert lookup.repeated is None
    assert lookup.places(chunks(wanted)).tolist() == [place.get(text, -1) for text in wanted]


def test_longer_texts_than_those_of_the_table_are_not_found() -> None:
    lookup = TextLookup.of(chunks(["a", "b", "abcdefg"]), 7)
    assert lookup.places(chunks(["abcdefgh", "abcdefg", "abcdef", "b" * 300])).tolist() == [-1, 2, -1, -1]


def test_the_first_repeated_text_is_found() -> None:
    texts = [f"n{k}" for k in range(2000)]
    assert TextLookup.of(chunks([*texts[:900], "n17", "n18", *texts[900:]]), 5).repeated == 900


@pytest.mark.parametrize("longest", [20, 2 * WIDEST])
def test_ids_are_found_alike_by_arrow_and_by_the_table(monkeypatch: pytest.MonkeyPatch, longest: int) -> None:
    rng = np.random.default_rng(1)
    texts = list(dict.fromkeys("".join(rng.choice(list("ab"), rng.integers(1, longest))) for _ in range(2000)))
    wanted = IdColumn(chunks([*texts[::3], "c", *texts[::7]]))
    by_arrow = wanted.positions_in(IdColumn(chunks(texts)))
    monkeypatch.setattr(node_ids, "MANY", 10)
    ids = IdColumn(chunks(texts))
    assert (ids._lookup is None) == (longest > WIDEST)
    assert wanted.positions_in(ids).tolist() == by_arrow.tolist()
    assert ids.first_repeated is None
    assert IdColumn(chunks([*texts, texts[5], texts[2]])).first_repeated == len(texts)


@pytest.mark.parametrize("blank", [" ", "\t", "\u00a0", "\u3000", "\x7f", "é"])
def test_texts_with_blanks_are_not_dense(blank: str) -> None:
    texts = [f"n{k}" for k in range(2000)]
    assert is_dense(chunks([*texts, "", "~!"]))
    assert not is_dense(chunks([*texts, f"a{blank}b"]))
    assert is_dense(chunks([*texts, blank])[:-1])
