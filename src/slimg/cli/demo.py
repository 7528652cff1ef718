"""``slimg demo``: two small files and a fit, to see what slimg does.

    slimg demo

writes people.csv and friends.csv (made up: 240 people of three clubs, a third of which are known) into the folder
slimg-demo, runs slimg fit on them, and says what to try next.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from slimg.cli.console import say
from slimg.io.write import refuse_existing, write_table

PEOPLE = 240
CLUBS = {"chess": ("board", "opening", "clock"), "climbing": ("rope", "wall", "chalk"), "choir": ("tenor", "score", "chord")}
SHARED = ("friend", "evening", "club", "weekend", "member")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = subparsers.add_parser("demo", help="two small files and a fit, to see what slimg does", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("slimg-demo"), help="folder (default: slimg-demo)")
    parser.add_argument("--force", action="store_true", help="write over what is there")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Write the files, fit, say what to try."""
    people, friends = made_up()
    files = {args.out / "people.csv": people, args.out / "friends.csv": friends}
    refuse_existing(list(files), args.force)
    for path, frame in files.items():
        write_table(frame, path)
    words = ["fit", "--edges", str(args.out / "friends.csv"), "--nodes", str(args.out / "people.csv"), "--label", "club",
             "--id", "name", "--out", str(args.out / "out"), *(["--force"] if args.force else [])]  # fmt: skip
    say(f"Made up {len(people)} people and {len(friends)} friendships. Now: slimg {' '.join(words)}", "")
    from slimg import cli

    code = cli.main(words)
    if code == 0:
        say("", f"Try: slimg explain {people['name'][0]} --model {args.out / 'out' / 'model.slimg'}")
    return code


def made_up() -> tuple[Any, Any]:
    """People with an age, a text and (a third) a club; friendships, of which two thirds stay within a club."""
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
