"""Without torch, the tests of what needs it are left out; algebra, evaluation and proofs are tested all the same."""

from importlib.util import find_spec
from pathlib import Path

collect_ignore = []
if find_spec("torch_geometric") is None:
    tests = Path(__file__).parent.glob("test_*.py")
    collect_ignore = [test.name for test in tests if "torch" in test.read_text(encoding="utf-8")]
