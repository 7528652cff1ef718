"""No sentence of a page is refuted by its numbers or by another sentence, over random small graphs; and the check sees."""

import copy

import pytest
from contradictions import KINDS, contradictions, random_graph

from slimg import SlimG
from slimg.report.record import fit_record


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_refuted(kind, fitted_kind):
    assert contradictions(fitted_kind(kind)[2]) == []


def test_a_small_but_certain_score_is_not_called_nothing():
    """Found by the benchmark: features alone with an average precision of 0.06, certainly above 0.05 by chance."""
    graph = random_graph("rare", 36)
    assert contradictions(fit_record(SlimG(random_state=36).fit(graph), graph)) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Do not use predictions from this graph.",
        "Still, predictions are no better than chance (2).",
        "Nothing is known.",
        "Neighbours are hardly more alike than by chance (52% of the edges join nodes of one class, 25% would by chance).",
        "The graph helps: 80% with it, 70% with features alone (+5.0 points, 95% interval +1.0 to +9.0).",
        "More labels of the same kind would change little: the last doubling of the labels gave 4.0 points (standard error 0.5).",
    ],
)
def test_a_false_sentence_is_found(record, sentence):
    """The fixture's graph predicts its classes well."""
    false = copy.deepcopy(record)
    false["diagnosis"]["verdict"].append(sentence)
    assert contradictions(record) == [] and contradictions(false)


def test_two_sentences_that_do_not_go_together_are_found(record):
    false = copy.deepcopy(record)
    false["diagnosis"]["advice"] += ["Use SlimG as it is.", "Do not rely on predictions yet."]
    assert any("beside" in line for line in contradictions(false))
