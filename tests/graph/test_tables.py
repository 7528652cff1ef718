"""Which columns of a table are taken for what."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from slimg.errors import InputError
from slimg.graph.tables import EdgeTable, NodeTable, as_frame, as_id_column, by_id


@pytest.mark.parametrize(
    ("columns", "options", "ends"),
    [
        (["source", "target"], {}, ("source", "target")),
        (["when", "dst", "src"], {}, ("src", "dst")),
        (["a", "b", "c"], {}, ("a", "b")),
        (["a", "b", "c"], {"source": "c", "target": "a"}, ("c", "a")),
    ],
)
def test_ends_by_name_then_by_place(columns, options, ends):
    frame = pd.DataFrame({name: [f"{name}0", f"{name}1"] for name in columns})
    table = EdgeTable.read(frame, options.get("source"), options.get("target"), None)
    assert table.source.tolist() == [f"{ends[0]}0", f"{ends[0]}1"] and table.target[0] == f"{ends[1]}0"
    guessed = f"Edges are read from columns {ends[0]!r} and {ends[1]!r}."
    assert (guessed in table.notes) == (not options)


def ids_of(frame, **options):
    return NodeTable.read(frame, options.get("id"), None, None).ids.tolist()


def test_ids_by_name_then_index_then_place():
    frame = pd.DataFrame({"age": [3, 4], "id": ["p", "q"], "name": ["x", "y"]})
    assert ids_of(frame) == ["p", "q"] and ids_of(frame, id="name") == ["x", "y"]
    assert ids_of(frame.drop(columns="id").set_index("name")) == ["x", "y"]
    assert ids_of(frame[["name", "age"]]) == ["x", "y"]
    selected = pd.concat([frame, frame.assign(id=["r", "s"], name=["z", "w"])], ignore_index=True).iloc[[3, 1]]
    assert ids_of(selected) == ["s", "q"], "row numbers left over from a selection are not ids"
    assert ids_of(selected[["name"]]) == ["w", "y"]


def test_features_are_the_columns_of_numbers():
    frame = pd.DataFrame({"id": [1, 2], "a": [1, 2], "b": [True, False], "c": ["x", "y"], "d": [0.5, 1], "z": [1j, 2]})
    table = NodeTable.read(frame, "id", "c", None)
    assert table.feature_names == ("a", "b", "d") and table.features.tolist() == [[1, 1, 0.5], [2, 0, 1]]
    assert table.labels.tolist() == ["x", "y"] and table.ids.tolist() == [1, 2]
    assert NodeTable.read(frame, "id", None, ["d"]).features.tolist() == [[0.5], [1]]


def test_nullable_numbers_become_nan_to_be_named_later():
    frame = pd.DataFrame({"id": ["a", "b"], "x": pd.array([1, None], dtype="Int64")})
    assert np.isnan(NodeTable.read(frame, "id", None, None).features[1, 0])


def test_rows_by_id_need_every_id_once():
    frame = pd.DataFrame({"x": [1.0, 2, 3]}, index=["c", "a", "b"])
    assert by_id(frame, np.array(["a", "c"], object), "features").tolist() == [1, 0]
    with pytest.raises(InputError, match=r"features lack rows for 1 nodes \(ids 'z'\)"):
        by_id(frame, np.array(["a", "z"], object), "features")
    with pytest.raises(InputError, match="ids of the features must be distinct"):
        by_id(pd.DataFrame({"x": [1.0, 2]}, index=["a", "a"]), np.array(["a"], object), "features")


def test_frames_of_every_kind_agree():
    columns = {"id": [1, 2], "y": ["a", None]}
    for table in (pd.DataFrame(columns), pa.table(columns), columns):
        frame = as_frame(table)
        assert frame["id"].tolist() == [1, 2] and frame["y"].isna().tolist() == [False, True]
    with pytest.raises(InputError, match="must be pandas, arrow, polars or a dictionary of columns, not int"):
        as_frame(3)


def test_whole_floats_are_integers_as_ids():
    assert as_id_column([1.0, 2.0], "ids").dtype == np.int64
    assert as_id_column([1.5, 2.0], "ids").tolist() == [1.5, 2.0]
