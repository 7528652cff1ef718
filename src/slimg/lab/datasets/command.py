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
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import slimg.lab.datasets as datasets
from slimg.cli import add_command
from slimg.errors import InputError
from slimg.lab.datasets import loader
from slimg.lab.shared.tables import Table

SIZES = ("nodes", "edges", "features", "classes")
LEGEND = (
    "Ours, measured; in brackets the paper's where it differs or where the files are absent.",
    "Homophily: share of the edges whose ends have the same class, measured.",
)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "datasets", __doc__)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listed = actions.add_parser("list", help="all graphs, and whether their files are here")
    listed.set_defaults(run=_list)
    got = actions.add_parser("get", help="download, check and keep the files of a graph")
    got.add_argument("names", nargs="+", metavar="NAME")
    got.add_argument("--to", metavar="FOLDER", help="folder that holds one folder per graph (default: the user's cache)")
    got.set_defaults(run=_get)
    shown = actions.add_parser("info", help="what is known of a graph, measured where its files are here")
    shown.add_argument("names", nargs="*", metavar="NAME")
    shown.add_argument("--all", action="store_true", help="every graph")
    shown.set_defaults(run=_info)
    for each in (listed, shown):
        each.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _list(args: argparse.Namespace) -> int:
    found = [datasets.info(name) for name in datasets.names()]
    if args.json:
        print(json.dumps([{"name": each.name, "title": each.title, "present": each.present} for each in found], indent=1))
        return 0
    rows = [[e.name, "present" if e.present else "absent", f"{e.title}: {e.about or e.citation}"] for e in found]
    print(Table(["name", "files", "graph"], rows, align="lll").text(ruled=False))
    return 0


def _get(args: argparse.Namespace) -> int:
    for name in args.names:
        fetched = datasets.fetch(name, args.to)
        print(*fetched.notes, f"{name}: {fetched.folder}", sep="\n")
    return 0


def _info(args: argparse.Namespace) -> int:
    if args.all == bool(args.names):
        raise InputError("`slimg datasets info` takes names of graphs, or --all")
    facts = [_facts(name) for name in (datasets.names() if args.all else args.names)]
    if args.json:
        print(json.dumps(facts if args.all or len(facts) > 1 else facts[0], indent=1, ensure_ascii=False))
    else:
        print(_summary(facts) if args.all else "\n\n".join("\n".join(_page(each)) for each in facts))
    return int(any("fault" in each for each in facts))


def _facts(name: str) -> dict[str, Any]:
    """Everything about one graph as plain values; damaged files are reported and not used."""
    info = datasets.info(name)
    found = loader.find_files(info) or {}
    facts: dict[str, Any] = {key: getattr(info, key) for key in ("name", "title", "about", "citation", "licence")}
    facts |= {"paper": asdict(info.paper) if info.paper else None, "present": bool(found), "measured": None, "notes": []}
    facts["files"] = [_file_facts(each, info.archive, found.get(each.name)) for each in info.files]
    if found:
        try:
            graph = datasets.load(info.name)
            measured = asdict(datasets.Statistics.of(graph))
            facts["measured"] = {key: None if value != value else value for key, value in measured.items()}  # NaN
            facts["notes"] = list(graph.notes)
        except InputError as error:
            facts["fault"] = str(error)
    return facts


def _file_facts(file: datasets.RemoteFile, archive: datasets.RemoteFile | None, path: Path | None) -> dict[str, Any]:
    known = {key: value for key, value in asdict(file).items() if key != "optional"}
    known["address"] = file.address or (archive.address if archive else "")
    known["sha256"] = file.sha256 or (loader.recorded_sum(path, file.name) if path else None)
    return {**known, "path": str(path) if path else None}


def _summary(facts: list[dict[str, Any]]) -> str:
    """One line per graph: ours and, where it differs, the paper's."""
    rows = []
    for each in facts:
        ours, theirs = each["measured"] or {}, each["paper"] or {}
        state = "damaged" if "fault" in each else "present" if each["present"] else "absent"
        cells = [_beside(ours.get(what), theirs.get(what)) for what in SIZES]
        rows.append([each["name"], *cells, _number(ours.get("homophily"), ".2f"), state])
    table = Table(["name", *SIZES, "homophily", "files"], rows, align="lrrrrrl").text(ruled=False)
    faults = [f"{each['name']}: {each['fault']}" for each in facts if "fault" in each]
    return "\n".join([table, "", *LEGEND, *faults])


def _page(facts: dict[str, Any]) -> Iterator[str]:
    yield f"{facts['title']} ({facts['name']})" + (f": {facts['about']}" if facts["about"] else "")
    ours, theirs = facts["measured"] or {}, facts["paper"] or {}
    rows = [[what, _number(ours.get(what)), _number(theirs.get(what))] for what in SIZES]
    rows.append(["homophily", _number(ours.get("homophily"), ".3f"), ""])
    yield from (f"  {line}" for line in Table(["", "ours", "paper"], rows).text(ruled=False).splitlines())
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
        yield f"  damaged: {facts['fault']}"


def _beside(ours: int | None, theirs: int | None) -> str:
    if ours == theirs or theirs is None:
        return _number(ours)
    return f"({theirs:,})" if ours is None else f"{ours:,} ({theirs:,})"


def _number(value: float | None, form: str = ",") -> str:
    return "–" if value is None else format(value, form)
