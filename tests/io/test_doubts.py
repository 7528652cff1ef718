"""What reads without an error and is rather not meant is told in a note that begins with "Check"; contradictions are refused."""

import numpy as np
import pandas as pd
import pytest

import slimg
from slimg.errors import InputError

N = 60
RNG = np.random.default_rng(0)
EDGES = pd.DataFrame({"from": RNG.integers(0, N, 150), "to": RNG.integers(0, N, 150), "kind": RNG.choice(["a", "b"], 150)})
LABEL = np.where(np.arange(N) % 2, "DE", "FR").astype(object)
NODES = pd.DataFrame({"id": range(N), "age": RNG.normal(40, 9, N), "label": LABEL})


def some(values, other):
    """Every fourth value is another one."""
    return np.where(np.arange(N) % 4 == 0, other, values)


DOUBTS = {
    "Namibia": ({"label": some(LABEL, "NA")}, {}, ("'NA' (15)", "missing=['']")),
    "unknown as a class": ({"label": some(LABEL, "unknown")}, {}, ("'unknown'", "unlabelled='unknown'")),
    "-1 as a class": ({"label": some(np.arange(N) % 2, -1)}, {}, ("-1", "unlabelled")),
    "-1 as text": ({"label": some((np.arange(N) % 2).astype(str), "-1")}, {}, ("'-1'", "unlabelled='-1'")),
    "a mark that is not there": ({}, {"unlabelled": "nix"}, ("'nix'",)),
    "case": ({"label": some(LABEL, "fr")}, {}, ("'fr' and 'FR'",)),
    "a code": ({"zip": np.arange(N) % 3 + 10_000}, {}, ("'zip'", "kinds={'zip': 'category'}")),
    "an id": ({"customerNo": np.arange(N) * 7 + 500}, {}, ("'customerNo'", "ignore=['customerNo']")),
    "dates": ({"day": 20_240_101 + np.arange(N) % 28}, {}, ("'day'", "20240101", "ignore=['day']")),
    "thousands": ({"betrag": some(np.arange(N).astype(str), "1.200")}, {}, ("'betrag'", "'1.200'", "decimal=','")),
    "thousands with a unit": ({"betrag": some([f"{k} €" for k in range(N)], "1.200 €")}, {}, ("'betrag'", "decimal=','")),
    "labels that are equal numbers": ({"label": some((np.arange(N) % 2).astype(str), "1.0")}, {}, ("'1.0' and '1'",)),
    "a leak": ({"reason": np.where(LABEL == "DE", "moved", "died")}, {}, ("'reason'", "100.0%", "ignore=['reason']")),
    "a leak that is given for one class alone": ({"case": np.where(LABEL == "DE", [f"c{k // 3}" for k in range(N)], "")}, {},
                                                 ("'case'", "100.0%")),
    "a leak that is a number": ({"score": (LABEL == "DE") + RNG.random(N) / 2}, {}, ("'score'", "100.0%")),
    "another column fits better": ({"id": np.arange(N) + 900, "place": range(N)}, {}, ("'place'", "'id'")),
}  # fmt: skip


@pytest.mark.parametrize(("columns", "options", "facts"), DOUBTS.values(), ids=DOUBTS)
def test_what_is_rather_not_meant_is_told(columns, options, facts):
    graph = slimg.read(EDGES, NODES.assign(**columns), **options)
    notes = [note for note in graph.notes if note.startswith("Check ")]
    assert any(all(each in note for each in facts) for note in notes), notes
    assert "to check" in repr(graph) and "Check " in graph._repr_html_()


def test_a_note_on_a_label_of_numbers_reads_as_a_sentence():
    graph = slimg.read(EDGES, NODES.assign(label=np.arange(N) + 1950))
    assert any(note.startswith("Check the label: 'label' holds 60 different numbers (1950 to 2009)") for note in graph.notes)


@pytest.mark.filterwarnings("error")
def test_hardly_repeated_labels_give_no_warning_of_another_library():
    assert slimg.read(EDGES, NODES.assign(label=[f"text {k}" for k in range(N)], zip=np.arange(N) % 3)).classes.size == N


def test_what_is_meant_raises_no_doubt():
    columns = {"income": RNG.integers(0, 99_999, N), "year": 1990 + np.arange(N) % 30, "paid": np.arange(N) % 9 + 1}
    columns |= {"label": some(LABEL, None), "kg": [f"{k}.{k:03}" for k in range(N)], "share": some(["1"] * N, "0.125")}
    assert not [note for note in slimg.read(EDGES, NODES.assign(**columns)).notes if note.startswith("Check ")]
    signs = NODES.assign(label=np.where(LABEL == "DE", -1, 1))
    assert not [note for note in slimg.read(EDGES, signs).notes if note.startswith("Check ")]


@pytest.mark.parametrize(("options", "facts"), [
    ({"features": ["label"]}, ("'label'", "features=", "label=")),
    ({"kinds": {"id": "category"}}, ("'id'", "kinds=", "id=")),
    ({"ignore": "label"}, ("'label'", "ignore=")),
    ({"features": "age", "ignore": "age"}, ("'age'", "features=", "ignore=")),
    ({"weight": "to"}, ("weight= to", "target= to")),
    ({"weight": True}, ("weight=True",)),
    ({"kinds": {"age": "numeric"}}, ("'numeric'", "'age'", "category")),
    ({"kinds": "number"}, ("'number'",)),
    ({"kinds": {"label": "number"}, "label": "age"}, ("'DE'", "kinds={'label': 'category'}")),
    ({"decimal": ";"}, ("';'",)),
    ({"edges": 5}, ("edges", "int")),
    ({"edges": np.arange(10).reshape(2, 5)}, ("(2, 5)", "transpose")),
])  # fmt: skip
def test_what_excludes_itself_is_refused(options, facts):
    with pytest.raises(InputError) as found:
        slimg.read(**{"edges": EDGES, "nodes": NODES, **options})
    assert all(each in str(found.value) for each in facts), found.value


def test_ids_in_an_index_of_numbers():
    """Also of a selection or a shuffle, and never where a column holds the ids."""
    bare = NODES.drop(columns="id")
    shuffled = bare.sample(frac=1, random_state=0)
    graph = slimg.read(EDGES, shuffled, label="label", unknown="keep")
    assert dict(zip(graph.ids.tolist(), graph.labels.tolist(), strict=True)) == dict(enumerate(LABEL))
    moved = slimg.read(EDGES[["from", "to"]] + 1000, bare.set_axis(pd.RangeIndex(1000, 1000 + N)), label="label")
    assert moved.ids.tolist() == list(range(1000, 1000 + N)) and moved.d == graph.d
    known = slimg.read(EDGES, NODES.iloc[::-1], label="label")
    assert known.ids.tolist() == list(range(N))[::-1] and not any("index" in name for name in known.feature_names)
    twice = slimg.read(EDGES, pd.concat([NODES, NODES.iloc[:3]]), label="label")
    assert any("earlier row of the nodes left out: 3" in note for note in twice.notes)


def test_texts_read_as_missing_are_named():
    graph = slimg.read(EDGES, NODES.assign(city=some(LABEL, "NA"), relation="x"), label="label")
    assert "Column 'city' is read as a category of 2 values, one-hot (15 missing: NA)." in graph.notes
    assert any("relation='kind'" in note for note in graph.notes)
