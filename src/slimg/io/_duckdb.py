"""Reads a DuckDB file in a process of its own, which a damaged file may end.

    python _duckdb.py FILE      standard input: one query in each line, as JSON; standard output: an arrow stream for each

An error is written to standard error and ends the process, as does the end of standard input.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from queue import SimpleQueue
from threading import Thread
from typing import Any

ROWS = 100_000
"""Rows of a batch."""


def main() -> None:
    """Answer queries."""
    sys.path.pop(0)  # the folder of this file: its modules have names that others may have
    warnings.simplefilter("ignore")  # standard error is for what ends the process
    import duckdb
    import pyarrow as pa

    queries: SimpleQueue[str] = SimpleQueue()
    Thread(target=_listen, args=(queries,), daemon=True).start()
    try:
        closed: dict[str, Any] = {"enable_external_access": "false", "lock_configuration": "true"}
        connection = duckdb.connect(sys.argv[1], read_only=True, config=closed)
        while True:
            found = connection.sql(queries.get()).fetch_arrow_reader(ROWS)
            with pa.ipc.new_stream(sys.stdout.buffer, found.schema) as stream:
                for batch in found:
                    stream.write_batch(batch)
            sys.stdout.buffer.flush()
    except BaseException as error:
        print(str(error)[:2000] or type(error).__name__, file=sys.stderr, flush=True)
        os._exit(1)


def _listen(queries: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        queries.put(json.loads(line))
    os._exit(0)  # also within a query


if __name__ == "__main__":
    main()
