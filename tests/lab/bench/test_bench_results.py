"""The page of all results: every experiment, figures by relative paths, and where each number comes from."""

import json

import pytest

from slimg.lab.bench.experiments import EXPERIMENTS
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.results import write_page
from slimg.lab.bench.store import Store

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
