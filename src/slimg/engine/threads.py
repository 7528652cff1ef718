"""A pool of threads of our own. Blocks are computed by one thread each, and results are taken in order.

A call from inside a block or a task runs on the thread that makes it: the pool never waits for itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any

import numpy as np

from slimg.engine.blas import one_thread
from slimg.errors import InputError
from slimg.progress import SILENT, Progress
from slimg.sizes import cores


class Threads:
    """At most ``count`` threads, each with BLAS limited to one; None takes numba's setting and the cores there are."""

    def __init__(self, count: int | None = None):
        self.count = _checked(count)
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._worker = threading.local()
        self.progress: Progress = SILENT

    def for_each(self, fn: Callable[..., Any], blocks: Sequence[tuple[int, ...]], worth: float = 0.0) -> None:
        """fn(*block) for each block; all of them together advance the progress by ``worth``."""
        for _ in self.in_order(fn, blocks):
            if worth:
                self.progress.advance(worth / len(blocks))

    def concurrently(self, *tasks: Callable[[], Any]) -> list[Any]:
        """Results of independent tasks, in order."""
        return list(self.in_order(lambda which: tasks[which](), [(which,) for which in range(len(tasks))]))

    def in_order(self, fn: Callable[..., Any], blocks: Sequence[tuple[int, ...]]) -> Iterator[Any]:
        """fn(*block) for each block, in order; at most two results per thread wait to be taken."""
        with one_thread():
            if self.count == 1 or len(blocks) < 2 or getattr(self._worker, "busy", False):
                for block in blocks:
                    yield fn(*block)
                return
            pool = self._threads()
            pending = iter(blocks)
            queue: list[Future[Any]] = [pool.submit(fn, *b) for b in islice(pending, 2 * self.count)]
            try:
                while queue:
                    result = queue.pop(0).result()
                    queue.extend(pool.submit(fn, *b) for b in islice(pending, 1))
                    yield result
            finally:
                wait([each for each in queue if not each.cancel()])

    def _threads(self) -> ThreadPoolExecutor:
        """The pool, made on first use, and anew in a forked process (which has the object but not its threads)."""
        if self._pool is None or self._process != os.getpid():
            self._worker = threading.local()
            self._pool = ThreadPoolExecutor(self.count, "slimg", lambda: setattr(self._worker, "busy", True))
            self._process = os.getpid()
        return self._pool


class Reporting:
    """What passes over A report to, for engines whose threads advance it."""

    _threads: Threads

    @property
    def progress(self) -> Progress:
        return self._threads.progress

    @progress.setter
    def progress(self, progress: Progress) -> None:
        self._threads.progress = progress


def _checked(count: int | None) -> int:
    if count is None:
        from numba import config

        return max(1, min(int(config.NUMBA_NUM_THREADS), cores()))  # type: ignore[attr-defined]
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
        raise InputError(f"threads must be a positive integer or None, not {count!r}")
    return int(count)
