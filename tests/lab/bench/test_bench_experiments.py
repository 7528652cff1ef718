"""Experiments: which are chosen, what narrows them, and what `show` prints and writes."""

import json

import pytest

from slimg.errors import InputError
from slimg.lab.bench.experiments import EXPERIMENTS, Experiment, Limits, accuracies, chosen, simplicity, write
from slimg.lab.bench.grid import Grid
from slimg.lab.bench.page import Picture
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.store import Store

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


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    write(tmp_path / "a.md", "one")
    with pytest.raises(UnicodeEncodeError):
        write(tmp_path / "a.md", "two \ud800")
    assert (tmp_path / "a.md").read_text() == "one"


def test_a_recipe_with_the_name_of_an_experiment_has_its_page(tmp_path):
    content = {"name": "interpret", "title": "T", "data": [{"case": "semantic-uniform", "n": 120}], "models": MODELS}
    (tmp_path / "r.json").write_text(json.dumps(content))
    (found,) = chosen("recipe", str(tmp_path / "r.json"))
    assert found.pages is EXPERIMENTS["interpret"]
