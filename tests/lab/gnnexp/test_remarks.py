"""Remarks name their line where one is known."""

from slimg.lab.gnnexp.remarks import Remark, Where


def test_a_remark_starts_with_its_line():
    where = Where("model.py", 31, "x = F.relu(x)")
    assert str(where) == "model.py:31"
    assert str(Remark("relu", where)) == "model.py:31: relu"
    assert str(Remark("relu")) == "relu"
