"""What is tried for each network: the paper's last table, and a reduced grid.

    paper    the table; networks it does not list have GCN's weight decays and learning rates, as its ablation states
    quick    lr = 0.01 and 0.05 with both weight decays, and one or two values of what else the table varies. One learning
             rate is not enough: with rows of sum 1, on one split of Photo GCN has 92 % of the
             validation rows right at 0.05 without decay and 76 % at 0.01 with it

``K`` is the number of layers or hops, ``alpha`` the share of the start in each step (GPR-GNN: at initialisation),
``theta`` the strength of GCNII's weights, ``lr`` and ``wd`` the learning rate and weight decay of Adam.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import inf
from typing import Any

from slimg.errors import InputError, choices

WEIGHT_DECAYS = (0.0, 5e-4)
LEARNING_RATES = (2e-3, 0.01, 0.05)
_ADAM: dict[str, Sequence[Any]] = {"wd": WEIGHT_DECAYS, "lr": LEARNING_RATES}
_ADAM_QUICK: dict[str, Sequence[Any]] = {"wd": WEIGHT_DECAYS, "lr": (0.01, 0.05)}

Grid = Mapping[str, Sequence[Any]]

PAPER: dict[str, Grid] = {
    "gcn": {**_ADAM, "K": (2,)},
    "sage": {**_ADAM, "K": (2,)},
    "gcnii": {**_ADAM, "lr": (0.01,), "K": (8, 16, 32, 64), "alpha": (0.1, 0.2, 0.5), "theta": (0.5, 1.0, 1.5)},
    "h2gcn": {**_ADAM, "K": (1, 2)},
    "appnp": {**_ADAM, "K": (10,), "alpha": (0.1,)},
    "gprgnn": {**_ADAM, "K": (10,), "alpha": (0.1, 0.2, 0.5, 0.9)},
    "gat": {**_ADAM, "K": (2,), "heads": (8,)},
    "mlp2": _ADAM,
    "mlp3": _ADAM,
    "slimg_mlp2": _ADAM,
    "slimg_mlp3": _ADAM,
    "slimg_nonlinear": _ADAM,
    "linkx": {**_ADAM, "K": (2,)},
}

QUICK: dict[str, Grid] = {
    **{name: {**grid, **_ADAM_QUICK} for name, grid in PAPER.items()},
    "gcnii": {**_ADAM_QUICK, "lr": (0.01,), "K": (8,), "alpha": (0.1, 0.5), "theta": (0.5,)},
    "gprgnn": {**_ADAM_QUICK, "K": (10,), "alpha": (0.1, 0.9)},
}

NAMED = {"paper": PAPER, "quick": QUICK}


def settings(name: str, grid: str | Sequence[Mapping[str, Any]], fixed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each setting of a network to try; what is fixed is the same in all of them, the rest comes from the grid.

    ``grid`` is "paper", "quick", or mappings, in which what is absent takes the first value of the quick grid.
    """
    known = list(PAPER[name])
    _refuse_unknown(name, fixed, known)
    if isinstance(grid, str):
        if grid not in NAMED:
            raise choices("grid", grid, [*NAMED, "a list of settings"])
        values = {key: (fixed[key],) if key in fixed else NAMED[grid][name][key] for key in known}
        return [dict(zip(known, each, strict=True)) for each in product(*values.values())]
    usual = {key: each[0] for key, each in QUICK[name].items()}
    found = []
    for given in grid:
        if not isinstance(given, Mapping):
            raise InputError(f"{name}: a grid is paper, quick, or a list of mappings such as {{'lr': 0.01}}, not {grid!r}")
        _refuse_unknown(name, given, known)
        found.append({**usual, **given, **fixed})
    if not found:
        raise InputError(f"{name}: the grid holds no setting: give at least one, {{}} for the usual values")
    return found


def _refuse_unknown(name: str, given: Mapping[str, Any], known: list[str]) -> None:
    for key, value in given.items():
        if key not in known:
            raise InputError(f"{name} has no hyperparameter {key!r}: choose one of {', '.join(known)}")
        whole = key in ("K", "heads")
        fits = isinstance(value, int | float) and not isinstance(value, bool) and (1 if whole else 0) <= value < inf
        if not fits or (whole and value != int(value)) or (key == "lr" and value == 0) or (key == "alpha" and value > 1):
            raise InputError(f"{name}: {key} = {value!r} cannot be used: {_NEEDED[key]} is needed")


_NEEDED = {
    "K": "a whole number of at least 1",
    "heads": "a whole number of at least 1",
    "wd": "a number of at least 0",
    "lr": "a number above 0",
    "theta": "a number of at least 0",
    "alpha": "a share between 0 and 1",
}
