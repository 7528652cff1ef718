"""``slimg demo``: make two small files and fit them, to see what slimg does.

    slimg demo

writes people.csv and friends.csv (synthetic: 240 people of three clubs; the club of a third of them is known) into the
folder slimg-demo, runs slimg fit on them, and prints a command to try next.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from slimg import cli
from slimg.cli import echo
from slimg.io import refuse_existing

PEOPLE = 240
CLUBS = {"chess": ("board", "opening", "clock"), "climbing": ("rope", "wall", "chalk"), "choir": ("tenor", "score", "chord")}
SHARED = ("friend", "evening", "club", "weekend", "member")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = cli.add_command(subparsers, "demo", __doc__, run)
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("slimg-demo"), help="folder (default: slimg-demo)")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    return parser


def run(args: argparse.Namespace) -> int:
    """Write the files, fit, print what to try."""
    from slimg.io.write import write_table

    people, friends = synthetic()
    files = {args.out / "people.csv": people, args.out / "friends.csv": friends}
    refuse_existing(list(files), args.force)
    for path, frame in files.items():
        write_table(frame, path)
    words = ["fit", "--edges", str(args.out / "friends.csv"), "--nodes", str(args.out / "people.csv"), "--label", "club",
             "--id", "name", "--out", str(args.out / "out"), *(["--force"] if args.force else [])]  # fmt: skip
    echo(f"Made {len(people)} people and {len(friends)} friendships. Now: slimg {' '.join(words)}", "")
    code = cli.main(words)
    if code == 0:
        echo("", f"Try: slimg explain {people['name'][0]} --model {args.out / 'out' / 'model.slimg'}")
    return code


def synthetic() -> tuple[Any, Any]:
    """People with an age, a text and (a third of them) a club; friendships, two thirds of which are within a club.

    Returns
    -------
    people, friends : DataFrame
    """
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    clubs = np.array(list(CLUBS))
    club = rng.integers(0, len(clubs), PEOPLE)
    every = [word for words in CLUBS.values() for word in words]
    texts = [" ".join([*rng.choice(CLUBS[clubs[c]], 1), *rng.choice(every, 2), *rng.choice(SHARED, 2)]) for c in club]
    names = np.array([f"person-{number:03}" for number in range(PEOPLE)])
    known = rng.random(PEOPLE) < 1 / 3
    people = pd.DataFrame(
        {
            "name": names,
            "club": np.where(known, clubs[club], ""),
            "age": (rng.normal(35, 9, PEOPLE) + 4 * club).round().astype(int),
            "says": texts,
        }
    )
    first = rng.integers(0, PEOPLE, 4 * PEOPLE)
    alike = np.array([rng.choice(np.flatnonzero(club == club[person])) for person in first])
    second = np.where(rng.random(len(first)) < 2 / 3, alike, rng.integers(0, PEOPLE, len(first)))
    kept = first != second
    return people, pd.DataFrame({"source": names[first[kept]], "target": names[second[kept]]})
