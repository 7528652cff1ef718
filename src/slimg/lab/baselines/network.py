"""`Network`: a nonlinear network as a node classifier; `slimg.lab.baselines.architectures` has the formulas.

Grids of hyperparameters:

    paper    the paper's last table; networks it does not list have GCN's weight decays and learning rates, as its ablation
             states. gcn_tuned, which is not of the paper, has part of the ranges that its authors search
    quick    lr = 0.01 and 0.05 with both weight decays, and one or two values of what else the table varies. One learning
             rate is not enough: with rows of sum 1, on one split of Photo GCN has 92 % of the validation rows right at 0.05
             without decay and 76 % at 0.01 with it

``K`` is the number of layers or hops, ``alpha`` the share of the start in each step (GPR-GNN: at initialisation),
``theta`` the strength of GCNII's weights, ``residual`` (0 or 1) and ``norm`` those of gcn_tuned, ``lr`` and
``weight_decay`` those of Adam.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from slimg.errors import InputError, check_names, check_number, check_whole_number, choices, require
from slimg.graph.graph import Graph
from slimg.lab.baselines.base import Baseline, Learned, Targets, WithHyperparameters

if TYPE_CHECKING:
    from slimg.lab.baselines.architectures import Inputs

EPOCHS, PATIENCE = 1000, 200
HIDDEN, DROPOUT = 64, 0.5
Grid = Mapping[str, Sequence[Any]]
NAMED: dict[str, dict[str, Grid]] = json.loads(files("slimg.lab.baselines").joinpath("grids.json").read_text("utf-8"))
"""Grids by name, of each network; the module docstring says where they are from."""
PAPER, QUICK = NAMED["paper"], NAMED["quick"]
_NEEDED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("K", "heads"), ("a whole number of at least 1", lambda value: value >= 1 and value == int(value))),
    **dict.fromkeys(("weight_decay", "theta"), ("a number of at least 0", lambda value: value >= 0)),
    "lr": ("a number above 0", lambda value: value > 0),
    "alpha": ("a share between 0 and 1", lambda value: 0 <= value <= 1),
    "residual": ("0 or 1", lambda value: value in (0, 1)),
}
"""What each hyperparameter must be."""


class Network(WithHyperparameters, Baseline):
    """A network trained by Adam: ``Network("gcn").fit(graph, train=…, val=…).predict()``; needs ``slimg[gnn]``.

    Parameters
    ----------
    network : str, default="gcn"
        A key of `PAPER`.
    grid : "paper", "quick" or list of mappings, default="paper"
        Settings to try.
    hidden, dropout, epochs, patience : default=64, 0.5, 1000, 200
        As in the paper.
    cv : int, default=5
        Folds when no validation rows are given.
    normalize_features : "row" or None, default="row"
        "row" divides each row of X by its sum; None takes X as it is.
    engine : "memory" or engine, default="memory"
        Where products with the graph are computed.
    random_state : int, default=0
        Seed of weights, dropout and folds; each setting starts from the same seed.
    **hyperparameters
        ``lr``, ``weight_decay``, ``K``, …: fixed, instead of taken from the grid.

    Attributes
    ----------
    model_ : torch.nn.Module
        The network with the weights of the epoch kept; for others see `slimg.lab.baselines.base.Baseline`.
    """

    def __init__(
        self, network: str = "gcn", *, grid: str | Sequence[Mapping[str, Any]] = "paper", hidden: int = HIDDEN,
        dropout: float = DROPOUT, epochs: int = EPOCHS, patience: int = PATIENCE, cv: int = 5,
        normalize_features: str | None = "row", engine: Any = "memory", random_state: int = 0, **hyperparameters: Any,
    ):  # fmt: skip
        self.network, self.grid, self.hyperparameters = network, grid, hyperparameters
        self.hidden, self.dropout, self.epochs, self.patience = hidden, dropout, epochs, patience
        self.cv, self.normalize_features, self.engine, self.random_state = cv, normalize_features, engine, random_state

    def settings(self) -> list[dict[str, Any]]:
        """Return every setting of the grid."""
        check_names("network", [self.network], PAPER)
        return grid_settings(self.network, self.grid, self.hyperparameters)

    def _prepare(self, graph: Graph, targets: Targets) -> Inputs:
        for module in ("torch", "torch_geometric"):
            require(module, "gnn", f"the network {self.network}")
        from slimg.lab.baselines.architectures import Inputs, warm_up

        inputs = Inputs(graph, self._engine(), self.normalize_features, self.random_state)
        warm_up(lambda: self._build(inputs, self.settings()[0], targets), inputs)
        return inputs

    def _learn(self, inputs: Inputs, setting: dict[str, Any], targets: Targets) -> Learned:
        from slimg.lab.baselines.architectures import train

        adam = {key: setting[key] for key in ("lr", "weight_decay")}
        limits = {"epochs": self.epochs, "patience": self.patience, "random_state": int(self.random_state)}
        return train(lambda: self._build(inputs, setting, targets), inputs, targets, **adam, **limits)

    def _build(self, inputs: Inputs, setting: dict[str, Any], targets: Targets) -> Any:
        from slimg.lab.baselines.architectures import Shape, build

        rng = np.random.default_rng(self.random_state)
        sizes = inputs.graph.d, targets.classes, inputs.graph.n, self.hidden
        return build(self.network, Shape(*sizes, self.dropout, rng), inputs, setting)

    def _notes(self, graph: Graph) -> tuple[str, ...]:
        if self.network == "gat" and graph.adjacency.weights is not None:
            return ("GAT does not use the weights of edges.",)
        return ()

    def _check(self, graph: Any, y: Any) -> None:
        super()._check(graph, y)
        for name in ("hidden", "epochs", "patience"):
            check_whole_number(getattr(self, name), name, 1)
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must be a share from 0 to below 1, not {self.dropout!r}")
        if graph.features is None:
            lacking = f"the network {self.network} needs features, but the graph has none"
            raise InputError(f"{lacking}: use slimg or label_propagation")


def grid_settings(name: str, grid: str | Sequence[Mapping[str, Any]], fixed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each setting of a network to try: what is fixed is the same in all of them, the rest comes from the grid.

    ``grid`` is "paper", "quick", or mappings, in which what is absent takes the first value of the quick grid.
    """
    known, fixed = list(PAPER[name]), current_names(fixed)
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
        given = current_names(given)
        _refuse_unknown(name, given, known)
        found.append({**usual, **given, **fixed})
    if not found:
        raise InputError(f"{name}: the grid holds no setting: give at least one, {{}} for the usual values")
    return found


def current_names(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyperparameters by their present names; records and recipes of earlier versions say wd for weight_decay."""
    return {"weight_decay" if key == "wd" else key: value for key, value in given.items()}


def _refuse_unknown(name: str, given: Mapping[str, Any], known: list[str]) -> None:
    check_names(f"hyperparameter of {name}", given, known)
    for key, value in given.items():
        if key == "norm":
            check_names(f"norm of {name}", [value], ("layer", "batch", "none"))
            continue
        check_number(value, f"{name}: {key}", *_NEEDED[key])
