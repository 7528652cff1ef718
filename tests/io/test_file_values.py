"""What a column holds, and what is refused."""

import datetime

import numpy as np
import pandas as pd
import pytest

from slimg.errors import InputError
from slimg.io.values import Column, tokens, words_of


def column(*values):
    return Column("x", pd.Series(list(values), dtype=object))


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
    assert column(*values).kind == kind


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
        _ = Column("born", pd.Series(list(values), dtype=object)).kind


def test_numbers_that_look_like_dates_are_numbers():
    assert column("2024", "2023").kind == "number"


def test_a_million_categories_are_refused():
    many = np.array([f"v{k}" for k in range(1_000_000)], object)
    with pytest.raises(InputError, match=r"column 'my id' has 1,000,000 different values .* --ignore 'my id', .* --text"):
        _ = Column("my id", many).kind


def test_a_label_of_five_thousand_values_is_refused():
    with pytest.raises(InputError, match=r"label column 'name' has 5,000 different values, of which 'v0', .* at most 1,000"):
        Column("name", np.array([f"v{k % 5000}" for k in range(9000)], object)).check_label()


def test_missing_values_and_their_marks():
    assert column("a", "", " NA ", None, float("nan"), pd.NA, "nan").labels.tolist() == ["a", *[None] * 6]
    assert column("a", "", "NA", "NA", "null").markers == {"NA": 2, "null": 1}
    kept = Column("x", pd.Series(["NA", ""]), ("",))
    assert kept.labels.tolist() == ["NA", None], "unless the user says otherwise"


@pytest.mark.parametrize("values", [[1, None, 3], [1, "a", None], [True, False], [2.0, None]])
def test_labels_stay_as_they_were_given(values):
    found = column(*values).labels.tolist()
    assert found == values and [type(value) for value in found] == [type(value) for value in values]


def test_numbers():
    assert np.array_equal(column("1", "", "2e3").numbers, [1, np.nan, 2000], equal_nan=True)
    assert column("1", "x").numbers is None
    assert column("inf").numbers is None
    assert column("0", "0.5", "-0", "+1", " 2 ").numbers.tolist() == [0, 0.5, 0, 1, 2]
    assert column("0.5", "007").numbers is None, "a code"


@pytest.mark.parametrize(
    ("values", "numbers", "decimal"),
    [
        (("1,5", "2,25", "1.234,5"), [1.5, 2.25, 1234.5], ","),
        (("1,234", "12", "1,234,567.5"), [1234, 12, 1234567.5], "."),
        (("1 234", "12", "1’234"), [1234, 12, 1234], "."),
        (("52%", "7 %", "1e2"), [52, 7, 100], "."),
        (("12 €", "$3.50", "-EUR 4"), [12, 3.5, -4], "."),
        (("1.234", "2,5"), [1234, 2.5], ","),
    ],
)
def test_numbers_as_people_write_them(values, numbers, decimal):
    found = column(*values)
    assert found.numbers.tolist() == numbers and found.decimal == decimal


def test_a_decimal_mark_can_be_given():
    assert Column("x", pd.Series(["1,234", "5"]), decimal=",").numbers.tolist() == [1.234, 5]


def test_odd_cells_in_numbers_are_missing_and_named():
    found = column("1", "-", "?", "n/a", "inf", "2", "3", "4")
    assert np.array_equal(found.numbers, [1, *[np.nan] * 4, 2, 3, 4], equal_nan=True)
    assert found.odd == {"-": 1, "?": 1, "n/a": 1, "inf": 1}
    nearly = column(*map(str, range(99)), "lots")
    assert np.isnan(nearly.numbers[-1]) and nearly.odd == {"lots": 1}
    assert "'lots' (1)" in nearly.odd_note()
    typed = Column("x", pd.Series([1.0, np.inf, 3.0]))
    assert np.array_equal(typed.numbers, [1, np.nan, 3], equal_nan=True) and typed.odd == {"inf": 1}


def test_versions_and_addresses_are_no_numbers():
    assert column("1.2.3", "1.10.2", "2.0.1").numbers is None
    assert column("10.0.0.1", "10.0.0.2").numbers is None


def test_words():
    assert words_of("It's C++ and Größe_2, x") == ["it", "and", "größe"]


@pytest.mark.parametrize("texts", [["It's C++ and Red_2, x", None, "and red"], ["Größe and ſo", "", "and İ x2"]])
def test_texts_are_split_as_one_text_is(texts):
    rows, codes, distinct = tokens(Column("x", pd.Series(texts)), "words")
    found = [[distinct[code] for code in codes[rows == row]] for row in range(len(texts))]
    assert found == [words_of(text or "") for text in texts]
