"""Make the gallery: fit real graphs as a user would, and take a picture of each page.

    python tools/gallery.py [NAME …] [--out out/gallery]

Each case is written as the files that a user would have, with 95 % of the labels hidden, and given to `slimg fit`. The pages
stay in ``--out``; pictures go to docs/gallery, the one of README to docs/page.webp, and docs/gallery.md is written from the
records once all cases are there. Published graphs are read from SLIMG_DATA; a case whose files are missing is left out, with
a word. Needs chromium.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "report"), str(ROOT / "tests" / "io")]

from browser import Browser  # noqa: E402
from PIL import Image  # noqa: E402
from shop import make_shop, write_sqlite  # noqa: E402

from examples.debian.load import HERE as DEBIAN  # noqa: E402
from examples.debian.load import load  # noqa: E402
from slimg import cli  # noqa: E402
from slimg.graph.splits import stratified  # noqa: E402
from slimg.lab import datasets  # noqa: E402

DOCS = ROOT / "docs"
DATA = Path(os.environ.get("SLIMG_DATA") or ROOT.parent / "shared" / "data")
KNOWN = 0.05
MOST_BYTES = 60_000
README_CASE = "wordnet"
INTRODUCTION = """The tops of finished pages; 5 % of the labels are known, in the shop two thirds. `python tools/gallery.py NAME`
writes the files, runs the command and takes the picture; the page is then `out/gallery/NAME/out/report.html`."""


@dataclass(frozen=True)
class Case:
    """A graph, its files, and the options of the command."""

    title: str
    about: str
    write: Callable[[Path], list[str]]


def published(name: str) -> Callable[[Path], list[str]]:
    """Files of a graph of `slimg datasets`."""
    def write(folder: Path) -> list[str]:
        graph = datasets.load(name, root=DATA)
        ends = sparse.triu(graph.adjacency.to_scipy()).tocoo().coords
        return arrays(folder, np.stack(ends, 1), graph.features, np.asarray(graph.labels))

    return write


def arrays(folder: Path, edges: Any, features: Any, labels: Any) -> list[str]:
    """edges.csv, nodes.csv and features.npz."""
    pd.DataFrame(edges, columns=["source", "target"]).to_csv(folder / "edges.csv", index=False)
    nodes = pd.DataFrame({"node": range(len(labels)), "label": [f"class {label}" for label in labels]})
    hide(nodes, "label").to_csv(folder / "nodes.csv", index=False)
    sparse.save_npz(folder / "features.npz", sparse.csr_array(features))
    return ["--edges", "edges.csv", "--nodes", "nodes.csv", "--feature-matrix", "features.npz", "--id", "node",
            "--label", "label"]  # fmt: skip


def directed_squirrel(folder: Path) -> list[str]:
    raw = np.load(DATA / "directed" / "squirrel_directed.npz")
    return [*arrays(folder, raw["edges"], raw["node_features"], raw["node_labels"]), "--directed"]


def reddit(folder: Path) -> list[str]:
    raw = np.load(DATA / "reddit" / "reddit.npz")
    labels = np.where(raw["y"] > 0, "banned", "kept")
    pd.DataFrame(raw["edges"], columns=["source", "target"]).to_csv(folder / "edges.csv", index=False)
    nodes = pd.DataFrame(raw["x"], columns=[f"x{k}" for k in range(raw["x"].shape[1])])
    nodes.insert(0, "node", range(len(nodes)))
    nodes.insert(1, "state", labels)
    hide(nodes, "state").to_csv(folder / "nodes.csv", index=False)
    return ["--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "state", "--id", "node"]


def debian(folder: Path) -> list[str]:
    shutil.copy(DEBIAN / "relations.parquet", folder / "relations.parquet")
    packages = pd.read_parquet(DEBIAN / "packages.parquet")
    split = stratified(load(), (0.025, 0.025, 0.95), random_state=0)  # as in make run
    packages.loc[split.test, "section"] = None
    packages.to_parquet(folder / "packages.parquet", index=False)
    return ["--edges", "relations.parquet", "--relation", "relation", "--directed", "--nodes", "packages.parquet", "--id", "name",
            "--label", "section"]  # fmt: skip


def wordnet(folder: Path) -> list[str]:
    shutil.copy(DATA / "wordnet" / "edges.csv.gz", folder / "edges.csv.gz")
    nodes = pd.read_csv(DATA / "wordnet" / "nodes.csv.gz", dtype=str, keep_default_na=False)
    hide(nodes, "lexname").to_csv(folder / "nodes.csv.gz", index=False)
    return ["--edges", "edges.csv.gz", "--relation", "relation", "--directed", "--nodes", "nodes.csv.gz", "--id", "synset",
            "--label", "lexname", "--text", "words,gloss"]  # fmt: skip


def shop(folder: Path) -> list[str]:
    (folder / "shop.db").unlink(missing_ok=True)
    write_sqlite(folder / "shop.db", make_shop(1200)[0])
    return ["--db", "shop.db", "--label", "customers.churned", "--ignore", "customers.refund_code"]


CASES = {
    "cora": Case("Cora: homophily", "Papers, their citations and words; the subject", published("cora")),
    "chameleon": Case("Chameleon: heterophily", "Wikipedia articles, links and nouns; the traffic", published("chameleon")),
    "actor": Case("Actor: a graph that does not help", "Actors, who is on a page with whom, words", published("actor")),
    "squirrel": Case("Squirrel: direction", "Wikipedia articles and which links to which; the traffic", directed_squirrel),
    "debian": Case("Debian: eight relations", "Packages, words and maintainers; the section", debian),
    "reddit": Case("Reddit: a rare class", "Users and what they post to; 3.3 % were banned", reddit),
    "shop": Case("A database", "A generated shop in SQLite: customers, orders, items, reviews, friends; who leaves", shop),
    "wordnet": Case("WordNet: many relations, over 100,000 nodes", "Meanings, words and glosses; the topic", wordnet),
}


def hide(nodes: pd.DataFrame, label: str) -> pd.DataFrame:
    """All but `KNOWN` of the labels of each class are emptied, at least two stay."""
    rng = np.random.default_rng(0)
    known = [rng.permutation(rows)[: max(2, round(KNOWN * len(rows)))] for rows in nodes.groupby(label).indices.values()]
    nodes = nodes.copy()
    nodes.loc[np.setdiff1d(np.arange(len(nodes)), np.concatenate(known)), label] = None
    return nodes


def fit(name: str, folder: Path) -> None:
    """Write the files of a case and fit them."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["fit", *CASES[name].write(folder), "--title", CASES[name].title, "--out", "out", "--force"]
    print(f"\n$ slimg {shlex.join(words)}", flush=True)
    before = Path.cwd()
    os.chdir(folder)
    try:
        if cli.main(words):
            raise SystemExit(f"{name} failed")
    finally:
        os.chdir(before)


def pictures(browser: Browser, name: str, page: Path) -> None:
    """The top of a page for the gallery, and for README its summary and its relations."""
    browser.open(page, width=1000, height=900)
    shots = [clip(browser, "body", height=1250)]
    save(shots, DOCS / "gallery" / f"{name}.webp", width=700)
    if name == README_CASE:
        save([clip(browser, "#summary"), clip(browser, "#model h3", height=335)], DOCS / "page.webp", width=900)


def clip(browser: Browser, selector: str, height: float | None = None) -> Image.Image:
    box = browser.run(f"(() => {{ const r = document.querySelector('{selector}').getBoundingClientRect();"
                      " return [r.top + scrollY, r.height]; })()")  # fmt: skip
    area = {"x": 0, "y": box[0], "width": 1000, "height": height or box[1], "scale": 1}
    shot = browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=area)["data"]
    return Image.open(io.BytesIO(base64.b64decode(shot))).convert("RGB")


def save(shots: list[Image.Image], path: Path, width: int) -> None:
    """Stack pictures and write them as WebP of at most `MOST_BYTES`."""
    whole = Image.new("RGB", (max(each.width for each in shots), sum(each.height for each in shots)), "white")
    top = 0
    for each in shots:
        whole.paste(each, (0, top))
        top += each.height
    small = whole.resize((width, round(whole.height * width / whole.width)), Image.Resampling.LANCZOS)
    path.parent.mkdir(exist_ok=True)
    for quality in (80, 65, 50, 35):
        small.save(path, quality=quality, method=6)
        if path.stat().st_size <= MOST_BYTES:
            break
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def gallery(out: Path) -> str:
    """The page of the gallery: for each case what it is, the command and the picture."""
    lines = ["# Gallery", "", INTRODUCTION, ""]
    for name, case in CASES.items():
        folder = out / name / "out"
        megabytes = (folder / "report.html").stat().st_size / 1e6
        read = json.loads((folder / "record.json").read_text(encoding="utf-8"))["read"]
        sizes = f"{read['nodes']:,} nodes, {read['edges']:,} edges, {read['labelled']:,} labelled; a page of {megabytes:.1f} MB."
        picture = f"![The page of {name}](gallery/{name}.webp)"
        command = " \\\n      ".join(textwrap.wrap(read["command"].removesuffix(" --force"), 100, break_on_hyphens=False))
        lines += [f"## {case.title}", "", f"{case.about}. {sizes}", "", f"    {command}", "", picture, ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(CASES)} (default: all)")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "gallery", help="folder of the files and pages")
    parser.add_argument("--pages", action="store_true", help="make pages again from the records of earlier fits")
    options = parser.parse_args()
    out = options.out.resolve()
    browser = Browser()
    for name in options.names or CASES:
        try:
            if options.pages:
                cli.main(["report", str(out / name / "out"), "--force"])
            else:
                fit(name, out / name)
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}")
            continue
        pictures(browser, name, out / name / "out" / "report.html")
    browser.close()
    if all((out / name / "out" / "report.html").exists() for name in CASES):
        (DOCS / "gallery.md").write_text(gallery(out), encoding="utf-8")


if __name__ == "__main__":
    main()
