"""All but networks works where torch is not installed, in a process that cannot import it; the rest names the extra."""

import subprocess
import sys

FORBID = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "torch_geometric", "sknetwork"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from slimg.cli import main
"""


def python(code, *arguments):
    return subprocess.run([sys.executable, "-c", FORBID + code, *arguments], capture_output=True, text=True, timeout=300)


def test_everything_but_networks(tmp_path):
    """Propagators and both classifiers, the table and the proofs; a user's network is refused in one line."""
    file = tmp_path / "network.py"
    file.write_text("class Network: pass\n")
    run = python(
        """
from slimg import SlimG
from slimg.lab import LinearGNN, baselines, sanity
from slimg.lab.propagators import get, names
case = sanity.make("semantic", "homophily", n=200, d=10, seed=0, density=0.1)
for name in names():
    assert get(name)(case.graph).blocks, name
for model in SlimG(), LinearGNN("sgc", K=2):
    assert len(model.fit(case.graph).predict()) == 200
for words in ["table"], ["show", "gcnii"], ["verify"], ["linearize", sys.argv[1]]:
    print("exit code", main(["gnnexp", *words]))
try:
    baselines.get("gcn").fit(case.graph)
except ImportError as error:
    assert str(error) == "the network gcn needs torch: install it with `pip install slimg[gnn]`"
assert not {"torch", "sknetwork"} & set(sys.modules)
""",
        f"{file}:Network",
    )
    assert run.returncode == 0, run.stderr
    table, shown, verified, _ = run.stdout.split("exit code ")[:-1]
    codes = [each.split("\n")[0] for each in run.stdout.split("exit code ")[1:]]
    assert codes == ["0", "0", "0", "2"] and table.count("X") > 20 and "GCNII" in shown and "18 of 18 as stated" in verified
    assert "pip install slimg[gnn]" in run.stderr and len(run.stderr.strip().splitlines()) == 1, run.stderr
