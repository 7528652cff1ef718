"""Questions about a fitted model, answered with values that JSON can hold.

    search        nodes by their id, or by what stands in a column of their table
    node          the score of a class against the mean of all, taken apart: bias + Σ components + rounding = score
    what_if       the same sums, computed again, with some edges or values of the node changed (`slimg.explain.what_if`)
    predictions   nodes filtered and sorted: one page of them, or all as CSV
    new_rows      scores of nodes that the fitted graph does not have

Names of nodes and classes are text here, as on the command line.
"""

from __future__ import annotations

import difflib
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from slimg.components.component import Target
from slimg.engine.base import Array
from slimg.errors import InputError, check_names
from slimg.explain.explainer import explain_rows
from slimg.explain.explanation import Explanation, Term, above_mean
from slimg.explain.what_if import entry, part_scores, with_edge, with_features
from slimg.graph.columns import as_text, list_names, show
from slimg.graph.graph import Graph
from slimg.inference.fold_in import View
from slimg.inference.predictions import prediction_columns
from slimg.io.binary import write_csv
from slimg.io.features import FeaturePlan
from slimg.io.inputs import Inputs
from slimg.learn.objective import softmax
from slimg.report.record import json_values

SUGGESTED, PAGE, NEIGHBOURS, TERMS, NEW = 8, 25, 60, 8, 200
"""Suggestions; rows of a page; neighbours; features and nodes of a component; new rows that are listed."""
CUT = 300
"""Characters of a value that are shown."""
STATES = ("", "known", "unknown", "differs")
ORDERS = ("id", "label", "prediction", "probability", "margin")
KINDS = {
    "number": "a number", "category": "one of its values", "words": "text", "counts": "a count from 0 on",
    "values": "values separated by commas", "vector": "numbers separated by commas",
}  # fmt: skip


class Answers:
    """A fitted model and the table of its nodes, to be asked.

    Parameters
    ----------
    model : SlimG
        A model that keeps its graph.
    table : DataFrame of n rows
        Nodes and predictions as `slimg fit` wrote them.
    read_new_rows : callable
        Function of two texts, tables of nodes and of edges, that returns `Inputs`.

    Raises
    ------
    InputError
        If the table is of other nodes.
    """

    def __init__(self, model: Any, table: pd.DataFrame, read_new_rows: Callable[[bytes, bytes], Inputs]) -> None:
        reading = model.data_.get("reading") or {}
        self.model, self.table, self.read_new_rows = model, table, read_new_rows
        self.graph: Graph = model.fitted_graph_.graph
        self.ids = [str(value) for value in self.graph.ids.tolist()]
        self.id_column = reading.get("id") or str(table.columns[0])
        ends = [k for k, name in enumerate(table.columns) if name in ("prediction", "slimg_prediction")]
        if not ends or self.id_column not in table or _text(table[self.id_column]).to_pylist() != self.ids:
            raise InputError("the table of predictions has other nodes than the model: fit again")
        self.attributes = {str(name): _text(table[name]) for name in table.columns[: ends[-1]] if name != self.id_column}
        self.plan = FeaturePlan.from_dict(reading["plan"]) if reading.get("plan") else FeaturePlan(())
        self.classes = [str(name) for name in model.classes_.tolist()]
        self.scores: Array = model.decision_function()
        self.chances: Array = model.predict_proba()
        ordered = np.sort(self.chances, axis=1)
        self.columns: dict[str, Array] = {
            "prediction": self.chances.argmax(axis=1), "probability": ordered[:, -1],
            "margin": ordered[:, -1] - ordered[:, -2], "label": np.full(self.graph.n, -1),
        }  # fmt: skip
        if reading.get("label") in self.attributes:
            codes = pc.index_in(self.attributes[reading["label"]], value_set=pa.array(self.classes))
            self.columns["label"] = pc.fill_null(codes, -1).to_numpy(zero_copy_only=False)
        self._lower = [pc.utf8_lower(pa.array(self.ids)), *map(pc.utf8_lower, self.attributes.values())]
        # Sources of an explanation are then rows, whatever the ids are.
        self._numbered = Graph._trusted(**{**self.graph.__getstate__(), "ids": np.arange(self.graph.n)})

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}

    def start(self) -> dict[str, Any]:
        """What the page needs before the first question.

        Returns
        -------
        dict
        """
        blocks = [(name, block) for block in self.plan.blocks for name in block.columns]
        columns = [
            {"name": name, "kind": KINDS[block.kind], "values": list(block.keys)[:CUT] if block.kind == "category" else []}
            for name, block in blocks
        ]
        weighted = self.graph.adjacency.weights is not None
        return {"classes": self.classes, "columns": columns, "relations": list(self.graph.directions()), "weighted": weighted}

    def search(self, text: str) -> list[dict[str, Any]]:
        """Find nodes by a part of their id or of a value; equal ids first, then ids that begin with it.

        Returns
        -------
        list of dict
        """
        ranks = self._ranks(text)
        found = np.flatnonzero(ranks)
        found = found[np.argsort(-ranks[found], kind="stable")][:SUGGESTED]
        return [self._brief(int(row), text.strip().lower()) for row in found]

    def node(self, name: str, label: str = "") -> dict[str, Any]:
        """Explain the score of a class, that of the predicted one if none is named.

        Returns
        -------
        dict
        """
        row = self._row(name)
        code = self._class(label) if label else int(self.columns["prediction"][row])
        (told,) = explain_rows(self.model.scorer_, View(self._numbered, self.scores), [row])
        z, own = above_mean(len(self.classes), code), told.classes.item(code)
        values = {name: float(part @ z) for name, part in (("bias", told.bias), ("rounding", told.rounding))}
        parts = [self._part(told, part.name, own) for part in told.parts]
        attributes = {column: text[row].as_py()[:CUT] for column, text in self.attributes.items()}
        return {
            **self._brief(row), **values, "class": self.classes[code], "score": float(told.scores @ z), "parts": parts,
            "probabilities": self._likely(self.chances[row]), "attributes": attributes, **self._neighbours(told, row, z),
        }  # fmt: skip

    def what_if(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Compute the scores of a node again without some edges, with others, or with other values.

        Parameters
        ----------
        asked : mapping
            ``id``; ``class``; ``without``: [other, relation]; ``with``: [other, relation, weight]; ``values``: [column, value].

        Returns
        -------
        dict
        """
        row, graph, notes = self._row(_word(asked.get("id"))), self.graph, list[str]()
        for other, key in _items(asked, "without", 2):
            graph = with_edge(graph, row, self._row(other), 0.0, key)
        for other, key, weight in _items(asked, "with", 3):
            graph = with_edge(graph, row, self._row(other), self._weight(weight, key), key)
        for column, value in _items(asked, "values", 2):
            graph, news = self._with_value(graph, row, column, value)
            notes += news
        if graph is self.graph:
            raise InputError("nothing is changed: leave out an edge, add one, or give another value")
        before, after = (part_scores(self.model.scorer_, Target(each, np.array([row]))) for each in (self.graph, graph))
        told = {}
        label = _word(asked.get("class") or "")
        code = self._class(label) if label else int(self.columns["prediction"][row])
        z = above_mean(len(self.classes), code)
        for when, parts in (("before", before), ("after", after)):
            scores = np.sum(list(parts.values()), axis=0)[0]
            chances = softmax(np.divide(scores[None], self.model.temperature_, dtype=np.float64))[0]
            told[when] = {
                "prediction": self.classes[int(scores.argmax())], "score": float(scores @ z), "probability": float(chances[code]),
                "probabilities": self._likely(chances), "parts": {name: float(part[0] @ z) for name, part in parts.items()},
            }  # fmt: skip
        titles = {"bias": "bias, the same for every node", **self.model.scorer_.titles}
        return {"id": self.ids[row], "class": self.classes[code], "titles": titles, "notes": notes, **told}

    def predictions(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """Filter and sort the nodes: ``text``, ``class``, ``state``, ``least``, ``most``, ``order``; and ``page``, from 0 on.

        Returns
        -------
        dict
        """
        rows, page = self._chosen(asked), _number(asked.get("page") or "0", "page")
        pages = max(1, -(-len(rows) // PAGE))
        page = int(min(max(page, 0), pages - 1))
        shown = [self._brief(int(row)) for row in rows[page * PAGE : (page + 1) * PAGE]]
        return {"total": len(rows), "page": page, "pages": pages, "size": PAGE, "rows": shown}

    def predictions_csv(self, asked: Mapping[str, str]) -> bytes:
        """The same nodes, all of them, with all columns of the table.

        Returns
        -------
        bytes
        """
        return _csv(self.table.iloc[self._chosen(asked)], self.id_column)

    def new_rows(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Score new nodes against the fitted graph; ``nodes`` and ``edges`` are the contents of two CSV files.

        Returns
        -------
        dict
        """
        inputs = self.read_new_rows(*(_word(asked.get(kind) or "").encode() for kind in ("nodes", "edges")))
        found = self.model.fold_in(inputs.graph)
        if not len(found.new):
            raise InputError("no row is new: all ids are those of fitted nodes, which have their predictions already")
        table = inputs.table.iloc[found.new].reset_index(drop=True)
        columns = pd.DataFrame(prediction_columns(self.model.classes_, found.predict_proba()[found.new]))
        listed = pd.DataFrame({"id": inputs.graph.ids[found.new]}).join(columns.iloc[:, :3])[:NEW]
        rows = listed.astype({"id": str, "prediction": str}).to_dict("records")
        named = columns.rename(columns=lambda name: f"slimg_{name}" if name in table else name)
        text = _csv(pd.concat([table, named], axis=1), inputs.id).decode()
        return {"text": found.text(), "notes": list(inputs.notes), "total": len(table), "rows": rows, "csv": text}

    def _row(self, name: str) -> int:
        if name not in self._rows:
            near = self._near(name)
            advice = f"did you mean {' or '.join(map(repr, near))}?" if near else f"ids look like {show(self.ids[:3])}"
            raise InputError(f"there is no node {name[:CUT]!r}: {advice}")
        return self._rows[name]

    def _near(self, name: str) -> list[str]:
        """Ids that are spelled alike, looked for among those that share most pairs of letters."""
        low = name[:40].lower()
        pairs = sorted({low[k : k + 2] for k in range(len(low) - 1)})
        shared = sum((_hits(pc.match_substring, self._lower[0], pair) for pair in pairs), np.zeros(self.graph.n))
        few = np.argsort(-2 * shared / (pc.utf8_length(self._lower[0]).to_numpy() + len(low)), kind="stable")[:200]
        return difflib.get_close_matches(name[:40], [self.ids[row] for row in few], n=3)

    def _class(self, name: str) -> int:
        check_names("class", [name], self.classes)
        return self.classes.index(name)

    def _weight(self, given: str, key: str) -> float:
        matrix = self.graph.direction(key) if key in self.graph.directions() else self.graph.adjacency
        if matrix.weights is None and given.strip() not in ("", "1"):
            raise InputError(f"these edges have no weights, and {given[:CUT]!r} was given: leave the weight empty")
        weight = _number(given.strip() or "1", "weight of an edge")
        if not 0 < weight < np.inf:
            raise InputError(f"the weight of an edge must be a number above 0, not {given[:CUT]!r}")
        return weight

    def _with_value(self, graph: Graph, row: int, column: str, given: str) -> tuple[Graph, list[str]]:
        """A graph in which the node has another value in a column of the table, encoded as at the fit; and notes."""
        block = next((each for each in self.plan.blocks if column in each.columns), None)
        if block is None:
            names = [name for each in self.plan.blocks for name in each.columns]
            raise InputError(f"column {column[:CUT]!r} is not a feature of this model: {list_names(names) or 'no column is one'}")
        if block.kind == "counts":
            block = replace(block, columns=(column,), names=(column,))
        try:
            value: Any = given
            if block.kind in ("values", "vector"):
                kind = float if block.kind == "vector" else str
                value = [kind(part.strip()) for part in given.split(",") if part.strip()]
            frame = pd.DataFrame({column: pd.Series([value], dtype=object)})
            encoded, notes = FeaturePlan((block,), absent=self.plan.absent).encode_with_notes(frame)
        except ValueError:  # an InputError too
            raise InputError(f"the value {given[:CUT]!r} does not fit column {column!r}: it needs {KINDS[block.kind]}") from None
        first = (graph.feature_names or ()).index(block.names[0])
        return with_features(graph, row, first, encoded), notes

    def _ranks(self, text: str) -> Array:
        """How well each node fits a text: 6 to 4 if its id is the text, begins with it, holds it; 3 to 1 for values; else 0."""
        wanted, ranks = text.strip().lower(), np.zeros(self.graph.n, np.int8)
        for place, array in enumerate(self._lower if wanted else ()):
            found = sum(_hits(match, array, wanted) for match in (pc.match_substring, pc.starts_with, pc.equal))
            ranks = np.maximum(ranks, np.where(found, found + (0 if place else 3), 0))
        return ranks

    def _chosen(self, asked: Mapping[str, str]) -> Array:
        """Rows that fit the filters, in the order that is asked for."""
        columns, keep = self.columns, np.ones(self.graph.n, bool)
        if asked.get("text", "").strip():
            keep &= self._ranks(asked["text"]) > 0
        if asked.get("class"):
            keep &= columns["prediction"] == self._class(asked["class"])
        state = asked.get("state", "")
        check_names("state", [state], STATES)
        if state:
            labelled, differs = columns["label"] >= 0, columns["label"] != columns["prediction"]
            keep &= {"known": labelled, "unknown": ~labelled, "differs": labelled & differs}[state]
        for name, sign in (("least", 1), ("most", -1)):
            if asked.get(name):
                keep &= sign * columns["probability"] >= sign * _number(asked[name], f"{name} probability")
        rows, order = np.flatnonzero(keep), asked.get("order", "")
        by = order.removeprefix("-")
        if by.startswith("p:"):
            key = self.chances[:, self._class(by[2:])]
        elif by:
            check_names("order", [by], ORDERS)
            key = self._alphabetical if by == "id" else columns[by]
        else:
            return rows
        return rows[np.argsort(-key[rows] if order.startswith("-") else key[rows], kind="stable")]

    @cached_property
    def _alphabetical(self) -> Array:
        places = np.empty(self.graph.n, np.int64)
        places[sorted(range(self.graph.n), key=self.ids.__getitem__)] = np.arange(self.graph.n)
        return places

    def _brief(self, row: int, wanted: str = "") -> dict[str, Any]:
        """A node in one line; ``about`` is the value that holds the text that was looked for, else the first one."""
        about = [f"{column}: {text[row].as_py()[:CUT]}" for column, text in self.attributes.items() if text[row].as_py()]
        label = int(self.columns["label"][row])
        return {
            "id": self.ids[row], "about": next((each for each in about if wanted in each.lower()), next(iter(about), "")),
            "label": self.classes[label] if label >= 0 else None, "prediction": self.classes[self.columns["prediction"][row]],
            "probability": float(self.columns["probability"][row]), "margin": float(self.columns["margin"][row]),
        }  # fmt: skip

    def _likely(self, chances: Array) -> list[tuple[str, float]]:
        return [(self.classes[code], float(chances[code])) for code in np.argsort(-chances, kind="stable")[:5]]

    def _part(self, told: Explanation, name: str, label: Any) -> dict[str, Any]:
        """A component with its largest features and nodes, and the others as one; both add up to its value."""
        part, asked = told.part(name), {"k": TERMS, "label": label, "against": "mean"}
        value = {"name": name, "title": part.title, "removed": part.removed, "value": told.components(label, "mean")[name]}
        features = [{"name": str(term.name), "value": term.contribution} for term in told.top_features(name, **asked)]
        sources = list(self._sources(told.top_sources(name, **asked))) if part.reach else []
        return {**value, "features": features if part.features is not None else [], "nodes": sources}

    def _sources(self, terms: list[Term]) -> Iterator[dict[str, Any]]:
        for term in terms:
            known = self._brief(term.name) if isinstance(term.name, int) else {"name": term.name}
            yield {**known, "value": term.contribution}

    def _neighbours(self, told: Explanation, row: int, z: Array) -> dict[str, Any]:
        """Neighbours with their relations and what all components together have from each, the largest first."""
        near = self.graph.adjacency.neighbours(row)
        total = np.zeros(len(near))
        for part in told.parts:
            _, mine, there = np.intersect1d(near, part.source_ids, return_indices=True)
            total[mine] += part.source_scores[there] @ z
        order = np.argsort(-np.abs(total), kind="stable")[:NEIGHBOURS]
        keys = {key: set(matrix.neighbours(row).tolist()) for key, matrix in self.graph.directions().items()}
        found = []
        for place in order.tolist():
            other = int(near[place])
            relations = [key for key, members in keys.items() if other in members]
            weight = entry(self.graph.adjacency, row, other)
            found.append({**self._brief(other), "relations": relations, "weight": weight, "value": float(total[place])})
        return {"degree": len(near), "neighbours": found}


def _hits(match: Any, array: Any, text: str) -> Array:
    return pc.fill_null(match(array, text), False).to_numpy(zero_copy_only=False).astype(np.int8)


def _text(values: pd.Series) -> Any:
    """A column as text, empty where missing; members of lists are separated by commas."""
    first = values.iloc[values.notna().to_numpy().argmax()] if len(values) else None
    if isinstance(first, (list, tuple, np.ndarray)):
        values = values.map(lambda members: ", ".join(map(str, members)), na_action="ignore")
    text = pa.array(as_text(values), pa.string(), from_pandas=True)
    text = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    return pc.fill_null(text, "")


def _csv(table: pd.DataFrame, id_column: str) -> bytes:
    file = io.BytesIO()
    write_csv(table, file, ",", [id_column])
    return file.getvalue()


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"a text was expected where {json_values(value)!r:.60} was given")
    return value.encode(errors="replace").decode()  # without halves of a character, which JSON can hold


def _items(asked: Mapping[str, Any], name: str, width: int) -> list[list[str]]:
    """Lists of so many texts."""
    given = asked.get(name) or []
    if not isinstance(given, list) or len(given) > PAGE:
        raise InputError(f"{name} must be a list of at most {PAGE} changes")
    if not all(isinstance(each, list) and len(each) == width for each in given):
        raise InputError(f"each change of {name} needs {width} texts")
    return [[_word(word) for word in each] for each in given]


def _number(text: str, what: str) -> float:
    if not re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?\s*", text):
        raise InputError(f"the {what} must be a number, not {text[:CUT]!r}")
    return float(text)
