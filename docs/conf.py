"""The documentation site: `make docs` builds it into build/docs.

Guides are copied from the package (src/slimg/guides), and the pages of the API are made from the ``__all__`` of each
package, so that neither can lag behind. Formulas are plain text: the site needs no script from elsewhere.
"""

import importlib
import shutil
import sys
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import slimg  # noqa: E402
from tools.check_docstrings import packages  # noqa: E402

project, author, copyright = "slimg", "the authors of slimg", "the authors of slimg; Apache-2.0"
version = release = slimg.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser"]
exclude_patterns = ["notes/README.md"]
templates_path = ["templates"]

html_theme = "pydata_sphinx_theme"
html_title = "slimg"
html_theme_options = {"navigation_depth": 2, "show_toc_level": 2, "secondary_sidebar_items": ["page-toc"]}
html_sidebars = {page: [] for page in ("index", "gallery", "mathematics")}  # pages without pages below them
html_show_sourcelink = False
html_extra_path = [str(ROOT / "src" / "slimg" / "guides" / "llms.txt")]

myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]  # links into the repository; tests/test_guides.py checks every link
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections have the types
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()  # tools/check_docstrings.py


def copy_guides() -> None:
    """Put the guides of the package beside the other pages."""
    shutil.rmtree(DOCS / "guides", ignore_errors=True)
    shutil.copytree(ROOT / "src" / "slimg" / "guides", DOCS / "guides", ignore=shutil.ignore_patterns("llms.txt"))


def public_names() -> dict[str, list[str]]:
    """Package → the names in its ``__all__``; a name of several packages is listed in the first."""
    found: dict[str, list[str]] = {}
    seen: set[int] = set()
    for package in packages("slimg"):
        module = importlib.import_module(package)
        names = []
        for name in module.__all__:
            value = getattr(module, name)
            documented = callable(value) and getattr(value, "__module__", "").startswith("slimg")
            if documented and not isinstance(value, ModuleType) and id(value) not in seen:
                seen.add(id(value))
                names.append(name)
        found[package] = names
    return {package: names for package, names in found.items() if names}


def write_api() -> None:
    """One page that lists every public name by package; autosummary makes a page for each."""
    lines = ["# API", "", "Every name in the `__all__` of a package; anything else is internal.", ""]
    for package, names in public_names().items():
        summary = (importlib.import_module(package).__doc__ or "").strip().splitlines()[0]
        lines += [f"## {package}", "", summary, "", "```{eval-rst}", f".. currentmodule:: {package}", "",
                  ".. autosummary::", "   :toctree: api", "", *(f"   {name}" for name in names), "```", ""]  # fmt: skip
    text = "\n".join(lines)
    path = DOCS / "api.md"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


copy_guides()
write_api()
