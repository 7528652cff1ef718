"""Components and predictions of a graph on disk, under a budget of memory, in this process: peak and seconds.

    python benchmarks/scale/mapped.py /data/huge --memory 6GB --folder /data/work
    python benchmarks/scale/mapped.py /data/products --engine memory

With ``--folder`` a killed run goes on when it is started again. The last line is JSON: seconds of the stages, the highest
resident memory in bytes, and a digest of each component, by which runs are compared to the bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

from slimg.engine.base import Engine
from slimg.engine.mapped import MappedEngine
from slimg.engine.memory import MemoryEngine
from slimg.graph.disk import open_graph
from slimg.propagate.components import Components, compute_components

ROWS = 1 << 16


def main() -> None:
    options = _options()
    begun = time.perf_counter()
    engine: Any = MemoryEngine() if options.engine == "memory" else MappedEngine(options.memory, options.folder)
    graph = open_graph(options.graph)
    parts = compute_components(graph, engine)
    record = {
        "graph": repr(graph),
        "engine": options.engine,
        "memory": options.memory,
        "rank": parts.rank,
        "seconds": {name: round(value, 2) for name, value in parts.seconds.items()},
        "digests": digests(engine, parts),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "total seconds": round(time.perf_counter() - begun, 2),
    }
    del parts
    if options.engine == "mapped":
        engine.close()
    print(json.dumps(record))


def digests(engine: Engine, parts: Components) -> dict[str, str]:
    """A digest of every component, read in runs of rows."""
    found = {}
    for name, block in parts.blocks.items():
        digest = hashlib.blake2b(digest_size=8)
        for start in range(0, block.shape[0], ROWS):
            rows = engine.rows(block, np.arange(start, min(start + ROWS, block.shape[0])))
            digest.update(np.ascontiguousarray(rows).tobytes())
        found[name] = digest.hexdigest()
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, help="folder of a graph on disk")
    parser.add_argument("--engine", choices=["mapped", "memory"], default="mapped")
    parser.add_argument("--memory", default="6GB")
    parser.add_argument("--folder", type=Path, help="where work files go")
    return parser.parse_args()


if __name__ == "__main__":
    main()
