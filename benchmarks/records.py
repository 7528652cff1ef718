"""What every recorded result carries, and how it is written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from slimg.lab.bench.store import environment
from slimg.system import atomic_write

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SHARED = Path(os.environ.get("SLIMG_SHARED", ROOT.parent / "shared"))


def write(name: str, content: dict[str, Any]) -> Path:
    """benchmarks/results/NAME.json, whole or not at all."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    with atomic_write(path) as file:
        file.write(json.dumps({**content, "circumstances": environment()}, indent=1) + "\n")
    return path


def read(name: str) -> dict[str, Any]:
    """A recorded result, or nothing."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def shared(name: str) -> dict[str, Any]:
    """A file of figures to compare with, or nothing where it is not here."""
    path = SHARED / "paper" / name
    return json.loads(path.read_text()) if path.exists() else {}
