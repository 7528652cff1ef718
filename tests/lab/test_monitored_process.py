"""Monitored processes: the limit, the group, the parent, and which ends count as lack of memory."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from slimg import system
from slimg.errors import InputError, TooLarge
from slimg.lab.shared.process import MonitoredProcess, ran_out_of_memory, reason
from slimg.system import resident

GREEDY = "held = [bytearray(1 << 26) for _ in range(64)]"
SLEEPS = "import time; time.sleep(600)"


def python(program: str, **limits) -> MonitoredProcess:
    return MonitoredProcess([sys.executable, "-c", program], stderr=subprocess.DEVNULL, **limits)


def finished(child: MonitoredProcess) -> MonitoredProcess:
    """The child after its end."""
    try:
        _until(lambda: not child.check())
    finally:
        child.end()
    return child


def test_a_child_above_its_memory_is_ended():
    child = finished(python(GREEDY, memory=200 << 20))
    assert child.exceeded and child.process.returncode == -signal.SIGKILL and "0.20 GiB" in child.out_of_memory()


def test_the_number_of_threads_reaches_the_child():
    child = python("import os; print(os.environ['OMP_NUM_THREADS'], os.environ['NUMBA_NUM_THREADS'])", threads=3)
    assert child.process.stdout.read().split() == ["3", "3"]
    child.end()


@pytest.mark.parametrize(
    ("program", "code", "lacked"),
    [
        ("pass", 0, False),
        ("raise SystemExit(3)", 3, False),
        ("import os; os.kill(os.getpid(), 11)", -11, False),
        ("import os; os.kill(os.getpid(), 9)", -9, True),
    ],
)
def test_a_child_that_ends_by_itself_keeps_its_code(program, code, lacked):
    child = finished(python(program, memory=1 << 40))
    assert (child.process.returncode, child.exceeded) == (code, False)
    assert (child.out_of_memory() is not None) == lacked and not child.check()


def test_what_a_child_started_ends_with_it(tmp_path):
    target = tmp_path / "pid"
    program = (
        f"import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', {SLEEPS!r}]);"
        f" open({str(target)!r}, 'w').write(str(p.pid)); time.sleep(600)"
    )
    child = python(program)
    _until(lambda: target.exists() and target.read_text())
    grandchild = int(target.read_text())
    assert child.check() and resident(grandchild)
    child.end()
    _until(lambda: not resident(grandchild))


def test_a_child_ends_when_nobody_holds_its_input(tmp_path):
    program = "from slimg.lab.shared.process import end_with_parent; end_with_parent(); import time; time.sleep(600)"
    child = python(program)
    child.process.stdin.write("a task\n")  # input is no end of input
    child.process.stdin.close()
    child.process.stdin = None
    assert child.process.wait(60) == -signal.SIGKILL


def test_which_errors_are_lack_of_memory():
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as torchs:
        torch.empty(1 << 60)
    with pytest.raises(MemoryError) as numpys:
        np.empty(1 << 60, np.uint8)
    assert all(map(ran_out_of_memory, [torchs.value, numpys.value, TooLarge("P needs 9 GiB")]))
    assert not ran_out_of_memory(InputError("no such model")) and not ran_out_of_memory(RuntimeError("no idea"))


def test_reasons_are_one_line_and_name_foreign_errors():
    assert reason(ZeroDivisionError("no\nanswer")) == "ZeroDivisionError: no"
    assert reason(InputError("K must be at least 1")) == "K must be at least 1" and reason(KeyError()) == "KeyError"


def test_without_proc_nothing_is_known(monkeypatch, tmp_path):
    assert resident(os.getpid()) > 1 << 20
    monkeypatch.setattr(system, "PROC", tmp_path)
    assert resident(os.getpid()) == 0


def _until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)
