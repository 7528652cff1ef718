"""Mutated files through every reader: each is read, or refused with an InputError of one sentence that names the file.

    python -m benchmarks.fuzz.readers [--readers csv npz …] [--mutations 100000] [--seed 0] [--keep FOLDER] [--record] [--afresh]

A mutation changes bytes, numbers or slices of a small valid file; half of those of packed formats (.gz, .zst, .zip, .npz,
.xlsx, .mat) are made within, and packed again with the right checksums; nine of ten of DuckDB's get the checksums of their
blocks. Files are read in a child that ends by a signal after five seconds of work, and may take 1 GiB beyond what it has when it
begins; every eighth file that is read goes on to the graph. Those of DuckDB are attached to one database
(`benchmarks/fuzz/forking.py`); one in a hundred, and each that ends the child or is neither read nor refused, is read by
a process of its own as well, which is what slimg does and what counts. Mutation k of a seed is always the same, so that what is
found can be made again: ``--keep`` writes it to a folder.

``--record`` puts the counts of the seed into benchmarks/results/fuzz.json,
in the place of earlier ones of the same seed, with the commit; the counts of a reader are the sums over its seeds.
``--afresh`` drops the other seeds of a reader, which were run on earlier code.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import io
import json
import mmap
import multiprocessing
import random
import re
import resource
import shutil
import signal
import sqlite3
import struct
import sys
import tempfile
import time
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

SECONDS, MEMORY = 5, 1 << 30
"""What one file may take: seconds of this process's own work, so that a busy machine does not count."""
HANGS = 60
"""Seconds by the clock after which a file that waits, or that a child reads, is too slow."""
SHARED, PLACES = ("read", "refused", "alone", "otherwise"), "<5q"
"""Counts that are left by a child that ends, and how they are packed after the number of the file at hand."""
CHECKED = 100
"""One in so many files of DuckDB is read by a process of its own, too."""
ROUND = 1_000
"""Files for each child, counted and saved after it: a database that has read many damaged files holds ever more memory."""
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 1 << 31, 0xFFFFFFFF, (1 << 63) - 1, (1 << 64) - 1)
WORDS = (b"-1", b"0", b"999999999", b"4294967296", b"99999999999999999999", b"1e999", b"nan", b"\xff\xfe", b"\x00", b"",
         b'"', b"'", b",", b"\n", b"\r", b"[", b"{", b"}", b"<", b"&", b"1" * 400, b"[" * 5000, b"<a>" * 2000,
         b"\xed\xa0\x80", b"=1", b"null", b"true", b"symmetric", b"array", b"complex", b"NaN", b";", b"\t")  # fmt: skip


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Change one to four places of some bytes."""
    raw = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        place, how = rng.randrange(len(raw) + 1), rng.randrange(9)
        if how < 2:
            raw[place : place + 1] = bytes([rng.randrange(256)])
        elif how == 2 and place < len(raw):
            raw[place] ^= 1 << rng.randrange(8)
        elif how == 3:
            size = rng.choice((1, 2, 4, 8))
            number = rng.choice(NUMBERS) & ((1 << 8 * size) - 1)
            raw[place : place + size] = number.to_bytes(size, rng.choice(("little", "big")))
        elif how == 4:
            del raw[place : place + rng.choice((1, 2, 8, 100, len(raw)))]
        elif how == 5:
            start, size = rng.randrange(len(raw) + 1), rng.choice((1, 4, 20, 200))
            raw[place:place] = raw[start : start + size] * rng.choice((1, 1, 50))
        elif how == 6:
            start, size = rng.randrange(len(raw) + 1), rng.choice((1, 4, 20, 200))
            raw[place : place + size] = raw[start : start + size]
        elif how == 7:
            raw[place : place + rng.randrange(4)] = rng.choice(WORDS)
        else:
            found = list(re.finditer(rb"\d+", raw[place : place + 200]))
            if found:
                where = rng.choice(found)
                raw[place + where.start() : place + where.end()] = rng.choice(WORDS)
        if not raw:
            raw = bytearray(b"\n")
    return bytes(raw)


def within_gzip(data: bytes, rng: random.Random) -> bytes:
    """Mutate what a .gz holds."""
    return gzip.compress(mutate(gzip.decompress(data), rng), 1)


def within_zstd(data: bytes, rng: random.Random) -> bytes:
    """Mutate what a .zst holds."""
    import pyarrow as pa

    with pa.input_stream(pa.BufferReader(data), compression="zstd") as stream:
        return pa.compress(mutate(stream.read(), rng), "zstd", asbytes=True)


def within_zip(data: bytes, rng: random.Random) -> bytes:
    """Mutate one member of an archive, or the size that its directory tells."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = {item.filename: archive.read(item) for item in archive.infolist()}
    name = rng.choice(sorted(content))
    content[name] = mutate(content[name], rng)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for each, value in content.items():
            archive.writestr(each, value)
    return buffer.getvalue()


def within_mat(data: bytes, rng: random.Random) -> bytes:
    """Mutate one compressed element of a Matlab file."""
    elements, place = [], 128
    while place + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, place)
        elements.append((kind, data[place + 8 : place + 8 + size]))
        place += 8 + size
    chosen = rng.randrange(len(elements))
    changed = zlib.compress(mutate(zlib.decompress(elements[chosen][1]), rng), 1)
    elements[chosen] = elements[chosen][0], changed
    return data[:128] + b"".join(struct.pack("<II", kind, len(each)) + each for kind, each in elements)


def within_duckdb(data: bytes, rng: random.Random) -> bytes:
    """Change up to eight places of the headers and blocks that are in use, whose checksums follow."""
    raw, block = bytearray(data), 1 << 18
    parts = [(place, 4096) for place in range(0, 3 * 4096, 4096)]
    parts += [(place, block) for place in range(3 * 4096, len(raw) - block + 1, block)]
    used = _used(data)
    for _ in range(rng.choice((1, 2, 4, 8))):
        place = (rng.choice(used) + rng.choice((0, 0, 1, -1, 8))) % len(raw)
        size = rng.choice((1, 1, 2, 4, 8))
        number = rng.choice((*NUMBERS, rng.getrandbits(64), raw[place] + 1)) & ((1 << 8 * size) - 1)
        raw[place : place + size] = number.to_bytes(size, "little")
    for place, size in parts:
        words = np.frombuffer(raw, np.uint64, (size - 8) // 8, place + 8) * np.uint64(0xBF58476D1CE4E5B9)
        raw[place : place + 8] = int(np.bitwise_xor.reduce(words) ^ np.uint64(5381)).to_bytes(8, "little")
    return bytes(raw[: len(data)])


@functools.lru_cache
def _used(data: bytes) -> list[int]:
    """Places of a file that are not zero."""
    return np.flatnonzero(np.frombuffer(data, np.uint8)).tolist()


WITHIN: dict[str, Callable[[bytes, random.Random], bytes]] = {
    ".gz": within_gzip, ".zip": within_zip, ".npz": within_zip, ".xlsx": within_zip, ".mat": within_mat,
    ".zst": within_zstd, ".duckdb": within_duckdb,
}  # fmt: skip


def make_seeds(folder: Path) -> dict[str, list[Path]]:
    """Reader → small valid files in its format; one is mutated at a time."""
    import duckdb
    import networkx as nx
    import pandas as pd
    import pyarrow as pa
    import scipy.sparse as sp
    from scipy.io import mmwrite

    rng = np.random.default_rng(0)
    nodes = pd.DataFrame({"id": [f"n{k}" for k in range(20)], "age": rng.integers(9, 99, 20),
                          "x": rng.normal(size=20).round(3),
                          "city": rng.choice(["Rome", "Oslo", "Köln"], 20), "team": ["a", "b", None, "b"] * 5})  # fmt: skip
    edges = pd.DataFrame({"source": rng.choice(nodes["id"], 40), "target": rng.choice(nodes["id"], 40), "weight": 0.5})
    pairs, x = rng.integers(0, 20, (40, 2)), sp.random_array((20, 9), density=0.3, rng=rng, format="csr")
    adjacency = sp.csr_array((np.ones(40), pairs.T), shape=(20, 20))
    folder.mkdir(parents=True, exist_ok=True)
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.tsv", index=False, sep="\t")
    (folder / "blanks.edges").write_text("# ends\n" + "\n".join(f"{a}  {b}" for a, b in pairs))
    (folder / "quoted.csv").write_text('id;note;x\n1;"a; b\n c";"1,5"\n2;"say ""no""";3\n')
    text = (folder / "nodes.csv").read_bytes()
    (folder / "nodes.csv.gz").write_bytes(gzip.compress(text))
    (folder / "nodes.csv.zst").write_bytes(pa.compress(text, "zstd", asbytes=True))
    with zipfile.ZipFile(folder / "nodes.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("nodes.csv", text)
    rows = json.loads(nodes.to_json(orient="records"))
    (folder / "lines.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (folder / "list.json").write_text(json.dumps([{**row, "tags": ["p", "q"], "v": [1, 2.5]} for row in rows]))
    nodes.to_parquet(folder / "nodes.parquet")
    nodes.assign(tags=[["p", "q"]] * 20).to_parquet(folder / "packed.parquet", compression="gzip")
    nodes.to_excel(folder / "nodes.xlsx", index=False)
    np.savez(folder / "edges.npz", edges=pairs, features=x.toarray(), labels=np.arange(20) % 3)
    parts = {f"{name}_{part}": getattr(matrix, part) for name, matrix in (("adj", adjacency), ("attr", x))
             for part in ("data", "indices", "indptr", "shape")}  # fmt: skip
    np.savez_compressed(folder / "sparse.npz", **parts, labels=np.arange(20) % 3)
    sp.save_npz(folder / "csc.npz", sp.csc_array(adjacency))
    np.save(folder / "dense.npy", x.toarray())
    mmwrite(folder / "sparse.mtx", sp.coo_array(adjacency))
    mmwrite(folder / "dense.mtx", x.toarray())
    (folder / "pattern.mtx").write_text("%%MatrixMarket matrix coordinate pattern symmetric\n% c\n4 4 3\n2 1\n3 1\n4 3\n")
    network = nx.Graph([("a", "b", {"weight": 2.0}), ("b", "c", {"weight": 0.5})])
    nx.set_node_attributes(network, {"a": {"age": 3, "old": True}, "b": {"age": 4, "team": "red"}})
    nx.write_graphml(network, folder / "graph.graphml")
    nx.write_gexf(network, folder / "graph.gexf")
    for connect, name in ((sqlite3.connect, "shop.sqlite"), (duckdb.connect, "shop.duckdb")):
        connection = connect(str(folder / name))
        connection.execute("CREATE TABLE people (id TEXT, age INTEGER, x REAL)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", nodes[["id", "age", "x"]].to_numpy().tolist())
        connection.commit()
        connection.close()
    seeds: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        name = path.name.partition(".")[2] if path.suffix in (".gz", ".zst", ".zip") else path.suffix[1:]
        reader = {"edges": "csv", "tsv": "csv", "jsonl": "json"}.get(name, name)
        seeds.setdefault(reader, []).append(path)
    return seeds | published_seeds(folder / "published")


def published_seeds(folder: Path) -> dict[str, list[Path]]:
    """Reader of published graphs → files in its formats."""
    import pickle

    import scipy.sparse as sp
    from scipy.io import savemat

    rng = np.random.default_rng(1)
    folder.mkdir(exist_ok=True)
    pairs, x = rng.integers(0, 12, (30, 2)), sp.random_array((12, 6), density=0.4, rng=rng, format="csr")
    adjacency = sp.csc_matrix((np.ones(30), pairs.T), shape=(12, 12))
    for name, packed in (("penn94", True), ("penn94-plain", False)):
        info = rng.integers(0, 3, (12, 7)).astype(float)
        savemat(folder / f"{name}.mat", {"A": adjacency, "local_info": info}, do_compression=packed)
    pokec = {"edge_index": pairs.T, "node_feat": x.toarray(), "label": np.arange(12) % 2}
    savemat(folder / "pokec.mat", pokec, do_compression=True)
    csr = sp.csr_matrix(x.astype(np.float32))
    one_hot = np.eye(3, dtype=np.int32)[np.arange(12) % 3]
    parts = {"allx": csr[:8], "ally": one_hot[:8], "tx": csr[8:], "ty": one_hot[8:], "x": csr[:3], "y": one_hot[:3],
             "graph": {k: [(k + 1) % 12, (k + 5) % 12] for k in range(12)}}  # fmt: skip
    for name, value in parts.items():
        raw = pickle.dumps(value, 3).replace(b"scipy.sparse._csr\n", b"scipy.sparse.csr\n")
        (folder / f"ind.cora.{name}").write_bytes(raw.replace(b"numpy._core.", b"numpy.core."))
    (folder / "ind.cora.test.index").write_text("\n".join(map(str, range(8, 12))))
    lines = "".join(f"{k}\t{k % 5},7\t{k % 3}\n" for k in range(12))
    (folder / "out1_node_feature_label.txt").write_text(f"id\tf\tl\n{lines}")
    (folder / "out1_graph_edges.txt").write_text("a\tb\n" + "".join(f"{a}\t{b}\n" for a, b in pairs))
    named = {"mat": ["penn94.mat", "penn94-plain.mat", "pokec.mat"], "planetoid": [f"ind.cora.{name}" for name in parts],
             "actor": ["out1_node_feature_label.txt", "out1_graph_edges.txt"]}  # fmt: skip
    return {kind: [folder / name for name in names] for kind, names in named.items()}


def read_published(path: Path, folder: Path) -> None:
    """Read a published graph in which one file is another."""
    from types import SimpleNamespace
    from typing import cast

    from slimg.lab.datasets import dataset, loader

    kind = {"ind": "planetoid", "out": "actor", "pok": "pokec"}.get(path.name[:3], "facebook100")
    files = {each.name: each for each in folder.iterdir() if not each.name.endswith(".mat")} | {path.name: path}
    entry = SimpleNamespace(name="cora", reader=kind, folder="cora", files=[SimpleNamespace(name=path.name)], options={})
    loader._read(cast(dataset.Dataset, entry), files, path.parent)


def mutation(seeds: list[Path], seed: int, number: int) -> tuple[Path, bytes]:
    """The file of one number, and its seed."""
    rng = random.Random(f"{seed}-{number}")
    path = rng.choice(seeds)
    data, inner = path.read_bytes(), WITHIN.get(path.suffix)
    if inner and path.name != "penn94-plain.mat" and rng.random() < (0.9 if path.suffix == ".duckdb" else 0.5):
        return path, inner(data, rng)
    return path, mutate(data, rng)


def outcome(path: Path, published: Path | None, onward: bool) -> str:
    """What becomes of one file: "read", "refused", or the exception that is neither."""
    from slimg.errors import InputError
    from slimg.io import Source, read
    from slimg.io.inputs import Options, read_inputs

    try:
        if published is not None:
            read_published(path, published)
            return "read"
        source = Source(path, header=None)
        reading = read(source)
        if onward:
            wanted = {"edges": (source,)} if reading.edges is not None or "edges" in path.name else {"nodes": (source,)}
            if reading.frame is not None or reading.edges is not None:
                read_inputs(Options(**wanted, unknown="keep"), need_label=None)
        return "read"
    except InputError as error:
        text = str(error)
        return "refused" if "\n" not in text and len(text) < 2000 else f"refused with {len(text)} characters: {text[:200]!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:150]}"


def duckdb_process(attached: bool) -> None:
    """Let DuckDB read files attached to one database, or in a forked process for each."""
    from types import SimpleNamespace

    from benchmarks.fuzz import forking
    from slimg.io import databases

    databases.subprocess = SimpleNamespace(Popen=forking.Forked, PIPE=-1)
    databases._DuckdbProcess = forking.Attached if attached else forking.Attached.__base__


def work(name: str, seeds: list[Path], numbers: range, alone: bool, seed: int, folder: Path, shared: Any, queue: Any) -> None:
    """Read the files of some numbers; the number of the file at hand stands in shared memory."""
    warnings.simplefilter("ignore")
    published = seeds[0].parent if name in ("mat", "planetoid", "actor") else None
    if name == "duckdb":
        duckdb_process(attached=not alone)
    for path in seeds:  # imports, threads and caches come before the limits
        found = outcome(path, published, True)
        assert found == "read", (path, found)
    status = Path("/proc/self/status").read_text()
    used = int(re.findall(r"VmData:\s*(\d+)", status)[0]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    counts, wrong, slowest = Counter[str](), [], 0.0
    for number in numbers:
        path, data = mutation(seeds, seed, number)
        shared[:] = struct.pack(PLACES, number, *(counts[each] for each in SHARED))
        target = folder / path.name
        target.write_bytes(data)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.setitimer(signal.ITIMER_REAL, HANGS)
        begun = time.process_time()
        found = outcome(target, published, number % 8 == 0)
        if name == "duckdb" and not alone and (found not in ("read", "refused") or number % CHECKED == 0):
            duckdb_process(attached=False)
            again = outcome(target, published, number % 8 == 0)
            duckdb_process(attached=True)
            counts["alone"] += 1
            counts["otherwise"] += again != found
            found = again
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        slowest = max(slowest, time.process_time() - begun)
        counts[found if found in ("read", "refused") else "wrong"] += 1
        if found not in ("read", "refused"):
            wrong.append((number, found))
            with (folder / "wrong.jsonl").open("a") as file:  # also if a later file ends this process
                file.write(json.dumps(wrong[-1]) + "\n")
    queue.put((dict(counts), wrong, slowest))


def run(
    name: str, seeds: list[Path], mutations: int, seed: int, work_folder: Path, save: Callable[..., None] = lambda *_: None
) -> tuple[Counter[str], list[tuple[int, str]], float]:
    """Count the outcomes of one reader, and save them after each round; a child that ends early is followed by another."""
    context = multiprocessing.get_context("spawn")
    counts, wrong, slowest, begin = Counter[str](), list[tuple[int, str]](), 0.0, 0
    place = work_folder / "number"
    place.write_bytes(bytes(struct.calcsize(PLACES)))

    def start(numbers: range, alone: bool = False) -> tuple[Any, Any]:
        queue = context.Queue()
        child = context.Process(target=_work, args=(name, seeds, numbers, alone, seed, work_folder, place, queue))
        child.start()
        answer = _answer(queue, child)
        child.join()
        return answer, child

    while begin < mutations:
        end = min(begin + ROUND, mutations)
        answer, child = start(range(begin, end))
        if answer is not None:
            counts.update(answer[0])
            wrong += answer[1]
            slowest, begin = max(slowest, answer[2]), end
            save(counts, wrong, slowest)
            continue
        if (child.exitcode or 0) > 0:
            raise RuntimeError(f"the child of {name} ended with exit code {child.exitcode}: its seeds cannot be read")
        number, *told = struct.unpack(PLACES, place.read_bytes())
        kept = Counter(dict(zip(SHARED, told, strict=True)))
        kept["wrong"] = number - begin - kept["read"] - kept["refused"]
        lines = (work_folder / "wrong.jsonl").read_text().splitlines() if kept["wrong"] else []
        wrong += [(where, found) for where, found in map(json.loads, lines) if begin <= where < number]
        signum = signal.Signals(-(child.exitcode or 0)).name if (child.exitcode or 0) < 0 else f"exit {child.exitcode}"
        if name == "duckdb" and signum not in ("SIGALRM", "SIGPROF"):
            answer, child = start(range(number, number + 1), alone=True)
            counts["ended the child"] += 1
            if answer is not None:
                counts.update(answer[0])
                counts.update(kept)
                wrong += answer[1]
                begin = number + 1
                continue
        wrong.append((number, "over 5 s" if signum in ("SIGALRM", "SIGPROF") else signum))
        counts.update(kept + Counter(wrong=1))
        begin = number + 1
    return counts, wrong, slowest


def _work(name: str, seeds: list[Path], numbers: range, alone: bool, seed: int, folder: Path, place: Path, queue: Any) -> None:
    with place.open("r+b") as file, mmap.mmap(file.fileno(), struct.calcsize(PLACES)) as shared:
        work(name, seeds, numbers, alone, seed, folder, shared, queue)


def _answer(queue: Any, child: Any) -> Any:
    import queue as queues

    while True:
        try:
            return queue.get(timeout=0.2)
        except queues.Empty:
            if not child.is_alive():
                try:
                    return queue.get(timeout=0.2)
                except queues.Empty:
                    return None


def record(name: str, counts: Counter[str], wrong: list[tuple[int, str]], slowest: float, seed: int, afresh: bool) -> None:
    """Put the counts of a reader among the recorded ones."""
    from benchmarks import records
    from slimg.lab.bench.store import environment

    told = {each: records.read("fuzz").get(each, {}) for each in ("readers", "model file")}
    kinds = Counter(re.sub(r"\d+|'.*?'|\(.*", "#", what)[:90] for _, what in wrong)
    numbers = {each: counts[each] for each in ("read", "refused", "wrong")}
    numbers = {"files": sum(numbers.values())} | numbers
    runs = {} if afresh else told["readers"].get(name, {}).get("seeds", {})
    found = {"slowest seconds": round(slowest, 2), "kinds of wrong": dict(kinds), "commit": environment()["commit"]}
    ways = {each: counts[each] for each in ("alone", "otherwise", "ended the child") if name == "duckdb"}
    runs[str(seed)] = {**numbers, **found, **ways}
    totals = {each: sum(run[each] for run in runs.values()) for each in numbers}
    told["readers"][name] = {**totals, "slowest seconds": max(run["slowest seconds"] for run in runs.values()), "seeds": runs}
    records.write("fuzz", told)


def rows(found: dict[str, Counter[str]], slowest: dict[str, float]) -> Iterator[str]:
    """The lines of a table."""
    yield "| reader | files | read | refused | anything else | slowest |\n|---|---|---|---|---|---|"
    for name, counts in found.items():
        each = counts["read"], counts["refused"], counts["wrong"]
        numbers = sum(each), *each
        yield f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} | {slowest[name]:.2f} s |"


def main() -> int:
    """Run the readers one after the other, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", nargs="*")
    parser.add_argument("--mutations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--afresh", action="store_true", help="drop what was recorded of the reader's other seeds")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    counts, slowest, failed = dict[str, Counter[str]](), dict[str, float](), False
    try:
        for name, seeds in make_seeds(folder / "seeds").items():
            if args.readers and name not in args.readers:
                continue
            (folder / name).mkdir()
            begun = time.perf_counter()
            save = functools.partial(record, name, seed=args.seed, afresh=args.afresh) if args.record else lambda *_: None
            counts[name], wrong, slowest[name] = run(name, seeds, args.mutations, args.seed, folder / name, save)
            print(f"{name}: {time.perf_counter() - begun:.0f} s, {dict(counts[name])}", file=sys.stderr, flush=True)
            save(counts[name], wrong, slowest[name])
            kinds = Counter(re.sub(r"\d+|'.*?'|\(.*", "#", what)[:90] for _, what in wrong)
            for kind, count in kinds.most_common(12):
                print(f"    {count} × {kind}", file=sys.stderr, flush=True)
            for number, what in wrong[:500]:
                failed = True
                path, data = mutation(seeds, args.seed, number)
                if args.keep:
                    args.keep.mkdir(parents=True, exist_ok=True)
                    (args.keep / f"{name}-{number}-{path.name}").write_bytes(data)
                    with (args.keep / "list.txt").open("a") as file:
                        file.write(f"{name}-{number}-{path.name}: {what}\n")
    finally:
        shutil.rmtree(folder)
    print("\n".join(rows(counts, slowest)))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
