"""Three worked cases: `python -m examples.cases.run [homophily heterophily no-help]`.

    homophily     packages of four subjects; those that need one another tend to share the subject
    heterophily   programs and data packages, and which needs the data of which: mostly a program, hardly ever other data
    no-help       the packages of the first case with edges that were drawn at random (made up, and named so)

Nodes, labels and words are Debian's (`examples/debian`), and so are the edges of the first two. Each case is written as two
CSV files and given to `slimg fit`, as a user would; seven of ten labels are hidden.
"""

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from examples.debian.build import INSTALLED
from examples.debian.load import HERE
from slimg import cli
from slimg.io.write import write_table

SUBJECTS = ("games", "science", "sound", "text")
KNOWN = 0.3

Tables = tuple[pd.DataFrame, pd.DataFrame]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Three worked cases: does the graph help?")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)} (default: all)")
    parser.add_argument("--out", type=Path, default=Path("out/cases"), help="folder, one folder per case in it")
    options = parser.parse_args(arguments)
    return max(run(name, options.out / name) for name in options.cases or CASES)


def run(name: str, folder: Path) -> int:
    """Write the files of a case and fit them; the exit code."""
    nodes, edges = CASES[name]()
    truth = nodes["label"].copy()
    nodes["label"] = truth.where(np.random.default_rng(0).random(len(nodes)) < KNOWN, "")
    write_table(nodes, folder / "nodes.csv")
    write_table(edges, folder / "edges.csv")
    words = ["fit", "--edges", str(folder / "edges.csv"), "--nodes", str(folder / "nodes.csv"), "--id", "name",
             "--label", "label", "--title", f"Worked case: {name}", "--out", str(folder), "--force"]  # fmt: skip
    print(f"\n$ slimg {shlex.join(words)}", flush=True)
    code = cli.main(words)
    if code == 0:
        found = pd.read_csv(folder / "predictions.csv", keep_default_na=False)
        hidden = (found["label"] == "").to_numpy()
        right = np.mean(found["prediction"].to_numpy()[hidden] == truth.to_numpy()[hidden])
        print(f"On the {hidden.sum():,} labels that were hidden: {right:.1%} right.")
    return code


def homophily() -> Tables:
    """Packages of four subjects and what they need among themselves."""
    packages, depends = debian()
    chosen = packages[packages["section"].isin(SUBJECTS)].rename(columns={"section": "label"})
    return chosen, among(depends, chosen)


def heterophily() -> Tables:
    """Data packages, what needs them, and these needs."""
    packages, depends = debian()
    is_data = packages["name"].str.endswith("-data")
    data = packages["name"][is_data]
    programs = depends.loc[depends["target"].isin(data) & ~depends["source"].isin(data), "source"]
    chosen = packages[is_data | packages["name"].isin(programs)].drop(columns="section")
    chosen.insert(1, "label", np.where(chosen["name"].isin(data), "data", "program"))
    return chosen, among(depends[depends["target"].isin(data)], chosen)


def no_help() -> Tables:
    """The nodes of the first case, and as many edges between two of them drawn at random."""
    nodes, edges = homophily()
    rng = np.random.default_rng(0)
    names = nodes["name"].to_numpy()
    ends = rng.integers(0, len(names), (2, len(edges)))
    return nodes, pd.DataFrame({"source": names[ends[0]], "target": names[ends[1]]})


def debian() -> Tables:
    """Packages (name, section, words as one text) and their needs (source, target)."""
    packages = pd.read_parquet(HERE / "packages.parquet").drop(columns="maintainer")
    packages["words"] = packages["words"].map(" ".join)
    relations = pd.read_parquet(HERE / "relations.parquet").rename(columns={"package": "source", "other": "target"})
    return packages, relations.loc[relations["relation"].isin(INSTALLED), ["source", "target"]].drop_duplicates()


def among(depends: pd.DataFrame, nodes: pd.DataFrame) -> pd.DataFrame:
    return depends[depends["source"].isin(nodes["name"]) & depends["target"].isin(nodes["name"])]


CASES: dict[str, Callable[[], Tables]] = {"homophily": homophily, "heterophily": heterophily, "no-help": no_help}

if __name__ == "__main__":
    sys.exit(main())
