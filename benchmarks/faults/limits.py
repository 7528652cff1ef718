"""Every command under a limit of memory or with a full disk: one sentence and the documented exit code, as typed.

    python -m benchmarks.faults.limits [--record]

    14 GB, 1 GB     limit of address space: all goes well (0); the libraries map more before they begin (3)
    full disk       4 kB free where the result goes (a tmpfs, else a limit of file size): 3; 0 of commands that write nothing
    dense matrix    features of 240 nodes × D numbers, a file of holes that could be read within a limit of 8 GB, but whose fit
                    takes several times as much: 3, before it is read
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import records
from benchmarks.faults.suite import FIT, Disk, prepare
from slimg.lab.bench.store import environment

GRAPH = FIT[:4]
COMMANDS = {
    "fit": ["fit", *FIT, "--out", "disk/out", "--json"],
    "predict": ["predict", "--model", "fitted/model.slimg", *GRAPH, "--out", "disk/predictions.csv", "--json"],
    "report": ["report", "fitted", "--out", "disk/page.html"],
    "demo": ["demo", "--out", "disk/demo"],
    "diagnose": ["diagnose", *FIT, "--json"],
    "estimate": ["estimate", *FIT],
    "explain": ["explain", "person-000", "--model", "fitted/model.slimg", "--json"],
}
LIMITS = {"14 GB": (14 * 10**9, 0), "1 GB": (10**9, 3), "full disk": (0, 3), "dense matrix": (8 * 10**9, 3)}
"""Limit of address space, and the exit code."""
FREE = 4096
READ_ONLY = ("diagnose", "estimate", "explain")


def run(folder: Path, words: list[str], limit: int, size: int = 0) -> dict[str, Any]:
    """Exit code, what was written to the error stream, seconds and peak of a command."""

    def limited() -> None:
        for kind, most in ((resource.RLIMIT_AS, limit), (resource.RLIMIT_FSIZE, size)):
            if most:
                resource.setrlimit(kind, (most, most))

    begun = time.perf_counter()
    options: dict[str, Any] = {"capture_output": True, "text": True, "cwd": folder, "preexec_fn": limited, "timeout": 300}
    done = subprocess.run([sys.executable, "-m", "slimg", *words], **options)
    return {"exit": done.returncode, "told": done.stderr.splitlines(), "seconds": round(time.perf_counter() - begun, 1)}


def main() -> int:
    """Run, print, record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, ["fit"])
        rows = sum(1 for _ in (folder / "people.csv").open()) - 1
        np.lib.format.open_memmap(folder / "x.npy", "w+", np.float32, (rows, 4 * 10**9 // (4 * rows)))
        (folder / "empty").mkdir()
        disk = Disk(folder / "disk", folder / "empty")
        try:
            for what, (limit, code) in LIMITS.items():
                full = what == "full disk"
                for command, words in COMMANDS.items():
                    if what == "dense matrix" and command not in ("fit", "diagnose"):
                        continue
                    disk.fill()
                    given = [*words, "--feature-matrix", "x.npy"] if what == "dense matrix" else words
                    if full:
                        with disk.full(FREE):
                            told = run(folder, given, 0, 0 if disk.mounted else FREE)
                    else:
                        told = run(folder, given, limit)
                    expected = 0 if full and command in READ_ONLY else code
                    told["as documented"] = told["exit"] == expected and (expected == 0 or len(told["told"]) == 1)
                    found.setdefault(what, {})[command] = told
                    print(what, command, told, flush=True)
        finally:
            disk.close()
    if args.record:
        records.write("faults", {**records.read("faults"), "limits": {**found, "commit": environment()["commit"]}})
    return int(not all(each["as documented"] for told in found.values() for each in told.values()))


if __name__ == "__main__":
    sys.exit(main())
