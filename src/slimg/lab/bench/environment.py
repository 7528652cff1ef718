"""The environment in which a cell was run: versions, commit, processor, memory."""

from __future__ import annotations

import platform
import resource
import subprocess
from functools import cache
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

from slimg.system import cores

PACKAGES = ("slimg", "numpy", "scipy", "scikit-learn", "numba", "torch", "torch-geometric")
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@cache
def environment() -> dict[str, Any]:
    """Describe the environment, as every record has it; packages that are not installed are left out.

    Returns
    -------
    dict
    """
    return {
        "commit": _commit(),
        "cpu": _cpu(),
        "cores": cores(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES if any(distributions(name=name))},
    }


def reset_peak() -> None:
    """Reset the peak of resident memory, where the system can."""
    try:
        _RESET.write_text("5")
    except OSError:
        return  # the peak of the whole process is an upper bound


def peak_memory() -> int:
    """Largest resident size of this process since `reset_peak`.

    Returns
    -------
    int
        Bytes.
    """
    if _STATUS.exists():
        lines = _STATUS.read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _commit() -> str | None:
    """The commit of the checkout that slimg is imported from, with "+" when files differ from it; None if installed."""
    here = Path(__file__).resolve().parent
    shown = _git(here, "rev-parse", "--short", "HEAD")
    if not shown or not _git(here, "ls-files", "__init__.py"):
        return None
    return shown + ("+" if _git(here, "status", "--porcelain", "--untracked-files=no", "--", "..") else "")


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()
