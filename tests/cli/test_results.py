"""The files of a run appear together: kills, interrupts, two runs at once, and what else is in the folder."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.faults import kills
from forked import Forked
from slimg.cli import results
from slimg.cli.results import OWNED, result_folder
from slimg.errors import InputError

FIT = ("fit", "--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user")
FILES = {"model.slimg", "predictions.csv", "record.json", "report.html"}


def test_a_kill_at_any_moment_leaves_a_whole_result(tmp_path):
    found = kills.run(tmp_path, 2, seed=1, start=Forked)
    assert sum(number for what, number in found.items() if what.startswith("mixed")) == 0, found
    assert found["left over after the next run"] == []
    assert any(what.endswith("killed") for what in found)


def killed_before(call, way, out):
    """In a forked process: write a new result, and die before the n-th rename, link or removal."""
    calls = 0

    def counted(real):
        def either(*arguments, **options):
            nonlocal calls
            if calls == call:
                os.kill(os.getpid(), signal.SIGKILL)
            calls += 1
            return real(*arguments, **options)

        return either

    with result_folder(out) as draft:
        for name in ("model.slimg", "record.json", "report.html", "predictions.tsv"):
            (draft / name).write_text("new")
        for name in ("rename", "replace", "link", "unlink", "rmdir"):
            setattr(os, name, counted(getattr(os, name)))
        results._exchange = counted(results._exchange)
        if way == "moved":
            results._exchanged = lambda *_: False


@pytest.mark.parametrize("way", ["exchanged", "moved"])
@pytest.mark.parametrize("call", range(9))
def test_a_kill_between_any_two_steps(tmp_path, way, call):
    """Kills before the n-th rename, link or removal; the next command finds one result and the user's file."""
    out = tmp_path / "out"
    out.mkdir()
    for name in FILES:
        (out / name).write_text("old")
    (out / "notes.txt").write_text("mine")
    child = os.fork()
    if not child:
        try:
            killed_before(call, way, out)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    results.finish(out)
    found = {name: (out / name).read_text() for name in os.listdir(out) if name in OWNED}
    old, new = dict.fromkeys(FILES, "old"), dict.fromkeys({*FILES - {"predictions.csv"}, "predictions.tsv"}, "new")
    assert found in (old, new), "an earlier predictions.csv does not stay beside the new predictions.tsv"
    assert (out / "notes.txt").read_text() == "mine"
    with result_folder(out) as draft:
        (draft / "record.json").write_text("next")
    assert sorted(os.listdir(out)) == ["notes.txt", "record.json"] and os.listdir(tmp_path) == ["out"]


def test_files_and_folders_of_the_user_stay(fitted, slimg):
    out = fitted.path / "slimg-out"
    (out / "notes.txt").write_text("mine")
    (out / "link").symlink_to("notes.txt")
    os.chmod(out, 0o750)
    assert slimg(*FIT, "--force", "--no-measure-fold-in", "--seed", 3)[0] == 0
    assert {*os.listdir(out)} == {*FILES, "notes.txt", "link"} and (out / "link").is_symlink()
    assert out.stat().st_mode & 0o777 == 0o750
    assert "--seed 3" in json.loads((out / "record.json").read_text())["read"]["command"]
    (out / "figures").mkdir()
    (out / "figures" / "one.svg").write_text("<svg/>")
    assert slimg(*FIT, "--force", "--no-measure-fold-in", "--seed", 4)[0] == 0
    assert {*os.listdir(out)} == {*FILES, "notes.txt", "link", "figures"} and (out / "figures" / "one.svg").exists()
    assert "--seed 4" in json.loads((out / "record.json").read_text())["read"]["command"]


def test_the_current_folder_keeps_its_place(folder, slimg):
    before = os.stat(".").st_ino
    for _ in range(2):
        assert slimg(*FIT, "--out", ".", "--force", "--no-measure-fold-in")[0] == 0
    assert os.stat(folder.path).st_ino == before and set(os.listdir()) >= FILES and "users.csv" in os.listdir()
    assert not [name for name in os.listdir() if name.startswith(".")]


def test_a_table_of_another_format_leaves_no_earlier_one(fitted, slimg):
    fitted.users.to_csv("users.tsv", sep="\t", index=False)
    words = ["users.tsv" if word == "users.csv" else word for word in FIT]
    code, _, err = slimg(*words)
    assert code == 2 and "slimg-out/predictions.csv" in err
    assert slimg(*words, "--force", "--no-measure-fold-in")[0] == 0
    assert {*os.listdir("slimg-out")} == {*FILES - {"predictions.csv"}, "predictions.tsv"}


def test_two_runs_into_one_folder(folder):
    pair = [Forked(*FIT, "--force", "--no-measure-fold-in", "--seed", seed, stderr=f"{seed}.txt") for seed in (1, 2)]
    codes = [process.wait(300) for process in pair]
    said = [Path(f"{seed}.txt").read_text() for seed in (1, 2)]
    if 2 in codes:  # else one had ended before the other began
        assert "another process" in said[codes.index(2)] and "slimg-out" in said[codes.index(2)]
    assert 0 in codes and {*os.listdir("slimg-out")} == FILES
    with result_folder(folder.path / "slimg-out"), pytest.raises(InputError, match=r"another process.*slimg-out"):
        result_folder(folder.path / "slimg-out").__enter__()
    assert sorted(os.listdir()) == ["1.txt", "2.txt", "follows.csv", "slimg-out", "users.csv"]


def test_an_interrupt_leaves_nothing(folder):
    process = Forked(*FIT)
    while not [name for name in os.listdir() if name.endswith(".part")]:
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert sorted(os.listdir()) == ["follows.csv", "users.csv"]


def test_drafts_of_killed_writers_are_removed_and_others_stay(tmp_path):
    from slimg.system import atomic_write

    left, held = tmp_path / ".table.csv.abcdefgh.part", tmp_path / ".table.csv.hgfedcba.part"
    other = tmp_path / ".table.csv.more.abcdefgh.part"
    for path in (left, held, other):
        path.write_text("half")
        os.utime(path, (0, 0))
    code = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code, str(held)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        with atomic_write(tmp_path / "table.csv") as file:
            file.write("whole")
        assert sorted(os.listdir(tmp_path)) == sorted([held.name, other.name, "table.csv"])
        writer.stdin.close()
    assert pd.read_csv(tmp_path / "table.csv").columns.tolist() == ["whole"]


@pytest.mark.parametrize("where", ["users.csv", "users.csv/out"])
def test_a_place_that_takes_no_folder(folder, slimg, where):
    code, _, err = slimg(*FIT, "--out", where)
    assert code == 2 and "users.csv" in err and "folder" in err
