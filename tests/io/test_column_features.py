"""Columns as features: each formula, what is missing, what is new, and that plans can be stored."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slimg import Graph
from slimg.components.row_scaling import prepare_features
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.io.features import HASHED, FeaturePlan, _places, encode_features

TABLE = pd.DataFrame(
    {
        "age": ["20", "40", "", "60"],
        "city": ["rome", "oslo", "rome", "NA"],
        "bio": ["red cat and red dog", "a blue dog again", "", "cat cat cat red"],
        "tags": [["x", "y"], ["x"], None, []],
    }
)


def encode(frame, **kinds):
    plan, features = encode_features(frame, list(frame.columns), kinds)
    assert (plan.encode(frame) != features).nnz == 0
    return plan, features.toarray()


def test_numbers_are_standardised_within_three_deviations():
    plan, found = encode(TABLE[["age"]])
    spread = np.std([20, 40, 60])
    high = 0.5 + np.array([-20, 0, 20]) / spread / 6
    assert plan.names == ("age: high", "age: low", "age: missing")
    missing = TABLE["age"].isna().to_numpy() | (TABLE["age"] == "")
    assert np.allclose(found[~missing], np.column_stack([high, 1 - high, 0 * high]), atol=1e-6)
    assert found[missing].tolist() == [[0, 0, 1]]
    assert plan.numbers == [("age", (0, 1, 2), 40.0, spread)]


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_the_scale_of_a_number_says_nothing(scale):
    x = np.array([1.0, 2, 5, 4])
    plain, scaled = (encode_features(pd.DataFrame({"x": x * factor}), ["x"])[1].toarray() for factor in (1, scale))
    np.testing.assert_allclose(scaled, plain, rtol=1e-6)


def test_a_number_that_was_never_missing_is_in_the_middle_when_it_is():
    plan, found = encode(pd.DataFrame({"a": [1.0, 2, 6]}))
    assert plan.names == ("a: high", "a: low") and np.allclose(found.sum(axis=1), 1)
    assert plan.encode(pd.DataFrame({"a": [None, 3.0]})).toarray().tolist() == [[0.5, 0.5], [0.5, 0.5]]


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=30))
def test_row_normalisation_keeps_numbers_up_to_scale_and_shift(values):
    frame = pd.DataFrame({"a": values, "b": ["x", "y", "z", *["x"] * (len(values) - 3)]})
    _, x = encode_features(frame, ["a", "b"], {"a": "number"})
    assert x.min() >= 0
    prepared = np.asarray(prepare_features(MemoryEngine(), Graph.from_arrays(None, x).features).todense())
    assert np.allclose(prepared * 2, x.toarray(), atol=1e-5), "every row had the same sum, two columns"


def test_categories_are_one_hot_and_missing_is_nothing():
    plan, found = encode(TABLE[["city"]])
    assert plan.names == ("city: oslo", "city: rome")
    assert found.tolist() == [[0, 1], [1, 0], [0, 1], [0, 0]]


def test_words_are_counted_and_named_after_themselves():
    plan, found = encode(TABLE[["bio"]])
    columns = dict(zip(plan.names, found.T.tolist(), strict=True))
    assert columns == {"bio: red": [2, 0, 0, 1], "bio: cat": [1, 0, 0, 3], "bio: dog": [1, 1, 0, 0]}, (
        "words that occur twice"
    )


def test_lists_of_values_are_counted():
    plan, found = encode(TABLE[["tags"]])
    assert dict(zip(plan.names, found.T.tolist(), strict=True)) == {"tags: x": [1, 1, 0, 0]}


def test_lists_may_be_arrays_as_parquet_has_them():
    _, found = encode(pd.DataFrame({"tags": [np.array(["x", "y"]), None, np.array([], object), np.array(["x"])]}))
    assert found.tolist() == [[1], [0], [0], [1]]


def test_vectors_are_numbers():
    frame = pd.DataFrame({"v": [[0.0, 10.0], [2.0, 30.0], None]})
    plan, found = encode(frame)
    assert plan.names == ("v[0]: high", "v[1]: high", "v[0]: low", "v[1]: low")
    assert np.allclose(found[:, :2], [[1 / 3, 1 / 3], [2 / 3, 2 / 3], [0.5, 0.5]])
    with pytest.raises(InputError, match="lists of 2 numbers, not of 3"):
        plan.encode(pd.DataFrame({"v": [[1.0, 2.0, 3.0]]}))


def test_twenty_columns_of_counts_are_a_bag_and_a_few_are_numbers():
    rng = np.random.default_rng(0)
    many = pd.DataFrame(rng.poisson(0.2, (50, 20)), columns=[f"w{k}" for k in range(20)])
    plan, found = encode(many)
    assert plan.names == tuple(many.columns)
    assert np.array_equal(found, many.to_numpy())
    few, _ = encode(many[["w0"]])
    assert few.names == ("w0: high", "w0: low")


def test_new_rows_are_encoded_as_the_old_ones(tmp_path):
    plan, found = encode(TABLE)
    stored = FeaturePlan.from_dict(json.loads(json.dumps(plan.as_dict())))
    assert stored.names == plan.names
    assert np.array_equal(stored.encode(TABLE).toarray(), found)
    new = pd.DataFrame({"age": ["1000", "x"], "city": ["lima", "oslo"], "bio": ["red fish", ""], "tags": [["q"], None]})
    with pytest.raises(InputError, match="column 'age' held numbers when the model was fitted"):
        stored.encode(new)
    encoded = dict(zip(plan.names, stored.encode(new.assign(age=["1000", ""])).toarray().T, strict=True))
    assert encoded["age: high"].tolist() == [1, 0], "beyond three deviations; missing"
    assert encoded["age: missing"].tolist() == [0, 1]
    assert encoded["city: oslo"].tolist() == [0, 1]
    assert encoded["bio: red"].tolist() == [1, 0]
    with pytest.raises(InputError, match="lacks 'tags'"):
        stored.encode(new.drop(columns="tags").assign(age=1))


def test_what_was_decided_is_told():
    plan, _ = encode(TABLE)
    assert plan.notes == (
        "Column 'age' is read as a number, standardised (1 missing).",
        "Column 'city' is read as a category of 2 values, one-hot (1 missing: NA).",
        "Column 'bio' is read as text, a bag of 3 words (1 missing).",
        "Column 'tags' is read as lists of 1 value, counted (1 missing).",
    )


def test_kinds_can_be_told():
    plan, found = encode(TABLE[["age"]], age="category")
    assert plan.names == ("age: 20", "age: 40", "age: 60")
    assert found.sum() == 3


def test_places_are_those_of_the_published_function():
    published = np.array([0, 0x3C2569B2, 0x7EEED987, 0xC0363E43])
    assert _places(["", "a", "aaaa", "Hello, world!"]).tolist() == (published % HASHED).tolist()
