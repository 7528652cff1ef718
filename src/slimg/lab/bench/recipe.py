"""Recipes: small JSON files that say what is run.

    {"name": "real", "title": …, "about": what is special about its protocol, "paper": "real",
     "data": ["cora", {"case": "semantic-uniform", "n": 6000}, …],
     "models": {"sgc": {"kind": "sgc"}, "slimg": {"kind": "slimg", "grid": "paper"}, …},
     "split": [0.025, 0.025, 0.95], "seeds": 5, "fewer_seeds": {"gcn": 3},      rows that have fewer splits than the others
     "alone": true,                                         its times are compared: never two processes at once
     "unranked": ["slimg-path"],                            rows that stand beside the paper's models, without a place
     "standins": {"ogbn-arxiv": {"nodes": …}, …},           used where the files of a graph are not here
     "quick": {"seeds": 2, "with": {"gcn": {"epochs": 50}}, "standins": …}}     what `--quick` replaces

JSON rather than TOML: Python 3.10 cannot read TOML without a further package, and records hold their protocol as JSON too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from slimg.errors import InputError, choices
from slimg.graph.splits import REAL
from slimg.lab.bench import graphs
from slimg.lab.bench.models import kind
from slimg.lab.bench.store import Cell

_KEYS = (
    "name", "title", "about", "paper", "data", "models", "split", "seeds", "fewer_seeds", "alone", "unranked",
    "standins", "quick",
)  # fmt: skip
_NEEDED = ("name", "title", "data", "models")
_QUICK = ("about", "seeds", "with", "standins", "data", "models")


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
        Column → description of its graph (`slimg.lab.bench.graphs`).
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
        folder = files("slimg.lab.bench").joinpath("recipes")
        shipped = sorted(each.name.removesuffix(".json") for each in folder.iterdir() if each.name.endswith(".json"))
        if name not in shipped:
            raise choices("recipe", name, shipped)
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
        return replace(
            self,
            data=_some(f"graph of {self.name}", self.data, data),
            models=_some(f"model of {self.name}", self.models, models),
            seeds=_seeds(self.name, self.seeds if seeds is None else seeds),
            fewer_seeds=self.fewer_seeds if seeds is None else {},
        )

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
        for column in self.data:
            for row in self.models:
                for seed in range(self.seeds_of(row)):
                    yield self.cell(row, column, seed)

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
        return tuple(column for column, data in self.data.items() if graphs.is_synthetic(data))


def _built(content: Any, where: str, quick: bool) -> Recipe:
    if not isinstance(content, dict):
        raise InputError(f"the recipe {where} must be a JSON object, not {type(content).__name__}")
    for key in content:
        if key not in _KEYS:
            raise choices(f"key in the recipe {where}", key, list(_KEYS))
    for key in _NEEDED:
        if key not in content:
            raise InputError(f"the recipe {where} lacks {key!r}")
    content = _quickened(content, where) if quick else content
    data, missing = _data(content, where)
    models = _models(content["models"], where)
    unranked = tuple(content.get("unranked", ()))
    for row in unranked:
        if row not in models and not quick:
            raise choices(f"row in 'unranked' of the recipe {where}", row, list(models))
    return Recipe(
        content["name"], content["title"], data, models, content.get("paper"), _split(content.get("split", REAL), where),
        _seeds(where, content.get("seeds", 5)), unranked, missing, quick, content.get("about", ""),
        {} if quick else _fewer(content, models, where), _alone(content.get("alone", False), where),
    )  # fmt: skip


def _quickened(content: dict[str, Any], where: str) -> dict[str, Any]:
    """The recipe with what `--quick` replaces."""
    quick = content.get("quick", {})
    for key in quick:
        if key not in _QUICK:
            raise choices(f"key in 'quick' of the recipe {where}", key, list(_QUICK))
    rows = content["models"]
    models = {row: {**rows[row], **quick.get("with", {}).get(row, {})} for row in quick.get("models", rows)}
    kept = {key: quick[key] for key in ("about", "seeds", "standins", "data") if key in quick}
    return {**content, **kept, "models": models}


def _data(content: dict[str, Any], where: str) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """Column → graph; published graphs without files are replaced by their stand-ins, or left out and named."""
    found: dict[str, dict[str, Any]] = {}
    missing = []
    standins = content.get("standins", {})
    for each in content["data"]:
        data = {"name": each} if isinstance(each, str) else each
        graphs.check(data, f"the recipe {where}")
        name = data.get("name")
        if name is not None and not graphs.is_present(name):
            if name not in standins:
                missing.append(name)
                continue
            data = {"standin": name, **standins[name]}
        found[graphs.column(data)] = data
    return found, tuple(missing)


def _models(models: Any, where: str) -> dict[str, dict[str, Any]]:
    if not isinstance(models, dict) or not models:
        raise InputError(f"the recipe {where} needs 'models' as an object: row → {{\"kind\": …}}")
    for row, model in models.items():
        if not isinstance(model, dict) or "kind" not in model:
            raise InputError(f"the recipe {where}: the model {row} needs a 'kind'")
        try:
            kind(model["kind"]).check({key: value for key, value in model.items() if key != "kind"})
        except InputError as error:
            raise InputError(f"the recipe {where}, row {row}: {error}") from None
    return models


def _split(shares: Any, where: str) -> tuple[float, float, float]:
    if not isinstance(shares, list | tuple) or len(shares) != 3:
        raise InputError(f"the recipe {where}: 'split' is three shares (train, validation, test), not {shares!r}")
    return float(shares[0]), float(shares[1]), float(shares[2])


def _seeds(where: str, seeds: Any) -> int:
    if not isinstance(seeds, int) or isinstance(seeds, bool) or seeds < 1:
        raise InputError(f"{where}: seeds is a number of splits of at least 1, not {seeds!r}")
    return seeds


def _alone(alone: Any, where: str) -> bool:
    if not isinstance(alone, bool):
        raise InputError(f"the recipe {where}: 'alone' is true or false, not {alone!r}")
    return alone


def _fewer(content: dict[str, Any], models: dict[str, Any], where: str) -> dict[str, int]:
    found = content.get("fewer_seeds", {})
    for row, seeds in found.items():
        if row not in models:
            raise choices(f"row in 'fewer_seeds' of the recipe {where}", row, list(models))
        if _seeds(f"{where}, fewer_seeds of {row}", seeds) >= content.get("seeds", 5):
            raise InputError(f"{where}: fewer_seeds of {row} is {seeds}, which is not less than the seeds of the others")
    return found


def _some(what: str, known: dict[str, Any], names: list[str] | None) -> dict[str, Any]:
    if not names:
        return known
    for name in names:
        if name not in known:
            raise choices(what, name, list(known))
    return {name: known[name] for name in names}
