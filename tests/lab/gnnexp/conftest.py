"""Without torch, the tests of what needs it are left out; algebra, evaluation and proofs are tested all the same."""

import re
from importlib.util import find_spec
from pathlib import Path

collect_ignore = []
if find_spec("torch_geometric") is None:
    tests = Path(__file__).parent.glob("test_*.py")
    needs_torch = re.compile(r"^(import|from) (torch|gnnexp_networks)", re.MULTILINE)
    collect_ignore = [test.name for test in tests if needs_torch.search(test.read_text(encoding="utf-8"))]
