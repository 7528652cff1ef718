"""`slimg demo` leaves files, predictions and a page, and its next command is true."""

import pandas as pd

from slimg.cli.demo import synthetic


def test_demo(tmp_path, monkeypatch, slimg):
    monkeypatch.chdir(tmp_path)
    code, out, _ = slimg("demo")
    assert code == 0
    table = pd.read_csv("slimg-demo/out/predictions.csv")
    assert len(table) == len(synthetic()[0])
    assert (tmp_path / "slimg-demo/out/report.html").exists()
    command = out.strip().splitlines()[-1].removeprefix("Try: slimg ").split()
    code, out, _ = slimg(*command)
    assert code == 0
    assert "'person-000' is classified as" in out
    assert "--force" in slimg("demo")[2]
