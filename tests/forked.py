"""Child processes in a tenth of a second: each is forked from one process that has imported everything and does nothing.

A command that is started as a person types it imports for two to three seconds of processor time, and loads its kernels. Tests
that need a process to kill, to interrupt or to limit, and not the import of it, start it here.
"""

import multiprocessing
import os
import resource
import runpy
import signal
import sys
from html import escape
from multiprocessing.reduction import DupFd

IMPORTED = (
    *("distributed.nanny", "matplotlib.figure", "matplotlib.backends.backend_svg", "sklearn.ensemble", "pyarrow.csv"),
    *("slimg.cli.fit", "slimg.io.text", "slimg.io.write", "slimg.io.disk", "slimg.io.disk_tables", "slimg.classifier"),
    *("slimg.engine.mapped", "slimg.engine.dask", "slimg.learn.search", "slimg.inference.saving", "slimg.report.record"),
    *("slimg.inference.predictions", "slimg.report.page", "slimg.report.plots", "slimg.explain.diagnosis"),
)
"""Modules of the process that children are forked from; none of them starts a thread."""


def context():
    """The context of `multiprocessing` whose children are forked from that process."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload([*IMPORTED])
    return found


class Forked:
    """``python -m slimg …``, or ``python SCRIPT …``, in a forked process, with the methods of `subprocess.Popen` that tests use.

    ``stdout`` and ``stderr`` are files that it writes to, or open descriptors, by default none; ``environment`` is added to
    that of the tests; ``limits`` are arguments of `resource.setrlimit`. Pages are `without_charts`.
    """

    def __init__(self, *words, cwd=".", stdout=os.devnull, stderr=os.devnull, script=None, environment=(), limits=()):
        streams = [_Descriptor(each) if isinstance(each, int) else str(each) for each in (stdout, stderr)]
        given = [str(word) for word in words], os.path.abspath(cwd), streams, script, dict(environment), limits
        self.process = context().Process(target=_run, args=given)
        self.process.start()
        self.pid = self.process.pid

    @property
    def returncode(self):
        return self.process.exitcode

    def poll(self):
        return self.process.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def wait(self, timeout=None):
        """The exit code; minus the signal that ended it. TimeoutError after these seconds."""
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise TimeoutError(f"it still runs after {timeout} s")
        return self.process.exitcode


class _Descriptor:
    """A descriptor on its way to a forked process."""

    def __init__(self, number):
        self.number = number

    def __reduce__(self):
        return _received, (DupFd(self.number),)


def _received(sent):
    return sent.detach()


def _run(words, folder, streams, script, environment, limits):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores it
    os.chdir(folder)
    os.environ.update(environment)
    for place, stream in enumerate(streams, 1):
        handle = stream if isinstance(stream, int) else os.open(stream, os.O_WRONLY | os.O_CREAT, 0o644)
        os.dup2(handle, place)
        os.close(handle)
    for limit in limits:
        resource.setrlimit(*limit)
    without_charts(setattr)
    sys.argv = ["slimg", *words]
    if script is not None:
        runpy.run_path(script, run_name="__main__")
        return
    from slimg.cli import main

    sys.exit(main())


def without_charts(change):
    """Let pages have empty charts, and few trees beside the linear model; ``change`` sets the attribute of a module."""
    from slimg.report import plots, scores

    change(plots, "_as_svg", lambda draw, title, height: f'<svg role="img" aria-label="{escape(title)}"></svg>')
    change(scores, "TREES", 150)


def two_workers(**options):
    """A cluster of Dask with two workers in processes of their own."""
    import dask
    from distributed import LocalCluster
    from distributed.utils import get_mp_context

    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    get_mp_context()  # which names the modules it imports, once; ours are named after it
    context()
    return LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", **options)
