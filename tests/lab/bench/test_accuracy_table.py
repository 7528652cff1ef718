"""Tables of accuracies: ours, the paper's, the difference; sentences that follow from them."""

from dataclasses import replace

import pytest

from slimg.lab.bench.accuracy_table import accuracy_table, legend, signed
from slimg.lab.bench.grid import Grid
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.store import Store

VALUES = {
    ("lr", "cora"): [0.50, 0.52], ("sgc", "cora"): [0.77, 0.772], ("dgc", "cora"): [0.7, 0.72],
    ("slimg", "cora"): [0.79, 0.8],
    ("lr", "photo"): [0.70, 0.71], ("sgc", "photo"): [0.9], ("dgc", "photo"): "oom", ("slimg", "photo"): [0.93, 0.94],
}  # fmt: skip


@pytest.fixture
def grid(tmp_path):
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


def test_cells_have_ours_the_papers_and_the_difference(grid):
    table = accuracy_table(grid)
    assert [each.lines[0] for each in table.header] == ["", "Cora", "Photo", "avg. rank"]
    rows = {row[0].lines[0]: row[1:] for row in table.rows}
    assert set(rows) == {"LR", "SGC", "DGC", "SlimG"}  # the default path was not run
    assert rows["SlimG"][0].lines == ("79.5±0.5", "77.8±1.1", "+1.7") and rows["SlimG"][0].style == "gold"
    assert rows["LR"][0].lines == ("51.0±1.0", "51.5±1.2", "−0.5") and rows["LR"][0].style == "red"
    assert rows["DGC"][1].lines == ("O.O.M.", "90.4±0.2") and rows["DGC"][1].style == "red"
    assert rows["SGC"][1].lines[0] == "90.0 (1 of 2)"
    assert rows["SlimG"][2].lines == ("1.0 (0.0)", "1.0 (0.0)")  # the paper's: first on both, on Cora together with DGC


def test_the_legend_says_what_was_run_who_leads_and_what_failed(grid):
    text = " ".join(legend(grid))
    assert "over 2 splits (2.5 / 2.5 / 95 %" in text and "What is special." in text
    assert "Best average ranks: SlimG (1.0), then SGC (2.0), then LR (3.5)." in text
    assert "Without a red cell: SGC, SlimG." in text
    assert "DGC on Photo: oom: too much." in text


def test_what_was_reduced_is_marked_and_said_with_its_number_of_splits(grid):
    models = {**grid.recipe.models, "lr": {"kind": "gcn", "grid": [{"lr": 0.05}], "epochs": 100, "patience": 30}}
    recipe = replace(grid.recipe, models=models, seeds=5, fewer_seeds={"lr": 2})
    reduced = Grid(recipe, grid.figures, grid.records)
    assert "† LR: protocol reduced: 1 of 6 settings, 100 epochs at most, patience 30, 2 splits." in legend(reduced)
    rows = {row[0].lines[0]: row[1:] for row in accuracy_table(reduced).rows}
    assert rows["LR †"][0].lines[0] == "51.0±1.0" and rows["SlimG"][0].lines[0] == "79.5±0.5 (2 of 5)"


def test_of_one_split_nothing_is_said_about_red_cells(grid):
    text = " ".join(legend(Grid(replace(grid.recipe, seeds=1), grid.figures, grid.records)))
    assert "in percent, on one split (2.5" in text and "no cell can be red" in text and "Without a red cell" not in text


@pytest.mark.parametrize("common, said", [({"cora": 1, "photo": 1}, "1 split"), ({"cora": 1, "photo": 2}, "Cora 1")])
def test_on_how_many_splits_rows_are_compared_is_said(grid, common, said):
    text = " ".join(legend(replace(grid, common=common)))
    assert f"compare the models on the splits that all of them have ({said})." in text
    assert "all of them have" not in " ".join(legend(replace(grid, common={"cora": 2, "photo": 2})))


def test_signs_are_minus_signs():
    assert signed(-1.25) == "−1.2" and signed(0.5) == "+0.5"
