"""``slimg datasets``: as a user types it."""

import json
import re
import shutil

import pytest

from slimg.cli import main
from slimg.lab import datasets


@pytest.fixture
def here(data_dir, monkeypatch):
    if not (data_dir / "cora").is_dir():
        pytest.skip(f"no folder cora in {data_dir}")
    monkeypatch.setenv("SLIMG_DATA", str(data_dir))


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("SLIMG_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_list_names_every_dataset_and_whether_it_is_here(here, capsys):
    assert main(["datasets", "list"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == datasets.names() and header.split()[:2] == ["name", "files"]
    assert lines[0].split()[1] == "present"


def test_list_as_json(nowhere, capsys):
    assert main(["datasets", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in told] == datasets.names() and not any(each["present"] for each in told)


def test_info_prints_the_papers_statistics_beside_the_measured(here, capsys):
    assert main(["datasets", "info", "cora"]) == 0
    out = capsys.readouterr().out
    edges = next(line for line in out.splitlines() if line.strip().startswith("edges"))
    assert edges.split() == ["edges", "5,278", "5,429"]
    assert re.search(r"homophily +0\.810", out) and "ICML 2016" in out and "SHA-256 23cfa55d91c6" in out


def test_info_of_all_measures_those_that_are_here(data_dir, nowhere, capsys):
    if not (data_dir / "squirrel").is_dir():
        pytest.skip(f"no folder squirrel in {data_dir}")
    (nowhere / "squirrel").symlink_to(data_dir / "squirrel")
    assert main(["datasets", "info", "--all"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert set(datasets.names()) <= set(lines)
    assert "198,353 (216,933)" in lines["squirrel"] and "0.22" in lines["squirrel"]
    assert lines["pokec"].endswith("absent") and "(1,632,803)" in lines["pokec"]


def test_info_as_json_is_the_graph_as_it_is_loaded(here, capsys):
    assert main(["datasets", "info", "chameleon-filtered", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["measured"]["nodes"] == datasets.load("chameleon-filtered").n
    assert told["present"] and all(file["path"] for file in told["files"])


def test_a_damaged_file_is_told_and_the_exit_code_says_so(here, data_dir, nowhere, capsys):
    shutil.copytree(data_dir / "chameleon", nowhere / "chameleon")
    (file,) = (nowhere / "chameleon").glob("*.npz")
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:1000])
    assert main(["datasets", "info", "--all"]) == 1
    out = capsys.readouterr().out
    assert "damaged" in out and "has 1,000 of 177,840 bytes" in out


def test_get_of_a_graph_that_is_there_downloads_nothing(here, data_dir, capsys):
    assert main(["datasets", "get", "cora", "--to", str(data_dir)]) == 0
    assert "already" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, said",
    [(["info", "corra"], "unknown dataset 'corra'"), (["info"], "or --all"), (["info", "cora", "--all"], "or --all")],
)
def test_wrong_input_is_one_sentence(nowhere, capsys, arguments, said):
    assert main(["datasets", *arguments]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1
