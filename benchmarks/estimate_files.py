"""`slimg estimate FILES` beside what `slimg fit` of the same files then takes.

Files are those of reading.py: n nodes with ids of text and 30 columns of numbers, a tenth of them labelled, 10 n edges, CSV.
Both commands are run as a user types them, in processes of their own, one after the other. Memory is the peak of resident memory
of the whole process. The constants of `slimg.components.estimate` were set on these files, so the factors say how well one
formula fits five sizes, not how it does on other tables.

    python benchmarks/estimate_files.py [--nodes 10000,30000,100000,300000,1000000] [--again]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from reading import generate
from records import read, write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=lambda text: [int(each) for each in text.split(",")],
                        default=[10_000, 30_000, 100_000, 300_000, 1_000_000])  # fmt: skip
    parser.add_argument("--again", action="store_true", help="estimate anew, beside a fit that was measured before")
    options, results = parser.parse_args(), read("estimate_files").get("results", {})
    for n in options.nodes:
        with tempfile.TemporaryDirectory() as folder:
            generate(n, 10 * n, Path(folder))
            before = results.get(f"{n:,} nodes") if options.again else None
            results[f"{n:,} nodes"] = compared(Path(folder), before and before["fit"])
        write("estimate_files", {"protocol": __doc__.split("\n\n")[1], "results": results})
        print(n, json.dumps(results[f"{n:,} nodes"]), flush=True)


def compared(folder: Path, fit: dict[str, Any] | None = None) -> dict[str, Any]:
    files, load = ["--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "label", "--json"], os.getloadavg()[0]
    told = run(folder, "estimate", *files)[0]["engines"]["memory"]
    if fit is None:
        said, seconds, peak, cpu = run(folder, "fit", *files, "--engine", "memory")
        stages = {name: round(value, 1) for name, value in said["seconds"].items()}
        fit = {"memory": peak, "seconds": round(seconds, 1), "processor seconds": round(cpu, 1), "stages": stages}
    return {
        "estimate": {"memory": told["memory"], "seconds": round(told["seconds"], 1), "reading": round(told["reading"], 1),
                     "page": round(told["page"], 1)},
        "fit": fit,
        "memory, estimate / fit": round(told["memory"] / fit["memory"], 2),
        "time, estimate / fit": round(told["seconds"] / fit["seconds"], 2),
        "load average before": round(load, 1),
    }  # fmt: skip


def run(folder: Path, *words: str) -> tuple[Any, float, int, float]:
    """What a command prints, seconds, bytes at the peak, and processor seconds."""
    begun = time.perf_counter()
    with subprocess.Popen([sys.executable, "-m", "slimg", *words], cwd=folder, stdout=subprocess.PIPE) as process:
        printed = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"slimg {' '.join(words)} failed")
    return json.loads(printed), time.perf_counter() - begun, 1024 * used.ru_maxrss, used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
