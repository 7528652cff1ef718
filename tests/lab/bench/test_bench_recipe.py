"""Recipes: those that are shipped, cells that are the same, and what is refused."""

import json
from collections import Counter

import pytest

from slimg.errors import InputError
from slimg.lab.bench import command
from slimg.lab.bench.recipe import Recipe


@pytest.fixture
def no_files(tmp_path, monkeypatch):
    monkeypatch.setenv("SLIMG_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def written(tmp_path, **changes):
    content = {"name": "mine", "title": "Mine", "data": [{"case": "random-uniform", "n": 120}]}
    content["models"] = {"lr": {"kind": "lr"}}
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({key: value for key, value in {**content, **changes}.items() if value is not None}))
    return path


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", command.EXPERIMENTS)
def test_every_experiment_has_a_recipe_with_distinct_cells(no_files, name, quick):
    recipe = Recipe.named(name, quick)
    assert recipe.quick == quick and recipe.name == name
    keys = [cell.key for cell in recipe.cells()]
    assert len(set(keys)) == len(keys) == len(recipe.data) * len(recipe.models) * recipe.seeds


def test_without_files_quick_has_synthetic_graphs_and_the_full_protocol_names_what_is_missing(no_files):
    full, quick = Recipe.named("components"), Recipe.named("components", quick=True)
    assert "cora" in full.missing and full.data == {}
    assert quick.synthetic == ("ogbn-arxiv", "ogbn-products", "penn94", "twitch-gamers", "pokec") and "cora" in quick.missing


def test_slimg_is_one_cell_in_all_tables(data_dir, monkeypatch):
    monkeypatch.setenv("SLIMG_DATA", str(data_dir))
    recipes = [Recipe.named(name) for name in ("real", "components", "linearity", "design", "receptive")]
    if "cora" not in recipes[0].data:
        pytest.skip(f"no folder cora in {data_dir}")
    assert len({recipe.cell("slimg", "cora", 3).key for recipe in recipes}) == 1


def test_the_order_of_keys_does_not_change_a_cell(tmp_path):
    one = Recipe.read(written(tmp_path, models={"m": {"kind": "dgc", "K": 8, "T": 5}})).cell("m", "random-uniform", 0)
    two = Recipe.read(written(tmp_path, models={"m": {"T": 5, "K": 8, "kind": "dgc"}})).cell("m", "random-uniform", 0)
    other = Recipe.read(written(tmp_path, models={"m": {"T": 6, "K": 8, "kind": "dgc"}})).cell("m", "random-uniform", 0)
    assert one.key == two.key != other.key


def test_narrowed_to_rows_columns_and_seeds(tmp_path):
    recipe = Recipe.read(written(tmp_path)).narrowed(["random-uniform"], ["lr"], 2)
    assert recipe.seeds == 2 and len(list(recipe.cells())) == 2
    with pytest.raises(InputError, match="unknown model of mine 'gcn': choose one of lr"):
        recipe.narrowed(models=["gcn"])


def test_a_row_may_have_fewer_splits_than_the_others(tmp_path):
    models = {"lr": {"kind": "lr"}, "gcn": {"kind": "gcn"}}
    recipe = Recipe.read(written(tmp_path, models=models, seeds=3, fewer_seeds={"gcn": 1}))
    counted = Counter(cell.model["kind"] for cell in recipe.cells())
    assert counted["lr"] == 3 * counted["gcn"] and recipe.narrowed(seeds=2).seeds_of("gcn") == 2


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"models": {"a": {"kind": "sgcc"}}}, "row a.*'sgcc'.*sgc"),
        ({"models": {"a": {"kind": "slimg", "gird": 1}}}, "row a.*setting.*slimg 'gird'.*grid"),
        ({"models": {"a": {}}}, "model a.*'kind'"),
        ({"models": {}}, "'models'.*object"),
        ({"models": ["lr"]}, "'models'.*object"),
        ({"data": ["corra"]}, "dataset 'corra'"),
        ({"data": "cora"}, "'data'.*list.*'cora'"),
        ({"data": [{"case": "x-y", "n": 120}]}, "sanity case 'x-y'"),
        ({"data": [{}]}, "name, case, synthetic"),
        ({"data": [{"case": "random-uniform", "n": 120, "d": 3}]}, "'d'"),
        ({"seeds": 0}, "'seeds'.*at least 1, not 0"),
        ({"seeds": True}, "'seeds'.*at least 1, not True"),
        ({"split": [0.5, 0.5]}, "'split'.*three shares"),
        ({"alone": "yes"}, "'alone'.*true or false, not 'yes'"),
        ({"title": None}, "lacks 'title'"),
        ({"title": 3}, "'title'.*string, not 3"),
        ({"quick": []}, "'quick'.*object"),
        ({"sedes": 3}, "key.*'sedes'.*seeds"),
        ({"unranked": ["b"]}, "'unranked'.*'b'"),
        ({"fewer_seeds": {"b": 1}}, "'fewer_seeds'.*'b'"),
        ({"fewer_seeds": {"lr": 9}}, "fewer_seeds of lr is 9"),
        ({"fewer_seeds": {"lr": 0}}, "fewer_seeds of lr.*at least 1, not 0"),
    ],
)
def test_wrong_recipes_are_told_in_one_sentence(tmp_path, changes, said):
    with pytest.raises(InputError, match=said) as caught:
        Recipe.read(written(tmp_path, **changes))
    assert "\n" not in str(caught.value)


def test_a_recipe_that_is_not_there_or_no_json(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        Recipe.read(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        Recipe.read(tmp_path / "bad.json")
