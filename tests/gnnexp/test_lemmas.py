"""The lemmas of the paper: all rows are there, and each side is written as its own paper has it."""

import numpy as np
import pytest

from slimg.errors import InputError
from slimg.gnnexp import lemmas
from slimg.gnnexp.graphs import cases

LINEAR = ("lr", "sgc", "dgc", "s2gc", "g2cn")
DECOUPLED = ("ppnp", "appnp", "gdc", "gprgnn")
COUPLED = ("chebnet", "gcn", "sage", "gcnii", "h2gcn")
ROWS = (*LINEAR, *DECOUPLED, *COUPLED, "gat", "dagnn")


def test_every_row_of_the_papers_table_is_a_lemma():
    assert set(ROWS) <= set(lemmas.LEMMAS)
    assert {name for name in ROWS if lemmas.get(name).claim != "exact"} == {"h2gcn", "gat", "dagnn"}
    with pytest.raises(InputError, match="unknown lemma 'gcnn': choose one of"):
        lemmas.get("gcnn")


@pytest.mark.parametrize("name", lemmas.LEMMAS)
def test_there_are_three_rows_for_each_column_and_the_seed_decides(name):
    case = next(cases())
    output, blocks = lemmas.get(name).prove(case.a, case.x, np.random.default_rng(0))
    again, _ = lemmas.get(name).prove(case.a, case.x, np.random.default_rng(0))
    assert len(case.a) >= 3 * sum(block.shape[1] for block in blocks.values())
    assert (output == again).all() and output.shape == (len(case.a), lemmas.CLASSES)
