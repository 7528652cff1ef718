"""Errors: what each can be caught as, and sentences that list the choices or the extra."""

import pytest

from slimg.errors import InputError, MissingExtra, SlimgError, TooLarge, choices, require


def test_each_error_is_slimgs_and_one_of_pythons():
    assert issubclass(InputError, SlimgError) and issubclass(InputError, ValueError)
    assert issubclass(MissingExtra, SlimgError) and issubclass(MissingExtra, ImportError)
    with pytest.raises(MemoryError):
        raise TooLarge("P needs 9 GiB")
    with pytest.raises(InputError, match=r"^P needs 9 GiB$"):
        raise TooLarge("P needs 9 GiB")


def test_an_unknown_name_is_answered_with_the_choices():
    assert str(choices("fruit", "appel", ["pear", "apple"])) == "unknown fruit 'appel': choose one of apple, pear"


def test_what_is_not_installed_names_its_extra():
    assert require("json", "any", "reading").loads("1") == 1
    with pytest.raises(MissingExtra, match=r"a plot needs no_such_module: install it with `pip install slimg\[report\]`"):
        require("no_such_module", "report", "a plot")
