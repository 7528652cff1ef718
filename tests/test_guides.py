"""The guides tell the truth: every Python and sh block runs, links lead somewhere, the index names them all."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from slimg import cli
from slimg.components.component import Component
from slimg.lab.propagators import registry

ROOT = Path(__file__).parents[1]
GUIDES = ROOT / "src" / "slimg" / "guides"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMES = sorted(path.stem for path in GUIDES.glob("*.md"))
NEEDS = {"pyg": ("torch_geometric", "networkx"), "clusters": ("distributed",)}
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/notes/*.md"), *ROOT.glob("examples/**/*.md"),
         *ROOT.glob("benchmarks/**/*.md"), *GUIDES.glob("*.md")]  # fmt: skip
MADE = {"api.md"}  # by docs/conf.py


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder that `slimg demo` leaves."""
    folder = tmp_path_factory.mktemp("demo")
    assert cli.main(["demo", "--out", str(folder / "slimg-demo")]) == 0
    return folder


@pytest.mark.usefixtures("quick_page")
@pytest.mark.parametrize("name", NAMES)
def test_every_block_runs(name, demo, tmp_path, monkeypatch):
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module)
    text = (GUIDES / f"{name}.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._registry()))
    monkeypatch.setattr(Component, "kinds", dict(Component.kinds))
    if name != "start":  # which begins with the demo itself
        shutil.copytree(demo / "slimg-demo", "slimg-demo")
    namespace = {"__name__": "__main__"}
    blocks = BLOCK.findall(text)
    assert blocks and {kind for kind, _ in blocks} <= {"python", "sh"}
    for kind, code in blocks:
        if kind == "python":
            exec(compile(code, f"{name}.md", "exec"), namespace)
        for line in code.replace("\\\n", " ").splitlines() if kind == "sh" else ():
            words = shlex.split(line, comments=True)
            assert words[0] == "slimg" and cli.main(words[1:]) == 0, line


def run_python(name):
    """Run the Python of a page of docs; ``run_python(name)(text → text)``, with a change of its words, returns the names."""
    (code,) = [code for kind, code in BLOCK.findall((ROOT / "docs" / name).read_text(encoding="utf-8")) if kind == "python"]

    def run(change=str, **given):
        exec(compile(change(code), name, "exec"), given)
        return given

    return run


@pytest.fixture
def two_teams(tmp_path, monkeypatch):
    """Files of 60 users in two teams, in the current folder, as tables and as arrays."""
    monkeypatch.chdir(tmp_path)
    rng, team = np.random.default_rng(0), np.arange(60) % 2
    first = rng.integers(0, 60, 240)
    second = (first + 2 * rng.integers(1, 29, 240)) % 60
    names = np.where(np.arange(60) % 3 > 0, np.array(["red", "blue"])[team], None)
    pd.DataFrame({"source": first, "target": second}).to_csv("follows.csv", index=False)
    pd.DataFrame({"source": first, "target": second}).to_parquet("edges.parquet", index=False)
    pd.DataFrame({"user": range(60), "age": 20 + team + rng.random(60), "team": names}).to_csv("users.csv", index=False)
    np.save("features.npy", rng.random((60, 4)).astype(np.float32))
    np.save("labels.npy", np.where(np.arange(60) % 3 > 0, team, -1))
    return team


def test_the_front_page_of_the_site(two_teams):
    command = re.search(r"^    slimg (fit .*)$", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert cli.main(shlex.split(command)) == 0
    predicted = run_python("index.md")()["model"].predict()
    assert (predicted == np.array(["red", "blue"])[two_teams]).mean() > 0.9


def test_a_graph_on_disk_and_a_cluster(two_teams, tmp_path):
    """The blocks of large-graphs.md and dask.md, the second with a cluster of this process and another folder."""
    distributed = pytest.importorskip("distributed")
    assert (run_python("large-graphs.md")()["predicted"] == two_teams).mean() > 0.9
    rows = np.flatnonzero(np.arange(60) % 3)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:

        def here(code):
            return code.replace("tcp://scheduler:8786", cluster.scheduler_address).replace("/shared", str(tmp_path))

        given = run_python("dask.md")(here, train=rows[:30], val=rows[30:])
        given["client"].close()
    assert len(pd.read_parquet(tmp_path / "predictions")) == 60


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in MADE], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text):
        if re.match(r"(https?|mailto):", target):
            continue
        place = page.parent / target if target else page
        if page.parent == ROOT / "docs" and (target.startswith("guides/") or target in MADE):
            place = GUIDES / target.removeprefix("guides/") if target not in MADE else page
        assert place.exists(), target
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), f"{target}#{anchor}"


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_index_and_the_site_name_every_guide():
    index = (GUIDES / "llms.txt").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^- \[([\w-]+)\]\(\1\.md\): \S", index, re.MULTILINE)) == NAMES
    site = (ROOT / "docs" / "guides.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^guides/([\w-]+)$", site, re.MULTILINE)) == NAMES


def test_commands_print_them(capsys):
    assert cli.main(["docs"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in NAMES)
    for name in (*NAMES, "llms.txt"):
        assert cli.main(["docs", name]) == 0
        assert capsys.readouterr().out.startswith("# ")
    assert cli.main(["docs", "relation"]) == 2
    assert "relations" in capsys.readouterr().err
