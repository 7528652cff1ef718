"""Titles of rows and columns, and the mark of what was given less than the paper gives."""

from slimg.lab.bench.experiments import EXPERIMENTS
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.titles import marked_title, title_of_column, title_of_row


def test_every_row_that_is_shipped_has_a_title_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("SLIMG_DATA", str(tmp_path))
    for name in EXPERIMENTS:
        recipe = Recipe.named(name)
        titles = [title_of_row(recipe, row) for row in recipe.models]
        assert len(set(titles)) == len(titles), name


def test_titles_are_those_of_the_paper_and_names_of_ones_own_stay():
    models = {"slimg": {"kind": "slimg"}, "mine": {"kind": "gcn", "epochs": 5}, "s2gc": {"kind": "s2gc"}}
    recipe = Recipe("receptive", "R", {}, models)
    assert title_of_row(recipe, "slimg") == "k_row 2; k_sym 2 (SlimG)" and title_of_row(recipe, "s2gc") == "S²GC"
    assert marked_title(recipe, "mine") == "mine †" and marked_title(recipe, "s2gc") == "S²GC"
    assert title_of_column("ogbn-arxiv") == "ogbn-arXiv" and title_of_column("semantic-uniform") == "semantic-uniform"
