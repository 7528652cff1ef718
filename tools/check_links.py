"""Check every link of the built documentation that stays inside it: the page, the picture and the anchor are there.

    python tools/check_links.py [build/docs]

Links to other sites are not opened. `make docs` runs it.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from slimg.graph.columns import number_of

ROOT = Path(__file__).resolve().parents[1]


class Page(HTMLParser):
    """The links of a page, and the anchors that others may point to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")


def broken_links(folder: Path) -> list[str]:
    """Links that lead nowhere, each as ``page: link``."""
    folder = folder.resolve()
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}  # the theme's own
    found = []
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            known = pages[target].anchors if target in pages else {"", unquote(parts.fragment)}
            if not target.exists() or unquote(parts.fragment) not in known:
                found.append(f"{path.relative_to(folder)}: {link}")
    return found


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "docs")
    if not folder.is_dir():
        print(f"{folder} does not exist: run make docs")
        return 2
    found = broken_links(folder)
    print(*found, f"{number_of(len(found), 'broken link')} in {folder}", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
