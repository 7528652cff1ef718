"""Mutations of a model file with its checksums recomputed: each is refused with an InputError, or predicts the same.

    python -m benchmarks.fuzz.model_file [--mutations 20000] [--seed 0] [--memory 6GB] [--record]

A third each: one place of the header (removed, renamed, doubled, of another type or size); one array (another type, shape or
size, not finite, missing, added, declared larger than it is); bytes of the archive outside the arrays' own digests. The
file runs in a child with a limit of memory. Accepted files must give the scores of the fitted graph to the bit, and the
predictions of a graph that grew and of new rows alone. A third of the files each are of a plain graph, of one with relations,
and of tables whose numbers are put in ranges; with the last, the tables are read again by what the file says about them,
which must give a graph or an InputError.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import io
import json
import multiprocessing
import resource
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from slimg import Graph, SlimG, read
from slimg.errors import InputError
from slimg.system import as_bytes

SLOW = 5.0
"""Seconds that one file may take."""
VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 7, 2**63, 10**400, -1.5, 1e308, "", "x", "predict", "__dict__", "engine",
    "../../etc/passwd",
    "$(touch x)", "\ud7ff", [], {}, [[]], [None], {"x": 1}, {"tuple": 3}, {"float": "1e5"}, {"component": {"pairs": []}},
    {"set": [[1]]}, {"pairs": [1]}, {"energy_rank": [1]}, {"tuple": [1, 2]},
]  # fmt: skip
VALUES.append(json.loads("[" * 60 + "]" * 60))


def planted(extra: int = 0, relations: bool = False) -> Graph:
    """Sixty nodes of three classes, and some that came later; with two relations, one of them directed, or none."""
    rng = np.random.default_rng(0)
    n = 60 + extra
    labels = np.arange(n) % 3
    edges = [(f"n{a}", f"n{b}") for a in range(n) for b in range(a) if (labels[a] == labels[b]) and (a * b) % 5 == 0]
    features = rng.poisson(1 + 2 * (np.arange(6)[None] % 3 == labels[:, None])).astype(np.float32)
    known = ["abc"[k] if i < 30 else None for i, k in enumerate(labels)]
    ids = [f"n{k}" for k in range(n)]
    if relations:
        edges, kept = {"likes": edges[::2], "pays": edges[1::2]}, {"directed": ["pays"]}
    return Graph.from_edges(edges, ids, labels=known, features=features, **(kept if relations else {}))


def rows_alone(relations: bool = False) -> Graph:
    """Two new nodes and those they are linked with."""
    edges = [("n60", "n0"), ("n60", "n3"), ("n61", "n7"), ("n61", "n60")]
    features = np.eye(5, 6, dtype=np.float32) + 1
    given, kept = ({"likes": edges[:2], "pays": edges[2:]}, {"directed": ["pays"]}) if relations else (edges, {})
    return Graph.from_edges(given, ["n60", "n61", "n0", "n3", "n7"], features=features, **kept)


def tables(nodes: int, ids: list[int] | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Edges and nodes of two classes by an age near the middle, some of them missing; with ids, those nodes alone."""
    rng = np.random.default_rng(0)
    age, amount, chance = rng.normal(40, 12, 200), rng.exponential(100, 200).round(2), rng.random(200)
    team = np.where(np.abs(age - 40) < 8, "in", "out")
    frame = pd.DataFrame({"id": np.arange(200), "age": np.where(chance < 0.1, np.nan, age.round(1)), "amount": amount,
                          "town": rng.choice(["Rome", "Oslo"], 200), "words": rng.choice(["red hat", "blue"], 200),
                          "team": np.where(np.arange(200) < 100, team, None)})  # fmt: skip
    a, b = rng.integers(0, 200, (2, 2000))
    kept = (team[a] == team[b]) & (a < nodes) & (b < nodes) & (a != b)
    edges = pd.DataFrame({"source": a[kept], "target": b[kept]})
    if ids is not None:
        edges = edges[edges["source"].isin(ids) & edges["target"].isin(ids)]
    return edges, frame.iloc[:nodes] if ids is None else frame.iloc[ids]


def table_graph(nodes: int, ids: list[int] | None = None, like: Any = None) -> Graph:
    """The graph of some tables."""
    edges, frame = tables(nodes, ids)
    options = {} if like is not None else {"label": "team", "kinds": {"words": "text"}}
    return read(edges=edges, nodes=frame, like=like, **options)


def members(path: Path) -> dict[str, bytes]:
    """Name → content of the members of a file."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archived(content: dict[str, bytes]) -> bytes:
    """A file of these members, with the digests of the arrays (if the header has a place for them) and of the whole."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, each in content.items():
            archive.writestr(name, each)
        archive.comment = b"0" * 64
    return signed(buffer.getvalue())


def signed(content: bytes) -> bytes:
    """The same bytes with their digest at the end."""
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


def mutate(content: dict[str, bytes], rng: np.random.Generator) -> tuple[str, bytes]:
    """One mutated file, and what was done."""
    kind = ("header", "array", "bytes")[rng.integers(3)]
    if kind == "bytes":
        raw = bytearray(archived(content))
        for _ in range(rng.integers(1, 4)):
            raw[rng.integers(len(raw) - 64)] = rng.integers(256)
        return kind, signed(bytes(raw))
    header, new = json.loads(content["header.json"]), dict(content)
    what = mutate_header(header, rng) if kind == "header" else mutate_array(new, header, rng)
    new["header.json"] = json.dumps(header).encode("utf-8", "surrogatepass")
    return what, archived(new)


def mutate_header(header: dict[str, Any], rng: np.random.Generator) -> str:
    """Change one place of the header, anywhere in the tree."""
    places = list(_places(header))
    parent, key = places[rng.integers(len(places))]
    how = ("replace", "replace", "remove", "rename", "double", "add")[rng.integers(6)]
    value = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
    if how == "replace":
        parent[key] = value
    elif how == "remove":
        del parent[key]
    elif how == "add":
        _add(parent, ("predict", "__class__", "x", "coef_", "steps")[rng.integers(5)], value)
    elif isinstance(parent, dict):
        value = parent[key] if how == "double" else parent.pop(key)
        parent[f"{key}x"] = value
    else:
        parent.insert(key, copy.deepcopy(parent[key]))
    return f"header, {how}"


def _add(parent: Any, name: str, value: Any) -> None:
    if isinstance(parent, dict):
        parent[name] = value
    else:
        parent.append(value)


def _places(value: Any):
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])


def mutate_array(content: dict[str, bytes], header: dict[str, Any], rng: np.random.Generator) -> str:
    """Change the type, shape or size of one array, or what its own header declares; its digest follows."""
    names = [name for name in content if name.endswith(".npy")]
    name = names[rng.integers(len(names))]
    array = np.load(io.BytesIO(content[name]))
    kinds = ["type", "order", "cut", "grow", "flat", "nan", "missing", "added", "declared", "text", "complex"]
    how = str(rng.choice(kinds + ["moved"] * 5 * name.startswith("places")))
    if how == "missing":
        del content[name], header["sha256"][name[:-4]]
        return "array, missing"
    changed = {
        "type": lambda: array.astype(rng.choice(["i1", "i8", "u4", "?", "S4", "U3"])),
        "order": lambda: array.astype(array.dtype.newbyteorder(">")),
        "cut": lambda: array.reshape(-1)[:-1] if array.ndim == 0 else array[:-1],
        "grow": lambda: np.concatenate([array.reshape(-1, *array.shape[1:])] * 2),
        "flat": lambda: array.reshape(-1) if array.ndim != 1 else array[None],
        "nan": lambda: np.where(rng.random(array.shape) < 0.3, rng.choice([np.nan, np.inf, -np.inf]), array.astype(float)),
        "complex": lambda: array.astype(complex),
        "moved": lambda: array + rng.integers(-2, 4, array.shape) * (rng.random(array.shape) < 0.4),
    }.get(how, lambda: array)()
    buffer = io.BytesIO()
    np.save(buffer, changed)
    raw = buffer.getvalue()
    if how == "declared":
        sizes = rng.choice(["1000000000", "-3", "99999999999999999999", "4", "0"], 2)
        declared = raw[10:128].replace(str(array.shape).encode(), f"({sizes[0]}, {sizes[1]})".encode())[:118]
        raw = raw[:10] + declared + raw[128:]
    elif how == "text":
        raw = bytearray(raw)
        for _ in range(3):
            raw[rng.integers(min(len(raw), 128))] = rng.integers(256)
        raw = bytes(raw)
    if how == "added":
        name = "extra.npy"
    content[name] = raw
    header["sha256"][name[:-4]] = hashlib.sha256(raw).hexdigest()
    return f"array, {how}"


class Oracle:
    """A fitted model, its file, and what every accepted file must give."""

    def __init__(self, folder: Path, relations: bool = False, tables: bool = False):
        self.tables = tables
        if tables:
            self.graph = table_graph(180)
            self.grown, self.alone = (table_graph(200, ids, self.graph) for ids in (None, [190, 191, 1, 2, 3]))
        else:
            self.graph, self.grown, self.alone = planted(0, relations), planted(5, relations), rows_alone(relations)
        model = SlimG(grid=[(1e-6, 1e-4)]).fit(self.graph)
        if not tables:
            options = {"edges": "e.csv", "no_weight": False}
            model.data_["reading"] = {"options": options, "plan": None, "id": "id", "label": None}
        self.path = folder / "mutated.slimg"
        self.content = members(model.save(self.path))
        loaded = SlimG.load(self.path)
        self.allowed = set(vars(loaded))
        self.expected = loaded.predict_proba(), loaded.predict_proba(self.grown), loaded.predict_proba(self.alone)
        self.sets = loaded.predict_set(0.8)

    def verdict(self, raw: bytes) -> str:
        """"refused" or "the same"; anything else is an error."""
        self.path.write_bytes(raw)
        begun = time.perf_counter()
        try:
            model = SlimG.load(self.path)
        except InputError as error:
            assert "\n" not in str(error), error
            found = "refused"
        else:
            assert set(vars(model)) == self.allowed, set(vars(model)) ^ self.allowed
            assert np.array_equal(model.predict_proba(), self.expected[0]), "other probabilities"
            assert np.array_equal(model.predict_proba(self.grown), self.expected[1]), "other probabilities of new nodes"
            assert model.keeps_graph_, "no graph"
            assert np.array_equal(model.predict_proba(self.alone), self.expected[2]), "other probabilities of new rows"
            assert model.calibration_ is None or np.array_equal(model.predict_set(0.8), self.sets), "other sets"
            if self.tables:
                self._read_again(model)
            found = "the same"
        assert time.perf_counter() - begun < SLOW, "too slow"
        return found


    def _read_again(self, model: SlimG) -> None:
        """Tables read as the file says: a graph, or an InputError; means and categories of the plan may be others."""
        try:
            graph = table_graph(200, None, model)
            if graph.d == self.graph.d:
                model.predict_proba(graph)
        except InputError as error:
            assert "\n" not in str(error), error


def run(mutations: int, seed: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """Count verdicts by mutation, and list what went wrong."""
    oracles = [Oracle(folder), Oracle(folder, relations=True), Oracle(folder, tables=True)]
    rng = np.random.default_rng(seed)
    counts, wrong = Counter[str](), list[str]()
    for number in range(mutations):
        oracle = oracles[number % 3]
        what, raw = mutate(oracle.content, rng)
        try:
            counts[f"{what}: {oracle.verdict(raw)}"] += 1
        except Exception as error:
            wrong.append(f"{number} {what}: {type(error).__name__}: {error}")
            counts[f"{what}: WRONG"] += 1
    return counts, wrong


def _child(mutations: int, seed: int, memory: int, record: bool) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    with tempfile.TemporaryDirectory() as folder:
        counts, wrong = run(mutations, seed, Path(folder))
    if record:
        from benchmarks import records

        told = {"readers": records.read("fuzz").get("readers", {})}
        records.write("fuzz", {**told, "model file": {"files": mutations, "seed": seed, "wrong": wrong[:20], **counts}})
    print("| mutation | files |\n|---|---|")
    print("\n".join(f"| {what} | {number:,} |" for what, number in sorted(counts.items())))
    print("\n".join(wrong[:40]))
    sys.exit(bool(wrong))


def main() -> int:
    """Run in a child with a limit of memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory", default="6GB", help="address space of the child")
    parser.add_argument("--record", action="store_true", help="put the counts into benchmarks/results/fuzz.json")
    args = parser.parse_args()
    child = multiprocessing.get_context("spawn").Process(
        target=_child, args=(args.mutations, args.seed, as_bytes(args.memory), args.record)
    )
    child.start()
    child.join()
    return child.exitcode or 0


if __name__ == "__main__":
    sys.exit(main())
