"""How commands end when disk, memory, terminal or slimg itself fail: one sentence and the documented exit code."""

import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from forked import Forked
from slimg import Graph, SlimG, cli
from slimg.components import Features
from slimg.errors import DiskFull, InputError, TooLarge

FIT = ("fit", "--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user", "--no-measure-fold-in")


def typed(*words, **options):
    command = [sys.executable, "-m", "slimg", *words]
    return subprocess.run(command, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120, **options})


def limited(kind, size):
    return lambda: resource.setrlimit(kind, (size, size))


def test_a_full_disk_under_the_results(folder):
    limits = [(resource.RLIMIT_FSIZE, (20_000, 20_000))]
    assert Forked(*FIT, stderr="told.txt", limits=limits).wait(120) == 3
    told = Path("told.txt").read_text()
    assert "disk is full" in told and told.count("\n") == 1
    assert sorted(os.listdir()) == ["follows.csv", "told.txt", "users.csv"]


def test_a_full_disk_under_the_output():
    with open("/dev/full", "w") as full:
        done = typed("docs", "start", stdout=full)
    assert done.returncode == 3 and b"disk is full" in done.stderr and done.stderr.count(b"\n") == 1


def test_memory_that_does_not_suffice(folder):
    """Below 1.5 GB OpenBLAS, arrow and LLVM ended the process with signals and codes of their own; below 2.15 arrow did."""
    for size in (100_000_000, 2_100_000_000):
        done = typed(*FIT, preexec_fn=limited(resource.RLIMIT_AS, size))
        assert done.returncode == 3 and b"ulimit -v" in done.stderr and done.stderr.count(b"\n") == 1


def test_a_matrix_whose_fit_is_more_than_memory_is_refused_before_it_is_read(folder):
    """It can be read, 0.4 GB of 2.5, but a fit takes several times as much: once the kernel ended the process."""
    n = len(folder.users)
    x = np.lib.format.open_memmap("x.npy", "w+", np.float32, (n, 400_000_000 // (4 * n)))  # a file of holes
    del x
    limits = [(resource.RLIMIT_AS, (cli.LEAST, cli.LEAST))]
    for words in ((), ("--engine", "memory")):
        begun = time.perf_counter()
        assert Forked(*FIT, "--feature-matrix", "x.npy", *words, stderr="told.txt", limits=limits).wait(120) == 3
        told = Path("told.txt").read_text()
        assert all(each in told for each in ("takes about", "available", "fewer columns")) and told.count("\n") == 1, told
        assert "x.npy" not in told and time.perf_counter() - begun < 60


def test_a_process_without_a_console(folder, monkeypatch, capsys):
    import_module("slimg.cli.open")  # the module takes the name of the function
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.main([*FIT, "--json"]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", None)
    assert cli.main(["fit", "--edges", "nowhere.csv", "--label", "team"]) == 2


def test_a_reader_that_has_ended(folder):
    code = f"{sys.executable} -m slimg --help | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", code], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_characters(folder, monkeypatch, encoding):
    folder.users.replace("red", "λ-é-😀").to_csv("users.csv", index=False)
    for words in (["--json"], ["--force"]) if encoding == "ascii" else (["--json"],):
        said = io.TextIOWrapper(io.BytesIO(), encoding)
        monkeypatch.setattr(sys, "stdout", said)
        assert cli.main([*FIT, *words]) == 0
        shown = said.buffer.getvalue().decode(encoding)
        assert "λ-é-😀" in json.loads(shown)["classes"] if "--json" in words else "report.html" in shown


def test_an_interrupt_while_modules_are_imported(folder):
    for delay in (0.06, 0.15, 0.3):
        process = subprocess.Popen([sys.executable, "-m", "slimg", *FIT], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        if b"/slimg/" in said or b"slimg: " in said:  # else Python itself had not started, or reads where packages are
            assert process.returncode in (130, -signal.SIGINT), "a shell gives 130 for both"
            assert said == b"slimg: interrupted\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("x"), 2), (TooLarge("x"), 3), (DiskFull("x"), 3), (MemoryError(), 3), (OSError(28, "full"), 3),
        (OSError(24, "too many open files"), 3), (RuntimeError("can't start new thread"), 3), (KeyError("x"), 70),
        (ImportError("x.so: cannot map zero-fill pages"), 3),
        (OSError(30, "Read-only file system", "/x"), 2),
        (RecursionError(), 70), (KeyboardInterrupt(), 130),
    ],
    ids=repr,
)  # fmt: skip
def test_exit_codes(monkeypatch, capsys, tmp_path, error, code):
    def fail(args):
        raise error

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("slimg.cli.completion.run", fail)
    assert cli.main(["completion", "bash"]) == code
    said = capsys.readouterr().err
    assert said.startswith("slimg: ") and said.count("\n") == 1
    if code == 70:
        (trace,) = tmp_path.iterdir()
        assert str(trace) in said and type(error).__name__ in trace.read_text() and "Traceback" in trace.read_text()


def test_the_help_names_the_exit_codes(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    said = capsys.readouterr().out
    assert all(f"{code} " in said for code in (0, 1, 2, 3, 70, 130))


def test_warnings_are_one_line_without_a_path(folder, monkeypatch, capsys):
    import warnings

    monkeypatch.setattr("slimg.cli.completion.run", lambda args: warnings.warn("odd\nthing", stacklevel=1) or 0)
    assert cli.main(["completion", "bash"]) == 0
    assert capsys.readouterr().err == "slimg: warning: odd�thing\n"


@pytest.mark.parametrize("separator", [";;", "a", '"', "\\n"])
def test_separators_of_more_than_one_character(folder, slimg, separator):
    code, _, err = slimg(*FIT, "--separator", separator)
    assert code == 2 and "--separator" in err


def test_five_nodes(tmp_path, monkeypatch, slimg):
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text("a,b\n1,2\n2,3\n3,1\n3,4\n4,5\n")
    Path("n.csv").write_text("id,t,x\n1,u,1\n2,u,2\n3,v,5\n4,v,6\n5,,4\n")
    code, _, err = slimg("fit", "--edges", "e.csv", "--nodes", "n.csv", "--label", "t", "--id", "id")
    assert code == 0 and "/" not in err
    assert len(pd.read_csv("slimg-out/predictions.csv")) == 5


@pytest.mark.parametrize("scale", [1e38, 1e-44, 1e30, 1e-20])
def test_numbers_at_the_ends_of_float32(scale):
    """Features give finite probabilities or a sentence that says to rescale; weights a sentence."""
    rng = np.random.default_rng(0)
    edges, labels = rng.integers(0, 40, (160, 2)), ["uv"[k % 2] if k < 30 else None for k in range(40)]
    features = (rng.random((40, 3)) + np.arange(40)[:, None] % 2).astype(np.float32)
    for normalize in ("auto", "row", None):
        graph = Graph.from_edges(edges, np.arange(40), labels=labels, features=features * np.float32(scale))
        try:
            model = SlimG(components=[Features(normalize=normalize)], grid=[(0, 1e-2)]).fit(graph)
        except InputError as error:
            assert "divide" in str(error)
        else:
            assert np.isfinite(model.predict_proba()).all()
    with pytest.raises(InputError, match="1e15"):
        Graph.from_edges(np.column_stack([edges, np.full(160, scale)]), np.arange(40), labels=labels, weight=2)
