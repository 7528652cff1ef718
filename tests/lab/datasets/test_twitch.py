"""Twitch gamers' csv files: a small pair of the format."""

import numpy as np
import pytest

from slimg.errors import InputError
from slimg.lab import datasets

HEADER = "views,mature,life_time,created_at,updated_at,numeric_id,dead_account,language,affiliate\n"
ROWS = (
    "7879,1,969,2016-02-16,2018-10-12,1,0,EN,1\n"
    "500,0,2699,2011-05-19,2018-10-08,0,0,DE,1\n"
    "382502,1,3149,2010-02-27,2018-10-12,2,1,EN,0\n"
)


def write(root, nodes=HEADER + ROWS, edges="numeric_id_1,numeric_id_2\n0,1\n1,2\n2,1\n"):
    (root / "twitch-gamers").mkdir()
    (root / "twitch-gamers" / "large_twitch_features.csv").write_text(nodes)
    (root / "twitch-gamers" / "large_twitch_edges.csv").write_text(edges)
    return root


def test_small_files(tmp_path):
    graph = datasets.load("twitch-gamers", write(tmp_path), check=False)
    raw = np.array(
        [
            [500, 2699, 20110519, 20181008, 0, 1, 1],
            [7879, 969, 20160216, 20181012, 0, 0, 1],
            [382502, 3149, 20100227, 20181012, 1, 0, 0],
        ],
        float,
    )
    expected = (raw - raw.mean(0)) / raw.std(0, ddof=1)
    assert np.allclose(graph.features, expected, atol=1e-6)
    assert graph.feature_names[0] == "views" and graph.d == 7
    assert graph.labels.tolist() == [0, 1, 1] and graph.edges == 2
    assert graph.notes == ("1 repeated edge merged (counted once).",)


def test_a_column_that_never_varies_is_zero(tmp_path):
    same = HEADER + ROWS.replace(",1,0,EN", ",1,0,DE").replace("2,1,EN", "2,0,DE")
    graph = datasets.load("twitch-gamers", write(tmp_path, same), check=False)
    assert not graph.features[:, graph.feature_names.index("language")].any()


def test_bad_files_are_named(tmp_path):
    with pytest.raises(InputError, match=r"large_twitch_features\.csv lacks the column 'affiliate' \(it has views,"):
        datasets.load("twitch-gamers", write(tmp_path, HEADER.replace("affiliate", "other") + ROWS), check=False)
    path = tmp_path / "twitch-gamers" / "large_twitch_features.csv"
    path.write_text(HEADER + ROWS.replace(",0,0,DE", ",9,0,DE"))
    with pytest.raises(InputError, match="number its nodes 0 to 2"):
        datasets.load("twitch-gamers", tmp_path, check=False)
