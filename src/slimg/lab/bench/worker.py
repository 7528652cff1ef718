"""A batch in a process of its own: ``python -m slimg.lab.bench.worker``.

    stdin    one line: the identities of the cells; its end, later, means that nobody waits any more
    stdout   one line per record

Other output of models goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from slimg.lab.baselines.process import end_with_parent
from slimg.lab.bench.batch import run_batch
from slimg.lab.bench.cell import Cell
from slimg.lab.bench.store import Record


def main() -> None:
    cells = [Cell.of(identity) for identity in json.loads(sys.stdin.readline())]
    end_with_parent()
    records = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what models print must not end up among the records

    def emit(record: Record) -> None:
        records.write(json.dumps(record, ensure_ascii=False, default=_plain) + "\n")
        records.flush()

    run_batch(cells, emit)


def _plain(value: Any) -> Any:
    """Numbers of numpy as Python's."""
    return value.item() if hasattr(value, "item") else str(value)


if __name__ == "__main__":
    main()
