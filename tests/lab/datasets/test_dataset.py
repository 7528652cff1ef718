"""Statistics of a graph, and the entries of datasets.json."""

import json
from urllib.parse import urlsplit

import pytest

from slimg import Graph
from slimg.lab.datasets import Dataset, RemoteFile, Statistics
from slimg.lab.datasets.dataset import table
from slimg.lab.datasets.readers import READERS


def test_statistics_are_measured():
    graph = Graph.from_edges([(0, 1), (1, 2), (0, 0)], features=[[1.0, 2], [3, 4], [5, 6]], label=["a", "a", "b"])
    found = Statistics.of(graph)
    assert found.sizes() == (3, 2, 2, 2) and found.homophily == pytest.approx(0.5)


def test_a_derived_dataset_lives_in_its_sources_folder():
    files = (RemoteFile("f"),)
    assert Dataset("a", "A", "actor", files, "", "").folder == "a"
    assert Dataset("a-filtered", "A", "actor", files, "", "", source="a").folder == "a"


@pytest.mark.parametrize("name", table())
def test_every_entry_can_be_fetched_read_and_cited(name):
    entry = table()[name]
    assert entry.reader in READERS and entry.files and entry.citation and entry.licence and entry.about
    for file in (entry.archive,) if entry.archive else entry.files:
        assert urlsplit(file.address).scheme in ("http", "https") and urlsplit(file.address).hostname
        for digest in (file.sha256, file.contents):
            assert digest is None or (len(digest) == 64 and int(digest, 16))
    assert entry.source is None or table()[entry.source].files == entry.files


def test_checksums_are_known_for_all_files_whose_sizes_were_measured():
    for entry in table().values():
        if entry.measured:
            assert all(file.sha256 or file.contents for file in entry.files), entry.name


def test_statistics_are_the_papers(data_dir):
    path = data_dir.parent / "paper" / "tables.json"
    if not path.is_file():
        pytest.skip("the paper's tables are not here")
    papers = json.loads(path.read_text())["datasets"]
    ours = {entry.title: entry.paper for entry in table().values() if entry.paper}
    assert set(ours) == set(papers)
    for title, row in papers.items():
        assert ours[title].sizes() == (row["nodes"], row["edges"], row["features"], row["classes"])
