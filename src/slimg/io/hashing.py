"""MurmurHash3 of texts (32 bits, of their UTF-8 bytes): where a word is hashed to, on every machine and in every version.

The same numbers as `sklearn.utils.murmurhash3_32`, without loading scikit-learn, which takes longer than to read a table.

    h ← 0;   for each four bytes k, little end first, the rest filled with zeros:
             h ← h ⊕ rot₁₅(k·c₁)·c₂,   after whole fours h ← rot₁₃(h)·5 + c₃
    h ⊕ length, then its bits are mixed three times
"""

from __future__ import annotations

_BITS = 0xFFFFFFFF


def murmur3(text: str) -> int:
    """The hash of a text, from 0 to 2³² − 1."""
    data = text.encode()
    whole = len(data) & ~3
    state = 0
    for start in range(0, whole, 4):
        state = _rotated(state ^ _scattered(data[start : start + 4]), 13)
        state = (state * 5 + 0xE6546B64) & _BITS
    state ^= _scattered(data[whole:]) ^ len(data)
    state = ((state ^ state >> 16) * 0x85EBCA6B) & _BITS
    state = ((state ^ state >> 13) * 0xC2B2AE35) & _BITS
    return state ^ state >> 16


def _scattered(four: bytes) -> int:
    """rot₁₅(k·c₁)·c₂ of up to four bytes; zero of none."""
    return _rotated(int.from_bytes(four, "little") * 0xCC9E2D51 & _BITS, 15) * 0x1B873593 & _BITS


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _BITS
