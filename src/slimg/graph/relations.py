"""Relations: several kinds of edges between the same nodes, each with or without a direction.

For a relation r between n nodes, D_r ∈ ℝⁿˣⁿ without loops: row i lists what node i points to.

    out  = D_r      into = D_rᵀ      directed
    out  = into     = A_r            undirected: A_r as in `slimg.graph.adjacency`
    A    = max(S, Sᵀ),  S = Σ_r D_r  (or max over r; or S + Sᵀ; binary if all D_r are)      the union of all relations

Two relations may be one: "hyponym" is "hypernym" read backwards. Such relations are found when they are made (`connect`):
equal matrices are stored once, and `distinct_directions` leaves out a relation that repeats another, up to one edge in a
thousand (WordNet's two have one edge in 89,089 that the other lacks).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from slimg.errors import InputError, near
from slimg.graph.adjacency import Adjacency, EdgeCounts, Rule
from slimg.graph.columns import list_names, number_of

ONLY = "edges"
"""Name of the relation of a single table."""
NEARLY = 0.999
"""Share of the edges of two binary relations that both have, from which they count as one."""
MOST = 200
"""Different values of a column up to which each can be a relation."""
OUT, INTO = " →", " ←"

Direction: TypeAlias = Literal["out", "in"]


@dataclass(frozen=True, eq=False)
class Relation:
    """One kind of edges.

    Parameters
    ----------
    name : str
        Such as ``"follows"``.
    out : Adjacency
        Row i lists the nodes that node i points to.
    into : Adjacency
        The transpose of ``out``: row i lists the nodes that point to node i. The same object if the matrix is symmetric.
    directed : bool
        Whether (u, v) and (v, u) are different edges.
    same_as : str, default=None
        The direction of an earlier relation that ``out`` equals or nearly equals, as a key of `Graph.directions`.
    symmetric : bool, default=False
        Whether both directions of a directed relation are the same, or nearly.

    Examples
    --------
    >>> from slimg import Graph
    >>> graph = Graph.from_edges([("ann", "bob"), ("cy", "bob")], directed=True)
    >>> graph.relations
    (Relation('edges', 2 edges, directed),)
    >>> graph.relation("edges").into.neighbours(1)
    array([0, 2], dtype=int32)
    """

    name: str
    out: Adjacency
    into: Adjacency
    directed: bool
    same_as: str | None = None
    symmetric: bool = False

    @property
    def edges(self) -> int:
        """Number of edges; of an undirected relation each counts once."""
        return self.out.nnz if self.directed else self.out.nnz // 2

    @property
    def directions(self) -> dict[str, Adjacency]:
        """Both matrices of a directed relation, as ``"name →"`` and ``"name ←"``; ``"name"`` alone of an undirected one."""
        return {self.name + OUT: self.out, self.name + INTO: self.into} if self.directed else {self.name: self.out}

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        weighted = "" if self.out.weights is None else ", weighted"
        return f"Relation({self.name!r}, {number_of(self.edges, 'edge')}, {kind}{weighted})"


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Both ends of m edges, as ids or as numbers of nodes, and their weights; of one relation if it has a name."""

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    name: str | None = None
    mutual: bool = False
    """Whether (u, v) and (v, u) are repetitions of one edge."""

    def select(self, rows: np.ndarray) -> EdgeTable:
        """Keep the edges of a mask, or those at some places."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, source=self.source[rows], target=self.target[rows], weight=weight)


def opposite(key: str) -> str:
    """Return the key of the other direction; an undirected relation has one."""
    if key.endswith(OUT):
        return key.removesuffix(OUT) + INTO
    return key.removesuffix(INTO) + OUT if key.endswith(INTO) else key


def connect(
    tables: Sequence[EdgeTable],
    n: int,
    directed: bool | str | Collection[str] | None = None,
    *,
    duplicates: Rule = "sum",
    symmetrise: Rule = "max",
    option: str = "directed=True",
) -> tuple[Adjacency, tuple[Relation, ...], tuple[str, ...]]:
    """Make the matrices of a graph.

    Parameters
    ----------
    tables : sequence of EdgeTable
        Of numbers of nodes, one for each relation; a single table without a name is a relation only if its direction is kept.
    n : int
        Number of nodes.
    directed : bool, str, collection of str or None, default=None
        Which relations keep their direction, as in `Graph.from_edges`.
    duplicates, symmetrise : {"sum", "max"}
        Rules for the weights of repeated edges, and of the two directions of a pair.
    option : str
        How the user keeps the direction, for the note.

    Returns
    -------
    adjacency : Adjacency
        The undirected union.
    relations : tuple of Relation
        Empty for a single undirected table without a name.
    notes : tuple of str
        What was done to the edges.
    """
    rules: dict[str, Any] = {"duplicates": duplicates, "symmetrise": symmetrise}
    names = [ONLY if table.name is None else table.name for table in tables]
    kept = _directed_names(directed, names)
    if len(tables) == 1 and tables[0].name is None and not kept:
        (table,) = tables
        joined = not table.mutual and directed is not False
        adjacency, counts = Adjacency.from_edges(table.source, table.target, n, table.weight, directed=joined, **rules)
        return adjacency, (), counts.notes(option if directed is None else None)
    _check_names(names)
    made, all_counts = [], []
    for name, table in zip(names, tables, strict=True):
        try:
            relation, counts = _relation(name, table, n, name in kept, directed is False, rules)
        except InputError as error:
            raise InputError(f"relation {name!r}: {error}") from error
        made.append(relation)
        all_counts.append(counts)
    relations = share_equal(made)
    notes = (*EdgeCounts.total(all_counts).notes(option if directed is None else None), *_notes(relations))
    return union(relations, duplicates, symmetrise), relations, notes


def union(relations: Sequence[Relation], duplicates: Rule = "sum", symmetrise: Rule = "max") -> Adjacency:
    """Return the undirected union of relations; it is binary if all are."""
    if len(relations) == 1 and relations[0].out is relations[0].into:
        return relations[0].out
    parts, binary = [relation.out for relation in relations], all(relation.out.weights is None for relation in relations)
    n, weights = parts[0].n, None
    source = np.concatenate([np.repeat(np.arange(n, dtype=part.indices.dtype), np.diff(part.indptr)) for part in parts])
    if not binary:
        ones = [np.ones(part.nnz, np.float32) if part.weights is None else part.weights for part in parts]
        weights = np.concatenate(ones)
    target = np.concatenate([part.indices for part in parts])
    return Adjacency.from_edges(source, target, n, weights, duplicates=duplicates, symmetrise=symmetrise)[0]


def share_equal(relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Store each matrix once, and set ``same_as`` of the relations that repeat an earlier one."""
    shared: list[Relation] = []
    for relation in relations:
        if relation.directed and is_near(relation.out, relation.into):
            same = is_same(relation.out, relation.into)
            relation = replace(relation, symmetric=True, into=relation.out if same else relation.into)
        for other in [each for each in shared if each.same_as is None]:
            key = next((key for key, matrix in other.directions.items() if is_near(matrix, relation.out)), None)
            if key is not None:
                out, into = (other.out, other.into) if other.directions[key] is other.out else (other.into, other.out)
                stored = replace(relation, out=out, into=into) if is_same(out, relation.out) else relation
                relation = replace(stored, same_as=key)
                break
        shared.append(relation)
    return tuple(shared)


def distinct_directions(relations: Iterable[Relation]) -> dict[str, Adjacency]:
    """Return the matrices of all relations by their keys; each once, without relations that repeat another."""
    found: dict[str, Adjacency] = {}
    for relation in relations:
        if relation.same_as is None:
            pairs = list(relation.directions.items())
            found |= dict(pairs[:1] if relation.symmetric else pairs)
    return found


def is_same(one: Adjacency, other: Adjacency) -> bool:
    """Return whether two matrices have the same entries and weights."""
    if one is other:
        return True
    if one.nnz != other.nnz or not np.array_equal(one.indptr, other.indptr):
        return False
    if one.weights is None or other.weights is None:
        return one.weights is other.weights and np.array_equal(one.indices, other.indices)
    return np.array_equal(one.indices, other.indices) and np.array_equal(one.weights, other.weights)


def is_near(one: Adjacency, other: Adjacency) -> bool:
    """Return whether two matrices are the same or, if binary, share nearly all entries."""
    if is_same(one, other):
        return True
    few, many = sorted((one.nnz, other.nnz))
    if one.weights is not None or other.weights is not None or few < NEARLY * many:
        return False
    shared = common(one, other)
    return shared >= NEARLY * (few + many - shared)


def common(one: Adjacency, other: Adjacency) -> int:
    """Number of entries that two matrices share."""
    return int(one.to_scipy().multiply(other.to_scipy()).nnz)


def require_name(name: object, names: Sequence[str], what: str) -> str:
    """Return a name that is there; else raise an error that names similar ones."""
    if name in names:
        return str(name)
    advice = near(name, names, f"the relations are {list_names(names) or 'none'}")
    raise InputError(f"there is no relation {name!r}{f' for {what}' if what else ''}: {advice}")


def check_number(names: Any, column: object) -> None:
    """Raise an error for a column that has too many values to be one of relations."""
    if len(names) > MOST:
        raise InputError(
            f"column {column!r} has {len(names):,} different values ({list_names(names, 3)}), but a relation is a kind of"
            f" edges, of which there can be {MOST}: name another column as relation, or group its values"
        )


def _directed_names(directed: bool | str | Collection[str] | None, names: list[str]) -> set[str]:
    if directed is None or directed is False:
        return set()
    if directed is True:
        return set(names)
    wanted = [directed] if isinstance(directed, str) else directed
    if not isinstance(wanted, Collection):
        raise InputError(f"directed must be True, False or names of relations, not {directed!r}")
    return {require_name(name, names, "directed") for name in wanted}


def _check_names(names: list[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"relation {repeated[0]!r} is there more than once: give each relation a name of its own")
    if not all(name.strip() for name in names):
        raise InputError("a relation has an empty name: give it one")


def _relation(
    name: str, table: EdgeTable, n: int, keep: bool, mutual: bool, rules: dict[str, Any]
) -> tuple[Relation, EdgeCounts]:
    ends = (table.source, table.target, n, table.weight)
    if not keep:
        adjacency, counts = Adjacency.from_edges(*ends, directed=not (table.mutual or mutual), **rules)
        return Relation(name, adjacency, adjacency, False), counts
    out, into, counts = Adjacency.both_ways(*ends, duplicates=rules["duplicates"])
    return Relation(name, out, into, True), counts


def _notes(relations: Sequence[Relation]) -> list[str]:
    def texts(chosen: Iterable[Relation]) -> str:
        return list_names([repr(relation.name) for relation in chosen])

    every = all(r.directed for r in relations)
    sizes = [f"{r.name} ({number_of(r.edges, 'edge')}{', directed' if r.directed and not every else ''})" for r in relations]
    all_of = f"{len(relations):,} {'directed ' if every else ''}relations"
    notes = [f"{all_of}: {list_names(sizes)}."] if len(relations) > 1 else []
    for count, what in ((0, "no edges"), (1, "one edge")):
        few = [relation for relation in relations if relation.edges == count]
        if few:
            notes.append(f"Relations with {what}, which can tell nothing: {texts(few)}.")
    symmetric = [f"{r.name!r}{_but(r.out, r.into)}" for r in relations if r.symmetric and r.edges]
    if symmetric:
        notes.append(f"Same in both directions, which count as one: {list_names(symmetric)}.")
    keys = {key: matrix for relation in relations for key, matrix in relation.directions.items()}
    same = [f"{r.name!r} is {r.same_as!r}{_but(keys[r.same_as], r.out)}" for r in relations if r.same_as and r.edges]
    if same:
        notes.append(f"Relations that repeat another, which count once: {list_names(same)}.")
    return notes


def _but(one: Adjacency, other: Adjacency) -> str:
    """In how many edges two matrices differ, if they do."""
    return "" if one is other else f" but for {number_of(one.nnz + other.nnz - 2 * common(one, other), 'edge')}"
