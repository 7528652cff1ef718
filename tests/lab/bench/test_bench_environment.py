"""What every record carries."""

import numpy as np
import pytest

from slimg import __version__
from slimg.lab.bench import store as module


def test_versions_commit_and_machine():
    found = module.environment()
    assert found["versions"]["slimg"] and found["versions"]["numpy"] == np.__version__ and found["cores"] >= 1
    assert found["commit"] is None or len(found["commit"].rstrip("+")) >= 7
    assert __version__


def test_the_peak_is_of_what_happened_since_it_was_reset():
    if not module._RESET.exists():
        pytest.skip("this system cannot reset the high water mark")
    held = np.ones(1 << 23)
    high = module.peak_memory()
    del held
    module.reset_peak()
    low = module.peak_memory()
    assert high - low > 50 << 20
    again = np.ones(1 << 25)  # more than the system may take back of other pages meanwhile
    assert module.peak_memory() - low > 50 << 20
    del again
