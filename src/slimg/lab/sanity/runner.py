"""Run models on the nine cases.

One graph per case (seed 0); the seeds change the split. A model is given edges, features and the labels of its train and
validation rows, in arrays of its own: test labels are nowhere in what it is given, and no other model sees what it does to
its graph. A model that fails only fails in its own cell.

    accuracy = share of the test rows whose predicted class is their class

A model predicts a class for all n nodes, so that it cannot know which rows are tested.

Any model runs as

    prepare(graph without labels)                                 once per case
    predict(graph with train and val labels, train, val, seed)    once per split: a class for each of the n nodes

`as_adapter` accepts a name of `slimg.lab.baselines`, an object with ``fit`` and ``predict``, a function or class that makes
one (or an adapter), or a class of torch modules:

    fit(graph), fit(graph, train=rows, val=rows)      the graph holds the labels of these rows and no others
    predict(), predict(graph)                         n classes
    propagate(graph)                                  optional: its result, which does not depend on labels, is computed once
                                                      per case and passed to fit(…, propagated=)

A function or class is called for each split, with ``random_state=seed`` if it accepts it; an object is cloned, and a
``random_state`` of None is set to the seed. Models of other libraries:

    from_sklearn   ŷ = clone(estimator).fit(X[train], y[train]).predict(X): only the features are used
    from_torch     full-batch Adam on the cross-entropy of train; the epoch of the best validation accuracy predicts
                   (the training loop of the networks, `slimg.lab.baselines.architectures`)
"""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from slimg.engine import Engine
from slimg.errors import InputError, check_names, check_number, check_whole_number, require
from slimg.graph import Adjacency, Graph
from slimg.graph.columns import as_column, codes_of, missing, number_of, show
from slimg.lab.sanity.case import CASES, SanityCase, make, parts, scaled, select
from slimg.lab.sanity.report import PAPER_NODES, PAPER_SEEDS, PASS, CaseFacts, Cell, SanityReport
from slimg.lab.shared.process import reason

Predictor: TypeAlias = "Callable[[Graph, np.ndarray, np.ndarray, int], Any]"
Progress = Callable[[str, str, Cell], None]
SMALL = 1200
"""Nodes of a check that takes seconds and is about as hard as the paper's 6,000."""
LENIENT = 0.75
"""Threshold of a test: below the paper's 80 %, since with few test nodes the accuracy varies by a few percent."""


def check(
    model: Any, cases: Any = "all", *, n: int = PAPER_NODES, seeds: int = PAPER_SEEDS, at_least: float = PASS,
    progress: Progress | None = None, engine: Engine | None = None,
) -> SanityReport:  # fmt: skip
    """Run one model or several on sanity cases.

    Parameters
    ----------
    model : object, callable, str, list or dict
        Object with ``fit`` and ``predict``, function or class that makes one, result of `from_sklearn` or `from_torch`, or
        name of `slimg.lab.baselines`; or a list of these, or a dict from names to them.
    cases : str, SanityCase or iterable of these, default="all"
        "all" (nine), "informative" (seven), "empty" (two), names of cases, or cases drawn by `make`.
    n : int, default=6000
        Nodes of the cases that are drawn here; see `scaled`.
    seeds : int, default=5
        Number of splits.
    at_least : float, default=0.8
        Mean accuracy from which a case is passed.
    progress : callable or None, default=None
        Called with model, case and `Cell` after each cell.
    engine : Engine or None, default=None
        Where the cases are computed; None for memory.

    Returns
    -------
    SanityReport
        Accuracy of each model in each case, and what follows from them.

    Raises
    ------
    InputError
        If a model or a case is unknown, or a number is out of its range.

    Examples
    --------
    >>> from slimg.lab import sanity
    >>> sanity.check("lr", ["semantic-homophily", "random-homophily"], n=240, seeds=2)
    SanityReport(passed: lr 1/2)
    """
    adapters = as_adapters(model)
    check_whole_number(seeds, "seeds", 1)
    check_number(at_least, "at_least", "an accuracy above 0 and at most 1", lambda share: 0 < share <= 1)
    cells, facts = {}, []
    for label, case in _drawn(select(cases), n, engine):
        facts.append(CaseFacts(label, case.helps, case.chance, len(case.split(0).test), case.settings, case.notes))
        for adapter in adapters:
            cell = cells[adapter.name, label] = run_cell(adapter, case, seeds)
            if progress:
                progress(adapter.name, label, cell)
    return SanityReport(tuple(each.name for each in adapters), tuple(facts), seeds, cells, at_least)


def assert_passes(
    model: Any, cases: Any = CASES, *, n: int = SMALL, seeds: int = 2, at_least: float = LENIENT
) -> SanityReport:
    """Run the checks as a test.

    Parameters
    ----------
    model : object, callable, str, list or dict
        As in `check`.
    cases : str, SanityCase or iterable of these, optional
        As in `check`; the seven informative ones by default.
    n : int, default=1200
        Nodes of each case.
    seeds : int, default=2
        Number of splits.
    at_least : float, default=0.75
        Mean accuracy from which a case is passed.

    Returns
    -------
    SanityReport
        The report of models that pass.

    Raises
    ------
    AssertionError
        If a model fails a case; the message has the tables and the verdict.

    Examples
    --------
    >>> from slimg.lab import sanity
    >>> sanity.assert_passes("lr", ["semantic-uniform"], n=240)
    SanityReport(passed: lr 1/1)
    """
    report = check(model, cases, n=n, seeds=seeds, at_least=at_least)
    failing = [name for name in report.models if not report.passes(name)]
    if failing:
        raise AssertionError(f"sanity checks failed by {', '.join(failing)}\n\n{report.to_text(100)}")
    return report


def run_cell(adapter: ModelAdapter, case: SanityCase, seeds: int) -> Cell:
    """Run one model in one case, up to its first failure.

    Returns
    -------
    Cell
        Accuracies over the splits, or the error.
    """
    begun = time.perf_counter()
    adjacency = Adjacency(case.graph.adjacency.indptr.copy(), case.graph.adjacency.indices.copy())
    bare = Graph(adjacency, np.array(case.graph.features))
    found: list[float] = []
    try:
        predict = adapter.prepare(bare)
        for seed in range(seeds):
            split = case.split(seed)
            seen = case.graph.mask_labels(np.concatenate([split.train, split.val]))
            given = bare.with_labels(seen.labels)
            found.append(accuracy(predict(given, split.train.copy(), split.val.copy(), seed), case.graph, split.test))
        return Cell(tuple(found), None, time.perf_counter() - begun)
    except Exception as error:  # a model may fail in any way: its cell has the reason and the run goes on
        split_number = f" (split {len(found)})" if found else ""
        return Cell((), reason(error) + split_number, time.perf_counter() - begun)


def accuracy(predicted: Any, truth: Graph, test: np.ndarray) -> float:
    """Share of the test rows that are predicted right.

    Parameters
    ----------
    predicted : sequence of n classes
        What a model returned.
    truth : Graph
        With all labels.
    test : ndarray of int
        Rows.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If the predictions are not n classes of the graph.
    """
    shape = tuple(getattr(predicted, "shape", ()))
    if len(shape) == 2 and shape[1] > 1:
        raise InputError(f"predict() gave an array of shape {shape}: one class per node is needed, not probabilities")
    column = as_column(predicted, "predict()")
    if len(column) != truth.n:
        raise InputError(f"predict() gave {len(column):,} classes for {truth.n:,} nodes: one class per node is needed")
    absent = int(missing(column).sum())
    if absent:
        raise InputError(f"predict() left {number_of(absent, 'node')} without a class (NaN or None)")
    given, codes = codes_of(column, "predict()")
    place = {value: code for code, value in enumerate(truth.classes.tolist())}
    known = np.array([place.get(value, -1) for value in given.tolist()], np.int64)
    if (known < 0).any():
        raise InputError(f"predict() gave classes that do not exist: {show(given[known < 0])}")
    return float(np.mean(known[codes[test]] == truth.codes[test]))


def _drawn(selected: tuple[str | SanityCase, ...], n: int, engine: Engine | None) -> Iterator[tuple[str, SanityCase]]:
    """Each case under a distinct label, drawn when it is needed and freed after it."""
    labels = numbered([each if isinstance(each, str) else each.name for each in selected])
    for label, each in zip(labels, selected, strict=True):
        yield label, make(*parts(each), **scaled(n), engine=engine) if isinstance(each, str) else each


# models --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelAdapter:
    """A model with a name that can be run on many splits of many cases.

    Attributes
    ----------
    name : str
        Heading of its column.
    prepare : callable
        Edges and features of a case → ``(graph, train, val, seed)`` → n classes; what can be computed once per case is
        computed by the first call.
    """

    name: str
    prepare: Callable[[Graph], Predictor]


def from_sklearn(estimator: Any, name: str | None = None) -> ModelAdapter:
    """Adapt a scikit-learn classifier, pipeline or search; it uses the features, not the edges or validation rows.

    Parameters
    ----------
    estimator : estimator
        Object with ``fit(X, y)`` and ``predict(X)``; it is cloned for each split.
    name : str or None, default=None
        Heading of its column; None for the name of its class.

    Returns
    -------
    ModelAdapter
        For `check` and `assert_passes`.

    Raises
    ------
    InputError
        If the estimator is a class, or lacks ``fit`` or ``predict``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from_sklearn(LogisticRegression()).name
    'LogisticRegression'
    """
    if isinstance(estimator, type) or not _fits_and_predicts(estimator):
        raise InputError(f"from_sklearn takes an estimator with fit and predict, not {estimator!r}")

    def predict(graph: Graph, train: np.ndarray, val: np.ndarray, seed: int) -> Any:
        fresh, features = _cloned(estimator, seed), np.asarray(graph.features)
        fresh.fit(features[train], graph.codes[train])
        return graph.classes[fresh.predict(features)]

    return ModelAdapter(name or type(estimator).__name__, lambda graph: predict)


def from_torch(
    make_module: Callable[[int, int], Any], *, epochs: int = 200, patience: int = 50, learning_rate: float = 0.01,
    weight_decay: float = 5e-4, name: str | None = None,
) -> ModelAdapter:  # fmt: skip
    """Adapt a torch module that takes a `torch_geometric.data.Data`, or (x, edge_index), and gives n × classes logits.

    Parameters
    ----------
    make_module : callable
        Called with the number of features and of classes, once per split; returns the module.
    epochs : int, default=200
        Steps of Adam at most.
    patience : int, default=50
        Steps without a better validation accuracy after which training stops.
    learning_rate : float, default=0.01
        Step size of Adam.
    weight_decay : float, default=5e-4
        Squared penalty of Adam.
    name : str or None, default=None
        Heading of its column; None for the name of the function or class.

    Returns
    -------
    ModelAdapter
        For `check` and `assert_passes`.

    Raises
    ------
    InputError
        If ``make_module`` is a module and not what makes one.

    Examples
    --------
    >>> from slimg.lab.sanity import from_torch
    >>> from_torch(lambda features, classes: None, name="mine").name
    'mine'
    """
    if not callable(make_module) or (hasattr(make_module, "forward") and not isinstance(make_module, type)):
        raise InputError("from_torch takes a function (features, classes) → module, so that each split starts anew")
    name = name or _name(make_module)
    options: dict[str, Any] = {"lr": learning_rate, "weight_decay": weight_decay, "epochs": epochs, "patience": patience}

    def predict(graph: Graph, train: np.ndarray, val: np.ndarray, seed: int) -> Any:
        from slimg.lab.baselines.architectures import train as learn
        from slimg.lab.baselines.base import Targets

        classes = len(graph.classes)
        data, targets = _data(graph, train, val), Targets(graph.codes, classes, train, val)
        learned = learn(lambda: _checked(make_module(graph.d, classes), name), data, targets, random_state=seed, **options)
        if not np.isfinite(learned.scores).all():
            raise InputError(f"{name} gave NaN or infinite logits: lower the learning rate")
        return graph.classes[learned.scores.argmax(axis=1)]

    def prepare(graph: Graph) -> Predictor:
        require("torch", "gnn", f"the model {name}")
        return predict

    return ModelAdapter(name, prepare)


def as_adapter(model: Any, name: str | None = None) -> ModelAdapter:
    """Adapt any model; a str names one of `slimg.lab.baselines` (features are taken as they are), also as "gcn-quick".

    Returns
    -------
    ModelAdapter
    """
    if isinstance(model, str):
        return _baseline(model)
    if _is_adapter(model):
        return ModelAdapter(model.name, model.prepare)
    name = name or _name(model)
    if hasattr(model, "forward") and not _fits_and_predicts(model):
        return _torch_class(model, name)
    if isinstance(model, type) or not _fits_and_predicts(model):
        if not callable(model):
            raise InputError(f"a model needs fit and predict, or is a function that makes one; {name} is neither")
        seeded = _takes(model, "random_state")
        return _estimator(name, lambda seed: model(random_state=seed) if seeded else model())
    if len(_required(model.fit)) > 1:
        raise InputError(
            f"{name}.fit needs {', '.join(_required(model.fit))}, but the checks pass a graph: wrap a scikit-learn"
            " model with sanity.from_sklearn(model)"
        )
    return _estimator(name, lambda seed: _cloned(model, seed))


def as_adapters(models: Any) -> list[ModelAdapter]:
    """Adapt one model, several, or a mapping from names to models; equal names are numbered.

    Returns
    -------
    list of ModelAdapter
    """
    if isinstance(models, Mapping):
        named = [replace(as_adapter(model, str(name)), name=str(name)) for name, model in models.items()]
    else:
        several = isinstance(models, Iterable) and not isinstance(models, str) and not hasattr(models, "fit")
        named = [as_adapter(each) for each in (models if several else [models])]
    if not named:
        raise InputError("no model was given: name at least one")
    names = numbered([each.name for each in named])
    return [replace(each, name=name) for each, name in zip(named, names, strict=True)]


def numbered(names: list[str]) -> list[str]:
    """Distinct names: the second of two equal ones becomes "name (2)".

    Returns
    -------
    list of str
    """
    counts = [names[:place].count(name) for place, name in enumerate(names)]
    return [f"{name} ({count + 1})" if count else name for name, count in zip(names, counts, strict=True)]


def _estimator(name: str, create: Callable[[int], Any]) -> ModelAdapter:
    """A model that ``create(seed)`` makes for each split."""

    def prepare(graph: Graph) -> Predictor:
        first = create(0)
        if _is_adapter(first):
            return first.prepare(graph)
        if not _fits_and_predicts(first):
            raise InputError(f"{name} made an object of type {type(first).__name__}, which lacks fit or predict")
        propagates = callable(getattr(first, "propagate", None)) and _takes(first.fit, "propagated")
        shared = {"propagated": first.propagate(graph)} if propagates else {}

        def predict(graph: Graph, train: np.ndarray, val: np.ndarray, seed: int) -> Any:
            estimator = create(seed)
            rows = {"train": train, "val": val}
            estimator.fit(graph, **{key: rows[key] for key in rows if _takes(estimator.fit, key)}, **shared)
            return estimator.predict(graph) if _required(estimator.predict) else estimator.predict()

        return predict

    return ModelAdapter(name, prepare)


def _baseline(name: str) -> ModelAdapter:
    import slimg.lab.baselines as baselines

    check_names("model", [name], baselines.names(quick=True))
    set_params = baselines.set_known_params
    return _estimator(name, lambda seed: set_params(baselines.get(name), normalize_features=None, random_state=seed))


def _torch_class(module: Any, name: str) -> ModelAdapter:
    """A class of torch modules that are made from the numbers of features and of classes."""
    if not isinstance(module, type) or len(_required(module)) != 2:
        given = f"takes ({', '.join(_required(module))})" if isinstance(module, type) else "is an instance"
        raise InputError(
            f"{name} is a torch module and {given}: give a class that takes (features, classes), or wrap a function that"
            " makes it, sanity.from_torch(lambda features, classes: …)"
        )
    return from_torch(module, name=name)


def _cloned(estimator: Any, seed: int) -> Any:
    """An unfitted copy; its ``random_state`` is the seed unless one is set."""
    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    from sklearn.base import clone

    fresh = clone(estimator)
    if fresh.get_params(deep=False).get("random_state", 0) is None:
        fresh.set_params(random_state=seed)
    return fresh


def _is_adapter(model: Any) -> bool:
    return hasattr(model, "name") and callable(getattr(model, "prepare", None)) and not isinstance(model, type)


def _fits_and_predicts(model: Any) -> bool:
    return callable(getattr(model, "fit", None)) and callable(getattr(model, "predict", None))


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # builtins have no signature
        return []


def _takes(function: Callable[..., Any], name: str) -> bool:
    return any(each.name == name or each.kind is each.VAR_KEYWORD for each in _parameters(function))


def _required(function: Callable[..., Any]) -> list[str]:
    """Names of the arguments that must be given by position."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in _parameters(function) if each.kind in positional and each.default is each.empty]


def _name(model: Any) -> str:
    own = getattr(model, "name", None)
    return own if isinstance(own, str) and own else getattr(model, "__name__", None) or type(model).__name__


def _checked(module: Any, name: str) -> Any:
    """The module, called with a Data or with (x, edge_index), whose logits must be nodes × classes."""
    import torch

    class Checked(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.own, self.in_parts = module, len(_required(module.forward)) == 2

        def forward(self, data: Any) -> Any:
            logits = self.own(data.x, data.edge_index) if self.in_parts else self.own(data)
            if logits.ndim != 2 or len(logits) != data.num_nodes:
                raise InputError(f"{name} gave an array of shape {tuple(logits.shape)}: nodes × classes is needed")
            return logits

    return Checked()


def _data(graph: Graph, train: np.ndarray, val: np.ndarray) -> Any:
    """The graph as PyTorch Geometric's Data; ``y`` is −1 where the label is not known."""
    import torch

    Data = require("torch_geometric.data", "gnn", "a torch module").Data
    matrix = graph.adjacency.to_scipy().tocoo()
    masks = np.zeros((2, graph.n), bool)
    masks[0, train] = masks[1, val] = True
    return Data(
        x=torch.tensor(graph.features), y=torch.tensor(graph.codes),
        edge_index=torch.tensor(np.stack([matrix.row, matrix.col]).astype(np.int64)),
        train_mask=torch.tensor(masks[0]), val_mask=torch.tensor(masks[1]),
    )  # fmt: skip
