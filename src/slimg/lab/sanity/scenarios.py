"""The nine scenarios: what the features say × what the edges say, and which of the two helps to tell the classes.

                  semantic X    structural X   random X
    homophily A   both help     both help      A helps
    heterophily A both help     both help      A helps
    uniform A     X helps       none helps     none helps

A scenario is named features-structure: ``semantic-uniform``.
"""

from __future__ import annotations

from collections.abc import Iterable

from slimg.errors import InputError, choices

FEATURES = ("semantic", "structural", "random")
STRUCTURES = ("homophily", "heterophily", "uniform")

CASES = (
    "semantic-uniform",
    "random-homophily",
    "random-heterophily",
    "structural-homophily",
    "structural-heterophily",
    "semantic-homophily",
    "semantic-heterophily",
)
"""The seven that hold information, in the order of the paper's table."""

EMPTY = ("structural-uniform", "random-uniform")
"""The two in which nothing tells the classes: who beats chance here has seen the answers."""


def parts(name: str) -> tuple[str, str]:
    """Features and structure of a scenario."""
    if name not in CASES + EMPTY:
        raise choices("sanity case", name, CASES + EMPTY)
    features, structure = name.split("-")
    return features, structure


def name_of(features: str, structure: str) -> str:
    """The name of a scenario from its parts."""
    if features not in FEATURES:
        raise choices("kind of features", features, FEATURES)
    if structure not in STRUCTURES:
        raise choices("kind of structure", structure, STRUCTURES)
    return f"{features}-{structure}"


def helps(name: str) -> tuple[str, ...]:
    """Which of X and A tell the classes."""
    features, structure = parts(name)
    edges_help = structure != "uniform"
    features_help = features == "semantic" or (features == "structural" and edges_help)
    return (*(["X"] if features_help else []), *(["A"] if edges_help else []))


def select(names: str | Iterable[str]) -> tuple[str, ...]:
    """Scenarios from names, or from "informative" (seven), "empty" (two) or "all" (nine)."""
    groups = {"informative": CASES, "empty": EMPTY, "all": CASES + EMPTY}
    chosen = [names] if isinstance(names, str) else list(names)
    found: list[str] = []
    for name in chosen:
        if name not in groups and name not in CASES + EMPTY:
            raise choices("sanity case", name, [*groups, *CASES, *EMPTY])
        found += groups.get(name, (name,))
    if not found:
        raise InputError("no sanity case was asked for: name at least one, or all")
    return tuple(dict.fromkeys(found))
