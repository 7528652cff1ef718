"""SlimG in the registry is SlimG's own computation."""

import numpy as np
from propagate_oracles import GRAPHS

from slimg.lab.propagators import compute_components, get


def test_slimg_is_the_four_components():
    registered, direct = get("slimg")(GRAPHS[3]), compute_components(GRAPHS[3])
    assert registered.names == direct.names == ("U", "X", "A_row^2 X", "A_sym^2 X")
    for name in direct.names:
        assert np.array_equal(registered.blocks[name], direct.blocks[name])


def test_it_has_no_hyperparameters():
    assert get("slimg").hyperparameters() == {}
