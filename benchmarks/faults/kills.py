"""SIGKILL at random moments of ``slimg fit --force`` into a folder with an earlier result: is the folder whole?

    python -m benchmarks.faults.kills [--kills 100] [--seed 0] [--record]

Two fits of the same people differ in the name of the node table, which all four files hold: predictions in a column, model
and record and page among what was read. After each kill the four must tell the same name. At the end one more fit runs to
its end: it must leave nothing but the folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from slimg.inference.model_file import read_model

NAMES = "first", "second"


def make_tables(folder: Path) -> None:
    """The tables first.csv and second.csv of 240 people, and their friends."""
    from slimg.cli.demo import synthetic

    people, friends = synthetic()
    friends.to_csv(folder / "friends.csv", index=False)
    for name in NAMES:
        people.assign(table=name).to_csv(folder / f"{name}.csv", index=False)


def command(*words: str, cwd: Path) -> subprocess.Popen[bytes]:
    """The command line as a person starts it."""
    output = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-m", "slimg", *words], cwd=cwd, stdout=output, stderr=output)


def fit(start: Callable[..., Any], folder: Path, name: str) -> Any:
    """``slimg fit --force`` of one of the tables into the folder ``out``."""
    words = ["fit", "--edges", "friends.csv", "--nodes", f"{name}.csv", "--label", "club", "--id", "name",
             "--ignore", "table", "--out", "out", "--force", "--json", "--no-measure-fold-in"]  # fmt: skip
    return start(*words, cwd=folder)


def told(out: Path) -> tuple[str, ...]:
    """The name of the table in each of the four files."""
    header, _ = read_model(out / "model.slimg")
    record, page = json.loads((out / "record.json").read_text()), (out / "report.html").read_text()
    return (
        pd.read_csv(out / "predictions.csv")["table"].iloc[0],
        header["data"]["reading"]["options"]["nodes"][0].removesuffix(".csv"),
        record["read"]["files"]["nodes"].removesuffix(".csv"),
        *(name for name in NAMES if f"{name}.csv" in page),
    )


def kill_at(process: Any, seconds: float) -> int:
    """Kill a fit after some seconds, and give its exit code (0 if it had ended)."""
    try:
        return int(process.wait(seconds))
    except (subprocess.TimeoutExpired, TimeoutError):
        process.send_signal(signal.SIGKILL)
        return int(process.wait())


def run(folder: Path, kills: int, seed: int, start: Callable[..., Any] = command) -> dict[str, object]:
    """Kill ``kills`` fits, half of them in the last quarter of their time, and count what the folder holds.

    ``start`` starts the command line in a folder, as `command` does.
    """
    make_tables(folder)
    assert fit(start, folder, NAMES[0]).wait() == 0
    begun = time.perf_counter()
    assert fit(start, folder, NAMES[0]).wait() == 0
    whole, rng, counts = time.perf_counter() - begun, np.random.default_rng(seed), Counter[str]()
    for number in range(kills):
        before = told(folder / "out")[0]
        name = NAMES[(NAMES.index(before) + 1) % 2]
        code = kill_at(fit(start, folder, name), whole * (rng.uniform(0.75, 1.1) if number % 2 else rng.uniform(0, 1)))
        found = told(folder / "out")
        state = "mixed" if len(set(found)) > 1 else "new" if found[0] == name else "earlier"
        counts[f"{state}, {'ended' if code == 0 else 'killed'}"] += 1
    assert fit(start, folder, NAMES[0]).wait() == 0
    left = sorted(set(os.listdir(folder)) - {"out", "friends.csv", *(f"{name}.csv" for name in NAMES)})
    inside = sorted(set(os.listdir(folder / "out")) - {"predictions.csv", "model.slimg", "record.json", "report.html"})
    return {"kills": kills, **dict(sorted(counts.items())), "left over after the next run": left + inside}


def main() -> None:
    """Run and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        found = run(folder, args.kills, args.seed)
    finally:
        shutil.rmtree(folder)
    if args.record:
        from benchmarks import records

        kept = {**found, "seed": args.seed, "commit": records.environment()["commit"]}
        records.write("faults", {**records.read("faults"), "kills of fit --force": kept})
    print("| what | fits |\n|---|---|")
    print("\n".join(f"| {what} | {number} |" for what, number in found.items()))


if __name__ == "__main__":
    main()
