"""The folder of results of ``slimg fit``: its files appear together or not at all.

    DIR/predictions.*, model.slimg, report.html, record.json        always of one run, whenever a run is killed
    .DIR.XXXXXXXX.part/                                             the draft of a run, beside DIR
    .DIR.lock                                                       locked by the run that writes into DIR

A draft and DIR exchange their names in one step (renameat2 on Linux, renamex_np on macOS). Other files of DIR stay: the
draft gets links to them before the exchange. Where folders cannot be exchanged (another system or file system, a mount
point, the current folder, folders inside DIR), the complete draft is moved into DIR by one rename, and its files from there
to their places; after a kill between two of these moves the next command makes the rest (`finish`).
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from slimg import __version__
from slimg.cli.inputs import FORMATS
from slimg.errors import InputError
from slimg.io import make_folder
from slimg.system import lock, remove_drafts

MODEL, PAGE, RECORD = "model.slimg", "report.html", "record.json"
OWNED = *(f"predictions{ending}" for ending in dict.fromkeys(FORMATS.values())), MODEL, PAGE, RECORD
"""Names of files of results; every other file of the folder is the user's."""
WHOLE = ".slimg-new"
"""Folder of complete files that are about to be moved into the folder that holds it."""
NAMES = ".names"
"""File with the names of those files."""
AT_FDCWD, RENAME_EXCHANGE, RENAME_SWAP = -100, 2, 2


def existing_results(folder: Path) -> list[Path]:
    """Files of an earlier result.

    Returns
    -------
    list of Path
    """
    return [path for name in OWNED if (path := folder / name).exists()]


@contextmanager
def result_folder(path: Path) -> Iterator[Path]:
    """Make a draft of a folder of results; it takes the place of an earlier result if the block ends without an error.

    Parameters
    ----------
    path : Path
        The folder, which may exist; folders above it are made.

    Yields
    ------
    Path
        The draft, an empty folder.

    Raises
    ------
    InputError
        If another process is writing into ``path``, or it cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp(), "out")
    >>> with result_folder(target) as draft:
    ...     _ = (draft / "record.json").write_text("{}")
    >>> [file.name for file in target.iterdir()]
    ['record.json']
    """
    target = Path(os.path.realpath(path))
    if target.exists():
        make_folder(target)  # or the reason why it cannot be written to
    inside = target.exists() and (os.path.ismount(target) or not os.access(target.parent, os.W_OK))
    place = target if inside else make_folder(target.parent)
    with _only_writer(place / f".{target.name}.lock", path):
        remove_drafts(place / target.name, Path.is_dir)
        finish(target)
        draft = Path(tempfile.mkdtemp(dir=place, prefix=f".{target.name}.", suffix=".part"))
        try:
            yield draft
            _install(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def read_record(folder: Path) -> dict[str, Any]:
    """Read the record in a folder of results.

    Returns
    -------
    dict

    Raises
    ------
    InputError
        If there is none, or it is of another version.
    """
    finish(folder)
    path = folder / RECORD
    if not path.exists():
        raise InputError(f"{path} does not exist: name the folder that slimg fit wrote its results into")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        version = record["version"]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} is not a record of slimg: fit again") from None
    if version != __version__:
        raise InputError(f"{path} was written by slimg {version}, and this is slimg {__version__}: fit again")
    return dict(record)


def finish(folder: Path) -> None:
    """Move a complete result that a killed process left in ``folder`` to its places."""
    whole = folder / WHOLE
    try:
        names = [name for name in (whole / NAMES).read_text(encoding="utf-8").splitlines() if name in OWNED]
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in set(OWNED).difference(names):
        (folder / name).unlink(missing_ok=True)
    for name in names:
        with suppress(FileNotFoundError):  # moved before the kill
            os.replace(whole / name, folder / name)
    shutil.rmtree(whole, ignore_errors=True)


def _install(draft: Path, target: Path) -> None:
    """Give a complete draft the place of ``target``."""
    if not target.exists():
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(draft, 0o777 & ~mask)
        os.rename(draft, target)
    elif not _exchanged(draft, target):
        (draft / NAMES).write_text("\n".join(os.listdir(draft)), encoding="utf-8")
        os.rename(draft, target / WHOLE)
        finish(target)


def _exchanged(draft: Path, target: Path) -> bool:
    """Whether the two folders have exchanged their names, after links to the other files were made in the draft."""
    others = [each for each in target.iterdir() if each.name not in OWNED]
    if draft.parent == target or Path.cwd().is_relative_to(target) or any(each.is_dir() for each in others):
        return False
    made: list[Path] = []
    try:
        for each in others:
            os.link(each, draft / each.name, follow_symlinks=False)
            made.append(draft / each.name)
        shutil.copymode(target, draft)
        _exchange(draft, target)
    except (OSError, NotImplementedError, AttributeError, TypeError):  # of the file system, of Python, of the C library
        for link in made:
            link.unlink()
        return False
    return True


def _exchange(one: Path, other: Path) -> None:
    """Exchange the names of two folders in one step."""
    library, names = ctypes.CDLL(None, use_errno=True), (os.fsencode(one), os.fsencode(other))
    if sys.platform == "darwin":
        failed = library.renamex_np(*names, RENAME_SWAP)
    else:
        failed = library.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE)
    if failed:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@contextmanager
def _only_writer(place: Path, folder: Path) -> Iterator[None]:
    """Hold a lock file, and remove it at the end; an error if another process holds it."""
    while True:
        with open(place, "ab") as file:
            if not lock(file.fileno()):
                raise InputError(f"another process is writing into {folder}: wait until it ends, or choose another folder")
            if not _is_there(place, file.fileno()):  # removed by the process that had it
                continue
            try:
                yield
            finally:
                place.unlink(missing_ok=True)
            return


def _is_there(place: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(place))
    except FileNotFoundError:
        return False
