"""Downloads: each file whole and checked, or not at all.

    address ──▶ NAME.part (resumed after a cut, HTTP Range) ──▶ checked ──▶ NAME        (atomic rename)
                                                                   └─ wrong ─▶ NAME.damaged (kept, never used)

`NAME.part.tag` holds the ETag of the publisher's file, so that two versions of it are never joined. (pooch checks and
renames too, but starts again from zero after a cut; some of these files have a gigabyte.)
"""

from __future__ import annotations

import errno
import http.client
import os
import shutil
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from slimg import __version__
from slimg.errors import DiskFull, InputError, SlimgError
from slimg.lab.datasets import loader
from slimg.lab.datasets.dataset import Dataset, RemoteFile
from slimg.progress import rich_bars
from slimg.system import atomic_write, require_room

BLOCK = 1 << 16
LONGEST_PAUSE = 30.0
RETRIES, PAUSE, TIMEOUT = 4, 0.5, 30.0

Progress = Callable[[int, "int | None"], None]
"""Called with (bytes so far, bytes in all or None) after each block."""


class DownloadError(SlimgError):
    """A file could not be downloaded; the message says why and what was kept.

    Examples
    --------
    >>> from slimg.errors import SlimgError
    >>> from slimg.lab.datasets import DownloadError
    >>> issubclass(DownloadError, SlimgError)
    True
    """


class _Cut(Exception):
    """The transfer broke off in a way that is worth another try."""


@dataclass(frozen=True)
class Fetched:
    """Result of `fetch`.

    Attributes
    ----------
    folder : Path
        Where the files are.
    notes : tuple of str
        Sentences on what was found, such as a checksum that was not known.

    Examples
    --------
    >>> from pathlib import Path
    >>> from slimg.lab.datasets import Fetched
    >>> Fetched(Path("cora"), notes=()).notes
    ()
    """

    folder: Path
    notes: tuple[str, ...]


def fetch(
    name: str | Dataset, root: str | Path | None = None, *, progress: bool | None = None, retries: int = RETRIES,
    pause: float = PAUSE, timeout: float = TIMEOUT,
) -> Fetched:  # fmt: skip
    """Download a dataset; files that are there and intact stay.

    Parameters
    ----------
    name : str or Dataset
        One of `slimg.lab.datasets.names`, or an entry like those of the table.
    root : path-like or None, default=None
        Folder that holds one folder per dataset; None for the user's cache.
    progress : bool or None, default=None
        Whether to show a progress bar; None shows it on a terminal.
    retries : int, default=4
        Further tries after a cut, each resuming where the last one stopped.
    pause : float, default=0.5
        Seconds before the first retry; doubled for each further one.
    timeout : float, default=30.0
        Seconds without a byte after which a connection counts as cut.

    Returns
    -------
    Fetched
        The folder and notes.

    Raises
    ------
    DownloadError
        If a file cannot be downloaded or is not the publisher's.

    Examples
    --------
    >>> from slimg.lab import datasets
    >>> datasets.fetch("cora")  # doctest: +SKIP
    """
    dataset = name if isinstance(name, Dataset) else loader.find(name)
    folder = (Path(root) if root is not None else loader.user_cache()) / dataset.folder
    here, sums = loader.present_files(dataset, folder), loader.recorded_sums(folder)
    absent = [file for file in dataset.files if file.name not in here]
    known = [file for file in dataset.files if file.name in here]
    faulty = [file for file in known if loader.fault(here[file.name], file, sums.get(file.name))]
    if not faulty and all(file.optional for file in absent):
        return Fetched(folder, (f"{dataset.name} was already in {folder}.",))
    notes = []
    with _bar(progress) as bar_for:
        for file in [dataset.archive] if dataset.archive else [*absent, *faulty]:
            path = download(file, folder, bar_for(file.name), retries=retries, pause=pause, timeout=timeout)
            notes += _record(file, path, folder)
    if dataset.archive:
        _unpack(dataset, folder / dataset.archive.name, folder)
    return Fetched(folder, tuple(notes))


def download(
    file: RemoteFile, folder: Path, progress: Progress | None = None, *, retries: int = RETRIES, pause: float = PAUSE,
    timeout: float = TIMEOUT,
) -> Path:  # fmt: skip
    """Download one file into a folder, which is created if it is not there; options as in `fetch`.

    Returns
    -------
    Path
        The file.
    """
    target = folder / file.name
    part = target.with_name(target.name + ".part")
    _make_folder(target.parent)
    for attempt in range(retries + 1):
        try:
            _transfer(file, part, progress, timeout)
            break
        except _Cut as cut:
            if attempt == retries:
                kept = part.stat().st_size if part.is_file() else 0
                rest = f" ({kept:,} bytes are kept in {part}; the next try resumes there)" if kept else ""
                raise DownloadError(
                    f"could not get {file.address} in {attempt + 1} tries: {cut}{rest}; check the network and try again"
                ) from None
            time.sleep(min(pause * 2**attempt, LONGEST_PAUSE))
    wrong = loader.fault(part, file, loader.recorded_sums(folder).get(file.name))
    if wrong:
        raise _set_aside(part, target, f"what came from {file.address} {wrong}")
    os.replace(part, target)
    _tag(part).unlink(missing_ok=True)
    return target


def _make_folder(folder: Path) -> None:
    with _disk_errors(folder, "create"):
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def _disk_errors(path: Path, action: str = "write") -> Iterator[None]:
    try:
        yield
    except (OSError, InputError) as error:
        if getattr(error, "errno", None) == errno.ENOSPC:
            raise DiskFull(f"the disk of {path.parent} is full: make room and try again") from None
        why = getattr(error, "strerror", None) or error
        raise DownloadError(f"cannot {action} {path} ({why}): choose another folder with root=") from None


def _set_aside(path: Path, target: Path, why: str) -> DownloadError:
    """Rename a damaged file so that nobody uses it; returns the error to raise."""
    aside = target.with_name(target.name + ".damaged")
    os.replace(path, aside)
    _tag(path).unlink(missing_ok=True)
    return DownloadError(f"{why}: it is kept as {aside} and not used; try again, or report it to the publisher")


def _tag(part: Path) -> Path:
    """The file that says which version of the publisher's file a part belongs to."""
    return part.with_name(part.name + ".tag")


# one transfer -------------------------------------------------------------------------------------------------------


def _transfer(file: RemoteFile, part: Path, progress: Progress | None, timeout: float) -> None:
    """Fetch the bytes that ``part`` lacks."""
    have = part.stat().st_size if part.is_file() else 0
    if have and file.size is not None and have >= file.size:
        return
    headers = {"User-Agent": f"slimg/{__version__}"}
    tag = _tag(part).read_text() if _tag(part).is_file() else ""
    if have and (tag or file.sha256):
        headers |= {"Range": f"bytes={have}-"} | ({"If-Range": tag} if tag else {})  # one that changed is sent whole
    with _open(file, headers, part, timeout) as response:
        resumed = response.status == http.client.PARTIAL_CONTENT
        start, length = have if resumed else 0, response.headers.get("Content-Length")
        if length is not None:
            require_room(part.parent, int(length), file.name)
        total = None if length is None else start + int(length)
        with _disk_errors(part), part.open("ab" if resumed else "wb") as out:
            _tag(part).write_text(response.headers.get("ETag") or response.headers.get("Last-Modified") or "")
            for block in _blocks(response):
                out.write(block)
                if progress is not None:
                    progress(out.tell(), total)
            out.flush()
            os.fsync(out.fileno())
            done = out.tell()
    if total is not None and done != total:
        raise _Cut(f"the connection closed after {done:,} of {total:,} bytes")


def _blocks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        while block := response.read(BLOCK):
            yield block
    except (OSError, http.client.HTTPException) as error:
        raise _Cut(f"the connection broke ({error})") from None


def _open(file: RemoteFile, headers: dict[str, str], part: Path, timeout: float) -> http.client.HTTPResponse:
    try:
        response = urllib.request.urlopen(urllib.request.Request(file.address, headers=headers), timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink(missing_ok=True)
            raise _Cut("the part kept from before does not fit the file") from None
        if error.code == http.client.TOO_MANY_REQUESTS or error.code >= http.client.INTERNAL_SERVER_ERROR:
            raise _Cut(f"the server answered {error.code} {error.reason}") from None
        raise DownloadError(
            f"{file.address} answered {error.code} {error.reason}: the publisher may have moved {file.name};"
            f" put it into {part.parent} by hand"
        ) from None
    except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise _Cut(f"no connection to {urlsplit(file.address).hostname} ({reason})") from None
    if response.headers.get_content_type() == "text/html":
        response.close()
        raise DownloadError(
            f"{file.address} answered with a web page instead of {file.name}: open it in a browser and put the file"
            f" into {part.parent} by hand"
        )
    return response


# datasets -----------------------------------------------------------------------------------------------------------


def _record(file: RemoteFile, path: Path, folder: Path) -> list[str]:
    """Record the checksum of a file whose publisher's checksum is not known."""
    if file.sha256 is not None:
        return []
    known, found = loader.recorded_sums(folder).get(file.name), loader.sha256(path)
    if known == found:
        return []
    loader.record_sum(folder, file.name, found)
    before = f" (before: {known})" if known else ""
    return [f"The SHA-256 of {file.name} was not known: it is {found}{before}, now recorded in {folder / loader.SUMS}."]


def _unpack(dataset: Dataset, archive: Path, folder: Path) -> None:
    """Take the dataset's files out of a zip, whatever folder they are in there, and remove the zip."""
    try:
        with zipfile.ZipFile(archive) as packed:
            for file in dataset.files:
                member = next((m for m in packed.namelist() if f"/{m}".endswith(f"/{file.name}")), None)
                if member is not None:
                    target = folder / file.name
                    _make_folder(target.parent)
                    with _disk_errors(target), packed.open(member) as source, atomic_write(target, binary=True) as out:
                        shutil.copyfileobj(source, out)
                    loader.record_sum(folder, file.name, loader.sha256(target))
                elif not file.optional:
                    raise _set_aside(archive, archive, f"{archive} lacks {file.name}")
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise _set_aside(archive, archive, f"{archive} is damaged ({error})") from None
    archive.unlink()


@contextmanager
def _bar(progress: bool | None) -> Iterator[Callable[[str], Progress]]:
    """Yields a function: file name → what to call as its bytes arrive."""
    with rich_bars("DownloadColumn", "TransferSpeedColumn", shown=progress) as bars:

        def bar_for(name: str) -> Progress:
            task = bars.add_task(name, total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield bar_for
