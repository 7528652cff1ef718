"""A run on files that is killed at random moments and started again, against one that is left alone: the same bits.

    python benchmarks/scale/kills.py /data/huge --memory 6GB --folder /data/work --kills 3 --write huge

The first run is left alone. Then a run is killed with SIGKILL at ``--kills`` moments drawn from the seconds that the first
one took, and started again each time. Records are kept in benchmarks/results/scale.json: "kills", and the first run in
"mapped".
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import records


def main() -> None:
    options = _options()
    alone = _finished(_start(options, "alone"))
    print("alone", json.dumps(alone), flush=True)
    moments = np.sort(np.random.default_rng(options.seed).uniform(0, alone["seconds"]["all"], options.kills))
    killed = [_killed_after(_start(options, "killed"), seconds) for seconds in np.diff(moments, prepend=0.0)]
    last = _finished(_start(options, "killed"))
    record = {
        "graph": alone["graph"],
        "memory": options.memory,
        "killed at seconds": [round(float(each), 1) for each in moments],
        "was running": killed,
        "seconds of the last start": last["seconds"]["all"],
        "seconds alone": alone["seconds"]["all"],
        "same bits": alone["digests"] == last["digests"],
        "digests": last["digests"],
        "peak": max(alone["peak"], last["peak"]),
        "commit": records.environment()["commit"],
    }
    print(json.dumps(record, indent=1))
    if options.write:
        kept = records.read("scale")
        new = {"kills": record, "mapped": alone}
        records.write("scale", {**kept, **{name: {**kept.get(name, {}), options.write: new[name]} for name in new}})


def _start(options: argparse.Namespace, folder: str) -> subprocess.Popen[str]:
    program = Path(__file__).with_name("mapped.py")
    command = [sys.executable, program, options.graph, "--memory", options.memory, "--folder", options.folder / folder]
    return subprocess.Popen([str(each) for each in command], stdout=subprocess.PIPE, text=True)


def _killed_after(process: subprocess.Popen[str], seconds: float) -> bool:
    """Whether it was still running."""
    time.sleep(seconds)
    running = process.poll() is None
    process.kill()
    process.communicate()
    return running


def _finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"mapped.py ended with code {process.returncode}")
    return json.loads(out.splitlines()[-1])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, help="folder of a graph on disk")
    parser.add_argument("--memory", default="6GB")
    parser.add_argument("--folder", type=Path, required=True, help="where work files go")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", metavar="NAME", help="keep both records under this name, in kills and in mapped")
    return parser.parse_args()


if __name__ == "__main__":
    main()
