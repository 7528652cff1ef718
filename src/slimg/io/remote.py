"""Files of object stores and servers, by fsspec: ``s3://bucket/edges/*.parquet``, ``gs://…``, ``https://…``, ``memory://…``.

They are copied to a temporary folder for as long as they are read, so that every reader and every engine reads them as files.
Keys come from where the library of each store takes them (environment, its own files), never from slimg.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from slimg.errors import InputError, is_exhausted, require, without_password
from slimg.io import Source, first_line, is_interrupt
from slimg.io.inputs import Options


@contextmanager
def fetched(options: Options) -> Iterator[Options]:
    """Give options whose files are all of this computer; copies are removed at the end.

    Parameters
    ----------
    options : Options

    Yields
    ------
    Options

    Raises
    ------
    InputError
        If a file cannot be fetched.
    """
    with TemporaryDirectory(prefix="slimg-") as folder:
        places: dict[str, str] = {}

        def local(source: Source | None) -> Source | None:
            if source is None or not source.is_remote:
                return source
            place = Path(folder, str(len(places)))
            address = without_password(str(source.url))
            places[f"{place}/"] = f"{address.rpartition('/')[0]}/"
            return replace(source, path=_fetch(source, place), url=None)

        def all_local(sources: tuple[Source, ...]) -> tuple[Source, ...]:
            return tuple(made for source in sources if (made := local(source)) is not None)

        found = replace(options, edges=all_local(options.edges), nodes=all_local(options.nodes), labels=local(options.labels),
                        matrix=local(options.matrix), db=local(options.db))  # fmt: skip
        try:
            yield found
        except InputError as error:
            told = str(error)
            for place, address in places.items():
                told = told.replace(place, address)
            raise type(error)(told) from error


def _fetch(source: Source, folder: Path) -> Path:
    """Copy the file, the files of a pattern, or the Parquet files of a folder; the path that reads them."""
    fsspec: Any = require("fsspec", "remote", f"reading {source}")
    address = str(source.url)
    kind = address.partition("://")[0]
    if kind not in fsspec.available_protocols():
        known = "postgresql://, s3://, gs:// or https://"
        raise InputError(f"{source}: addresses that begin with {kind}:// are not read: give a file, or one of {known}")
    try:
        store, path = fsspec.core.url_to_fs(address)
        several = glob.has_magic(path)
        names = store.glob(path) if several else store.glob(f"{path}/*.parquet") if store.isdir(path) else [path]
        folder.mkdir()
        for name in names:
            store.get_file(name, str(folder / Path(name).name))
    except FileNotFoundError:
        names = []
    except ImportError as error:
        raise InputError(f"{source}: a library for {kind}:// is not installed ({first_line(error)}): install it") from None
    except Exception as error:  # every store has classes of its own
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        if is_exhausted(error):
            raise
        told = without_password(first_line(error))
        raise InputError(f"{source}: it cannot be fetched ({told}): check the address, and the keys of the store") from None
    if not names:
        raise InputError(f"{source} does not exist: check the address")
    return folder / Path(path).name if names == [path] or several else folder
