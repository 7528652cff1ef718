"""Objects of a user's own file, by address: ``mine.py:make_model``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from slimg.errors import InputError


def load_object(address: str) -> Any:
    """The object that ``FILE.py:NAME`` names; whatever the file does wrong is told in one sentence."""
    path, _, name = address.rpartition(":")
    file = Path(path).expanduser()
    if not path or not name.isidentifier():
        raise InputError(f"{address!r} is no address of an object: FILE.py:NAME is needed, such as mine.py:make_model")
    if not file.is_file():
        raise InputError(f"{address}: there is no file {file}")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{address}: {file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    folder = str(file.resolve().parent)
    sys.path.insert(0, folder)  # modules beside the file can be imported while it is loaded, as when it is run
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{address}: importing it raised {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
    if not hasattr(module, name):
        public = [each for each in vars(module) if not each.startswith("_")]
        raise InputError(f"{address}: {file} has no {name}; it has {', '.join(public) or 'nothing'}")
    return getattr(module, name)
