"""Operations × faults × random moments: is every result whole, and is the end one sentence with a documented exit code?

    python -m benchmarks.faults.suite [--operations fit predict …] [--faults kill …] [--moments 20] [--seed 0]
                                       [--fresh] [--missing] [--record]

    operations   fit, predict, report, bench (commands); mapped, dask (fits in Python, model saved); download (from loopback)
    faults       kill, terminate      SIGKILL, SIGTERM at a random moment
                 full disk            as much room as a random share of what the operation writes
                 read-only folder     where the result goes
                 truncated, replaced  an input file, at a random moment
                 clock set back       by a day, at a random moment
                 memory               a limit of address space, a random share of what is needed
                 no cache, no home    folders for compiled kernels and of the user that cannot be written

Each operation runs in a child on a small disk of its own (tmpfs; without the right to mount, limits of file size and modes of
folders stand in). Children are forked from a process that has imported slimg (`tests/forked.py`: pages with empty charts and few
trees), so that moments lie within the operation, not within its imports; those of "no cache, no home", and all with
``--fresh``, are started as a command is (imports under a limit of memory: `benchmarks.faults.limits`). "read-only folder"
and "no cache, no home" hold for the whole run and leave nothing to chance: two runs each. After each fault the result must be
the earlier or the new one, whole; the end must have an exit code that the fault allows and no traceback; after the last moment
of a fault one undisturbed run must give the expected result and leave nothing else behind. Everything else is a finding.

``--record`` puts the counts of each fault into benchmarks/results/faults.json, with the commit; ``--missing`` runs those alone
that have fewer moments there.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from forked import Forked

DISK = 200 << 20
"""Bytes of the disk."""
EARLIER = b"earlier"
WHOLE_RUN = {"read-only folder": 2, "no cache, no home": 2}
"""Faults that begin before the operation, and their runs: nothing about them is random."""
FRESH = ("no cache, no home",)
"""Faults that concern the start of Python and imports, too."""
SERVED = bytes(range(256)) * 40_000
FIT = ["--edges", "friends.csv", "--nodes", "people.csv", "--label", "club", "--id", "name"]
GIB = 1 << 30
NODES = 400
"""Of the graph of mapped and dask: few, so that many moments are tried."""


# operations -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operation:
    """What runs in the child, the files that are its result, the one that is an input, and address space it needs."""

    run: Callable[[], int]
    results: tuple[str, ...]
    given: str = "friends.csv"
    memory: int = 3 * GIB


def command(*words: str) -> Callable[[], int]:
    """A command as a user types it."""

    def run() -> int:
        from slimg.cli import main

        return main(words)

    return run


def python(function: Callable[[], None]) -> Callable[[], int]:
    """Python code whose errors end as those of a command."""

    def run() -> int:
        from slimg.cli import completion, main

        completion.run = lambda args: function() or 0  # type: ignore[assignment]
        return main(["completion", "bash"])

    return run


def fit_on(kind: str) -> Callable[[], None]:
    """A fit on an engine, and its model saved."""

    def fit() -> None:
        from slimg import SlimG
        from slimg.engine.mapped import MappedEngine
        from slimg.io.disk import open_graph

        graph, options = open_graph("graph"), {"grid": [(1e-4, 1e-2)], "cv": 2, "average": 1}
        if kind == "mapped":
            with MappedEngine("2GB", folder="work", threads=1) as engine:
                SlimG(engine=engine, **options).fit(graph).save("model.slimg")
            return
        import distributed

        from slimg.engine.dask import DaskEngine

        local = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
        with distributed.Client(**local) as client, DaskEngine(client, folder=".") as engine:
            SlimG(engine=engine, **options).fit(graph).save("model.slimg")

    return fit


def download() -> None:
    """Ten megabytes from loopback, slowly."""
    from slimg.lab.datasets.dataset import RemoteFile
    from slimg.lab.datasets.download import download

    digest = hashlib.sha256(SERVED).hexdigest()
    download(RemoteFile("data.bin", os.environ["ADDRESS"], len(SERVED), digest), Path("got"), retries=0)


OPERATIONS = {
    "fit": Operation(command("fit", *FIT, "--out", "out", "--force", "--json", "--no-measure-fold-in"), ("out",)),
    "predict": Operation(command("predict", "--model", "fitted/model.slimg", "--edges", "friends.csv", "--nodes", "people.csv",
                                 "--out", "predictions.csv", "--force", "--json"), ("predictions.csv",)),
    "report": Operation(command("report", "fitted", "--out", "page.html", "--force"), ("page.html",), "fitted/record.json"),
    "bench": Operation(command("bench", "sanity", "--quick", "--data", "semantic-uniform", "--models", "lr", "--seeds", "1",
                               "--out", "bench"), ("bench",), "", 6 * GIB),
    "mapped": Operation(python(fit_on("mapped")), ("model.slimg",), "graph/indices.npy"),
    "dask": Operation(python(fit_on("dask")), ("model.slimg",), "graph/indices.npy", 5 * GIB),
    "download": Operation(python(download), ("got/data.bin",), ""),
}  # fmt: skip


COMMANDS = ("fit", "predict", "report", "bench")


def prepare(folder: Path, operations: Collection[str]) -> None:
    """Inputs of some operations."""
    import scipy.sparse as sp

    from slimg.cli.demo import synthetic
    from slimg.io.disk import build

    people, friends = synthetic()
    people.to_csv(folder / "people.csv", index=False)
    friends.to_csv(folder / "friends.csv", index=False)
    words = [sys.executable, "-m", "slimg", "fit", *FIT, "--out", "fitted", "--no-measure-fold-in", "--json"]
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    if not {"mapped", "dask"} & set(operations):
        return
    rng, n = np.random.default_rng(0), NODES
    labels = rng.integers(0, 3, n)
    ends = sp.random_array((n, n), density=6 / n, rng=rng).coords
    np.save(folder / "edges.npy", np.column_stack(ends))
    np.save(folder / "x.npy", (rng.normal(size=(n, 8)) + labels[:, None]).astype(np.float32))
    known = np.where(rng.random(n) < 0.2, labels, -1)
    build(folder / "graph", folder / "edges.npy", features=folder / "x.npy", labels=known)
    for name in ("edges.npy", "x.npy"):
        (folder / name).unlink()


# states ---------------------------------------------------------------------------------------------------------------


def digest(path: Path) -> str:
    """Of a file, or of the files of a folder whose content does not depend on the time."""
    if path.is_dir():
        parts = [each for each in sorted(path.rglob("*")) if each.is_file()]
        return " ".join(f"{each.relative_to(path)}={digest(each)}" for each in parts)
    if path.suffix == ".slimg":
        from slimg.inference.model_file import read_model

        _, arrays = read_model(path)
        return hashlib.sha256(b"".join(arrays[name].tobytes() for name in sorted(arrays))).hexdigest()[:12]
    if path.suffix in (".html", ".json", ".jsonl", ".md", ".tex"):  # with seconds: whole if it ends as it should
        return _ending(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def _ending(path: Path) -> str:
    text = path.read_text()
    if path.suffix == ".html":
        return "a page" if text.rstrip().endswith("</html>") else "half a page"
    if path.suffix in (".json", ".jsonl"):
        for line in [text] if path.suffix == ".json" else text.splitlines():
            json.loads(line)
    return "whole" if text else "empty"


def state(folder: Path, operation: Operation, expected: dict[str, str], other_input: bool) -> str:
    """Whether the results are the earlier or the new ones."""
    found = []
    for name in operation.results:
        path = folder / name
        try:
            if not path.exists() or (path.is_file() and path.read_bytes() == EARLIER):
                found.append("earlier")
            else:
                now = digest(path)
                found.append("new" if other_input or now == expected[name] or path.name == "bench" else f"other: {now}")
        except Exception as error:
            found.append(f"damaged: {type(error).__name__} {error}")
    return " and ".join(sorted(set(found)))


def set_earlier(folder: Path, operation: Operation) -> None:
    """Put an earlier result in place; folders and downloads have none."""
    for name in operation.results:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        if path.suffix in (".csv", ".html", ".slimg"):
            path.write_bytes(EARLIER)


# faults ---------------------------------------------------------------------------------------------------------------

FAULTS: dict[str, set[int]] = {
    "kill": {0, -9}, "terminate": {0, -15, 143}, "full disk": {0, 3}, "read-only folder": {2}, "truncated": {0, 2},
    "replaced": {0, 2}, "clock set back": {0}, "memory": {0, 3}, "no cache, no home": {0},
}  # fmt: skip
"""Fault → exit codes that it allows."""


class Disk:
    """A folder of limited size that can be read-only."""

    def __init__(self, folder: Path, inputs: Path):
        self.folder, self.inputs = folder, inputs
        folder.mkdir()
        words = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
        self.mounted = os.geteuid() == 0 and subprocess.run(words, capture_output=True).returncode == 0

    def fill(self) -> None:
        """The inputs alone."""
        for each in self.folder.iterdir():
            if each.is_dir():
                shutil.rmtree(each)
            else:
                each.unlink()
        shutil.copytree(self.inputs, self.folder, dirs_exist_ok=True)

    @contextlib.contextmanager
    def full(self, free: int) -> Iterator[None]:
        """So many bytes are free."""
        filler = self.folder / "filler"
        if self.mounted:
            with filler.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, max(shutil.disk_usage(self.folder).free - free, 1))
        try:
            yield
        finally:
            filler.unlink(missing_ok=True)

    @contextlib.contextmanager
    def read_only(self) -> Iterator[None]:
        """Nothing can be written."""
        self._mode("ro", 0o555)
        try:
            yield
        finally:
            self._mode("rw", 0o755)

    def _mode(self, option: str, mode: int) -> None:
        if self.mounted:
            subprocess.run(["mount", "-o", f"remount,{option}", str(self.folder)], check=True)
        else:
            self.folder.chmod(mode)

    def close(self) -> None:
        """Unmount."""
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)


class Child(Forked):  # type: ignore[misc]
    """This program in a forked process."""

    def __init__(self, words: list[str], told: Path, limits: Any, environment: dict[str, str]):
        told.unlink(missing_ok=True)
        self.told = told
        super().__init__(*words, script=__file__, stderr=told, limits=limits, environment=environment)

    def communicate(self, timeout: float | None = None) -> tuple[None, bytes]:
        """What it wrote to standard error, once it has ended."""
        try:
            self.wait(timeout)
        except TimeoutError as error:
            raise subprocess.TimeoutExpired([], 0) from error
        return None, self.told.read_bytes() if self.told.exists() else b""

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class Suite:
    """The operations on one disk."""

    def __init__(self, folder: Path, operations: Collection[str], seed: int):
        self.fresh = False
        self.rng, self.findings = np.random.default_rng(seed), list[str]()
        (folder / "inputs").mkdir()
        (folder / "tmp").mkdir()
        prepare(folder / "inputs", operations)
        self.temporary = folder / "tmp"
        self.disk = Disk(folder / "disk", folder / "inputs")
        self.folder = self.disk.folder
        self.server = _server()
        self.expected: dict[str, dict[str, str]] = {}
        self.seconds: dict[str, float] = {}
        self.written: dict[str, int] = {}

    def learn(self, name: str, runs: int = 2) -> None:
        """Run an operation undisturbed (the second time kernels are compiled): its time, what it writes, its result."""
        operation = OPERATIONS[name]
        for _ in range(runs):
            self.disk.fill()
            before, begun = _size(self.folder), time.perf_counter()
            code, said = self.start(name)
            assert code == 0, (name, code, said)
            self.seconds[name], self.written[name] = time.perf_counter() - begun, _size(self.folder) - before
        self.expected[name] = {each: digest(self.folder / each) for each in operation.results}

    def start(self, name: str, at: float = 0, act: Callable[[int], None] | None = None, back: float = 0,
              limits: dict[int, int] | None = None, environment: dict[str, str] | None = None) -> tuple[int, str]:  # fmt: skip
        """Run a child, act on it after some seconds; its exit code, and what it wrote to standard error."""
        plain = {"TMPDIR": str(self.temporary), "OMP_NUM_THREADS": "1", "ADDRESS": self.server, "PYTHONWARNINGS": "ignore"}
        words = ["--child", name, str(self.folder), str(back)]
        process = self.process(words, limits or {}, {**plain, **(environment or {})})
        if act is not None:
            time.sleep(at)
            act(process.pid)
        try:
            said = process.communicate(timeout=180)[1].decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            process.kill()
            return -99, "more than 180 s: " + process.communicate()[1].decode("utf-8", "replace")
        return process.returncode, said

    def process(self, words: list[str], limits: dict[int, int], environment: dict[str, str]) -> Any:
        """Start this program with words, limits, and more environment."""

        def limit() -> None:
            for kind, size in limits.items():
                resource.setrlimit(kind, (size, size))

        if not self.fresh:
            pairs = [(kind, (size, size)) for kind, size in limits.items()]
            return Child(words, self.temporary.with_name("told.txt"), pairs, environment)
        words = [sys.executable, "-m", "benchmarks.faults.suite", *words]
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return subprocess.Popen(words, **streams, preexec_fn=limit, env={**os.environ, **environment})

    def moment(self, name: str, fault: str) -> tuple[str, str]:
        """One run with a fault: how it ended and the state of the results."""
        operation, given = OPERATIONS[name], self.folder / OPERATIONS[name].given
        at = self.seconds[name] * self.rng.uniform(0.02, 1.05)
        if fault in ("kill", "terminate"):
            number = signal.SIGKILL if fault == "kill" else signal.SIGTERM
            code, said = self.start(name, at, lambda pid: _send(pid, number))
        elif fault == "full disk":
            free = int(self.written[name] * self.rng.uniform(0, 1))
            limits = None if self.disk.mounted else {resource.RLIMIT_FSIZE: free}
            with self.disk.full(free):
                code, said = self.start(name, limits=limits)
        elif fault == "read-only folder":
            with self.disk.read_only():
                code, said = self.start(name)
        elif fault in ("truncated", "replaced"):
            whole = given.read_bytes()

            def change(pid: int) -> None:
                if fault == "truncated":
                    os.truncate(given, int(len(whole) * self.rng.uniform(0, 1)))
                else:
                    given.with_name("other").write_bytes(whole[::-1])
                    os.replace(given.with_name("other"), given)

            code, said = self.start(name, at, change)
            given.write_bytes(whole)
        elif fault == "clock set back":
            code, said = self.start(name, back=at)
        elif fault == "memory":
            least = 0.05 if name in COMMANDS else 2e9 / operation.memory  # commands refuse less
            limit = int(operation.memory * self.rng.uniform(least, 1))
            code, said = self.start(name, limits={resource.RLIMIT_AS: limit})
        else:
            nowhere = {"HOME": "/proc/nobody", "NUMBA_CACHE_DIR": "/proc/nobody/cache", "XDG_CACHE_HOME": "/proc/nobody/cache"}
            code, said = self.start(name, environment=nowhere)
        found = state(self.folder, operation, self.expected[name], fault in ("truncated", "replaced"))
        told = [line for line in said.splitlines() if line.strip()]
        if code not in FAULTS[fault] or "Traceback" in said or (code in (2, 3) and not told):
            told = told[:9] if code < 0 else told[-3:]  # of a signal where it befell the process
            self.findings.append(f"{name}, {fault}: exit code {code}, {' / '.join(told)[:900]!r}")
        if not set(found.split(" and ")) <= {"earlier", "new"}:
            self.findings.append(f"{name}, {fault}: {found[:300]}")
        return str(code), found

    def run(self, name: str, fault: str, moments: int) -> Counter[str]:
        """Some moments of one fault, and an undisturbed run at the end."""
        operation, counts = OPERATIONS[name], Counter[str]()
        self.disk.fill()
        for _ in range(moments):
            set_earlier(self.folder, operation)
            code, found = self.moment(name, fault)
            counts[f"{found.split(':')[0]}, exit {code}"] += 1
        set_earlier(self.folder, operation)
        code, said = self.start(name)
        after = state(self.folder, operation, self.expected[name], False)
        inputs = {each.relative_to(self.disk.inputs).parts[0] for each in self.disk.inputs.iterdir()}
        named = {each.split("/")[0] for each in operation.results} | {"work"}  # folders that the user names stay
        left = sorted(set(os.listdir(self.folder)) - inputs - named)
        left += sorted(set(os.listdir(self.temporary)) - {"dask-scratch-space"})
        left += [each.name for each in self.folder.rglob("*.part")]
        if code != 0 or after != "new":
            self.findings.append(f"{name}, after {fault}: exit code {code}, {after}, {said.strip()[-200:]!r}")
        if left:
            self.findings.append(f"{name}, after {fault}: left over {left[:6]}")
            for each in self.temporary.iterdir():
                shutil.rmtree(each, ignore_errors=True)
                each.unlink(missing_ok=True) if each.is_file() else None
        return counts


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _size(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def _server() -> str:
    """The address of ten megabytes that take about half a second."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            begin = int((self.headers.get("Range") or "bytes=0-").split("=")[1].rstrip("-"))
            self.send_response(206 if begin else 200)
            self.send_header("Content-Length", str(len(SERVED) - begin))
            self.send_header("ETag", '"one"')
            if begin:
                self.send_header("Content-Range", f"bytes {begin}-{len(SERVED) - 1}/{len(SERVED)}")
            self.end_headers()
            with contextlib.suppress(OSError):
                for place in range(begin, len(SERVED), 1 << 20):
                    self.wfile.write(SERVED[place : place + (1 << 20)])
                    time.sleep(0.05)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/data.bin"


def child(name: str, folder: str, back: float) -> int:
    """Run one operation in its folder; the clock goes back by a day after some seconds, if any."""
    os.chdir(folder)
    faulthandler.enable()
    tempfile.tempdir = None
    if back:
        set_back(time.monotonic() + back)
    return OPERATIONS[name].run()


def set_back(moment: float) -> None:
    """Let the clock go back by a day at a moment, also under the names that modules have given it."""
    now, now_ns = time.time, time.time_ns
    others = {
        now: lambda: now() - 86_400 * (time.monotonic() > moment),
        now_ns: lambda: now_ns() - 86_400 * 10**9 * (time.monotonic() > moment),
    }
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is now or value is now_ns:
                setattr(module, name, others[value])


def applicable(operation: str, fault: str) -> bool:
    """Whether a fault can befall an operation: some have no input file."""
    return bool(OPERATIONS[operation].given) or fault not in ("truncated", "replaced")


def main() -> int:
    """Run, print a table and what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", nargs="+", default=list(OPERATIONS))
    parser.add_argument("--faults", nargs="+", default=list(FAULTS))
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--missing", action="store_true", help="only what has fewer moments recorded")
    parser.add_argument("--fresh", action="store_true", help="start Python for each child")
    parser.add_argument("--child", nargs=3)
    args = parser.parse_args()
    if args.child:
        return child(args.child[0], args.child[1], float(args.child[2]))
    wanted = {(name, fault): min(WHOLE_RUN.get(fault, args.moments), args.moments)
              for name in args.operations for fault in args.faults if applicable(name, fault)}  # fmt: skip
    if args.missing:
        wanted = {cell: moments for cell, moments in wanted.items() if recorded(*cell) < moments}
    folder = Path(tempfile.mkdtemp())
    suite = Suite(folder, {name for name, _ in wanted}, args.seed)
    try:
        print("| operation | fault | moments | what was found |\n|---|---|---|---|")
        for (name, fault), moments in wanted.items():
            suite.fresh = args.fresh or fault in FRESH
            if name not in suite.expected:
                suite.learn(name)
            counts = suite.run(name, fault, moments)
            told = "; ".join(f"{what}: {number}" for what, number in sorted(counts.items()))
            print(f"| {name} | {fault} | {sum(counts.values())} | {told} |", flush=True)
            if args.record:
                _record(name, fault, counts, suite.findings)
    finally:
        suite.disk.close()
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(suite.findings) or "nothing lost, no traceback, no other exit code, nothing left over")
    return int(bool(suite.findings))


def recorded(name: str, fault: str) -> int:
    """Moments that are recorded."""
    from benchmarks import records

    return sum(records.read("faults").get("table", {}).get(name, {}).get(fault, {}).values())


def _record(name: str, fault: str, counts: Counter[str], findings: list[str]) -> None:
    from benchmarks import records

    told = records.read("faults")
    table = told.get("table", {})
    table.setdefault(name, {})[fault] = dict(sorted(counts.items()))
    commits = told.get("commits", {})
    commits.setdefault(name, {})[fault] = records.environment()["commit"]
    earlier = [each for each in told.get("findings", []) if not each.startswith((f"{name}, {fault}", f"{name}, after {fault}"))]
    mine = [each for each in findings if each.startswith((f"{name}, {fault}", f"{name}, after {fault}"))]
    records.write("faults", {**told, "protocol": __doc__, "table": table, "commits": commits, "findings": earlier + mine})


if __name__ == "__main__":
    sys.exit(main())
