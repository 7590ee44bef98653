"""A hash table that finds millions of short texts among others, without a Python object for each.

Texts become rows of 64-bit words, so that a comparison takes one access to memory for most ids.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hiergcn.compiled.csr import Int32s, Int64s, UInt64s
from hiergcn.compiled.jit import kernel, mix

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

WIDEST = 63
"""Most bytes per text."""
BLOCK = 1024  # texts


@dataclass(frozen=True, eq=False)
class TextLookup:
    """A hash table of texts and their rows."""

    words: UInt64s
    """(n, words) the bytes of each text, and its length in the last byte."""
    slots: Int32s
    """Rows by the hash of their words, with linear probing; -1 is free."""
    repeated: int | None
    """The first row that is equal to an earlier one. Rows after it are in no slot."""

    @classmethod
    def of(cls, texts: "pa.ChunkedArray", longest: int) -> "TextLookup":
        """Make the table of large strings, none of them null; `longest` is their largest number of bytes."""
        words = _packed(texts, longest // 8 + 1)
        slots = np.full(1 << max(2 * len(texts) - 1, 1).bit_length(), -1, np.int32)
        repeated = _fill(words, slots)
        return cls(words, slots, None if repeated < 0 else int(repeated))

    def places(self, texts: "pa.ChunkedArray") -> Int64s:
        """Return the row of each text; -1 if it is not there."""
        found = np.empty(len(texts), np.int64)
        first = 0
        for offsets, characters in buffers(texts):
            last = first + len(offsets) - 1
            _find(offsets, characters, self.words, self.slots, found[first:last])
            first = last
        return found


def is_dense(texts: "pa.ChunkedArray") -> bool:
    """Return whether no large string has a blank, a control character, or a letter beyond ASCII."""
    parts = (characters[offsets[0] : offsets[-1]] for offsets, characters in buffers(texts))
    return all(part.min(initial=127) > 32 and part.max(initial=33) < 127 for part in parts)


def _packed(texts: "pa.ChunkedArray", width: int) -> UInt64s:
    words = np.empty((len(texts), width), np.uint64)
    first = 0
    for offsets, characters in buffers(texts):
        _pack(offsets, characters, words[first : first + len(offsets) - 1])
        first += len(offsets) - 1
    return words


def buffers(texts: "pa.ChunkedArray") -> Iterator[tuple[Int64s, NDArray[np.uint8]]]:
    """Yield where each text begins and the last one ends, and all characters, chunk by chunk."""
    for chunk in texts.chunks:
        _, offsets, characters = chunk.buffers()
        if len(chunk):
            begins = np.frombuffer(offsets, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
            yield begins, np.frombuffer(characters or b"", np.uint8)


@kernel(plain=0)
def _pack(offsets: Int64s, characters: Any, words: UInt64s) -> None:
    """Write the bytes of each text into its row. A text that is too long for a row gets a length that no other has."""
    width = words.shape[1]
    for i in range(len(offsets) - 1):
        length = offsets[i + 1] - offsets[i]
        kept = min(length, 8 * width - 1)
        for w in range(width):
            word = np.uint64(0)
            at = np.uint64(offsets[i] + 8 * w)
            for b in range(np.uint64(max(min(kept - 8 * w, 8), 0))):
                word |= np.uint64(characters[at + b]) << (np.uint64(8) * b)
            words[i, w] = word
        words[i, width - 1] |= np.uint64(length if length == kept else 255) << np.uint64(56)


@kernel(plain=0)
def _slot(words: UInt64s, i: int, mask: np.uint64) -> np.uint64:
    total = np.uint64(0)
    for w in range(words.shape[1]):
        total = mix(total ^ words[i, w])
    return total & mask


@kernel(plain=0)
def _equal(words: UInt64s, i: int, others: UInt64s, k: int) -> bool:
    same = True
    for w in range(words.shape[1]):
        same &= words[i, w] == others[k, w]
    return same


@kernel(plain=0)
def _fill(words: UInt64s, slots: Int32s) -> int:
    mask = np.uint64(len(slots) - 1)
    for i in range(len(words)):
        slot = _slot(words, i, mask)
        while slots[slot] >= 0:
            if _equal(words, i, words, slots[slot]):
                return i
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = i
    return -1


@kernel(plain=0)
def _find(offsets: Int64s, characters: Any, words: UInt64s, slots: Int32s, found: Int64s) -> None:
    """Find texts block by block, in short loops, so that the processor waits for many accesses at a time."""
    mask = np.uint64(len(slots) - 1)
    wanted, home = np.empty((BLOCK, words.shape[1]), np.uint64), np.empty(BLOCK, np.uint64)
    for first in range(0, len(found), BLOCK):
        size = min(BLOCK, len(found) - first)
        _pack(offsets[first : first + size + 1], characters, wanted)
        for i in range(size):
            home[i] = _slot(wanted, i, mask)
        for i in range(size):
            found[first + i] = slots[home[i]]
        for i in range(size):
            slot, k = home[i], found[first + i]
            while k >= 0 and not _equal(wanted, i, words, k):
                slot = (slot + np.uint64(1)) & mask
                k = slots[slot]
            found[first + i] = k
