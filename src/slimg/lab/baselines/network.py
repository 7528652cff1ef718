"""`Network`: a nonlinear network as a classifier of nodes; see `slimg.lab.baselines.architectures` for the formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError, choices, require
from slimg.graph.graph import Graph
from slimg.lab.baselines import grids
from slimg.lab.baselines.base import Baseline, Learned, Targets
from slimg.lab.hyperparameters import WithHyperparameters

if TYPE_CHECKING:
    from slimg.lab.baselines.inputs import Inputs

EPOCHS, PATIENCE = 1000, 200
HIDDEN, DROPOUT = 64, 0.5


class Network(WithHyperparameters, Baseline):
    """A network trained by Adam: ``Network("gcn").fit(graph, train=…, val=…).predict()``; needs ``slimg[gnn]``.

    Parameters
    ----------
    network : a name of `slimg.lab.baselines.grids.PAPER`
    grid : "paper", "quick", or a list of settings; see `slimg.lab.baselines.grids`
    hidden, dropout, epochs, patience : as in the paper
    cv : folds when no validation rows are given
    normalize_features : "row" divides each row of X by its sum; None takes X as it is
    engine : an engine, or "memory"
    random_state : seeds weights, dropout and folds; each setting starts from the same seed
    **hyperparameters : lr, wd, K, …: fixed, instead of taken from the grid

    Attributes
    ----------
    model_ : the torch module with the weights of the epoch kept; for others see `slimg.lab.baselines.base.Baseline`
    """

    def __init__(
        self,
        network: str = "gcn",
        *,
        grid: str | Sequence[Mapping[str, Any]] = "paper",
        hidden: int = HIDDEN,
        dropout: float = DROPOUT,
        epochs: int = EPOCHS,
        patience: int = PATIENCE,
        cv: int = 5,
        normalize_features: str | None = "row",
        engine: Any = "memory",
        random_state: int = 0,
        **hyperparameters: Any,
    ):
        self.network = network
        self.grid = grid
        self.hidden = hidden
        self.dropout = dropout
        self.epochs = epochs
        self.patience = patience
        self.cv = cv
        self.normalize_features = normalize_features
        self.engine = engine
        self.random_state = random_state
        self.hyperparameters = hyperparameters

    def settings(self) -> list[dict[str, Any]]:
        """Every setting of the grid."""
        if self.network not in grids.PAPER:
            raise choices("network", self.network, list(grids.PAPER))
        return grids.settings(self.network, self.grid, self.hyperparameters)

    def _prepare(self, graph: Graph, targets: Targets) -> Inputs:
        for module in ("torch", "torch_geometric"):
            require(module, "gnn", f"the network {self.network}")
        from slimg.lab.baselines.inputs import Inputs
        from slimg.lab.baselines.training import rehearse

        engine = MemoryEngine() if isinstance(self.engine, str) else self.engine
        inputs = Inputs(graph, engine, self.normalize_features, self.random_state)
        rehearse(lambda: self._build(inputs, self.settings()[0], targets), inputs)
        return inputs

    def _learn(self, inputs: Inputs, setting: dict[str, Any], targets: Targets) -> Learned:
        from slimg.lab.baselines.training import train

        return train(
            lambda: self._build(inputs, setting, targets),
            inputs,
            targets,
            lr=setting["lr"],
            wd=setting["wd"],
            epochs=self.epochs,
            patience=self.patience,
            random_state=int(self.random_state),
        )

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
        self._check_normalize()
        if isinstance(self.engine, str) and self.engine != "memory":
            raise choices("engine", self.engine, ["memory", "an engine object"])
        for name in ("hidden", "epochs", "patience"):
            self._check_whole(name, 1)
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must be a share from 0 to below 1, not {self.dropout!r}")
        if graph.features is None:
            lacking = f"the network {self.network} needs features, which the graph has not"
            raise InputError(f"{lacking}: use slimg or label_propagation")
