"""Compiled functions, kept on disk so that a kernel is compiled once per machine.

Numba numbers the files of a function's versions in the order in which they are saved. Two processes that compile for the
first time at once give one number to two versions, and from then on one is loaded in place of the other: wrong results,
without a word. Here the name of a file is made from what it holds, so a name cannot stand for two things, and there is no
index that processes could overwrite for one another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

SUMS = {"reassoc", "contract"}
"""For ``fastmath``: sums may be taken in vectors; infinities and what is no number stay what they are."""


def compiled(name: str | None = None, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: ``numba.njit`` without the interpreter lock, kept on disk where there is a folder to write to.

    Functions made in a loop or by a factory each need a ``name``: numba tells two apart by a counter of the process, so
    that two compiled in two processes and loaded by a third would be one and the same symbol.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__qualname__ = name or function.__qualname__
        dispatcher = numba.njit(nogil=True, **options)(function)
        with suppress(RuntimeError):  # Nowhere to write: each process compiles for itself.
            dispatcher._cache = _Cache(function)
        return dispatcher

    return decorate


class _Cache(FunctionCache):
    def __init__(self, function: Callable[..., Any]):
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _FilesByContent(self._cache_path, self._impl.filename_base, stamp)


class _FilesByContent(IndexDataCacheFile):
    def save(self, key: Any, data: Any) -> None:
        self._save_data(self._name(key), data)

    def load(self, key: Any) -> Any:
        try:
            return self._load_data(self._name(key))
        except OSError:
            return None

    def flush(self) -> None:
        """Files of other keys are never read again: nothing has to be forgotten."""

    def _name(self, key: Any) -> str:
        """The key holds the types, the processor, the byte code and what the function closes over."""
        digest = hashlib.sha256(repr((self._version, self._source_stamp, key)).encode()).hexdigest()
        return self._index_name.removesuffix(".nbi") + f".{digest[:32]}.nbc"
