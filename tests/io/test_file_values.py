"""What a column holds, and what is refused."""

import datetime

import numpy as np
import pandas as pd
import pytest

from slimg.errors import InputError
from slimg.io.text import as_numbers, check_label, cleaned, kind_of, markers, words_of


def column(*values):
    return cleaned(pd.Series(list(values), dtype=object))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("1", "2.5", "", "-3e2"), "number"),
        ((1, 2, None), "number"),
        (("0", "0", "0", "2"), "counts"),
        (("0.5", "0", "0", "0"), "number"),
        (("007", "008"), "category"),
        ((True, False), "category"),
        (("red", "blue", "NA"), "category"),
        (("New York", "Rome"), "category"),
        (("the cat sat down", "a dog ran far away"), "words"),
        (("Debian Games Team", "Debian Science Team") * 20, "category"),
        ((["a", "b"], None, ["c"]), "values"),
        (([0.5, 1.0], [2.0, 3.0]), "vector"),
        ((np.array([0.5]), np.array([2.0])), "vector"),
        (("", "NA", None), "category"),
    ],
)
def test_kinds(values, kind):
    assert kind_of("x", column(*values)) == kind


@pytest.mark.parametrize(
    "values",
    [
        ("2024-01-05", "2023-12-31T10:00:00"),
        ("5.1.2024", "31/12/23"),
        (datetime.date(2024, 1, 5),),
        (pd.Timestamp("2024-01-05"), None),
    ],
)
def test_dates_are_refused_with_advice(values):
    with pytest.raises(InputError, match=r"column 'born' holds dates .* --ignore born"):
        kind_of("born", column(*values))


def test_numbers_that_look_like_dates_are_numbers():
    assert kind_of("x", column("2024", "2023")) == "number"


def test_a_million_categories_are_refused():
    many = np.array([f"v{k}" for k in range(1_000_000)], object)
    with pytest.raises(InputError, match=r"column 'my id' has 1,000,000 different values .* --ignore 'my id', .* --text"):
        kind_of("my id", many)


def test_a_label_of_five_thousand_values_is_refused():
    with pytest.raises(InputError, match=r"label column 'name' has 5,000 different values, of which 'v0', .* at most 1,000"):
        check_label("name", np.array([f"v{k % 5000}" for k in range(9000)], object))


def test_missing_values_and_their_marks():
    assert column("a", "", " NA ", None, float("nan"), pd.NA, "nan").tolist() == ["a", *[None] * 6]
    assert markers(pd.Series(["a", "", "NA", "NA", "null"])) == {"NA": 2, "null": 1}
    assert cleaned(pd.Series(["NA", ""]), ("",)).tolist() == ["NA", None], "unless the user says otherwise"


def test_numbers():
    assert np.array_equal(as_numbers(column("1", "", "2e3")), [1, np.nan, 2000], equal_nan=True)
    assert as_numbers(column("1", "x")) is None
    assert as_numbers(column("inf")) is None
    assert as_numbers(column("0", "0.5", "-0")) is not None


def test_words():
    assert words_of("It's C++ and Größe_2, x") == ["it", "and", "größe"]
