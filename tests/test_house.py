"""The order of imports, what an import loads, and the size of the package."""

import ast
import re

from tools.count_lines import LIMITS, code_lines, count, totals
from tools.imports import MOVED, SOURCE, against_the_order, imports, loaded, room


def test_rooms_import_only_from_those_before_them_and_never_from_the_laboratory():
    assert against_the_order() == []


def test_the_import_graph_is_seen_at_all():
    """The two tests above and below are worth nothing if the reader of imports overlooks them."""
    found = imports()
    assert {(each.importer, each.imported, each.when) for each in found} >= {
        ("slimg", "slimg.classifier", "types"),
        ("slimg.pipeline", "slimg.errors", "module"),
    }
    assert {room(each.importer) for each in found} >= {"lab.baselines", "lab.sanity", "lab.bench"}
    assert any(room(each.importer) == "lab.baselines" and room(each.imported) == "classifier" for each in found)


def test_nobody_uses_a_former_path():
    assert [each for each in imports() if each.imported in MOVED] == []


def test_slimg_loads_few_modules():
    modules = loaded("from slimg import SlimG")
    assert not any(name.startswith(("slimg.lab", "slimg.cli")) for name in modules)
    assert len(modules) <= 55, modules


def test_a_fit_of_the_command_line_loads_few_modules(tmp_path):
    edges = "".join(f"{i},{(i + step) % 24}\n" for i in range(24) for step in (1, 4))
    (tmp_path / "edges.csv").write_text(f"source,target\n{edges}")
    (tmp_path / "nodes.csv").write_text("id,label,x\n" + "".join(f"{i},{'ab'[i % 2]},{i % 4}\n" for i in range(24)))
    files = {name: str(tmp_path / f"{name}.csv") for name in ("edges", "nodes")}
    words = ["fit", "--edges", files["edges"], "--nodes", files["nodes"], "--label", "label"]
    call = f"main({[*words, '--out', str(tmp_path / 'out'), '--json']})"
    quiet = "import contextlib, io\nfrom slimg.cli import main\nwith contextlib.redirect_stdout(io.StringIO()):\n    "
    modules = loaded(quiet + call)
    assert "slimg.report.page" in modules and (tmp_path / "out" / "report.html").exists(), "it was fitted and written"
    assert not any(name.startswith("slimg.lab") for name in modules)
    assert len(modules) <= 60, modules


def test_the_package_stays_small():
    found = totals(count())
    assert {what: found[what] for what in LIMITS if found[what] > LIMITS[what]} == {}


def test_lines_of_code_are_those_without_docstrings_comments_and_blanks(tmp_path):
    path = tmp_path / "file.py"
    path.write_text('"""Two\nlines."""\n\nx = 1  # why\n# alone\n\n\ndef f():\n    """One."""\n    return """a\nb"""\n')
    assert code_lines(path) == 4


def test_a_built_package_has_every_file():
    """Templates, styles and tables are named in pyproject.toml, not only seen by an editable installation."""
    text = (SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    patterns = ast.literal_eval(re.search(r"package-data\]\nslimg = (\[.*?\])", text)[1])
    packed = {path for pattern in patterns for path in SOURCE.glob(pattern)}
    files = {path for path in SOURCE.rglob("*") if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts}
    assert files - packed == set()
