"""Take the records of benchmarks/linear.py into the store of `slimg bench`, so that they need not be run again.

    python benchmarks/linear_records.py

A record of results/linear.json is the cell that `slimg bench real` would run: the same split, seed and grid. It keeps
its own protocol, commit, machine and versions, says where it comes from, and has no peak memory, which was not measured.
Cells that the store has already stay as they are.
"""

from __future__ import annotations

from typing import Any

from records import RESULTS, read

from slimg.graph.splits import REAL
from slimg.lab.bench.store import Cell, Store


def main() -> None:
    recorded = read("linear")
    with Store(RESULTS / "records.jsonl").writing() as store:
        new = [each for each in map(as_record, recorded["records"]) if each["key"] not in store.records]
        for record in new:
            origin = {"source": "benchmarks/results/linear.json", "protocol": recorded["protocol"]}
            store.append({**record, **origin, **recorded["circumstances"]})
    print(f"{len(new)} of {len(recorded['records'])} records taken into {store.path}")


def as_record(linear: dict[str, Any]) -> dict[str, Any]:
    """One record of linear.json as one of the store."""
    data = {"name": linear["dataset"]} | ({} if linear["features"] == "row" else {"prepared": linear["features"]})
    cell = Cell(data, REAL, {"kind": linear["model"]}, linear["seed"])
    chosen = dict(linear["chosen"])
    seconds = {"features": linear["seconds"]["propagation"], "tuning": linear["seconds"]["learning"]}
    found = {"accuracy": linear["accuracy"] / 100, "seconds": seconds, "iterations": chosen.pop("epoch"), "chosen": chosen}
    return {"key": cell.key, **cell.identity(), "status": "ok", **found}


if __name__ == "__main__":
    main()
