"""``slimg bench`` as a user types it: tables, files, exit codes, a page from records."""

import json
import os
import subprocess
import sys

import pytest

from slimg.cli import main
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.run import _batches, run_batch
from slimg.lab.bench.store import Store
from slimg.lab.sanity.case import CASES, EMPTY


def test_real_quick_prints_and_writes_the_papers_figures_beside_ours(data_dir, tmp_path):
    if not (data_dir / "cora").is_dir():
        pytest.skip(f"no folder cora in {data_dir}")
    typed = ["bench", "real", "--quick", "--data", "cora", "--models", "lr,slimg", "--seeds", "1", "--out"]
    done = subprocess.run([sys.executable, "-m", "slimg", *typed, str(tmp_path)], capture_output=True, text=True,
                          env={**os.environ, "SLIMG_DATA": str(data_dir)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "QUICK, a reduced protocol" in done.stdout and "77.8±1.1" in done.stdout and "51.5±1.2" in done.stdout
    assert done.stderr == ""  # no progress where there is no terminal
    markdown, latex = ((tmp_path / f"real-quick.{ending}").read_text() for ending in ("md", "tex"))
    assert "QUICK" in markdown and "| SlimG | **7" in markdown and "QUICK" in latex and r"\cellcolor{green}" in latex


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
    path.write_text(json.dumps({**content, "models": models, "paper": "sanity", "split": [0.6, 0.2, 0.2], "seeds": 2}))
    return path


def test_sanity_has_matrix_accuracies_averages_verdicts_and_the_figure(page):
    text = page.read_text()
    assert "✓ from 80% where something helps" in text and "| semantic-uniform |" in text.replace("|  |", "|")
    assert "slimg passes 7 of the 7 checks" in text and "Observation 3 (useless features): holds" in text
    assert "Averages over the cases" in text and "88.9 (4.5)" in text  # the paper's
    assert "predictions of `slimg gnnexp table` came true" in text and "Predicted from the formulas" in text
    assert "The 3 linear models, SlimG among them, took" in text and "within the 45 that are set" in text
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


def test_a_users_model_is_a_row_without_a_place_and_its_failure_is_told(tmp_path, capsys):
    broken = "class Broken:\n    def fit(self, graph): raise OSError('no luck')\n    def predict(self): ..."
    (tmp_path / "mine.py").write_text(broken)
    recipe = tmp_path / "r.json"
    recipe.write_text(json.dumps({"name": "r", "title": "R", "data": [{"case": "random-uniform", "n": 120}],
                                  "models": {"lr": {"kind": "lr"}}, "split": [0.6, 0.2, 0.2], "seeds": 1}))  # fmt: skip
    typed = ["bench", "recipe", str(recipe), "--out", str(tmp_path / "o"), "--model", f"{tmp_path}/mine.py:Broken"]
    assert main(typed) == 1
    out = capsys.readouterr().out
    assert "Broken on random-uniform: failed: OSError: no luck." in out and "LR" in out


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
