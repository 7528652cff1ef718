"""The import graph of slimg: which room imports which, read from the source.

    python tools/imports.py              the imports that go against the order of the rooms
    python tools/imports.py SCRIPT       the modules of slimg that a line of Python loads, such as "from slimg import SlimG"
"""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[1] / "src" / "slimg"
ORDER = (
    *("shared", "graph", "io", "engine", "linalg", "components"),
    *("learn", "classifier", "inference", "explain", "report", "cli"),
    *("lab.shared", "lab.propagators", "lab.baselines", "lab.sanity", "lab.gnnexp", "lab.datasets", "lab.bench", "lab"),
)
"""Rooms in the order of the flow of data: a room imports from itself and from those before it.

A method may import a later room when it is called: a fitted model predicts, explains and draws. In the laboratory none may.
"""
FILES = {**dict.fromkeys(("base", "classifier", "pipeline"), "classifier"), "__main__": "cli"}
"""Rooms of modules at the top; the others (errors, progress, system, …) are ``shared`` and import only one another."""
MOVED = {"slimg.graph.disk", "slimg.propagate"}
"""Modules that only name a new place."""


class Import(NamedTuple):
    """One import of one module of slimg by another.

    Attributes
    ----------
    importer, imported : str
        Dotted names.
    line : int
        Where the import stands.
    when : str
        ``"module"``, ``"function"`` (when it is called) or ``"types"`` (for type checkers alone).
    """

    importer: str
    imported: str
    line: int
    when: str


def room(module: str) -> str:
    """Name the room of a module.

    Parameters
    ----------
    module : str
        Dotted name.

    Returns
    -------
    str
        One of `ORDER`.
    """
    part = [*module.split("."), ""][1]
    if part == "lab":
        return ".".join(module.split(".")[1:3])
    return FILES.get(part, part if part in ORDER else "shared")


@functools.cache
def imports() -> list[Import]:
    """Read all imports of slimg by slimg.

    Returns
    -------
    list of Import
        In the order of files and lines.
    """
    modules = {_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
    found = []
    for name, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node, when in _walk(tree, "module"):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else _from(node, modules)
            found += [Import(name, each, node.lineno, when) for each in names if each.split(".")[0] == "slimg"]
    return found


def against_the_order() -> list[str]:
    """Find the imports at module level that go against `ORDER`, and any import of the laboratory outside it.

    Returns
    -------
    list of str
        ``importer:line imports module``.
    """
    wrong = []
    for each in imports():
        here, there = room(each.importer), room(each.imported)
        if each.importer in {"slimg", *MOVED} or each.imported == "slimg":
            continue
        strict = each.when == "module" or there.startswith("lab")
        if strict and ORDER.index(there) > ORDER.index(here):
            wrong.append(f"{each.importer}:{each.line} imports {each.imported}")
    return wrong


def loaded(script: str) -> list[str]:
    """List the modules of slimg that a script loads, in a fresh interpreter.

    Parameters
    ----------
    script : str
        Python code.

    Returns
    -------
    list of str
        Dotted names, sorted.
    """
    script += "\nimport sys\nprint(*sorted(name for name in sys.modules if name.split('.')[0] == 'slimg'))"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()


def _name(path: Path) -> str:
    parts = ("slimg", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _from(node: ast.ImportFrom, modules: dict[str, Path]) -> list[str]:
    """The modules of ``from X import a, b``: X.a where that is a module, else X."""
    home = node.module or ""
    return sorted({f"{home}.{alias.name}" if f"{home}.{alias.name}" in modules else home for alias in node.names})


def _walk(tree: ast.AST, when: str) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, when
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from _walk(node, "function" if when == "module" else when)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for child in node.body:
                yield from _walk(ast.Module([child], []), "types")
            for child in node.orelse:
                yield from _walk(ast.Module([child], []), when)
        else:
            yield from _walk(node, when)


if __name__ == "__main__":
    answer = loaded(sys.argv[1]) if len(sys.argv) > 1 else against_the_order()
    print(*answer, sep="\n")
    print(len(answer), "modules" if len(sys.argv) > 1 else "imports against the order", file=sys.stderr)
