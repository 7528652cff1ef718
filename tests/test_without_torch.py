"""All but networks works where torch is not installed, in a process that cannot import it; the rest names the extra."""

import subprocess
import sys

FORBID = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "torch_geometric"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from slimg.cli import main
"""


def python(code, *arguments):
    return subprocess.run([sys.executable, "-c", FORBID + code, *arguments], capture_output=True, text=True, timeout=300)


def slimg(*arguments):
    return python("sys.exit(main(sys.argv[1:]))", *arguments)


def test_every_propagator_and_both_classifiers():
    run = python("""
from slimg import LinearGNN, SlimG
from slimg.lab import sanity
from slimg.lab.propagators import get, names
case = sanity.make("semantic", "homophily", n=200, d=10, seed=0, density=0.1)
for name in names():
    assert get(name)(case.graph).blocks, name
for model in SlimG(), LinearGNN("sgc", K=2):
    assert len(model.fit(case.graph).predict()) == 200
assert "torch" not in sys.modules
""")
    assert run.returncode == 0, run.stderr


def test_table_and_show():
    table = slimg("gnnexp", "table")
    assert table.returncode == 0 and table.stdout.count("X") > 20, table.stderr
    shown = slimg("gnnexp", "show", "gcnii")
    assert shown.returncode == 0 and "GCNII" in shown.stdout, shown.stderr


def test_the_proofs_are_numpy_and_need_no_torch():
    run = slimg("gnnexp", "verify")
    assert run.returncode == 0 and "18 of 18 as stated" in run.stdout, run.stderr


def test_linearize_names_the_extra(tmp_path):
    file = tmp_path / "network.py"
    file.write_text("class Network: pass\n")
    run = slimg("gnnexp", "linearize", f"{file}:Network")
    assert run.returncode == 2 and "pip install slimg[gnn]" in run.stderr, run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
