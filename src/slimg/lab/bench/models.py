"""Models of the cells, by a kind and its settings: {"kind": "slimg", "grid": "paper"}.

    slimg                     SlimG with its parameters; components "default" are those of `SlimG()`, else the paper's
    lr, sgc, dgc, …           LinearGNN with that propagator and its parameters
    gcn, gat, …               other models of `slimg.lab.baselines`, with their parameters
    FILE.py:NAME              a user's own, as `slimg.lab.sanity.runner` accepts it

A kind is begun once per graph with the settings of all cells of a batch, so that they share what does not depend on labels;
then it runs cell by cell. A model sees the labels of train and validation rows and no others.

The protocol of a model is named from its settings, so that no recipe can name it wrongly; it is in every record:

    "paper"                                                        grid, epochs and patience of the paper
    "reduced: 1 of 6 settings, 100 epochs at most, patience 30"    a network that was given less
    "default path"                                                 SlimG with slimg's own pairs of penalties
    "default"                                                      and with slimg's own components
    "own"                                                          models that the paper does not have
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np
from sklearn.base import clone

import slimg.lab.baselines as baselines
from slimg.classifier import UNPENALIZED, SlimG
from slimg.components.compute import Components
from slimg.errors import InputError, check_names, choices
from slimg.graph import Graph, Split
from slimg.lab.baselines import LINEAR
from slimg.lab.baselines.ablations import DEFAULT, NAMES, SHARED, slimg_params
from slimg.lab.baselines.base import best_of
from slimg.lab.baselines.network import EPOCHS, PATIENCE, current_names, grid_settings
from slimg.lab.baselines.network import PAPER as PAPER_GRIDS
from slimg.lab.sanity.runner import as_adapter
from slimg.lab.shared.process import load_object

Settings: TypeAlias = dict[str, Any]
Result = TypeVar("Result")
PAPER = "paper"
REDUCED = "reduced"


@dataclass(frozen=True)
class RunResult:
    """What a model predicted, a class for each of the n nodes, and what it took.

    ``seconds`` has features (shared by the cells of a batch), tuning, training (with the chosen values alone) and
    prediction; ``iterations`` are those of the training.
    """

    predicted: Any
    seconds: dict[str, float]
    chosen: dict[str, Any] = field(default_factory=dict)
    grid: int = 1
    iterations: int | None = None
    weights: dict[str, float] | None = None


Run: TypeAlias = Callable[[Settings, Graph, Split, int], RunResult]


@dataclass(frozen=True)
class Kind:
    """A family of models; kinds of one family that share a graph run in one process.

    This one is a user's own object with fit and predict, by its address, which takes no settings from a recipe.
    """

    name: str
    family: str = "user"

    def check(self, settings: Settings) -> None:
        """`InputError` when it has no such setting."""
        if settings:
            raise InputError(f"{self.name} takes no settings from a recipe: set {next(iter(settings))!r} in the file")

    def sharing(self, settings: Settings) -> Settings:
        """Cells of a graph for which this is equal share features."""
        return {"address": self.name}

    def begin(self, graph: Graph, normalize: str | None, several: list[Settings]) -> Run:
        """Compute what the cells share, from edges and features alone."""
        short_name = self.name.rpartition(":")[2]
        predict, features = _timed(lambda: as_adapter(load_object(self.name), short_name).prepare(graph))

        def run(settings: Settings, seen: Graph, split: Split, seed: int) -> RunResult:
            predicted, training = _timed(lambda: predict(seen, split.train.copy(), split.val.copy(), seed))
            return RunResult(predicted, {"features": features, "training": training})

        return run


def kind(name: str) -> Kind:
    """The kind of that name, or of a user's file."""
    if name == "slimg":
        return SlimGKind(name, "slimg")
    if name in baselines.names():
        return EstimatorKind(name, "linear" if name in LINEAR else "baselines")
    if ":" not in name:
        raise choices("model", name, {*baselines.names(), "FILE.py:NAME"})
    return Kind(name)


class SlimGKind(Kind):
    """SlimG: variants that differ in the components they use, or in how they learn, share the components.

    Its default list depends on the labels, so that each split computes its own. ``"timed": true`` trains once more with the
    chosen pair alone, to know what that takes without a warm start.
    """

    def check(self, settings: Settings) -> None:
        check_names("setting of the model slimg", settings, {*SlimG().get_params(), "timed", "sparsity", *SHARED})

    def sharing(self, settings: Settings) -> Settings:
        found = {key: settings[key] for key in SHARED if key in settings}
        return {**found, "components": DEFAULT} if settings.get("components") == DEFAULT else found

    def begin(self, graph: Graph, normalize: str | None, several: list[Settings]) -> Run:
        shared = self.sharing(several[0])
        wanted = {name for settings in several for name in settings.get("components", NAMES)}
        union = {"components": [name for name in NAMES if name in wanted], **shared}
        common = None if DEFAULT in shared.values() else SlimG(**slimg_params(union, normalize)).propagate(graph)

        def run(settings: Settings, seen: Graph, split: Split, seed: int) -> RunResult:
            given = {key: value for key, value in settings.items() if key != "timed"}
            model = SlimG(random_state=seed, **slimg_params(given, normalize))
            parts = model.propagate(seen, split.train) if common is None else common
            names = parts.blocks if model.components is None else [each.name for each in model.components]
            own = parts.select(name for name in names if name in parts.blocks)
            model.fit(seen, train=split.train, val=split.val, propagated=own)
            predicted, prediction = _timed(model.predict)
            training, iterations = _training(model, own, seen, split, settings.get("timed", False))
            seconds = {"features": parts.seconds["total"], "tuning": model.seconds_["learning"]}
            seconds |= {"training": training, "prediction": prediction}
            chosen: dict[str, Any] = {key: model.chosen_[key] for key in ("l1", "group", "joint", "separate")}
            gap = float(model.dual_gap_) if np.isfinite(model.dual_gap_) else None
            chosen |= {"rank": model.rank_, "zero": list(model.zero_components_), "gap": gap}
            return RunResult(predicted, seconds, chosen, len(model.selection_), iterations, model.component_weights())

        return run


class EstimatorKind(Kind):
    """Any other model of `slimg.lab.baselines`.

    The settings of a propagator's grid are propagated once per graph. Networks on one graph are one batch, since starting
    torch takes long.
    """

    def check(self, settings: Settings) -> None:
        baselines.get(self.name, **settings)

    def sharing(self, settings: Settings) -> Settings:
        own = current_names(settings) if self.name in LINEAR else {}
        return {key: value for key, value in own.items() if key not in ("weight_decay", "epochs", "patience")}

    def begin(self, graph: Graph, normalize: str | None, several: list[Settings]) -> Run:
        def make(settings: Settings, seed: int = 0) -> Any:
            model = baselines.get(self.name, **settings)
            return baselines.set_known_params(model, random_state=seed, normalize_features=normalize)

        shared, features = {}, 0.0
        if self.name in LINEAR:
            shared["propagated"], features = _timed(lambda: make(self.sharing(several[0])).propagate(graph))

        def run(settings: Settings, seen: Graph, split: Split, seed: int) -> RunResult:
            model = make(settings, seed).fit(seen, train=split.train, val=split.val, **shared)
            return _result(model, features or model.seconds_["features"])

        return run


def _timed(compute: Callable[[], Result]) -> tuple[Result, float]:
    """A result and the seconds it took."""
    begun = time.perf_counter()
    result = compute()
    return result, time.perf_counter() - begun


def _result(model: Any, features: float) -> RunResult:
    """The result of a fitted baseline with its best setting."""
    best = model.selection_[best_of(model.selection_)]
    steps = "epochs" if "epochs" in best else "epoch"
    predicted, prediction = _timed(model.predict)
    seconds = {"features": features, "tuning": model.seconds_["learning"], "training": best["seconds"]}
    chosen = {key: value for key, value in best.items() if key not in ("seconds", steps)}
    return RunResult(predicted, {**seconds, "prediction": prediction}, chosen, len(model.selection_), best[steps] or None)


def _training(model: SlimG, parts: Components, seen: Graph, split: Split, timed: bool) -> tuple[float, int | None]:
    """Seconds of what was chosen, along its path; or, if ``timed``, from zero, and the Newton steps that this takes."""
    if not timed or model.grid == UNPENALIZED:
        return model.chosen_["seconds"], None
    alone = clone(model).set_params(grid=model.chosen_grid())
    alone.fit(seen, train=split.train, val=split.val, propagated=parts)
    return alone.seconds_["learning"], alone.n_iter_


def protocol(model: dict[str, Any]) -> str:
    """Name the protocol of a model as recipes and records describe it: {"kind": …, setting: value, …}.

    Returns
    -------
    str
    """
    kind = model["kind"]
    settings = current_names({key: value for key, value in model.items() if key != "kind"})
    if kind == "slimg":
        grid = settings.get("grid", "path")
        if settings.get("components") == DEFAULT and grid == "path":
            return "default"
        if grid == "paper" or settings.get("sparsity") is False:
            return PAPER
        return "default path" if grid == "path" else f"{len(grid)} pairs of its own"
    if kind in LINEAR:
        given = ", ".join(f"{key} {value}" for key, value in settings.items() if key not in ("normalize_features", "cv"))
        return f"{REDUCED}: {given}" if given else PAPER
    if kind not in PAPER_GRIDS:
        return "own"
    own = {key: value for key, value in settings.items() if key in PAPER_GRIDS[kind]}
    tried, listed = grid_settings(kind, settings.get("grid", "paper"), own), grid_settings(kind, "paper", {})
    epochs, patience = settings.get("epochs", EPOCHS), settings.get("patience", PATIENCE)
    if tried == listed and (epochs, patience) == (EPOCHS, PATIENCE):
        return PAPER
    return f"{REDUCED}: {len(tried)} of {len(listed)} settings, {epochs} epochs at most, patience {patience}"


def is_reduced(model: dict[str, Any]) -> bool:
    """Whether less was tried than in the paper.

    Returns
    -------
    bool
    """
    return protocol(model).startswith(REDUCED)
