"""What every recorded result carries, and how it is written."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SHARED = Path(os.environ.get("SLIMG_SHARED", ROOT.parent / "shared"))


def environment() -> dict[str, Any]:
    """Commit, machine and versions."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    packages = ("slimg", "numpy", "scipy", "scikit-learn", "numba")
    return {
        "commit": commit,
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
    }


def write(name: str, content: dict[str, Any]) -> Path:
    """benchmarks/results/NAME.json, whole or not at all."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps({**content, "circumstances": environment()}, indent=1) + "\n")
    part.replace(path)
    return path


def read(name: str) -> dict[str, Any]:
    """A recorded result, or nothing."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def shared(name: str) -> dict[str, Any]:
    """A file of figures to stand beside, where it is at hand."""
    path = SHARED / "paper" / name
    return json.loads(path.read_text()) if path.exists() else {}


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()
