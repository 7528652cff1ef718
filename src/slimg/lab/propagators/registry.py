"""Every propagator by name: `get("gcnii", K=8, alpha=0.1)(graph)` gives the named column blocks of P(A, X).

A propagator of one's own takes a few lines. As a function of its hyperparameters that returns the formula:

    from slimg.lab.propagators import register
    from slimg.lab.propagators.expressions import A_row, identity

    @register("lazy")
    def lazy(K=2, alpha=0.5):
        return (alpha * identity + (1 - alpha) * A_row) ** K

    LinearGNN("lazy", K=4).fit(graph)

Defaults such as ``K=count(2)`` and ``alpha=share(0.5)`` have bounds. Or as a class, when the columns are no formula (then
override `columns`), or bounds depend on each other (`validate`):

    @register("degree")
    @dataclass(frozen=True)
    class Degree(Propagator):
        power: float = positive(0.5)

        def columns(self, graph, engine, x):
            return {"degree": engine.row_matrix(graph.adjacency.degree()[:, None] ** self.power)}
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, field, fields, make_dataclass
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, TypeVar

import numpy as np

from slimg.components.compute import Components
from slimg.components.row_scaling import dense_rows, prepare_features
from slimg.engine.base import Array, Engine, RowMatrix
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError, check_names, check_number
from slimg.graph.graph import Graph
from slimg.lab.propagators.evaluation import Evaluation, check_size, pick_rows
from slimg.lab.propagators.expressions import Concatenation, Expression, Hop, Identity, Power

WORKING_MATRICES = 4
FREE = {"free": True}
"""Metadata of a field that is no hyperparameter of the model: vectors that a network learns, or a seed."""
_REGISTRY: dict[str, type[Propagator]] = {}


# hyperparameters ----------------------------------------------------------------------------------------------------


def count(default: int, least: int = 0) -> Any:
    """A hyperparameter that is a whole number of at least ``least``."""
    return _bounded(default, f"a whole number of at least {least}", lambda v: float(v).is_integer() and v >= least)


def share(default: float) -> Any:
    """A hyperparameter between 0 and 1, both excluded."""
    return _bounded(default, "a number between 0 and 1", lambda v: 0 < v < 1)


def positive(default: float) -> Any:
    """A hyperparameter above 0."""
    return _bounded(default, "a number above 0", lambda v: 0 < v < np.inf)


def _bounded(default: float, needed: str, test: Callable[[Any], bool]) -> Any:
    return field(default=default, metadata={"needed": needed, "fits": test})


class Propagator:
    """Base of all propagators: a frozen dataclass whose fields are its hyperparameters.

    Attributes
    ----------
    family : str
        Kind of model: "linear", "decoupled", "coupled", "attention", "kernel", "SlimG" or "own".
    name, title : str
        In the registry and in print.
    reference : str
        Where the network was published.
    grid : mapping of str to sequence
        Hyperparameter → values that `LinearGNN` tries when it is not fixed (the paper's last table).

    Examples
    --------
    >>> from slimg.lab.propagators import get
    >>> get("sgc", K=3).family
    'linear'
    """

    family: ClassVar[str] = "own"
    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    reference: ClassVar[str] = ""
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {}

    def formula(self) -> Concatenation | Expression:
        """Write P(A, X) as an expression in operators; a propagator without one overrides `columns`.

        Returns
        -------
        Concatenation or Expression
            One block, or several side by side.
        """
        raise InputError(f"the propagator {self.name} has no formula")

    def columns(self, graph: Graph, engine: Engine, x: RowMatrix) -> dict[str, RowMatrix]:
        """Compute the blocks of columns.

        Parameters
        ----------
        graph : Graph
            The graph of the nodes.
        engine : Engine
            Where row matrices live.
        x : RowMatrix of shape (n, d)
            The prepared X, dense.

        Returns
        -------
        dict of str to RowMatrix of shape (n, d)
            Name of the block → its columns.
        """
        named = self.blocks()
        _check_columns(engine, x.shape[0], x.shape[1], len(named))
        evaluation = Evaluation(engine, graph.adjacency, x, self.vectors)
        return dict(zip(named, evaluation.columns(list(named.values())), strict=True))

    def vectors(self, layer: Any, d: int) -> Array:
        """Give the weight vectors of an attention to X.

        Parameters
        ----------
        layer : object
            The layer of the network, as the formula names it.
        d : int
            Columns of X.

        Returns
        -------
        array of shape (d, 1) or (d, 2)
            One column for a node, or one for each end of an edge.
        """
        raise InputError(f"the propagator {self.name} attends to X but defines no weight vectors")

    def validate(self) -> None:
        """Refuse hyperparameters out of their bounds."""
        for each in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            if "fits" in each.metadata:
                check_number(getattr(self, each.name), f"{self.name}: {each.name}", **each.metadata)

    def __call__(self, graph: Graph, engine: Engine | None = None, *, normalize_features: str | None = "row") -> Components:
        """Named column blocks of P(A, X) for all nodes; ``normalize_features=None`` takes X as it is (synthetic graphs)."""
        self.validate()
        engine = engine or MemoryEngine()
        x = self.features(graph, engine, normalize_features)
        return Components(engine, self.columns(graph, engine, x), rank=x.shape[1], notes=self.notes())

    def features(self, graph: Graph, engine: Engine, normalize_features: str | None) -> RowMatrix:
        """Prepare X.

        Parameters
        ----------
        graph : Graph
            A graph with features.
        engine : Engine
            Where the result lives.
        normalize_features : "row" or None
            "row" divides each row by its sum; None takes X as it is.

        Returns
        -------
        RowMatrix of shape (n, d)
            Dense, since hops fill it in.
        """
        if graph.features is None:
            raise InputError(f"the propagator {self.name} needs features, but the graph has none: use slimg")
        row_matrix = prepare_features(engine, graph.features, normalize_features)
        return engine.map_rows(dense_rows, row_matrix) if engine.is_sparse(row_matrix) else row_matrix

    def notes(self) -> tuple[str, ...]:
        """Say what was decided on the way.

        Returns
        -------
        tuple of str
            One sentence each.
        """
        return ()

    def blocks(self) -> dict[str, Expression]:
        """Name the blocks of the formula.

        Returns
        -------
        dict of str to Expression
            Name of the block → its expression.
        """
        formula = self.formula()
        named: dict[str, Expression] = {}
        for part in formula if isinstance(formula, Concatenation) else [formula]:
            named[_unused(_block_name(part), named)] = part
        if not named:
            raise InputError(f"{self.name} with these hyperparameters has no blocks: use more hops")
        return named

    @classmethod
    def hyperparameters(cls) -> dict[str, Any]:
        """List the hyperparameters of the model.

        Returns
        -------
        dict of str to object
            Name → default.
        """
        given = fields(cls)  # type: ignore[arg-type]
        return {each.name: each.default for each in given if not each.metadata.get("free")}


Registered = TypeVar("Registered", bound=Callable[..., Any])


def register(
    name: str, *, title: str = "", reference: str = "", family: str = "", grid: Mapping[str, Sequence[Any]] | None = None
) -> Callable[[Registered], Registered]:
    """Make a propagator known by name, as a decorator.

    Parameters
    ----------
    name : str
        Its name for `get` and `LinearGNN`.
    title : str, default=""
        Its name in print; by default that of the class, or ``name``.
    reference : str, default=""
        Where it was published.
    family : str, default=""
        Kind of model; by default that of the class.
    grid : mapping of str to sequence, optional
        Hyperparameter → values that `LinearGNN` tries; by default that of the class.

    Returns
    -------
    callable
        A decorator of a `Propagator` class, or of a function of hyperparameters that returns a formula.

    Examples
    --------
    >>> from slimg.lab.propagators import get, register
    >>> from slimg.lab.propagators.expressions import A_row
    >>> register("walk", title="Walk")(lambda K=2: A_row**K)  # doctest: +SKIP
    >>> get("walk", K=3)  # doctest: +SKIP
    """

    def add(given: Registered) -> Registered:
        kind: Any = given if inspect.isclass(given) else _from_function(name, given)
        kind.name, kind.title = name, title or kind.title or name
        kind.reference, kind.family, kind.grid = reference or kind.reference, family or kind.family, grid or kind.grid
        _REGISTRY[name] = kind
        return given

    return add


def names() -> tuple[str, ...]:
    """List the names of all propagators.

    Returns
    -------
    tuple of str
        In the order of the paper's table.

    Examples
    --------
    >>> from slimg.lab.propagators import names
    >>> names()[:3]
    ('lr', 'sgc', 'dgc')
    """
    return tuple(_registry())


def kind_of(name: str) -> type[Propagator]:
    """Find the class that is registered under a name.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    type
        A subclass of `Propagator`.
    """
    known = _registry()
    check_names("propagator", [name], known)
    return known[name]


def get(name: str, **hyperparameters: Any) -> Propagator:
    """Make a propagator.

    Parameters
    ----------
    name : str
        One of `names`.
    **hyperparameters : object
        Its hyperparameters by name; others are at their defaults.

    Returns
    -------
    Propagator
        A function of a graph: ``get(name)(graph)`` computes P(A, X).

    Raises
    ------
    InputError
        If the name or a hyperparameter is unknown, or a value is out of its bounds.

    Examples
    --------
    >>> from slimg.lab.propagators import get
    >>> list(get("sgc", K=2).blocks())
    ['Ã_sym^2 X']
    """
    kind = kind_of(name)
    check_names(f"hyperparameter of {name}", hyperparameters, [each.name for each in fields(kind)])  # type: ignore[arg-type]
    propagator = kind(**hyperparameters)
    propagator.validate()
    return propagator


def together(
    propagators: Sequence[Propagator], graph: Graph, engine: Engine,
    normalize_features: str | None = "row", rows: Array | None = None,
) -> list[Components]:  # fmt: skip
    """Compute P(A, X) for several propagators; formulas in the same operator share its hops.

    Parameters
    ----------
    propagators : sequence of Propagator
        What to compute.
    graph : Graph
        A graph with features.
    engine : Engine
        Where the results live.
    normalize_features : "row" or None, default="row"
        As in `Propagator.features`.
    rows : array of shape (m,) or None, default=None
        Rows to keep; None for all nodes.

    Returns
    -------
    list of Components
        One for each propagator.
    """
    results: dict[int, Components] = {}
    plain = [each for each in propagators if _is_plain_formula(each)]
    if plain:
        x = plain[0].features(graph, engine, normalize_features)
        named = [(each, name, block) for each in plain for name, block in each.blocks().items()]
        _check_columns(engine, x.shape[0] if rows is None else len(rows), x.shape[1], len(named))
        row_matrices = Evaluation(engine, graph.adjacency, x).columns([block for *_, block in named], rows)
        for (owner, name, _), row_matrix in zip(named, row_matrices, strict=True):
            parts = results.setdefault(id(owner), Components(engine, rank=x.shape[1], notes=owner.notes()))
            parts.blocks[name] = row_matrix
    for each in propagators:
        if id(each) not in results:
            whole = each(graph, engine, normalize_features=normalize_features)
            kept = {name: pick_rows(whole.engine, block, rows) for name, block in whole.blocks.items()}
            results[id(each)] = whole if rows is None else Components(engine, kept, rank=whole.rank, notes=whole.notes)
    return [results[id(each)] for each in propagators]


def _is_plain_formula(propagator: Propagator) -> bool:
    """Whether its blocks are what the formula says, and no weight vectors of its own come in."""
    kind = type(propagator)
    return all(getattr(kind, name) is getattr(Propagator, name) for name in ("__call__", "columns", "vectors"))


def _registry() -> dict[str, type[Propagator]]:
    """The catalog registers its propagators when it is imported, which is now."""
    import_module("slimg.lab.propagators.catalog")
    return _REGISTRY


def _from_function(name: str, formula: Callable[..., Concatenation | Expression]) -> type[Propagator]:
    parameters = inspect.signature(formula).parameters.values()
    bare = [p.name for p in parameters if p.default is p.empty]
    if bare:
        raise InputError(f"the propagator {name} needs a default for each hyperparameter: {', '.join(bare)} has none")

    def evaluated(self: Propagator) -> Concatenation | Expression:
        return formula(**{p.name: getattr(self, p.name) for p in parameters})

    def rebuilt(self: Propagator) -> tuple[Any, ...]:  # for pickle, which finds the function under this name
        return partial(get, name, **{p.name: getattr(self, p.name) for p in parameters}), ()

    members = [(p.name, Any, p.default if isinstance(p.default, Field) else field(default=p.default)) for p in parameters]
    space = {"formula": evaluated, "__reduce__": rebuilt, "__doc__": formula.__doc__, "__module__": formula.__module__}
    return make_dataclass(name, members, bases=(Propagator,), frozen=True, namespace=space)


def _block_name(expression: Expression) -> str:
    """Ã_sym^2 X for a power, X for the identity, P for other forms."""
    match expression:
        case Identity() | Power(exponent=0):
            return "X"
        case Hop(name=hop) | Power(base=Hop(name=hop), exponent=1):
            return f"{hop} X"
        case Power(base=Hop(name=hop), exponent=exponent):
            return f"{hop}^{exponent} X"
    return "P"


def _unused(name: str, taken: Mapping[str, Any]) -> str:
    suffix = 2
    while name in taken:
        name, suffix = f"{name.split('#')[0]}#{suffix}", suffix + 1
    return name


def _check_columns(engine: Engine, n: int, d: int, blocks: int) -> None:
    check_size(engine, 4 * n * d * (blocks + WORKING_MATRICES), f"P(A, X) with {blocks * d:,} columns for {n:,} nodes")
