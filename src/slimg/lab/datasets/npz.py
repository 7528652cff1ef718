"""Arrays of an npz file, without unpickling anything."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from slimg.errors import InputError


def load_npz(path: Path, keys: Iterable[str]) -> dict[str, np.ndarray]:
    """The named arrays; a missing one, or one of Python objects, is refused."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            absent = [key for key in keys if key not in archive.files]
            if absent:
                there = ", ".join(archive.files)
                raise InputError(f"{path} lacks the array {absent[0]!r} (it has {there}): is it of another dataset?")
            return {key: archive[key] for key in keys}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read as npz ({error}): fetch it again") from None
