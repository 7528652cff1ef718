"""The table is complete and consistent with itself and the paper."""

import json
from urllib.parse import urlsplit

import pytest

from slimg.lab.datasets.readers import READERS
from slimg.lab.datasets.table import TABLE


@pytest.mark.parametrize("name", TABLE)
def test_every_entry_can_be_fetched_read_and_cited(name):
    entry = TABLE[name]
    assert entry.reader in READERS and entry.files and entry.citation and entry.licence and entry.about
    for file in (entry.archive,) if entry.archive else entry.files:
        assert urlsplit(file.address).scheme in ("http", "https") and urlsplit(file.address).hostname
        for digest in (file.sha256, file.contents):
            assert digest is None or (len(digest) == 64 and int(digest, 16))
    assert entry.source is None or TABLE[entry.source].files == entry.files


def test_checksums_are_known_for_all_files_whose_sizes_were_measured():
    for entry in TABLE.values():
        if entry.measured:
            assert all(file.sha256 or file.contents for file in entry.files), entry.name


def test_statistics_are_the_papers(data_dir):
    path = data_dir.parent / "paper" / "tables.json"
    if not path.is_file():
        pytest.skip("the paper's tables are not here")
    table = json.loads(path.read_text())["datasets"]
    ours = {entry.title: entry.paper for entry in TABLE.values() if entry.paper}
    assert set(ours) == set(table)
    for title, row in table.items():
        assert ours[title].sizes() == (row["nodes"], row["edges"], row["features"], row["classes"])
