"""The public names of `slimg`, and the former import paths that the documentation named."""

import subprocess
import sys

import pytest

import slimg
import slimg.lab


@pytest.mark.parametrize("package", [slimg, slimg.lab])
def test_every_public_name_is_listed_and_can_be_imported(package):
    assert set(package.__all__) <= set(dir(package))
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        package.no_such_name  # noqa: B018


def test_importing_slimg_loads_nothing_else():
    loaded = "import sys, slimg; dir(slimg); print(*sorted(name for name in sys.modules if name.split('.')[0] in LIBRARIES))"
    script = loaded.replace("LIBRARIES", "('slimg', 'numpy', 'sklearn')")
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert answer == ["slimg", "slimg._lazy"]


MOVED = [
    ("from slimg import LinearGNN as it", "slimg.lab.LinearGNN"),
    ("from slimg import bench as it", "slimg.lab.bench"),
    ("from slimg import datasets as it", "slimg.lab.datasets"),
    ("from slimg import sanity as it", "slimg.lab.sanity"),
    ("from slimg import gnnexp as it", "slimg.lab.gnnexp"),
    ("from slimg import baselines as it", "slimg.lab.baselines"),
    ("import slimg; it = slimg.baselines", "slimg.lab.baselines"),
    ("from slimg.propagate import register as it", "slimg.lab.propagators.register"),
    ("from slimg.propagate.expressions import A_row as it", "slimg.lab.propagators.expressions.A_row"),
    ("import slimg.propagate.expressions as old; it = old.identity", "slimg.lab.propagators.expressions.identity"),
    ("from slimg.graph.disk import build as it", "slimg.io.disk.build"),
    ("from slimg.graph import disk; it = disk.build", "slimg.io.disk.build"),
]


@pytest.mark.parametrize(("script", "place"), MOVED)
def test_former_paths_give_the_same_thing_and_name_its_new_place(script, place):
    names: dict = {}
    with pytest.warns(DeprecationWarning, match=f"moved to {place};"):
        exec(script, names)
    home, name = place.rsplit(".", 1)
    module = __import__(home, fromlist=[name])
    assert names["it"] is getattr(module, name)
