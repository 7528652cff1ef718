"""A cell: one model on one split of one graph.

What a cell is (graph, protocol, model with its settings, seed) decides its key, the SHA-256 of this as canonical JSON.
What a table calls it does not: SlimG is one cell, whether it stands in the table of accuracies or in an ablation.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Cell:
    """What is run once.

    Attributes
    ----------
    data : which graph, see `slimg.lab.bench.graphs`: {"name": "cora"}, {"case": "semantic-uniform", "n": 6000}, …
    split : shares of train, validation and test
    model : {"kind": "sgc", setting: value, …}, see `slimg.lab.bench.models`
    seed : of the split and of the model
    """

    data: dict[str, Any]
    split: tuple[float, float, float]
    model: dict[str, Any]
    seed: int

    @cached_property
    def key(self) -> str:
        """Sixteen hexadecimal digits that name the cell."""
        return hashlib.sha256(canonical(self.identity()).encode()).hexdigest()[:16]

    def identity(self) -> dict[str, Any]:
        """What is recorded, and what the key is made from."""
        return {"data": self.data, "split": list(self.split), "model": self.model, "seed": self.seed}

    @classmethod
    def of(cls, identity: dict[str, Any]) -> Cell:
        """The cell of a recorded identity."""
        return cls(identity["data"], tuple(identity["split"]), identity["model"], identity["seed"])


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
