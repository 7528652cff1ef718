"""Recipes: small JSON files that say what is run.

    {"name": "real", "title": …, "about": what is special about its protocol, "paper": "real",
     "data": ["cora", {"case": "semantic-uniform", "n": 6000}, …],
     "models": {"sgc": {"kind": "sgc"}, "slimg": {"kind": "slimg", "grid": "paper"}, …},
     "split": [0.025, 0.025, 0.95], "seeds": 5, "fewer_seeds": {"gcn": 3},      rows that have fewer splits than the others
     "alone": true,                                         its times are compared: never two processes at once
     "unranked": ["slimg-path"],                            rows that stand beside the paper's models, without a place
     "synthetic": {"ogbn-arxiv": {"nodes": …}, …},           used where the files of a graph are not here
     "quick": {"seeds": 2, "with": {"gcn": {"epochs": 50}}, "synthetic": …}}     what `--quick` replaces

JSON rather than TOML: Python 3.10 cannot read TOML without a further package, and records hold their protocol as JSON too.

A graph is described by one of

    {"name": "cora"}                                  a published graph, from the files that are here
    {"case": "semantic-uniform", "n": 6000}           a sanity check, at the paper's degree and nodes per feature
    {"synthetic": "ogbn-arxiv", "nodes": 16000, …}      a generated graph that replaces one whose files are not here

Features of published graphs are divided by their row sums before they are used, those of generated ones are taken as they
are; ``"prepared": "raw"`` or ``"row"`` in the description decides otherwise.

Generated graphs show that a program runs at such a size and how long it takes; results on them say nothing about the graphs
they replace:

    θ_i ~ Pareto(exponent)              how many edges node i attracts: degrees are skewed
    y_i                                 c classes, the largest ``imbalance`` times the smallest
    edge (u, v)                         u ∝ θ; with probability ``homophily`` v ∝ θ in the class of u, else v ∝ θ in another
    x_i = strength · μ_{y_i} + ε_i      μ, ε standard normal (d): features follow labels

Repeated edges and loops are dropped and drawn again until the number of edges is reached. More of them fall inside a class,
so that the measured homophily is a little lower than ``homophily``.
"""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import slimg.lab.datasets as datasets
from slimg.errors import InputError, check_names
from slimg.graph import Adjacency, Graph
from slimg.graph.splits import REAL
from slimg.lab.bench.models import kind
from slimg.lab.bench.store import Cell
from slimg.lab.datasets.loader import find, find_files
from slimg.lab.sanity.case import draw_clusters, make, parts, scaled

ROUNDS = 50
KINDS = ("name", "case", "synthetic")
_KNOWN = {"name": {"name", "prepared"}, "case": {"case", "n", "prepared"}}
_NEEDED = ("name", "title", "data", "models")
_QUICK = ("about", "seeds", "with", "synthetic", "data", "models")
_CHECKS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("name", "title", "about"), ("a string", lambda value: isinstance(value, str))),
    "paper": ("the name of a table of the paper", lambda value: value is None or isinstance(value, str)),
    **dict.fromkeys(("data", "unranked"), ("a list", lambda value: isinstance(value, list))),
    "models": ('an object, row → {"kind": …}, with at least one row', lambda value: isinstance(value, dict) and bool(value)),
    "split": ("three shares (train, validation, test)", lambda value: isinstance(value, list) and len(value) == 3),
    "seeds": ("a number of splits of at least 1", lambda value: type(value) is int and value >= 1),
    "alone": ("true or false", lambda value: isinstance(value, bool)),
    **dict.fromkeys(("fewer_seeds", "synthetic", "quick"), ("an object", lambda value: isinstance(value, dict))),
}
"""Key of a recipe → what is expected, and whether a value is that."""


@dataclass(frozen=True)
class Recipe:
    """What is run, and which of the paper's tables it stands beside.

    Attributes
    ----------
    name : str
        Name of the experiment.
    title : str
        Title of its table.
    data : dict
        Column → description of its graph (`slimg.lab.bench.recipe`).
    models : dict
        Row → kind and settings (`slimg.lab.bench.models`).
    paper : str or None
        Name of the paper's table.
    split : tuple of three float
        Shares of train, validation and test.
    seeds : int
        Number of splits.
    unranked : tuple of str
        Rows that have no rank.
    missing : tuple of str
        Published graphs that are left out because their files are not here and no generated graph replaces them.
    quick : bool
        Whether it is the reduced protocol.
    about : str
        What is special about its protocol.
    fewer_seeds : dict
        Row → its number of splits, where that is not ``seeds``.
    alone : bool
        Whether its cells are run one process at a time, since their times are compared.

    Examples
    --------
    >>> from slimg.lab.bench import Recipe
    >>> recipe = Recipe("mine", "Mine", data={"cora": {"name": "cora"}}, models={"sgc": {"kind": "sgc"}})
    >>> recipe.split
    (0.025, 0.025, 0.95)
    """

    name: str
    title: str
    data: dict[str, dict[str, Any]]
    models: dict[str, dict[str, Any]]
    paper: str | None = None
    split: tuple[float, float, float] = REAL
    seeds: int = 5
    unranked: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    quick: bool = False
    about: str = ""
    fewer_seeds: dict[str, int] = field(default_factory=dict)
    alone: bool = False

    @classmethod
    def named(cls, name: str, quick: bool = False) -> Recipe:
        """Read a recipe that slimg ships.

        Parameters
        ----------
        name : str
            Name of the experiment.
        quick : bool, default=False
            Whether to make the reduced protocol.

        Returns
        -------
        Recipe
            The recipe, for the graphs whose files are here.
        """
        folder = importlib.resources.files("slimg.lab.bench").joinpath("recipes")
        shipped = sorted(each.name.removesuffix(".json") for each in folder.iterdir() if each.name.endswith(".json"))
        check_names("recipe", [name], shipped)
        return _built(json.loads(folder.joinpath(f"{name}.json").read_text(encoding="utf-8")), name, quick)

    @classmethod
    def read(cls, path: str | Path, quick: bool = False) -> Recipe:
        """Read a recipe from a file.

        Parameters
        ----------
        path : path-like
            JSON file.
        quick : bool, default=False
            Whether to make the reduced protocol.

        Returns
        -------
        Recipe
            The recipe, for the graphs whose files are here.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"the recipe {path} cannot be read ({error.strerror})") from None
        except ValueError as error:
            raise InputError(f"the recipe {path} is not JSON: {error}") from None
        return _built(content, str(path), quick)

    def narrowed(self, data: list[str] | None = None, models: list[str] | None = None, seeds: int | None = None) -> Recipe:
        """Keep some of its columns and rows, or change the number of seeds.

        Parameters
        ----------
        data : list of str or None, default=None
            Columns; None for all.
        models : list of str or None, default=None
            Rows; None for all.
        seeds : int or None, default=None
            Number of splits; None for its own.

        Returns
        -------
        Recipe
            A copy.
        """
        check_names(f"graph of {self.name}", data or (), self.data)
        check_names(f"model of {self.name}", models or (), self.models)
        changes: dict[str, Any] = {} if seeds is None else {"seeds": seeds, "fewer_seeds": {}}
        for key, value in changes.items():
            _check(self.name, key, value)
        changes["data"] = {column: self.data[column] for column in data or self.data}
        return replace(self, models={row: self.models[row] for row in models or self.models}, **changes)

    def with_models(self, models: dict[str, dict[str, Any]]) -> Recipe:
        """Add rows, which are not ranked among the paper's.

        Parameters
        ----------
        models : dict
            Row → kind and settings.

        Returns
        -------
        Recipe
            A copy.
        """
        return replace(self, models={**self.models, **models}, unranked=(*self.unranked, *models))

    def seeds_of(self, row: str) -> int:
        """Number of splits of a row.

        Parameters
        ----------
        row : str
            One of ``models``.

        Returns
        -------
        int
            At least 1.
        """
        return self.fewer_seeds.get(row, self.seeds)

    def cell(self, row: str, column: str, seed: int) -> Cell:
        """Make one cell of the table.

        Parameters
        ----------
        row, column : str
            Of ``models`` and ``data``.
        seed : int
            Number of the split.

        Returns
        -------
        Cell
            What is run once.
        """
        return Cell(self.data[column], self.split, self.models[row], seed)

    def cells(self) -> Iterator[Cell]:
        """Make all cells, column by column.

        Yields
        ------
        Cell
            What is run once.
        """
        for column, row in product(self.data, self.models):
            yield from (self.cell(row, column, seed) for seed in range(self.seeds_of(row)))

    @property
    def label(self) -> str:
        """What stands before whatever a reduced protocol gave."""
        return "QUICK, a reduced protocol: " if self.quick else ""

    @property
    def suffix(self) -> str:
        """End of the names of its files."""
        return "-quick" if self.quick else ""

    @property
    def synthetic(self) -> tuple[str, ...]:
        """Columns whose graphs are generated."""
        return tuple(column for column, data in self.data.items() if "synthetic" in data)


def _built(content: Any, where: str, quick: bool) -> Recipe:
    """The recipe of a JSON object, which is checked; ``where`` names the file."""
    where = f"the recipe {where}"
    if not isinstance(content, dict):
        raise InputError(f"{where} must be a JSON object, not {type(content).__name__}")
    check_names(f"key in {where}", content, _CHECKS)
    for key in _NEEDED:
        if key not in content:
            raise InputError(f"{where} lacks {key!r}")
    for key, value in content.items():
        _check(where, key, value)
    content = _quickened(content, where) if quick else content
    data, missing = _data(content, where)
    fields = {key: content[key] for key in ("name", "title", "models", "paper", "seeds", "about", "alone") if key in content}
    train, val, test = map(float, content.get("split", REAL))
    recipe = Recipe(
        **fields, data=data, missing=missing, quick=quick, split=(train, val, test),
        unranked=tuple(content.get("unranked", ())), fewer_seeds={} if quick else content.get("fewer_seeds", {}),
    )  # fmt: skip
    _check_rows(recipe, where)
    return recipe


def _quickened(content: dict[str, Any], where: str) -> dict[str, Any]:
    """The recipe with what `--quick` replaces."""
    quick = content.get("quick", {})
    check_names(f"key in 'quick' of {where}", quick, _QUICK)
    rows = content["models"]
    models = {row: {**rows[row], **quick.get("with", {}).get(row, {})} for row in quick.get("models", rows)}
    kept = {key: quick[key] for key in ("about", "seeds", "synthetic", "data") if key in quick}
    for key, value in kept.items():
        _check(where, key, value)
    return {**content, **kept, "models": models}


def _data(content: dict[str, Any], where: str) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """Column → graph; published graphs without files are replaced by generated ones, or left out and named."""
    found: dict[str, dict[str, Any]] = {}
    missing = []
    replacements = content.get("synthetic", {})
    for each in content["data"]:
        data = {"name": each} if isinstance(each, str) else each
        _check_graph(data, where)
        name = data.get("name")
        if name is not None and find_files(find(name)) is None:
            if name not in replacements:
                missing.append(name)
                continue
            data = {"synthetic": name, **replacements[name]}
        found[column_of(data)] = data
    return found, tuple(missing)


def _check_rows(recipe: Recipe, where: str) -> None:
    """Check the models, and the rows that other keys name."""
    for row, model in recipe.models.items():
        if not isinstance(model, dict) or "kind" not in model:
            raise InputError(f"{where}: the model {row} needs a 'kind'")
        try:
            kind(model["kind"]).check({key: value for key, value in model.items() if key != "kind"})
        except InputError as error:
            raise InputError(f"{where}, row {row}: {error}") from None
    if not recipe.quick:
        check_names(f"row in 'unranked' of {where}", recipe.unranked, recipe.models)
    check_names(f"row in 'fewer_seeds' of {where}", recipe.fewer_seeds, recipe.models)
    for row, seeds in recipe.fewer_seeds.items():
        _check(f"{where}, fewer_seeds of {row}", "seeds", seeds)
        if seeds >= recipe.seeds:
            raise InputError(f"{where}: fewer_seeds of {row} is {seeds}, which is not less than the seeds of the others")


def _check(where: str, key: str, value: Any) -> None:
    expected, holds = _CHECKS[key]
    if not holds(value):
        raise InputError(f"{where}: {key!r} must be {expected}, not {value!r}")


# graphs -------------------------------------------------------------------------------------------------------------



def _check_graph(data: Any, where: str) -> None:
    """Raise `InputError` unless this describes a graph."""
    kinds = [kind for kind in KINDS if isinstance(data, dict) and kind in data]
    if len(kinds) != 1:
        raise InputError(f"{where}: a graph is described by one of {', '.join(KINDS)}, not by {data!r}")
    (kind,) = kinds
    if kind == "name":
        find(data["name"])
    elif kind == "case":
        parts(data["case"])
        scaled(data.get("n", 0))
    unknown = sorted(set(data) - _KNOWN.get(kind, set(data)))
    if unknown:
        raise InputError(f"{where}: {unknown[0]!r} is no part of the description of a graph by {kind}")
    check_names(f"{where}: prepared", [data.get("prepared", "row")], ("row", "raw"))


def column_of(data: dict[str, Any]) -> str:
    """Return the column of the graph in a table.

    Returns
    -------
    str
    """
    return str(next(data[kind] for kind in KINDS if kind in data))


def load_graph(data: dict[str, Any]) -> Graph:
    """Load or draw the graph, with all its labels.

    Returns
    -------
    Graph
    """
    if "name" in data:
        return datasets.load(data["name"])
    if "case" in data:
        return make(*parts(data["case"]), **scaled(data["n"])).graph
    return make_synthetic(**{key: value for key, value in data.items() if key not in ("synthetic", "prepared")})


def normalization(data: dict[str, Any]) -> str | None:
    """Return what is done to the features, as ``normalize_features`` of the models.

    Returns
    -------
    "row" or None
    """
    return "row" if data.get("prepared", "row" if "name" in data else "raw") == "row" else None


def make_synthetic(
    nodes: int, edges: int, features: int, classes: int, *, homophily: float = 0.7, strength: float = 0.2,
    imbalance: float = 4.0, exponent: float = 2.5, seed: int = 0,
) -> Graph:  # fmt: skip
    """Draw a graph; ``edges`` are undirected.

    Returns
    -------
    Graph
        With features and all labels.
    """
    if edges > nodes * (nodes - 1) // 8:
        raise InputError(f"a generated graph of {nodes:,} nodes is too dense with {edges:,} edges: use fewer")
    rng = np.random.default_rng(seed)
    labels = draw_clusters(nodes, classes, imbalance, rng)
    attraction = 1 + rng.pareto(exponent - 1, nodes)
    found = np.empty(0, np.int64)
    for _ in range(ROUNDS):
        if (lacking := edges - len(found)) <= 0:
            break
        found = np.union1d(found, _draw(int(1.2 * lacking) + 16, labels, attraction, homophily, rng))
    kept = rng.permutation(found)[:edges]
    adjacency, _ = Adjacency.from_edges(*np.divmod(kept, nodes), nodes, directed=False)
    centres = strength * rng.standard_normal((classes, features), dtype=np.float32)
    matrix = centres[labels] + rng.standard_normal((nodes, features), dtype=np.float32)
    return Graph(adjacency, matrix, labels).with_notes("A generated graph, not a published one.")


def _draw(count: int, labels: np.ndarray, attraction: np.ndarray, homophily: float, rng: np.random.Generator) -> np.ndarray:
    """Edges u < v as u·n + v; fewer than ``count`` where both ends are the same node."""
    n, order = len(labels), np.argsort(labels, kind="stable")
    edges_of = np.concatenate([[0.0], np.cumsum(attraction[order])])
    ends = np.searchsorted(labels[order], np.arange(labels.max() + 2))
    low, high = edges_of[ends[:-1]], edges_of[ends[1:]]

    first = order[_places(edges_of, rng.random(count) * edges_of[-1])]
    own = labels[first]
    inside = low[own] + rng.random(count) * (high - low)[own]
    outside = rng.random(count) * (edges_of[-1] - (high - low)[own])
    outside += np.where(outside >= low[own], (high - low)[own], 0.0)  # all classes but its own, laid end to end
    second = order[_places(edges_of, np.where(rng.random(count) < homophily, inside, outside))]
    pairs = np.sort(np.column_stack([first, second]), axis=1)
    return np.unique((pairs @ np.array([n, 1]))[pairs[:, 0] < pairs[:, 1]])


def _places(edges_of: np.ndarray, at: np.ndarray) -> np.ndarray:
    return np.clip(np.searchsorted(edges_of, at, side="right") - 1, 0, len(edges_of) - 2)
