"""Arrays of a Matlab file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from slimg.errors import InputError


def load_mat(path: Path, keys: Iterable[str]) -> dict[str, Any]:
    """The named arrays; a missing one is named, and a file that cannot be read is one sentence."""
    from scipy.io import loadmat

    wanted = list(keys)
    try:
        found = loadmat(path, variable_names=wanted)
    except Exception as error:  # a damaged file fails in many ways inside scipy
        raise InputError(f"{path} cannot be read as a Matlab file ({error}): fetch it again") from None
    absent = [key for key in wanted if key not in found]
    if absent:
        raise InputError(f"{path} lacks the array {absent[0]!r}: is it of another dataset?")
    return {key: found[key] for key in wanted}
