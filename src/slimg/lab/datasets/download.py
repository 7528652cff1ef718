"""One file from its publisher into a folder: whole and checked, or not at all.

    address ──▶ NAME.part (resumed after a cut, HTTP Range) ──▶ checked ──▶ NAME        (atomic rename)
                                                                   └─ wrong ─▶ NAME.damaged (kept aside, never used)
"""

from __future__ import annotations

import errno
import http.client
import os
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from slimg.errors import SlimgError
from slimg.lab.datasets import verify
from slimg.lab.datasets.dataset import Dataset, RemoteFile
from slimg.version import __version__

BLOCK = 1 << 16
LONGEST_PAUSE = 30.0

Told = Callable[[int, "int | None"], None]


class DownloadError(SlimgError):
    """A file that could not be had; the message says why and what was kept."""


class _Cut(Exception):
    """The transfer broke off in a way that is worth another try."""


def download(
    file: RemoteFile,
    folder: Path,
    *,
    table: Iterable[Dataset] = (),
    told: Told | None = None,
    retries: int = 4,
    pause: float = 0.5,
    timeout: float = 30.0,
) -> Path:
    """Download one file into ``folder``; returns its path.

    Parameters
    ----------
    table : datasets whose files are recognised when one of them comes instead
    told : called with (bytes so far, bytes in all or None) after each block
    retries : further tries after a cut, each going on where the last stopped; pauses double from ``pause`` seconds
    timeout : seconds without a byte after which a connection counts as cut
    """
    target = folder / file.name
    part = target.with_name(target.name + ".part")
    make_folder(target.parent)
    recorded = verify.recorded_sums(folder).get(file.name)
    for attempt in range(retries + 1):
        try:
            _transfer(file, part, told, timeout)
            break
        except _Cut as cut:
            if attempt == retries:
                raise _gave_up(file, part, cut, attempt + 1) from None
            time.sleep(min(pause * 2**attempt, LONGEST_PAUSE))
    wrong = verify.fault(part, file, table, recorded)
    if wrong:
        raise set_aside(part, target, f"what came from {file.address} {wrong}")
    os.replace(part, target)
    _tag(part).unlink(missing_ok=True)
    return target


def make_folder(folder: Path) -> None:
    """Create a folder, or say why it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(f"cannot create {folder} ({error.strerror}): choose another folder with root=") from None


def set_aside(path: Path, target: Path, why: str) -> DownloadError:
    """Rename a damaged file so that nobody uses it; returns the error to raise."""
    aside = target.with_name(target.name + ".damaged")
    os.replace(path, aside)
    _tag(path).unlink(missing_ok=True)
    return DownloadError(f"{why}: it is kept aside as {aside} and not used; try again, or report it to the publisher")


def _transfer(file: RemoteFile, part: Path, told: Told | None, timeout: float) -> None:
    """Fetch the bytes that ``part`` lacks."""
    have = part.stat().st_size if part.is_file() else 0
    if have and file.size is not None and have >= file.size:
        return
    headers = {"User-Agent": f"slimg/{__version__}"}
    mark = _tag(part).read_text() if _tag(part).is_file() else ""
    if have and (mark or file.sha256):
        headers["Range"] = f"bytes={have}-"
        if mark:
            headers["If-Range"] = mark  # a file that changed meanwhile is sent whole again
    with _open(file, headers, part, timeout) as response:
        going_on = response.status == http.client.PARTIAL_CONTENT
        start = have if going_on else 0
        length = response.headers.get("Content-Length")
        total = None if length is None else start + int(length)
        _check_room(part.parent, None if length is None else int(length), file)
        with _writing(part):
            _tag(part).write_text(response.headers.get("ETag") or response.headers.get("Last-Modified") or "")
            done = _copy(response, part, "ab" if going_on else "wb", start, total, told)
    if total is not None and done != total:
        raise _Cut(f"the connection closed after {done:,} of {total:,} bytes")


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


def _copy(response, part: Path, mode: str, start: int, total: int | None, told: Told | None) -> int:
    """Stream the response to the file; returns its size afterwards."""
    done = start
    with part.open(mode) as out:
        while True:
            try:
                block = response.read(BLOCK)
            except (OSError, http.client.HTTPException) as error:
                raise _Cut(f"the connection broke after {done:,} bytes ({error})") from None
            if not block:
                break
            out.write(block)
            done += len(block)
            if told is not None:
                told(done, total)
        out.flush()
        os.fsync(out.fileno())
    return done


@contextmanager
def _writing(part: Path) -> Iterator[None]:
    """Turn what the disk refuses into a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DownloadError(f"the disk of {part.parent} is full: make room and try again") from None
        raise DownloadError(f"cannot write {part} ({error.strerror}): choose another folder with root=") from None


def _check_room(folder: Path, needed: int | None, file: RemoteFile) -> None:
    free = shutil.disk_usage(folder).free
    if needed is not None and needed > free:
        raise DownloadError(
            f"{file.name} needs {needed:,} bytes, but the disk of {folder} has {free:,} free: make room, or choose"
            " another folder with root="
        )


def _gave_up(file: RemoteFile, part: Path, cut: _Cut, tries: int) -> DownloadError:
    kept = part.stat().st_size if part.is_file() else 0
    rest = f" ({kept:,} bytes are kept in {part}; the next try goes on from there)" if kept else ""
    return DownloadError(f"could not get {file.address} in {tries} tries: {cut}{rest}; check the network and try again")


def _tag(part: Path) -> Path:
    """The file that remembers which version of the publisher's file a part belongs to."""
    return part.with_name(part.name + ".tag")
