"""The protocol of a model by name: what every record says and what tables mark.

    "paper"                                                            grid, epochs and patience of the paper
    "reduced: 1 of 6 settings, 100 epochs at most, patience 30"        a network that was given less
    "default path"                                                     SlimG with slimg's own pairs of penalties
    "own"                                                              models that the paper has not

The name is made from the settings themselves, so that no recipe can call its protocol what it is not.
"""

from __future__ import annotations

from typing import Any

from slimg.lab.baselines import LINEAR, grids
from slimg.lab.baselines.network import EPOCHS, PATIENCE

PAPER = "paper"
REDUCED = "reduced"


def protocol(model: dict[str, Any]) -> str:
    """Of a model as recipes and records describe it: {"kind": …, setting: value, …}."""
    kind = model["kind"]
    settings = {key: value for key, value in model.items() if key != "kind"}
    if kind == "slimg":
        return _of_slimg(settings)
    if kind in LINEAR:
        given = ", ".join(f"{key} {value}" for key, value in settings.items() if key not in ("normalize_features", "cv"))
        return f"{REDUCED}: {given}" if given else PAPER
    return _of_network(kind, settings) if kind in grids.PAPER else "own"


def is_reduced(model: dict[str, Any]) -> bool:
    """Whether less was tried than in the paper."""
    return protocol(model).startswith(REDUCED)


def _of_slimg(settings: dict[str, Any]) -> str:
    grid = settings.get("grid", "path")
    if grid == "paper" or settings.get("sparsity") is False:
        return PAPER
    return "default path" if grid == "path" else f"{len(grid)} pairs of its own"


def _of_network(kind: str, settings: dict[str, Any]) -> str:
    own = {key: value for key, value in settings.items() if key in grids.PAPER[kind]}
    tried = grids.settings(kind, settings.get("grid", "paper"), own)
    listed = grids.settings(kind, "paper", {})
    epochs, patience = settings.get("epochs", EPOCHS), settings.get("patience", PATIENCE)
    if tried == listed and (epochs, patience) == (EPOCHS, PATIENCE):
        return PAPER
    return f"{REDUCED}: {len(tried)} of {len(listed)} settings, {epochs} epochs at most, patience {patience}"
