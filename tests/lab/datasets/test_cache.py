"""Where files are looked for, and in which order."""

from pathlib import Path

import pytest

from slimg.lab.datasets import Dataset, RemoteFile, cache

TWO = Dataset("two", "Two", "actor", (RemoteFile("raw/a.csv"), RemoteFile("b.csv", optional=True)), "", "")


@pytest.fixture
def homes(tmp_path, monkeypatch):
    monkeypatch.setenv("SLIMG_DATA", str(tmp_path / "first"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    return tmp_path / "first", tmp_path / "xdg" / "slimg" / "datasets"


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    return path


def test_the_named_folder_comes_first_then_the_cache(homes):
    named, user = homes
    assert cache.data_folders() == [named, user] and cache.data_folders("here") == [Path("here")]
    assert cache.find(TWO) is None
    second = put(user / "two" / "raw" / "a.csv")
    assert cache.find(TWO) == {"raw/a.csv": second}
    first = put(named / "two" / "raw" / "a.csv")
    assert cache.find(TWO) == {"raw/a.csv": first}


def test_members_may_lie_flat_and_options_may_be_absent(homes):
    named, _ = homes
    flat = put(named / "two" / "a.csv")
    assert cache.find(TWO) == {"raw/a.csv": flat} and cache.folder_of(flat, "raw/a.csv") == named / "two"
    extra = put(named / "two" / "b.csv")
    assert cache.find(TWO) == {"raw/a.csv": flat, "b.csv": extra}
    nested = put(named / "two" / "raw" / "a.csv")
    assert cache.folder_of(nested, "raw/a.csv") == named / "two"


def test_without_variables_the_cache_is_below_home(monkeypatch):
    for name in ("SLIMG_DATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache.sys, "platform", "linux")
    assert cache.data_folders() == [Path.home() / ".cache" / "slimg" / "datasets"]
    monkeypatch.setattr(cache.sys, "platform", "darwin")
    assert cache.user_cache() == Path.home() / "Library" / "Caches" / "slimg" / "datasets"
