"""The grid and its table: ranks, medals and red cells by hand and from the paper's table; titles; sentences."""

import json
from dataclasses import replace

import numpy as np
import pytest

from slimg.lab.bench.command import EXPERIMENTS
from slimg.lab.bench.grid import OOM, Grid, accuracy_table, column_title, legend, marked_title, row_title, signed
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.store import HEADER, Store
from slimg.lab.datasets import names
from slimg.lab.sanity.case import CASES
from slimg.lab.shared import paper

PAPERS_SLIPS = {("sanity", "s2gc"): (7.1, 3.4), ("sanity", "gprgnn"): (3.3, 2.3)}
"""Ranks that the paper prints otherwise than its own table gives them."""


def recipe(rows, columns, **options):
    data = {column: {"name": column} for column in columns}
    return Recipe("real", "Real", data, {row: {"kind": "lr", "wd": i} for i, row in enumerate(rows)}, "real", **options)


def filled(tmp_path, which, values):
    """A store with the accuracies of values[row, column] (a list over seeds, "OOM" or an error)."""
    lines = [HEADER]
    for (row, column), found in values.items():
        for seed in range(which.seeds) if isinstance(found, str) else range(len(found)):
            record = {"key": which.cell(row, column, seed).key, "status": "ok", "wall": 1.0}
            if isinstance(found, str):
                record |= {"status": "oom" if found == "OOM" else "failed", "error": found}
            else:
                record["accuracy"] = found[seed]
            lines.append(record)
    (tmp_path / "s.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))  # append would flush each to the disk
    return Grid.of(which, Store(tmp_path / "s.jsonl"))


@pytest.mark.parametrize("experiment, columns", [("real", names()[:13]), ("sanity", CASES)])
def test_the_papers_ranks_follow_from_its_own_table(tmp_path, experiment, columns):
    rows = list(paper.tables()["average_rank"][experiment])
    data, models = {c: {"name": c} for c in columns}, {r: {"kind": "lr", "wd": i} for i, r in enumerate(rows)}
    which = Recipe(experiment, "", data, models, experiment, seeds=2)
    values = {}
    for row in rows:
        for column in columns:
            found = paper.accuracy(experiment, row, column)
            values[row, column] = "OOM" if isinstance(found, str) else [found[0] / 100] * 2
    grid = filled(tmp_path, which, values)
    for row in rows:
        printed = PAPERS_SLIPS.get((experiment, row), tuple(paper.tables()["average_rank"][experiment][row]))
        assert np.round(grid.average_rank(row), 1) == pytest.approx(printed), row
        assert grid.paper_rank(row) == pytest.approx(grid.average_rank(row))


def test_the_papers_slimg_is_the_only_model_without_red_cells_on_real_graphs():
    rows, columns = list(paper.tables()["accuracy"]["real"]), names()[:13]
    from slimg.lab.shared.paper import red_cells

    figures = [[paper.accuracy("real", row, column) for column in columns] for row in rows]
    means, spreads = (np.array([[np.nan if isinstance(f, str) else f[i] for f in line] for line in figures]) for i in (0, 1))
    red = red_cells(means, spreads).any(axis=1)
    assert [row for row, any_red in zip(rows, red, strict=True) if not any_red] == ["slimg"]


def test_ranks_medals_and_red_cells_by_hand(tmp_path):
    which = recipe(("a", "b", "c", "d"), ("cora", "photo"), seeds=2)
    values = {
        ("a", "cora"): [0.90, 0.92], ("b", "cora"): [0.80, 0.84], ("c", "cora"): [0.70, 0.72], ("d", "cora"): [0.67, 0.69],
        ("a", "photo"): [0.50, 0.52], ("b", "photo"): [0.60, 0.62], ("c", "photo"): "OOM", ("d", "photo"): "ValueError: x",
    }  # fmt: skip
    grid = filled(tmp_path, which, values)
    assert grid.figures["a", "cora"].mean == pytest.approx(0.91) and grid.figures["a", "cora"].spread == pytest.approx(0.01)
    assert [grid.medal(row, "cora") for row in "abcd"] == ["gold", "silver", "bronze", None]
    # third: 0.71 ± 0.01, so that red is below 0.69
    assert [grid.is_red(row, "cora") for row in "abcd"] == [False, False, False, True]
    assert grid.figures["c", "photo"].error == OOM and grid.figures["d", "photo"].error == "ValueError: x"
    assert [grid.average_rank(row)[0] for row in "abcd"] == [1.5, 1.5, 3.0, 3.5]  # both without an answer share place 3
    assert grid.average_rank("a")[1] == pytest.approx(np.std([1, 2], ddof=1))


def test_columns_that_not_every_model_has_and_synthetic_graphs_do_not_count(tmp_path):
    which = recipe(("a", "b"), ("cora", "photo", "actor"), seeds=1)
    which.data["actor"] = {"synthetic": "actor", "nodes": 10, "edges": 5, "features": 2, "classes": 2}
    values = {("a", "cora"): [0.5], ("b", "cora"): [0.6], ("a", "photo"): [0.9]}
    values |= {("a", "actor"): [0.9], ("b", "actor"): [0.1]}
    grid = filled(tmp_path, which, values)
    assert grid.judged == ["cora"] and grid.average_rank("b")[0] == 1.0
    assert grid.paper("a", "actor") is None
    assert grid.medal("a", "photo") is None and grid.medal("a", "actor") == "gold"  # photo: the other was not run


def test_unranked_rows_have_no_place_but_a_place_instead(tmp_path):
    which = recipe(("sgc", "slimg", "slimg-path"), ("cora",), seeds=1, unranked=("slimg-path",))
    grid = filled(tmp_path, which, {("sgc", "cora"): [0.7], ("slimg", "cora"): [0.6], ("slimg-path", "cora"): [0.8]})
    assert grid.ranked == ["sgc", "slimg"] and grid.average_rank("slimg")[0] == 2.0
    assert np.isnan(grid.average_rank("slimg-path")[0]) and grid.medal("slimg-path", "cora") is None
    assert grid.average_rank("slimg-path", instead_of="slimg")[0] == 1.0
    assert grid.paper("slimg-path", "cora") == grid.paper("slimg", "cora") == (77.8, 1.1)


def test_rows_with_different_splits_are_compared_on_those_that_all_have(tmp_path):
    which = recipe(["lr", "sgc", "dgc"], ["cora"], seeds=4, fewer_seeds={"dgc": 2})
    easy_first = {("lr", "cora"): [0.9, 0.8, 0.1, 0.1], ("sgc", "cora"): [0.7, 0.6, 0.6, 0.6], ("dgc", "cora"): [0.75, 0.65]}
    grid = filled(tmp_path, which, easy_first)
    assert grid.common == {"cora": 2} and grid.figures["lr", "cora"].mean == pytest.approx(0.475)
    assert [grid.average_rank(row)[0] for row in ("lr", "dgc", "sgc")] == [1, 2, 3]  # over all splits lr would be last
    assert grid.medal("lr", "cora") == "gold"


def test_every_row_that_is_shipped_has_a_title_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("SLIMG_DATA", str(tmp_path))
    for name in EXPERIMENTS:
        recipe = Recipe.named(name)
        titles = [row_title(recipe, row) for row in recipe.models]
        assert len(set(titles)) == len(titles), name


def test_titles_are_those_of_the_paper_and_names_of_ones_own_stay():
    models = {"slimg": {"kind": "slimg"}, "mine": {"kind": "gcn", "epochs": 5}, "s2gc": {"kind": "s2gc"}}
    recipe = Recipe("receptive", "R", {}, models)
    assert row_title(recipe, "slimg") == "k_row 2; k_sym 2 (SlimG)" and row_title(recipe, "s2gc") == "S²GC"
    assert marked_title(recipe, "mine") == "mine †" and marked_title(recipe, "s2gc") == "S²GC"
    assert column_title("ogbn-arxiv") == "ogbn-arXiv" and column_title("semantic-uniform") == "semantic-uniform"


VALUES = {
    ("lr", "cora"): [0.50, 0.52], ("sgc", "cora"): [0.77, 0.772], ("dgc", "cora"): [0.7, 0.72],
    ("slimg", "cora"): [0.79, 0.8],
    ("lr", "photo"): [0.70, 0.71], ("sgc", "photo"): [0.9], ("dgc", "photo"): "oom", ("slimg", "photo"): [0.93, 0.94],
}  # fmt: skip


@pytest.fixture
def compared(tmp_path):
    models = {row: {"kind": "lr", "cv": place + 2} for place, row in enumerate(("lr", "sgc", "dgc", "slimg", "slimg-path"))}
    data = {"cora": {"name": "cora"}, "photo": {"name": "photo"}}
    recipe = Recipe("real", "Real", data, models, "real", seeds=2, unranked=("slimg-path",), about="What is special.")
    with Store(tmp_path / "s.jsonl").writing() as store:
        for (row, column), found in VALUES.items():
            for seed in range(2 if found == "oom" else len(found)):
                oom = {"status": "oom", "error": "too much"}
                facts = oom if found == "oom" else {"status": "ok", "accuracy": found[seed]}
                store.append({"key": recipe.cell(row, column, seed).key, **facts})
    return Grid.of(recipe, store)


def test_cells_have_ours_the_papers_and_the_difference(compared):
    table = accuracy_table(compared)
    assert [each.lines[0] for each in table.header] == ["", "Cora", "Photo", "avg. rank"]
    rows = {row[0].lines[0]: row[1:] for row in table.rows}
    assert set(rows) == {"LR", "SGC", "DGC", "SlimG"}  # the default path was not run
    assert rows["SlimG"][0].lines == ("79.5±0.5", "77.8±1.1", "+1.7") and rows["SlimG"][0].style == "gold"
    assert rows["LR"][0].lines == ("51.0±1.0", "51.5±1.2", "−0.5") and rows["LR"][0].style == "red"
    assert rows["DGC"][1].lines == ("O.O.M.", "90.4±0.2") and rows["DGC"][1].style == "red"
    assert rows["SGC"][1].lines[0] == "90.0 (1 of 2)"
    assert rows["SlimG"][2].lines == ("1.0 (0.0)", "1.0 (0.0)")  # the paper's: first on both, on Cora together with DGC


def test_the_legend_says_what_was_run_who_leads_and_what_failed(compared):
    text = " ".join(legend(compared))
    assert "over 2 splits (2.5 / 2.5 / 95 %" in text and "What is special." in text
    assert "Best average ranks: SlimG (1.0), then SGC (2.0), then LR (3.5)." in text
    assert "Without a red cell: SGC, SlimG." in text
    assert "DGC on Photo: oom: too much." in text


def test_what_was_reduced_is_marked_and_said_with_its_number_of_splits(compared):
    models = {**compared.recipe.models, "lr": {"kind": "gcn", "grid": [{"lr": 0.05}], "epochs": 100, "patience": 30}}
    recipe = replace(compared.recipe, models=models, seeds=5, fewer_seeds={"lr": 2})
    reduced = Grid(recipe, compared.figures, compared.records)
    assert "† LR: protocol reduced: 1 of 6 settings, 100 epochs at most, patience 30, 2 splits." in legend(reduced)
    rows = {row[0].lines[0]: row[1:] for row in accuracy_table(reduced).rows}
    assert rows["LR †"][0].lines[0] == "51.0±1.0" and rows["SlimG"][0].lines[0] == "79.5±0.5 (2 of 5)"


def test_of_one_split_nothing_is_said_about_red_cells(compared):
    text = " ".join(legend(Grid(replace(compared.recipe, seeds=1), compared.figures, compared.records)))
    assert "in percent, on one split (2.5" in text and "no cell can be red" in text and "Without a red cell" not in text


@pytest.mark.parametrize("common, said", [({"cora": 1, "photo": 1}, "1 split"), ({"cora": 1, "photo": 2}, "Cora 1")])
def test_on_how_many_splits_rows_are_compared_is_said(compared, common, said):
    text = " ".join(legend(replace(compared, common=common)))
    assert f"compare the models on the splits that all of them have ({said})." in text
    assert "all of them have" not in " ".join(legend(replace(compared, common={"cora": 2, "photo": 2})))


def test_signs_are_minus_signs():
    assert signed(-1.25) == "−1.2" and signed(0.5) == "+0.5"
