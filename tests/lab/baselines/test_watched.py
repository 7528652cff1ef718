"""A child under watch: its limits, its group, its parent, and which ends count as want of memory."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from slimg.errors import InputError, TooLarge
from slimg.lab.baselines import watched
from slimg.lab.baselines.watched import Watched, ran_out_of_memory, reason, resident

GREEDY = "held = [bytearray(1 << 26) for _ in range(64)]"
SLEEPS = "import time; time.sleep(600)"


def python(program: str, **limits) -> Watched:
    return Watched([sys.executable, "-c", program], stderr=subprocess.DEVNULL, **limits)


def test_a_child_above_its_memory_is_ended_soon_after_the_limit():
    child = python(GREEDY, memory=200 << 20)
    child.wait()
    assert child.above == "memory" and child.lacked_memory() == "more than 0.20 GiB were needed"
    assert 200 << 20 < child.peak < 3 << 30  # it wanted 4 GiB


def test_a_child_above_its_time_is_ended():
    begun = time.monotonic()
    child = python(SLEEPS, seconds=0.5)
    child.wait()
    assert child.above == "time" and child.lacked_memory() is None and time.monotonic() - begun < 10


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("pass", 0, None),
        ("raise SystemExit(3)", 3, None),
        ("import os; os.kill(os.getpid(), 11)", -11, None),
        ("import os; os.kill(os.getpid(), 9)", -9, "the system ended the process, as it does when memory runs out"),
    ],
)
def test_a_child_that_ends_by_itself_keeps_its_code(program, code, said):
    child = python(program, memory=1 << 40, seconds=60)
    child.wait()
    assert (child.process.returncode, child.above, child.lacked_memory()) == (code, None, said)
    assert not child.look()


def test_what_a_child_started_ends_with_it(tmp_path):
    target = tmp_path / "pid"
    program = (
        f"import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', {SLEEPS!r}]);"
        f" open({str(target)!r}, 'w').write(str(p.pid)); time.sleep(600)"
    )
    child = python(program)
    _until(lambda: target.exists() and target.read_text())
    grandchild = int(target.read_text())
    assert child.look() and resident(grandchild)
    child.end()
    _until(lambda: not resident(grandchild))


def test_a_child_ends_when_nobody_holds_its_input(tmp_path):
    program = "from slimg.lab.baselines.watched import end_with_parent; end_with_parent(); import time; time.sleep(600)"
    child = python(program)
    child.process.stdin.write(b"a task\n")  # input is no end of input
    child.process.stdin.close()
    child.process.stdin = None
    assert child.process.wait(60) == -signal.SIGKILL


def test_which_errors_are_want_of_memory():
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
    monkeypatch.setattr(watched, "PROC", tmp_path)
    assert resident(os.getpid()) is None


def _until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)
