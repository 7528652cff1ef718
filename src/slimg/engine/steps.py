"""Operations of the engine of files as steps of a run: numbered, looked up in the journal, done, and recorded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.engine.files import FileTall
from slimg.engine.workdir import Digest, Workdir, save_array
from slimg.sizes import require_room


class Steps:
    """The steps of one engine; ``panel(rows)`` is the width of the panels of a new row matrix."""

    def __init__(self, work: Workdir, panel: Callable[[int], int]):
        self.work, self._panel = work, panel
        self._numbers = _Numbers()

    def row_matrix(self, what: str, inputs: list[Any], shape: tuple[int, int], fill: Callable[[FileTall], None]) -> FileTall:
        """A step whose result is one row matrix of a known shape."""

        def compute(new: Callable[..., FileTall]) -> list[FileTall]:
            out = new(shape)
            fill(out)
            return [out]

        return self.row_matrices(what, inputs, 1, compute, 4 * shape[0] * shape[1])[0]

    def row_matrices(
        self,
        what: str,
        inputs: list[Any],
        count: int,
        compute: Callable[[Callable[..., FileTall]], list[FileTall]],
        size: int = 0,
    ) -> list[FileTall]:
        """A step whose results are row matrices: compute(new) with new(shape, panel=None) for each, in order."""
        names = [f"{step}-{which}" for step in [self._numbers.next()] for which in range(count)]
        digest = str(Digest(*inputs))
        records = [self.work.recorded(name, what, digest) for name in names]
        if all(records):
            return [self._reopened(name, record) for name, record in zip(names, records, strict=True) if record]
        free = iter(names)

        def new(shape: tuple[int, int], panel: int | None = None) -> FileTall:
            name = next(free)
            require_room(self.work.path, 4 * shape[0] * shape[1], what)
            place = self.work.path / f"{name}.tall"
            return FileTall(place, shape, panel or self._panel(shape[0]), writable=True, released=self._release, key=name)

        with self.running(size, what):
            outs = compute(new)
            for name, out in zip(names, outs, strict=False):
                self.work.record(name, what, digest, file=out.path.name, shape=list(out.shape), panel=out.panel)
        return outs

    def array(self, what: str, inputs: list[Any], compute: Callable[[], Array]) -> Array:
        """A step whose result is a small array."""
        step, digest = self._numbers.next(), str(Digest(*inputs))
        record = self.work.recorded(step, what, digest)
        if record:
            return np.load(self.work.path / record["file"])
        with self.running(0, what):
            result = compute()
            if self.work.journaled:
                save_array(self.work.path / f"{step}.npy", result)
            self.work.record(step, what, digest, file=f"{step}.npy")
            return result

    def tasks(self, tasks: tuple[Callable[[], Any], ...]) -> list[Callable[[], Any]]:
        """Tasks that may run at the same time: their steps are numbered by task, so that timing does not matter."""
        step = self._numbers.next()
        return [self._numbers.inside(f"{step}.{which}.", task) for which, task in enumerate(tasks)]

    @contextmanager
    def running(self, size: int, what: str) -> Iterator[None]:
        """Around the work of a step: room on the disk first, and after an error the files stay, to go on from."""
        try:
            require_room(self.work.path, size, what)
            yield
        except BaseException:
            self.work.keep = self.work.journaled
            raise

    def _reopened(self, name: str, record: dict[str, Any]) -> FileTall:
        rows, columns = record["shape"]
        place = self.work.path / record["file"]
        return FileTall(place, (rows, columns), record["panel"], released=self._release, key=name)

    def _release(self, path: Path) -> None:
        self.work.drop(path)


class _Numbers(threading.local):
    """Numbers of steps; those of a concurrent task begin with the task's own number."""

    prefix, count = "", 0

    def next(self) -> str:
        self.count += 1
        return f"{self.prefix}{self.count}"

    def inside(self, prefix: str, task: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            before = self.prefix, self.count
            self.prefix, self.count = prefix, 0
            try:
                return task()
            finally:
                self.prefix, self.count = before

        return run


def parts_of(fn: Any) -> list[Any]:
    """What a function of rows is known by: its name, and the arrays, numbers and functions it closes over."""
    parts: list[Any] = [getattr(fn, "__qualname__", type(fn).__name__)]
    for cell in getattr(fn, "__closure__", None) or ():
        for value in cell.cell_contents if isinstance(cell.cell_contents, list) else [cell.cell_contents]:
            if isinstance(value, (np.ndarray, int, float, str)):
                parts.append(value)
            elif callable(value):
                parts += parts_of(value)
    return parts
