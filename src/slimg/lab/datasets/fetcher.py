"""All files of a dataset, downloaded when the user asks for them."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from slimg.lab.datasets import cache, verify
from slimg.lab.datasets.dataset import Dataset, RemoteFile
from slimg.lab.datasets.download import DownloadError, Told, download, make_folder, set_aside
from slimg.lab.datasets.loader import find
from slimg.lab.datasets.table import TABLE


@dataclass(frozen=True)
class Fetched:
    """Where a dataset's files are now, and what is worth saying about them."""

    folder: Path
    notes: tuple[str, ...]


def fetch(name: str, root: str | Path | None = None, *, progress: bool | None = None, **options: float) -> Fetched:
    """Download a dataset into the user's cache, or below ``root``; files that are there and sound stay.

    ``progress`` shows a bar (by default on a terminal); ``retries``, ``pause`` and ``timeout`` are those of
    `slimg.lab.datasets.download.download`.
    """
    return fetch_dataset(find(name), Path(root) if root is not None else cache.user_cache(), progress, **options)


def fetch_dataset(dataset: Dataset, root: Path, progress: bool | None = None, **options: float) -> Fetched:
    """`fetch` for an entry of the table."""
    folder = root / dataset.folder
    here = cache.present(dataset, folder)
    sums = verify.recorded_sums(folder)
    unsound = [
        file
        for file in dataset.files
        if file.name not in here or verify.fault(here[file.name], file, TABLE.values(), sums.get(file.name))
    ]
    if not [file for file in unsound if not file.optional or file.name in here]:
        return Fetched(folder, (f"{dataset.name} was already in {folder}.",))
    make_folder(folder)
    notes = []
    wanted = (dataset.archive,) if dataset.archive else unsound
    with _bar(progress) as bar_for:
        for file in wanted:
            path = download(file, folder, table=TABLE.values(), told=bar_for(file.name), **options)  # type: ignore[arg-type]
            notes += _record(file, path, folder)
    if dataset.archive:
        _unpack(dataset, folder / dataset.archive.name, folder)
    return Fetched(folder, tuple(notes))


def _record(file: RemoteFile, path: Path, folder: Path) -> list[str]:
    """Note the checksum of a file nobody had seen before."""
    if file.sha256 is not None:
        return []
    known = verify.recorded_sums(folder).get(file.name)
    found = verify.sha256(path)
    if known == found:
        return []
    verify.record_sum(folder, file.name, found)
    then = f" (before: {known})" if known else ""
    return [f"The SHA-256 of {file.name} was not known: it is {found}{then}, now recorded in {folder / verify.SUMS}."]


def _unpack(dataset: Dataset, archive: Path, folder: Path) -> None:
    """Take the dataset's files out of a zip, whatever folder they are in there, and remove the zip."""
    try:
        with zipfile.ZipFile(archive) as packed:
            for file in dataset.files:
                member = next((m for m in packed.namelist() if f"/{m}".endswith(f"/{file.name}")), None)
                if member is None:
                    if not file.optional:
                        raise set_aside(archive, archive, f"{archive} lacks {file.name}")
                    continue
                _take(packed, member, folder / file.name)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise set_aside(archive, archive, f"{archive} is damaged ({error})") from None
    for file in dataset.files:
        if (folder / file.name).is_file():
            verify.record_sum(folder, file.name, verify.sha256(folder / file.name))
    archive.unlink()


def _take(packed: zipfile.ZipFile, member: str, target: Path) -> None:
    make_folder(target.parent)
    part = target.with_name(target.name + ".part")
    try:
        with packed.open(member) as source, part.open("wb") as out:
            shutil.copyfileobj(source, out)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise DownloadError(f"cannot write {target} ({error.strerror}): make room or choose another folder") from None
    os.replace(part, target)


@contextmanager
def _bar(progress: bool | None) -> Iterator:
    """Yields a function: file name → what to tell as its bytes arrive (None when no bar is shown)."""
    if not (sys.stderr.isatty() if progress is None else progress):
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bars:

        def bar_for(name: str) -> Told:
            task = bars.add_task(name, total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield bar_for
