"""Files and folders that appear whole or not at all: a draft beside the target takes its place when it is complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from slimg.errors import InputError


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a draft of a file for writing; it takes the place of ``path`` if the block ends without an error.

    Parameters
    ----------
    path : path-like
        The file to write. Its folder must exist.
    binary : bool, default=False
        Whether bytes are written; otherwise UTF-8 text without translation of line ends.

    Yields
    ------
    file
        The draft. Binary drafts can be read too.

    Raises
    ------
    InputError
        If ``path`` is a folder, or the folder of ``path`` does not exist or cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> target = Path(tempfile.mkdtemp(), "note.txt")
    >>> with atomic_write(target) as file:
    ...     _ = file.write("done")
    >>> target.read_text()
    'done'
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder, not a file: give the name of a file to write")
    try:
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{target} cannot be written: {reason} ({target.parent}); choose another folder") from None
    try:
        with os.fdopen(handle, "w+b") if binary else os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            yield file
        os.chmod(draft, 0o644)
        os.replace(draft, target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a draft of a folder; it takes the place of ``path`` if the block ends without an error, and is removed if not.

    Parameters
    ----------
    path : path-like
        The folder to make. It must not exist; folders above it are made.

    Yields
    ------
    Path
        The draft, ``path`` with ``.part`` at its end; what an interrupted process left there is removed.

    Raises
    ------
    InputError
        If ``path`` exists or cannot be made.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> target = Path(tempfile.mkdtemp(), "notes")
    >>> with atomic_folder(target) as draft:
    ...     _ = (draft / "first.txt").write_text("done")
    >>> [file.name for file in target.iterdir()]
    ['first.txt']
    """
    target = Path(path)
    if target.exists():
        raise InputError(f"{target} exists already: choose another folder or remove it")
    draft = target.with_name(target.name + ".part")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"the folder {target} cannot be made ({error.strerror}): choose another") from None
    try:
        yield draft
        draft.replace(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
