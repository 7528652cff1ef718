"""Errors: what each can be caught as, and sentences that list the choices or the extra."""

import numpy as np
import pytest

from slimg.errors import InputError, MissingExtra, SlimgError, TooLarge, check_number, choices, require


def test_each_error_is_slimgs_and_one_of_pythons():
    assert issubclass(InputError, SlimgError) and issubclass(InputError, ValueError)
    assert issubclass(MissingExtra, SlimgError) and issubclass(MissingExtra, ImportError)
    with pytest.raises(MemoryError):
        raise TooLarge("P needs 9 GiB")
    with pytest.raises(InputError, match=r"^P needs 9 GiB$"):
        raise TooLarge("P needs 9 GiB")


def test_an_unknown_name_is_answered_with_the_choices():
    assert str(choices("fruit", "appel", ["pear", "apple"])) == "unknown fruit 'appel': choose one of apple, pear"
    assert str(choices("fruit", "appel", [])) == "unknown fruit 'appel': there is none"


def test_only_finite_numbers_in_their_range_are_numbers():
    for value in (0.5, 2, np.float32(1), np.int64(3), 10**400):
        check_number(value, "T", "a number above 0", lambda value: value > 0)
    for value in (0, -1.0, np.nan, np.inf, True, "1", None, np.bool_(True), 1j):
        with pytest.raises(InputError, match=r"^T must be a number above 0, not "):
            check_number(value, "T", "a number above 0", lambda value: value > 0)


def test_what_is_not_installed_names_its_extra():
    assert require("json", "any", "reading").loads("1") == 1
    with pytest.raises(MissingExtra, match=r"a plot needs no_such_module: install it with `pip install slimg\[report\]`"):
        require("no_such_module", "report", "a plot")
