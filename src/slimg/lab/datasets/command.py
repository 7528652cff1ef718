"""``slimg datasets``: published graphs, their files, and the paper's statistics beside ours.

    slimg datasets list
    slimg datasets get cora
    slimg datasets info cora
    slimg datasets info --all --json

A graph is looked for in $SLIMG_DATA first, then in the user's cache; `get` downloads into the cache.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from slimg.errors import InputError

SIZES = ("nodes", "edges", "features", "classes")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = subparsers.add_parser("datasets", help="published graphs: list, get, info", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    listed = actions.add_parser("list", help="all graphs, and whether their files are here")
    listed.add_argument("--json", action="store_true", help="print JSON")
    listed.set_defaults(run=_list)

    got = actions.add_parser("get", help="download, check and keep the files of a graph")
    got.add_argument("names", nargs="+", metavar="NAME")
    got.add_argument("--to", metavar="FOLDER", help="folder that holds one folder per graph (default: the user's cache)")
    got.set_defaults(run=_get)

    told = actions.add_parser("info", help="what is known of a graph, measured where its files are here")
    told.add_argument("names", nargs="*", metavar="NAME")
    told.add_argument("--all", action="store_true", help="every graph")
    told.add_argument("--json", action="store_true", help="print JSON")
    told.set_defaults(run=_info)
    return parser


def _list(args: argparse.Namespace) -> int:
    from slimg.lab import datasets

    found = [datasets.info(name) for name in datasets.names()]
    if args.json:
        print(json.dumps([{"name": each.name, "title": each.title, "present": each.present} for each in found], indent=1))
        return 0
    width = max(len(each.name) for each in found)
    for each in found:
        state = "present" if each.present else "absent "
        print(f"{each.name:<{width}}  {state}  {each.title}: {each.about or each.citation}")
    return 0


def _get(args: argparse.Namespace) -> int:
    from slimg.lab import datasets

    for name in args.names:
        fetched = datasets.fetch(name, args.to)
        for note in fetched.notes:
            print(note)
        print(f"{name}: {fetched.folder}")
    return 0


def _info(args: argparse.Namespace) -> int:
    from slimg.lab import datasets

    if args.all == bool(args.names):
        raise InputError("`slimg datasets info` takes names of graphs, or --all")
    facts = [_facts(name) for name in (datasets.names() if args.all else args.names)]
    if args.json:
        print(json.dumps(facts if args.all or len(facts) > 1 else facts[0], indent=1, ensure_ascii=False))
    elif args.all:
        print("\n".join(_summary(facts)))
    else:
        print("\n\n".join("\n".join(_page(each)) for each in facts))
    return int(any("fault" in each for each in facts))


def _facts(name: str) -> dict[str, Any]:
    """Everything about one graph as plain values; files that are here but unsound are told and not used."""
    from slimg.lab import datasets
    from slimg.lab.datasets import cache

    info = datasets.info(name)
    files = cache.find(info) or {}
    facts: dict[str, Any] = {
        "name": info.name,
        "title": info.title,
        "about": info.about,
        "citation": info.citation,
        "licence": info.licence,
        "paper": asdict(info.paper) if info.paper else None,
        "present": bool(files),
        "files": [
            {
                "name": each.name,
                "address": each.address or (info.archive.address if info.archive else ""),
                "size": each.size,
                "sha256": each.sha256 or _recorded(files, each.name),
                "contents": each.contents,
                "path": str(files[each.name]) if each.name in files else None,
            }
            for each in info.files
        ],
    }
    try:
        graph = datasets.load(info.name) if files else None
        facts["measured"] = None if graph is None else _finite(asdict(datasets.Statistics.of(graph)))
        facts["notes"] = [] if graph is None else list(graph.notes)
    except InputError as error:
        facts |= {"measured": None, "notes": [], "fault": str(error)}
    return facts


def _recorded(files: dict[str, Any], name: str) -> str | None:
    """The checksum noted at first download."""
    from slimg.lab.datasets import cache, verify

    return verify.recorded_sums(cache.folder_of(files[name], name)).get(name) if name in files else None


def _summary(facts: list[dict[str, Any]]) -> Iterator[str]:
    """One line per graph: ours and, where it differs, the paper's."""
    names = max(len(each["name"]) for each in facts)
    head = "".join(f"{what:>22}" for what in SIZES)
    yield f"{'':<{names}}{head}  homophily  files"
    for each in facts:
        ours, theirs = each["measured"] or {}, each["paper"] or {}
        cells = "".join(f"{_beside(ours.get(what), theirs.get(what)):>22}" for what in SIZES)
        homophily = f"{ours['homophily']:.2f}" if ours.get("homophily") is not None else "–"
        state = "unsound" if "fault" in each else "present" if each["present"] else "absent"
        yield f"{each['name']:<{names}}{cells}  {homophily:>9}  {state}"
    yield ""
    yield "Ours, measured; in brackets the paper's where it differs or where the files are absent."
    yield "Homophily: share of the edges whose ends have the same class, measured."
    yield from (f"{each['name']}: {each['fault']}" for each in facts if "fault" in each)


def _page(facts: dict[str, Any]) -> Iterator[str]:
    yield f"{facts['title']} ({facts['name']})" + (f": {facts['about']}" if facts["about"] else "")
    ours, theirs = facts["measured"] or {}, facts["paper"] or {}
    yield f"  {'':<10}{'ours':>14}{'paper':>14}"
    for what in SIZES:
        yield f"  {what:<10}{_number(ours.get(what)):>14}{_number(theirs.get(what)):>14}"
    homophily = ours.get("homophily")
    yield f"  {'homophily':<10}{'–' if homophily is None else f'{homophily:.3f}':>14}{'':>14}"
    yield from (f"  note: {note}" for note in facts["notes"])
    yield f"  citation: {facts['citation']}"
    yield f"  licence: {facts['licence']}"
    for file in facts["files"]:
        digest = f"SHA-256 {file['sha256']}" if file["sha256"] else ""
        digest = digest or (f"contents {file['contents']}" if file["contents"] else "checksum recorded at first download")
        yield f"  {file['path'] or file['name'] + ' (absent)'}"
        yield f"    {digest}" + (f"; from {file['address']}" if file["address"] else "")
    if not facts["present"]:
        yield f"  absent: get it with `slimg datasets get {facts['name']}`"
    if "fault" in facts:
        yield f"  unsound: {facts['fault']}"


def _beside(ours: int | None, theirs: int | None) -> str:
    if ours == theirs or theirs is None:
        return _number(ours)
    return f"({theirs:,})" if ours is None else f"{ours:,} ({theirs:,})"


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in values.items()}
