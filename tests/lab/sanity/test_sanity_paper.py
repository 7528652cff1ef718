"""The paper's figures: whole, and consistent with what its text says of them."""

from slimg.lab.sanity import CASES
from slimg.lab.sanity.paper import FIGURES, figure


def test_sixteen_models_in_seven_cases():
    assert len(FIGURES) == 16 and all(len(row) == len(CASES) for row in FIGURES.values())


def test_only_slimg_reaches_eighty_percent_everywhere():
    assert [model for model, row in FIGURES.items() if min(mean for mean, _ in row) >= 80] == ["slimg"]


def test_one_figure():
    assert figure("gprgnn", "random-heterophily") == (65.9, 2.1)
    assert figure("mine", "random-heterophily") is None and figure("lr", "random-uniform") is None
