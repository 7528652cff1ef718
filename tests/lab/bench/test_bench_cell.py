"""A cell's key follows from what is run, to the last setting, and from nothing else."""

import json
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from slimg.lab.bench.cell import Cell, canonical

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4) | st.floats(-1, 1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
CELL = Cell({"name": "cora"}, (0.025, 0.025, 0.95), {"kind": "slimg", "grid": "paper"}, 0)


def turned(value):
    """The same value with the keys of every object in reverse order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(each) for each in value] if isinstance(value, list) else value


@given(VALUES)
def test_equal_values_have_equal_text_and_come_back_from_it(value):
    assert canonical(value) == canonical(turned(value)) and json.loads(canonical(value)) == value


def test_a_key_is_the_same_in_every_process():
    program = "from slimg.lab.bench.cell import Cell; import sys, json; print(Cell.of(json.loads(sys.argv[1])).key)"
    told = subprocess.run([sys.executable, "-c", program, json.dumps(CELL.identity())], capture_output=True, text=True)
    assert told.stdout.strip() == CELL.key == "98dfb4a49d30d2b1"  # as in the recorded results


def test_whatever_changes_the_run_changes_the_key():
    others = [
        Cell({"name": "photo"}, CELL.split, CELL.model, 0),
        Cell(CELL.data, (0.6, 0.2, 0.2), CELL.model, 0),
        Cell(CELL.data, CELL.split, {**CELL.model, "pca": False}, 0),
        Cell(CELL.data, CELL.split, CELL.model, 1),
    ]
    assert len({CELL.key, *(each.key for each in others)}) == 5
    assert Cell.of(CELL.identity()) == CELL and Cell.of(json.loads(json.dumps(CELL.identity()))).key == CELL.key
