"""Which reader a file needs: its ending says so."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from slimg.errors import InputError
from slimg.io.source import Reading, Source, named, unchanged

READERS = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".edges", ".edgelist", ".dat"), ("text", "read_separated")),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), ("text", "read_json_lines")),
    **dict.fromkeys((".parquet", ".pq"), ("binary", "read_parquet")),
    ".npz": ("binary", "read_npz"),
    ".npy": ("binary", "read_npy"),
    ".mtx": ("binary", "read_matrix_market"),
    ".graphml": ("xml_graphs", "read_graphml"),
    ".gexf": ("xml_graphs", "read_gexf"),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb"), ("databases", "read_database")),
}
"""Ending → module of this folder, and the function that reads such a file."""


def read(source: Source) -> Reading:
    """What the file holds; every error names it."""
    with unchanged(source):
        return named(source, _reader(source), source)


def _reader(source: Source) -> Callable[[Source], Reading]:
    if source.suffix not in READERS:
        ending = f"the ending {source.suffix!r} of {source.path}" if source.suffix else f"{source.path} without an ending"
        raise InputError(f"{ending} names no format slimg reads: use one of {' '.join(READERS)} (text may be .gz)")
    module, function = READERS[source.suffix]
    return getattr(import_module(f"slimg.io.{module}"), function)
