"""Make the Debian graph from this machine's package index: `python -m examples.debian.build`.

Nodes   packages that Debian's own task and blend packages pull in: the closure of every package of section `tasks` or
        `metapackages` under Pre-Depends, Depends and Recommends. Of these, the packages of the ten largest sections
        that name a subject. Sections that a package is given for its role (-dev, -doc, ...) or its language (python3-*,
        lib*-perl, ...) are left out, since naming policy alone decides them.
Edges   package → other for each of the eight relations of RELATIONS, between two kept packages. Versions are dropped; of the
        alternatives `a | b` the first that is a real package counts, the one apt would install. No hub is removed.
        Names that are no package (virtual ones, packages of earlier releases) have no node and so no edge.
Words   lower-cased words of the one-line description, counted; not the package's name, Section, or debtags, whose
        facets (game::, sound::, role::shared-lib) repeat the section. Words in fewer than three packages are dropped.
Maintainer   its name without the address, when it maintains at least five kept packages, otherwise missing.

The index is that of the release itself, without its updates and security updates, so that the result depends on the point
release alone: packages and edges are sorted, and nothing is random.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
HELPER = Path("/usr/lib/apt/apt-helper")  # part of apt; reads compressed indices
ENTRY_SECTIONS = {"tasks", "metapackages"}
ROLE_SECTIONS = {"libdevel", "doc", "debug", "oldlibs", "introspection", "localization", "tasks", "metapackages"}
LANGUAGE_SECTIONS = {
    *("cli-mono", "fonts", "gnu-r", "golang", "haskell", "interpreters", "java", "javascript", "lisp", "ocaml"),
    *("perl", "php", "python", "ruby", "rust", "zope"),
}
SECTIONS_KEPT = 10
RELATIONS = ("Pre-Depends", "Depends", "Recommends", "Suggests", "Enhances", "Breaks", "Conflicts", "Provides")
INSTALLED = RELATIONS[:3]  # what apt installs with a package
MIN_PACKAGES_PER_WORD = 3
MIN_PACKAGES_PER_MAINTAINER = 5
FUNCTION_WORDS = {
    *("an", "and", "are", "as", "at", "be", "by", "can", "for", "from", "in", "into", "is", "it", "its", "not", "of"),
    *("on", "or", "other", "that", "the", "this", "to", "used", "using", "via", "which", "with", "you", "your"),
}

Package = dict[str, str]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Make the Debian graph from this machine's package index.")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for packages.parquet and relations.parquet")
    out: Path = parser.parse_args(arguments).out
    index = read_index(dump_index())
    names = choose_packages(index)
    packages, relations = tables(index, names)
    out.mkdir(parents=True, exist_ok=True)
    for table, name in ((packages, "packages.parquet"), (relations, "relations.parquet")):
        pq.write_table(table, out / name, compression="zstd", compression_level=19)
        print(f"{out / name}: {table.num_rows:,} rows, {(out / name).stat().st_size:,} bytes")
    print(f"from an index of {len(index):,} packages")


def dump_index() -> str:
    """The index of the release's component main, as text in the format of a Packages file."""
    if shutil.which("apt-get") is None or not HELPER.exists():
        sys.exit("build.py reads the package index with apt-get and apt-helper, which this machine lacks: run it on Debian")
    wanted = ["Created-By: Packages", "Origin: Debian", "Label: Debian", "Component: main"]
    listed = _output("apt-get", "indextargets", "--format", "$(CODENAME) $(FILENAME)", *wanted)
    files = [file for codename, file in map(str.split, listed.splitlines()) if "-" not in codename]  # not bookworm-updates
    if not files:
        sys.exit("build.py found no package index of a Debian release: run apt-get update")
    return _output(str(HELPER), "cat-file", *files)


def _output(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def read_index(text: str) -> dict[str, Package]:
    """Packages of Debian's main archive by name; of two entries with one name the first counts."""
    index: dict[str, Package] = {}
    for paragraph in text.split("\n\n"):
        fields = read_fields(paragraph)
        if "Package" in fields and fields.get("Filename", "").startswith("pool/main/"):
            index.setdefault(fields["Package"], fields)
    return index


def read_fields(paragraph: str) -> Package:
    """Field names and values; continuation lines are dropped from Description, whose first line is the summary."""
    fields: Package = {}
    name = ""
    for line in paragraph.splitlines():
        if line[:1] in (" ", "\t"):
            if name and name != "Description":
                fields[name] += line
        elif ":" in line:
            name, value = line.split(":", 1)
            fields[name] = value.strip()
    return fields


def links(package: Package, index: dict[str, Package], relations: Iterable[str] = INSTALLED) -> set[str]:
    """Packages that this one names in the given fields: for each clause, the first alternative that exists."""
    found = set()
    for field in relations:
        for clause in package.get(field, "").split(","):
            names = (re.match(r"\s*([a-z0-9][a-z0-9+.-]*)", choice) for choice in clause.split("|"))
            real = next((match[1] for match in names if match and match[1] in index), None)
            if real is not None:
                found.add(real)
    return found - {package["Package"]}


def choose_packages(index: dict[str, Package]) -> list[str]:
    """Names of the packages to keep, sorted."""
    entries = {name for name, package in index.items() if package.get("Section") in ENTRY_SECTIONS}
    reached, frontier = set(entries), list(entries)
    while frontier:
        new = links(index[frontier.pop()], index) - reached
        reached |= new
        frontier.extend(new)
    sections = Counter(index[name].get("Section", "") for name in reached)
    subjects = [(-count, name) for name, count in sections.items() if name not in ROLE_SECTIONS | LANGUAGE_SECTIONS]
    kept = {name for _, name in sorted(subjects)[:SECTIONS_KEPT]}
    return sorted(name for name in reached if index[name].get("Section") in kept)


def tables(index: dict[str, Package], names: list[str]) -> tuple[pa.Table, pa.Table]:
    """packages (name, section, maintainer, words) and relations (package, relation, other), both sorted."""
    words = [summary_words(index[name].get("Description", "")) for name in names]
    packages_with = Counter(word for row in words for word in set(row))
    maintainers = [index[name].get("Maintainer", "").split(" <")[0].strip('" ') for name in names]
    maintained = Counter(maintainers)
    packages = pa.table(
        {
            "name": names,
            "section": [index[name]["Section"] for name in names],
            "maintainer": [who if maintained[who] >= MIN_PACKAGES_PER_MAINTAINER else None for who in maintainers],
            "words": [sorted(word for word in row if packages_with[word] >= MIN_PACKAGES_PER_WORD) for row in words],
        }
    )
    kept = set(names)
    rows = sorted((name, relation, other) for name in names for relation in RELATIONS
                  for other in links(index[name], index, [relation]) & kept)  # fmt: skip
    columns = ("package", "relation", "other")
    relations = pa.table({name: pa.array([row[k] for row in rows], pa.string()) for k, name in enumerate(columns)})
    return packages, relations


def summary_words(summary: str) -> list[str]:
    """Words of two or more characters that are not function words: `c++` and `mp3` count, `2d` and `a` do not."""
    return [word for word in re.findall(r"[a-z][a-z0-9+#]+", summary.lower()) if word not in FUNCTION_WORDS]


if __name__ == "__main__":
    main()
