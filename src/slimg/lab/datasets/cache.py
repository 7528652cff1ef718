"""Where the files of a dataset are: in the folder the user names, in ``$SLIMG_DATA``, in the user's cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from slimg.errors import InputError
from slimg.lab.datasets.dataset import Dataset

VARIABLE = "SLIMG_DATA"


def user_cache() -> Path:
    """The folder for downloads: ``$XDG_CACHE_HOME/slimg/datasets``, or the system's usual place."""
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "slimg" / "datasets"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "slimg" / "datasets"
    home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return home / "slimg" / "datasets"


def data_folders(root: str | Path | None = None) -> list[Path]:
    """Folders to look in, first to last; only ``root`` if it is given."""
    if root is not None:
        return [Path(root)]
    named = os.environ.get(VARIABLE)
    return [*([Path(named)] if named else []), user_cache()]


def present(dataset: Dataset, folder: Path) -> dict[str, Path]:
    """Those of a dataset's files that are in its folder, by name; members of an archive may lie flat."""
    found = {}
    for file in dataset.files:
        for path in (folder / file.name, folder / Path(file.name).name):
            if path.is_file():
                found[file.name] = path
                break
    return found


def folder_of(path: Path, name: str) -> Path:
    """The dataset's folder, from the path at which `present` found the file ``name``."""
    depth = len(Path(name).parts)
    return path.parents[depth - 1] if path.parts[-depth:] == Path(name).parts else path.parent


def missing(dataset: Dataset, found: dict[str, Path]) -> list[str]:
    """Names of the files that are needed and not there."""
    return [file.name for file in dataset.files if not file.optional and file.name not in found]


def find(dataset: Dataset, root: str | Path | None = None) -> dict[str, Path] | None:
    """All files of a dataset from the first folder that has them, or None."""
    for folder in data_folders(root):
        found = present(dataset, folder / dataset.folder)
        if not missing(dataset, found):
            return found
    return None


def need(dataset: Dataset, root: str | Path | None = None) -> dict[str, Path]:
    """All files of a dataset, or a sentence that says where they were looked for and how to get them."""
    found = find(dataset, root)
    if found is not None:
        return found
    folders = [folder / dataset.folder for folder in data_folders(root)]
    for folder in folders:
        partial = present(dataset, folder)
        if partial:
            lacking = missing(dataset, partial)
            raise InputError(
                f"{dataset.name} is incomplete: {folder} lacks {', '.join(lacking)};"
                f" get it with `slimg datasets get {dataset.folder}`"
            )
    places = " or ".join(str(folder) for folder in folders)
    raise InputError(
        f"{dataset.name} is not in {places}: get it with `slimg datasets get {dataset.folder}`"
        f" or datasets.fetch({dataset.folder!r}), or set {VARIABLE} to the folder that holds {dataset.folder}/"
    )
