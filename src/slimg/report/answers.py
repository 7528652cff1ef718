"""Questions about a fitted model, answered with values that JSON can hold.

    search        nodes by their id, or by what stands in a column of their table
    node          the score of a class against the mean of all, taken apart: bias + Σ components + rounding = score
    what_if       the same sums, computed again, with some edges or values of the node changed (`slimg.explain.what_if`)
    predictions   nodes filtered and sorted: one page of them, or all as CSV
    new_rows      scores of nodes that the fitted graph does not have

A question is a mapping of texts. Names of nodes and classes are text here, as on the command line.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from slimg.components.component import Target
from slimg.engine.base import Array
from slimg.errors import InputError, check_names
from slimg.explain.explanation import Term, above_mean, numbered
from slimg.explain.what_if import entry, with_edge, with_features
from slimg.graph.columns import as_text, hint_of_ids, list_names
from slimg.graph.graph import Graph
from slimg.inference.fold_in import View
from slimg.inference.predictions import prediction_columns
from slimg.io.features import FeaturePlan
from slimg.io.inputs import Inputs
from slimg.io.write import write_csv
from slimg.learn.objective import softmax

SUGGESTED, PAGE, NEIGHBOURS, TERMS, NEW, CHANGES = 8, 25, 60, 8, 200, 50
"""Suggestions; rows of a page; neighbours; features and nodes of a component; new rows that are listed; changes at once."""
CUT = 300
"""Characters of a value that are shown."""
KINDS = {
    "number": "a number", "category": "one of its values", "words": "text", "counts": "a count from 0 on",
    "values": "values separated by commas", "vector": "numbers separated by commas",
}  # fmt: skip
Question = Mapping[str, Any]


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
        self.model: Any = model
        self.read_new_rows: Callable[[bytes, bytes], Inputs] = read_new_rows
        self._known = dict[int, dict[str, Array]]()
        self.graph: Graph = model.fitted_graph_.graph
        self.ids: list[str] = [str(value) for value in self.graph.ids.tolist()]
        self._rows = {name: row for row, name in enumerate(self.ids)}
        self.id_column: str = reading.get("id") or str(table.columns[0])
        ends = [k for k, name in enumerate(table.columns) if name in ("prediction", "slimg_prediction")]
        if not ends or self.id_column not in table or _text(table[self.id_column]).to_pylist() != self.ids:
            raise InputError("the table of predictions has other nodes than the model: fit again")
        own = [name for name in table.columns[: ends[-1]] if name != self.id_column]
        self.attributes: dict[str, Any] = {str(name): _text(table[name]) for name in own}
        numbers = [name for name in table.columns[ends[-1] + 1 :] if not str(name).endswith("prediction_set")]
        floats = {name: pa.array(table[name]).cast(pa.float32()).to_numpy() for name in numbers}  # not text
        self.table: pd.DataFrame = table.assign(**floats)
        self.plan: FeaturePlan = FeaturePlan.from_dict(reading["plan"]) if reading.get("plan") else FeaturePlan(())
        self.classes: list[str] = [str(name) for name in model.classes_.tolist()]
        self.chances: Array = model.predict_proba()
        self._lower = [pc.utf8_lower(pa.array(self.ids)), *map(pc.utf8_lower, self.attributes.values())]
        labels = self.attributes.get(str(reading.get("label")), pa.nulls(self.graph.n, pa.string()))
        codes = pc.fill_null(pc.index_in(labels, value_set=pa.array(self.classes)), -1).to_numpy()
        ranks = pc.rank(self._lower[0], tiebreaker="first").to_numpy().astype(np.int64)
        columns = prediction_columns(np.arange(len(self.classes)), self.chances, probabilities=False)
        each = {f"p({name})": column for name, column in zip(self.classes, self.chances.T, strict=True)}
        self.columns: dict[str, Array] = {**columns, **each, "label": codes, "id": ranks, "": np.arange(self.graph.n)}
        self._view = numbered(View(self.graph, model.decision_function()))

    def start(self) -> dict[str, Any]:
        """What the page needs before the first question.

        Returns
        -------
        dict
        """
        columns = [
            {"name": name, "kind": KINDS[block.kind], "values": block.keys[:CUT] if block.kind == "category" else ()}
            for block in self.plan.blocks for name in block.columns
        ]  # fmt: skip
        weighted = self.graph.adjacency.weights is not None
        return {"classes": self.classes, "columns": columns, "relations": list(self.graph.directions()), "weighted": weighted}

    def search(self, question: Question) -> list[dict[str, Any]]:
        """Find nodes by a part of their id or of a value (``text``); equal ids first, then ids that begin with it.

        Returns
        -------
        list of dict
        """
        text = _word(question, "text").strip().lower()
        ranks = self._ranks(text)
        found = np.flatnonzero(ranks)
        found = found[np.argsort(-ranks[found], kind="stable")][:SUGGESTED]
        return [self._brief(row, text) for row in found.tolist()]

    def node(self, question: Question) -> dict[str, Any]:
        """Explain a node (``id``): the score of a ``class``, that of the predicted one if none is named.

        Returns
        -------
        dict
        """
        row, code = self._row_and_class(question)
        (each,) = self.model._explain_rows(self._view, [row])
        label, scores = each.classes.item(code), {part.name: part.scores[None] for part in each.parts if not part.removed}
        self._known.setdefault(row, {"bias": each.bias[None], **scores})
        told, near = each.told(TERMS, label), each.neighbours(self.graph, row, label)
        for part in told["parts"]:
            part |= {name: [self._term(term) for term in part[name]] for name in ("features", "nodes")}
        neighbours = [
            {**self._brief(other), "relations": keys, "weight": entry(self.graph.adjacency, row, other), "value": value}
            for other, keys, value in near[:NEIGHBOURS]
        ]
        likely = [(self.classes[k], float(self.chances[row, k])) for k in np.argsort(-self.chances[row], kind="stable")[:5]]
        values = {name: text[row].as_py()[:CUT] for name, text in self.attributes.items()}
        return {
            **self._brief(row), "class": self.classes[code], **told, "degree": len(near), "neighbours": neighbours,
            "probabilities": likely, "attributes": values,
        }  # fmt: skip

    def what_if(self, question: Question) -> dict[str, Any]:
        """Compute the scores of a node again without some edges, with others, or with other values.

        Parameters
        ----------
        question : mapping
            ``id`` and ``class`` as in `node`; lists ``without`` of [other node, relation], ``with`` of [other node, relation,
            weight] and ``values`` of [column, value].

        Returns
        -------
        dict
            ``parts``; ``before`` and ``after``, each with these parts, which add up to its score.
        """
        (row, code), graph, notes = self._row_and_class(question), self.graph, list[str]()
        for other, key in _changes(question, "without", 2):
            graph = with_edge(graph, row, self._row(other), 0.0, key)
        for other, key, weight in _changes(question, "with", 3):
            value = _number(weight or "1", "weight of an edge")
            if not 0 < value < np.inf:
                raise InputError(f"the weight of an edge must be a number above 0, not {weight[:CUT]!r}")
            graph = with_edge(graph, row, self._row(other), value, key)
        for column, text in _changes(question, "values", 2):
            graph, news = self._with_value(graph, row, column, text)
            notes += news
        if graph is self.graph:
            raise InputError("nothing is changed: leave out an edge, add one, or give another value")
        told, z = dict[str, Any](id=self.ids[row], notes=notes), above_mean(len(self.classes), code)
        for when, each in (("before", self.graph), ("after", graph)):
            parts = self._parts(each, row)
            scores = np.sum(list(parts.values()), axis=0)
            chances = softmax(scores / self.model.temperature_)[0]
            sums = {name: float(part[0] @ z) for name, part in {**parts, "score": scores}.items()}
            told[when] = {**sums, "prediction": self.classes[int(chances.argmax())], "probability": float(chances[code])}
        return {**told, "class": self.classes[code], "parts": list(parts)}

    def predictions(self, question: Question) -> dict[str, Any]:
        """Filter and sort the nodes: ``text``, ``class``, ``state``, ``least``, ``most``, ``order``; and ``page``, from 0 on.

        Returns
        -------
        dict
        """
        rows = self._chosen(question)
        last = max(0, len(rows) - 1) // PAGE
        page = int(np.clip(_number(_word(question, "page") or "0", "page"), 0, last))
        shown = [self._brief(row) for row in rows[page * PAGE : (page + 1) * PAGE].tolist()]
        return {"total": len(rows), "page": page, "last": last, "size": PAGE, "rows": shown}

    def predictions_csv(self, question: Question) -> bytes:
        """The same nodes, all of them, with all columns of the table.

        Returns
        -------
        bytes
        """
        return _csv(self.table.iloc[self._chosen(question)], self.id_column)

    def new_rows(self, question: Question) -> dict[str, Any]:
        """Score new nodes against the fitted graph; ``nodes`` and ``edges`` are the contents of two CSV files.

        Returns
        -------
        dict
        """
        inputs = self.read_new_rows(_word(question, "nodes").encode(), _word(question, "edges").encode())
        found = self.model.fold_in(inputs.graph)
        if not len(found.new):
            raise InputError("no row is new: all ids are those of fitted nodes, which have their predictions already")
        table = inputs.table.iloc[found.new].reset_index(drop=True)
        columns = pd.DataFrame(prediction_columns(self.model.classes_, found.predict_proba()[found.new]))
        listed = pd.DataFrame({"id": inputs.graph.ids[found.new]}).join(columns.iloc[:, :3])[:NEW]
        rows = listed.astype({"id": str, "prediction": str}).to_dict("records")
        named = columns.rename(columns=lambda name: f"slimg_{name}" if name in table else name)
        text = _csv(pd.concat([table, named], axis=1), inputs.id).decode()
        return {"text": found.text(), "notes": inputs.notes, "total": len(table), "rows": rows, "csv": text}

    def _parts(self, graph: Graph, row: int) -> dict[str, Array]:
        """Parts of the scores of a node; those of the graph as it is are computed once."""
        parts = self._known.get(row) if graph is self.graph else None
        parts = parts or self.model.scorer_.parts(Target(graph, np.array([row])))
        return self._known.setdefault(row, parts) if graph is self.graph else parts

    def _row_and_class(self, question: Question) -> tuple[int, int]:
        row, label = self._row(_word(question, "id")), _word(question, "class")
        return row, self._class(label) if label else int(self.columns["prediction"][row])

    def _row(self, name: str) -> int:
        if name not in self._rows:
            raise InputError(f"there is no node {name[:CUT]!r}: {hint_of_ids(name, self.ids)}")
        return self._rows[name]

    def _class(self, name: str) -> int:
        check_names("class", [name], self.classes)
        return self.classes.index(name)

    def _with_value(self, graph: Graph, row: int, column: str, text: str) -> tuple[Graph, list[str]]:
        """A graph in which the node has another value in a column of the table, encoded as at the fit; and notes."""
        block = next((each for each in self.plan.blocks if column in each.columns), None)
        if block is None or graph.feature_names is None:
            names = [name for each in self.plan.blocks for name in each.columns]
            raise InputError(f"column {column[:CUT]!r} is no feature of this model: choose one of {list_names(names) or 'none'}")
        if block.kind == "counts":
            block = replace(block, columns=(column,), names=(column,))
        listed = {"values": str, "vector": float}.get(block.kind)
        try:
            value = text if listed is None else [listed(part.strip()) for part in text.split(",") if part.strip()]
            frame = pd.DataFrame({column: pd.Series([value], dtype=object)})
            encoded, notes = FeaturePlan((block,), absent=self.plan.absent).encode_with_notes(frame)
        except ValueError:  # an InputError is one
            raise InputError(f"the value {text[:CUT]!r} does not fit column {column!r}: it needs {KINDS[block.kind]}") from None
        return with_features(graph, row, graph.feature_names.index(block.names[0]), encoded), notes

    def _ranks(self, text: str) -> Array:
        """How well each node fits a text: 6 to 4 if its id is the text, begins with it, holds it; 3 to 1 for values; else 0."""
        ranks = np.zeros(self.graph.n, np.int8)
        for place, array in enumerate(self._lower if text else ()):
            found = sum(_hits(match, array, text) for match in (pc.match_substring, pc.starts_with, pc.equal))
            ranks = np.maximum(ranks, np.where(found, found + (0 if place else 3), 0))
        return ranks

    def _chosen(self, question: Question) -> Array:
        """Rows that fit the filters, in the order that is asked for."""
        columns, text, state = self.columns, _word(question, "text").strip().lower(), _word(question, "state")
        keep = self._ranks(text) > 0 if text else np.ones(self.graph.n, bool)
        if _word(question, "class"):
            keep &= columns["prediction"] == self._class(question["class"])
        labelled = columns["label"] >= 0
        differs = labelled & (columns["label"] != columns["prediction"])
        states = {"": keep, "known": labelled, "unknown": ~labelled, "differs": differs}
        check_names("state", [state], states)
        keep &= states[state]
        for name, sign in (("least", 1), ("most", -1)):
            if _word(question, name):
                keep &= sign * columns["probability"] >= sign * _number(question[name], f"{name} probability")
        rows, order = np.flatnonzero(keep), _word(question, "order")
        check_names("order", [order.removeprefix("-")], columns)
        key = columns[order.removeprefix("-")][rows]
        return rows[np.argsort(-key if order.startswith("-") else key, kind="stable")]

    def _brief(self, row: int, text: str = "") -> dict[str, Any]:
        """A node in one line; ``about`` is the value that holds the text that was looked for, else the first one."""
        about = [f"{column}: {cut}" for column, values in self.attributes.items() if (cut := values[row].as_py()[:CUT])]
        code = int(self.columns["label"][row])
        return {
            "id": self.ids[row], "about": next((each for each in [*about, *about[:1]] if text in each.lower()), ""),
            "label": self.classes[code] if code >= 0 else None, "prediction": self.classes[self.columns["prediction"][row]],
            **{name: float(self.columns[name][row]) for name in ("probability", "margin")},
        }  # fmt: skip

    def _term(self, term: Term) -> dict[str, Any]:
        known = self._brief(term.name) if isinstance(term.name, int) else {"name": term.name}
        return {**known, "value": term.contribution}


def _hits(match: Any, array: Any, text: str) -> Array:
    return match(array, text).to_numpy(zero_copy_only=False).astype(np.int8)


def _text(values: pd.Series) -> Any:
    """A column as an arrow array of text, empty where missing; members of lists are separated by commas."""
    if values.map(lambda value: isinstance(value, (list, tuple, np.ndarray))).any():
        values = values.map(lambda members: ", ".join(map(str, members)), na_action="ignore")
    return pc.fill_null(pa.array(as_text(values).to_numpy(dtype=object, na_value=None), pa.string()), "")


def _csv(table: pd.DataFrame, id_column: str) -> bytes:
    file = io.BytesIO()
    write_csv([table], file, ",", [id_column])
    return file.getvalue()


def _word(question: Question, name: str) -> str:
    """A text of a question, empty if it is not there."""
    value = question.get(name, "")
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text")
    return value


def _changes(question: Question, name: str, width: int) -> list[list[str]]:
    """Lists of so many texts."""
    given = question.get(name, [])
    listed = isinstance(given, list) and len(given) <= CHANGES and all(isinstance(each, list) for each in given)
    if not listed or not all(len(each) == width and all(isinstance(word, str) for word in each) for each in given):
        raise InputError(f"{name} must be a list of at most {CHANGES} changes of {width} texts each")
    return given


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"the {what} must be a number, not {text[:CUT]!r}") from None
