"""From files to a graph: how long `slimg.read` takes beside arrow's own reading of the same files and matching of ids.

Files: n nodes of five classes, a tenth of them labelled, with ids of text and 30 columns of numbers; m edges, half of them
to a neighbour. Each measurement is a process of its own; arrow reads both files and matches both ends of the edges to the
ids; slimg also encodes the features and builds the graph. Peaks are resident memory of the whole process.

    python benchmarks/reading.py [--nodes 1000000] [--edges 10000000] [--formats csv,parquet]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from records import read, write

COLUMNS = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--formats", type=lambda text: text.split(","), default=["csv", "parquet"])
    parser.add_argument("--measure", nargs=3, metavar=("READER", "FORMAT", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        reader, ending, folder = options.measure
        print(json.dumps(measure({"arrow": by_arrow, "slimg": by_slimg}[reader], ending, Path(folder))))
        return
    results = read("reading").get("results", {})
    with tempfile.TemporaryDirectory() as name:
        generate(options.nodes, options.edges, Path(name))
        for ending in options.formats:
            arrow, slimg = (in_a_process(reader, ending, name) for reader in ("arrow", "slimg"))
            megabytes = round(sum(path.stat().st_size for path in Path(name).glob(f"*.{ending}")) / 1e6)
            ratio = round(slimg["seconds"] / arrow["seconds"], 2)
            found = {"megabytes": megabytes, "arrow": arrow, "slimg": slimg, "ratio": ratio}
            results[f"{ending}, {options.nodes:,} nodes, {options.edges:,} edges"] = found
            write("reading", {"protocol": __doc__.split("\n\n")[1], "results": results})
            print(ending, json.dumps(found), flush=True)


def generate(n: int, m: int, folder: Path) -> None:
    rng = np.random.default_rng(0)
    kind, ids = rng.integers(0, 5, n), pa.array([f"user-{number}" for number in rng.permutation(n)])
    label = pa.array(np.array(list("abcde"))[kind].tolist(), mask=rng.random(n) < 0.9)
    columns: dict[str, Any] = {"id": ids, "label": label}
    for k in range(COLUMNS):
        columns[f"x{k}"] = pa.array((rng.normal(size=n) + 0.5 * (kind == k % 5)).round(4))
    source = rng.integers(0, n, m)
    target = np.where(rng.random(m) < 0.5, rng.integers(0, n, m), (source + 1) % n)
    edges = {"source": ids.take(pa.array(source)), "target": ids.take(pa.array(target))}
    for name, table in (("nodes", pa.table(columns)), ("edges", pa.table(edges))):
        pyarrow.csv.write_csv(table, folder / f"{name}.csv", pyarrow.csv.WriteOptions(quoting_style="none"))
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")


def in_a_process(*words: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, "--measure", *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measure(function: Any, ending: str, folder: Path) -> dict[str, Any]:
    begun = time.perf_counter()
    function(folder / f"edges.{ending}", folder / f"nodes.{ending}")
    seconds = round(time.perf_counter() - begun, 2)
    return {"seconds": seconds, "peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)}


def by_arrow(edges: Path, nodes: Path) -> None:
    reader = pyarrow.csv.read_csv if edges.suffix == ".csv" else pyarrow.parquet.read_table
    ends, known = reader(edges), reader(nodes)["id"].combine_chunks()
    for name in ("source", "target"):
        pc.index_in(ends[name], value_set=known)


def by_slimg(edges: Path, nodes: Path) -> None:
    import slimg

    slimg.read(edges, nodes, label="label")


if __name__ == "__main__":
    main()
