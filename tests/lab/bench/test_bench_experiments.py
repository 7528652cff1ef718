"""Experiments: a recipe and a page each, and the page of all results."""

import json

import pytest

from slimg.errors import InputError
from slimg.lab.bench.experiments import EXPERIMENTS, Experiment, Limits, accuracies, chosen, simplicity, write_page
from slimg.lab.bench.grid import Grid
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.store import Store
from slimg.lab.tables import Picture

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
    assert set(EXPERIMENTS) == PAPERS
    assert {each.recipe.name for each in chosen("all", quick=True)} == PAPERS
    (one,) = chosen("design", quick=True)
    assert one.recipe.name == "design" and one.pages is EXPERIMENTS["design"] and one.recipe.quick
    with pytest.raises(InputError, match="unknown experiment 'desing': choose one of all, components"):
        chosen("desing")


def test_limits_narrow_and_add_the_users_rows(tmp_path):
    file = tmp_path / "r.json"
    data = [{"case": "random-uniform", "n": 120}]
    file.write_text(json.dumps({"name": "r", "title": "R", "data": data, "models": MODELS}))
    (found,) = chosen("recipe", str(file), limits=Limits(None, ["lr"], 2, ("mine.py:Mine",)))
    assert list(found.recipe.models) == ["lr", "Mine"] and found.recipe.seeds == 2 and "Mine" in found.recipe.unranked


def test_show_prints_writes_and_counts_what_failed(recipe, store, tmp_path, capsys):
    out = tmp_path / "new" / "out"
    assert Experiment(recipe, accuracies).show(store, out) == 1
    said = capsys.readouterr().out
    assert "25.0" in said and "O.O.M." in said and "oom: too much" in said
    assert "| LR |" in (out / "tiny.md").read_text() and r"\begin{tabular}" in (out / "tiny.tex").read_text()
    assert sorted(each.name for each in out.iterdir()) == ["tiny.md", "tiny.tex"]  # nothing half written


def test_the_table_of_nonlinear_parts_has_the_polynomials(recipe, store, tmp_path):
    page = simplicity(Grid.of(recipe, store), tmp_path)
    (picture,) = (part for part in page.parts if isinstance(part, Picture))
    assert (tmp_path / picture.path).read_text().lstrip().startswith("<?xml")
    assert not any(isinstance(part, Picture) for part in simplicity(Grid.of(recipe, store), None).parts)


def test_a_recipe_with_the_name_of_an_experiment_has_its_page(tmp_path):
    content = {"name": "interpret", "title": "T", "data": [{"case": "semantic-uniform", "n": 120}], "models": MODELS}
    (tmp_path / "r.json").write_text(json.dumps(content))
    (found,) = chosen("recipe", str(tmp_path / "r.json"))
    assert found.pages is EXPERIMENTS["interpret"]


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
