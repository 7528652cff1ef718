"""Count lines of code by room: without docstrings, comments and blank lines.

    python tools/count_lines.py

Prints files and lines of each room, of the core, of the laboratory and of everything, beside the limits.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "slimg"
LIMITS = {"files": 190, "core": 17_700, "total": 24_800}
"""Most files, most lines of the core (without ``lab``), most lines in total."""
NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(path: Path) -> int:
    """Count the lines of a file that hold code.

    Parameters
    ----------
    path : Path
        A Python file.

    Returns
    -------
    int
        Lines without docstrings (strings that are statements), comments and blank lines.
    """
    source = path.read_text(encoding="utf-8")
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docstrings.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def count(source: Path = SOURCE) -> dict[str, tuple[int, int]]:
    """Count files and lines of code by room.

    Parameters
    ----------
    source : Path
        The folder of the package.

    Returns
    -------
    dict of str to (int, int)
        Room → its files and lines; the rooms of the laboratory are ``lab/…``.
    """
    rooms: dict[str, tuple[int, int]] = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).parts
        name = "/".join(parts[:2]) if parts[0] == "lab" and len(parts) > 2 else parts[0] if len(parts) > 1 else "(top)"
        files, lines = rooms.get(name, (0, 0))
        rooms[name] = files + 1, lines + code_lines(path)
    return rooms


def totals(rooms: dict[str, tuple[int, int]]) -> dict[str, int]:
    """Add the rooms up.

    Parameters
    ----------
    rooms : dict
        The result of `count`.

    Returns
    -------
    dict of str to int
        ``files``, and lines of code of ``core``, ``lab`` and ``total``.
    """
    lab = sum(lines for name, (_, lines) in rooms.items() if name.split("/")[0] == "lab")
    total = sum(lines for _, lines in rooms.values())
    return {"files": sum(files for files, _ in rooms.values()), "core": total - lab, "lab": lab, "total": total}


if __name__ == "__main__":
    by_room = count()
    for name, (files, lines) in sorted(by_room.items()):
        print(f"{name:16} {files:4} files {lines:7,} lines")
    for name, value in totals(by_room).items():
        limit = f"   at most {LIMITS[name]:,}" if name in LIMITS else ""
        print(f"{name:16} {value:18,}{limit}")
