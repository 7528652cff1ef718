"""``slimg bench`` as a user types it: tables, files, exit codes, a page from records."""

import json

import pytest

from slimg.cli import main
from slimg.errors import InputError
from slimg.lab.bench.command import EXPERIMENTS, accuracies, chosen, show, simplicity, write_page
from slimg.lab.bench.grid import Grid
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.run import _batches, run_batch
from slimg.lab.bench.store import Store
from slimg.lab.sanity.case import CASES, EMPTY
from slimg.lab.shared.tables import Picture


def test_real_quick_prints_and_writes_the_papers_figures_beside_ours(data_dir, tmp_path, monkeypatch, capsys, in_process):
    if not (data_dir / "cora").is_dir():
        pytest.skip(f"no folder cora in {data_dir}")
    monkeypatch.setenv("SLIMG_DATA", str(data_dir))
    narrowed = ["--data", "cora", "--models", "lr,sgc", "--seeds", "1"]
    assert main(["bench", "real", "--quick", *narrowed, "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "QUICK, a reduced protocol" in out and "76.2±1.1" in out and "51.5±1.2" in out
    assert err == ""  # no progress where there is no terminal
    markdown, latex = ((tmp_path / f"real-quick.{ending}").read_text() for ending in ("md", "tex"))
    assert "QUICK" in markdown and "| SGC | **7" in markdown and "QUICK" in latex and r"\cellcolor{green}" in latex


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a small run of the sanity checks and of the weights."""
    folder = tmp_path_factory.mktemp("small")
    recipes = [
        small(folder, "sanity", [*CASES, *EMPTY], {kind: {"kind": kind} for kind in ("lr", "sgc", "slimg")}),
        small(folder, "interpret", ["semantic-uniform", "random-homophily"], {"slimg-path": {"kind": "slimg"}}),
    ]
    with Store(folder / "records.jsonl").writing() as store:
        for cells in _batches([cell for recipe in recipes for cell in Recipe.read(recipe).cells()]):
            for record in run_batch(cells):
                store.append(record)
    target = folder / "docs" / "page.md"
    given = [word for recipe in recipes for word in ("--recipe", str(recipe))]
    assert main(["bench", "page", str(target), "--out", str(folder), *given]) == 0
    return target


def small(folder, name, cases, models):
    path = folder / f"{name}.json"
    content = {"name": name, "title": f"The {name} page", "data": [{"case": case, "n": 600} for case in cases]}
    path.write_text(json.dumps({**content, "models": models, "paper": "sanity", "split": [0.6, 0.2, 0.2], "seeds": 1}))
    return path


def test_sanity_has_matrix_accuracies_averages_verdicts_and_the_figure(page):
    text = page.read_text()
    assert "✓ from 80% where something helps" in text and "| semantic-uniform |" in text.replace("|  |", "|")
    assert "slimg passes 7 of the 7 checks" in text and "Observation 3 (useless features): holds" in text
    assert "Averages over the cases" in text and "88.9 (4.5)" in text  # the paper's
    assert "predictions of `slimg gnnexp table` came true" in text and "Predicted from the formulas" in text
    figure = next(line for line in text.splitlines() if line.startswith("![Adjacency")).split("(")[1].rstrip(")")
    assert (page.parent / figure).stat().st_size > 5000
    rows = [line for line in text.splitlines() if line.startswith("| SlimG") and "<br>" in line]
    empty = [cell for line in rows for cell in line.split("|")[9:11]]
    assert empty and not any(mark in cell for cell in empty for mark in "①②③▼")  # nothing to win where nothing helps


def test_interpret_finds_the_component_that_helps(page):
    rows = {line.split("|")[1].strip(): line for line in page.read_text().splitlines() if line.startswith("| ")}
    assert "X ✓" in rows["no network effects"] and "U ✓" in rows["useless features, homophily"]


def test_a_page_tells_where_its_figures_come_from_and_what_was_not_run(page):
    text = page.read_text()
    assert text.startswith("# Results") and "## Accuracy on real graphs\n\nNot run yet." in text
    assert f"{len(Store(page.parents[1] / 'records.jsonl').records)} cells" in text and "Versions: slimg" in text


def test_a_users_model_is_a_row_without_a_place_and_its_failure_is_told(tmp_path, capsys, in_process):
    broken = "class Broken:\n    def fit(self, graph): raise OSError('no luck')\n    def predict(self): ..."
    (tmp_path / "mine.py").write_text(broken)
    recipe = tmp_path / "r.json"
    recipe.write_text(json.dumps({"name": "r", "title": "R", "data": [{"case": "random-uniform", "n": 120}],
                                  "models": {"lr": {"kind": "lr"}}, "split": [0.6, 0.2, 0.2], "seeds": 1}))  # fmt: skip
    typed = ["bench", "recipe", str(recipe), "--out", str(tmp_path / "o"), "--model", f"{tmp_path}/mine.py:Broken"]
    assert main(typed) == 1
    out = capsys.readouterr().out
    assert "Broken on random-uniform: failed: OSError: no luck." in out and "LR" in out
    capsys.readouterr()
    assert main([*typed, "--no-run", "--models", "lr", "--seeds", "2"]) == 1
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith(("  LR", "  Broken"))]
    assert [row[0] for row in rows] == ["LR", "Broken"] and rows[0][2:] == ["(1", "of", "2)"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["nonsense"], "unknown experiment 'nonsense'"),
        (["real", "--models", "nonsense"], "unknown model of real 'nonsense'"),
        (["real", "--jobs", "0"], "--jobs is a number"),
        (["real", "--memory", "-1"], "--memory is a number"),
        (["real", "file.json"], "take a file"),
        (["recipe"], "take a file"),
        (["recipe", "none.json"], "cannot be read"),
        (["sanity", "--recipe", "x.json"], "--recipe is for"),
    ],
)
def test_wrong_input_is_one_sentence(tmp_path, capsys, arguments, said):
    assert main(["bench", *arguments, "--out", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_a_store_of_another_version_is_refused(tmp_path, capsys):
    (tmp_path / "records.jsonl").write_text('{"format": "slimg-bench", "version": 9}\n')
    assert main(["bench", "real", "--out", str(tmp_path)]) == 2
    assert "written in version 9" in capsys.readouterr().err


PAPERS = {"sanity", "real", "components", "linearity", "design", "receptive", "scalability", "speed", "interpret"}
MODELS = {"lr": {"kind": "lr"}, "sgc": {"kind": "sgc"}}


@pytest.fixture
def recipe():
    return Recipe("tiny", "Tiny", {"random-uniform": {"case": "random-uniform", "n": 120}}, MODELS, seeds=1)


@pytest.fixture
def store(recipe, tmp_path):
    with Store(tmp_path / "s.jsonl").writing() as store:
        store.append({"key": recipe.cell("lr", "random-uniform", 0).key, "status": "ok", "accuracy": 0.25})
        store.append({"key": recipe.cell("sgc", "random-uniform", 0).key, "status": "oom", "error": "too much"})
    return store


def test_every_table_and_figure_of_the_paper_is_an_experiment(tmp_path, monkeypatch):
    monkeypatch.setenv("SLIMG_DATA", str(tmp_path))
    assert set(EXPERIMENTS) == PAPERS | {"rivals"}
    assert {recipe.name for recipe, _ in chosen("all", quick=True)} == set(EXPERIMENTS)
    ((recipe, page),) = chosen("design", quick=True)
    assert recipe.name == "design" and page is EXPERIMENTS["design"] and recipe.quick
    with pytest.raises(InputError, match="unknown experiment 'desing': choose one of all, components"):
        chosen("desing")


def test_show_prints_writes_and_counts_what_failed(recipe, store, tmp_path, capsys):
    out = tmp_path / "new" / "out"
    assert show(Grid.of(recipe, store), accuracies, out) == 1
    said = capsys.readouterr().out
    assert "25.0" in said and "O.O.M." in said and "oom: too much" in said
    assert "| LR |" in (out / "tiny.md").read_text() and r"\begin{tabular}" in (out / "tiny.tex").read_text()
    assert sorted(each.name for each in out.iterdir()) == ["tiny.md", "tiny.tex"]  # nothing half written


def test_rivals_have_one_figure_of_mean_accuracy_against_the_seconds_of_a_whole_fit(tmp_path):
    cases = {name: {"case": name, "n": 120} for name in ("random-uniform", "semantic-homophily")}
    recipe = Recipe("rivals", "Rivals", cases, MODELS, seeds=1)
    processor = iter([3.0, 4.0, 1.0])
    with Store(tmp_path / "s.jsonl").writing() as store:
        for row, column, accuracy in zip(["lr", "lr", "sgc"], [*cases, "random-uniform"], [0.2, 0.6, 0.9], strict=True):
            key = recipe.cell(row, column, 0).key
            store.append({"key": key, "status": "ok", "accuracy": accuracy, "processor": next(processor)})
    page = EXPERIMENTS["rivals"](Grid.of(recipe, store)).draw(tmp_path)
    means = page.parts[-3]
    found = [[entry.lines[0] for entry in row] for row in means.rows]
    assert found == [["SGC", "90.0", "1.00", "1.00", "1"], ["LR", "20.0", "3.00", "3.00", "1"]]
    assert "semantic-homophily" in page.parts[-2]  # SGC was not run there
    assert "LR" in (tmp_path / "rivals.svg").read_text()


def test_the_table_of_nonlinear_parts_has_the_polynomials(recipe, store, tmp_path):
    page = simplicity(Grid.of(recipe, store)).draw(tmp_path)
    (picture,) = (part for part in page.parts if isinstance(part, Picture))
    assert (tmp_path / picture.path).read_text().lstrip().startswith("<?xml")


def test_a_recipe_with_the_name_of_an_experiment_has_its_page(tmp_path):
    content = {"name": "interpret", "title": "T", "data": [{"case": "semantic-uniform", "n": 120}], "models": MODELS}
    (tmp_path / "r.json").write_text(json.dumps(content))
    ((_, page),) = chosen("recipe", str(tmp_path / "r.json"))
    assert page is EXPERIMENTS["interpret"]


CONTENT = {
    "name": "design", "title": "Mine", "data": [{"case": f"{x}-uniform", "n": 120} for x in ("semantic", "random")],
    "models": {"lr": {"kind": "lr"}, "sgc": {"kind": "sgc"}}, "split": [0.6, 0.2, 0.2], "seeds": 1,
}  # fmt: skip
FACTS = {"cpu": "A processor", "cores": 2, "versions": {"slimg": "0.1.0"}, "wall": 1.0, "seconds": {"features": 0.1}}


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setenv("SLIMG_DATA", str(tmp_path / "none"))
    (tmp_path / "mine.json").write_text(json.dumps(CONTENT))
    recipe = Recipe.read(tmp_path / "mine.json")
    with Store(tmp_path / "results" / "records.jsonl").writing() as store:
        for place, cell in enumerate(recipe.cells()):
            commit = {"commit": "abc1234+"} if place else {"commit": None, "source": "elsewhere.json"}
            facts = {"status": "ok", "accuracy": 0.2 + 0.1 * place, **commit, **FACTS}
            store.append({"key": cell.key, **cell.identity(), **facts})
    write_page(tmp_path / "docs" / "page.md", store, [str(tmp_path / "mine.json")])
    return (tmp_path / "docs" / "page.md").read_text()


def test_a_recipe_takes_the_place_of_the_experiment_of_its_name(written):
    assert written.count("## Mine") == 1 and "## SlimG without one of its ideas" not in written
    assert written.count("Not run yet.") == len(EXPERIMENTS) - 1
    assert "[records.jsonl](../results/records.jsonl): 4 cells (4 ok)" in written


def test_each_table_says_where_its_numbers_come_from(written):
    assert "*4 cells; 1 from elsewhere.json. Commits (cells): abc1234+ (3), installed (1);" in written
    assert "Machine: A processor, 2 cores. Versions: slimg 0.1.0.*" in written
    assert "| LR | 20.0" in written and "| SGC | **30.0" in written
