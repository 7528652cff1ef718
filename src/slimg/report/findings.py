"""What a fit found in three sentences, each with the numbers it rests on and the section of the page that shows them.

    score     the score with its interval, beside features alone, boosted trees and chance
    counts    components by their share of the weights, and what has a weight of exactly zero
    careful   the first thing to be careful of

The lines after ``slimg fit``, the top of the page, Markdown and JSON have these same sentences.
"""

from __future__ import annotations

from typing import Any

from slimg.explain.diagnosis import FEW, format_help
from slimg.explain.leave_one_out import Gain
from slimg.explain.measures import WORDS, format_chance, format_range, format_score
from slimg.graph.columns import list_names, number_of, show
from slimg.graph.relations import INTO, OUT

NAMED, LISTED = 4, 8
"""Components that are named with their share; names in a list."""
OFF = 0.1
"""Calibration error from which probabilities are said to be off."""


def findings(record: dict[str, Any]) -> list[dict[str, str]]:
    """Say what a fit found.

    Parameters
    ----------
    record : dict
        A record without its findings (`slimg.report.record.fit_record`).

    Returns
    -------
    list of dict
        ``about``, ``head`` and ``text`` of the sentence, and ``evidence``, the section of the page; one for each line of the
        module's text.
    """
    counts, careful = ("What counts:", _counts(record), "model"), ("Careful:", *_careful(record))
    told = {"score": _score(record), "counts": counts, "careful": careful}
    return [{"about": about, **dict(zip(("head", "text", "evidence"), each, strict=True))} for about, each in told.items()]


def lines_of(record: dict[str, Any], page: Any) -> list[str]:
    """The five lines after a fit: what was read and guessed, the findings, where the page is.

    Returns
    -------
    list of str
    """
    read, classes = record["read"], record["classes"]
    sizes = ", ".join(number_of(read[f"{noun}s"], noun) for noun in ("node", "edge", "feature"))
    named = relation_weights(record)
    relations = f" of {len(named)} relations" if len(named) > 1 else ""
    guessed = [note.removesuffix(".") for note in read["notes"] if note.startswith("Guessed")]
    known = f"{read['labelled']:,} labelled, {number_of(len(classes), 'class', 'classes')}"
    told = [f"Read: {sizes.replace('edges', f'edges{relations}', 1)}; {known} ({show(classes)}){'. '.join(['', *guessed])}."]
    return [*told, *(f"{each['head']} {each['text']}" for each in record["findings"]), f"Page: {page} (open it in a browser)."]


def _score(record: dict[str, Any]) -> tuple[str, str, str]:
    held, models = record["held_out"], {each["name"]: each for each in record["comparison"]["models"]}
    scoring, trust = held["scoring"], (record["diagnosis"] or {}).get("trust")
    words = f"{WORDS[scoring][0].upper()}{WORDS[scoring][1:]} on held-out labels:"
    head, words = words, ""
    if trust == "yes" and "features alone" in models:
        gain = models["features alone"]["gain"]
        head, words = f"The graph {format_help(Gain(gain['value'], gain['error']), 's')}.", f"{head} "
    elif trust in ("no", "unclear"):
        head, words = f"Predictions are {'no' if trust == 'no' else 'hardly'} better than chance.", f"{head} "
    reached = f"{format_score(scoring, held['score'], 1)} ({format_range(scoring, held['score_interval'])})"
    beside = [f"{name} {format_score(scoring, each['value'], 1)}" for name, each in models.items() if name != "SlimG"]
    told = "; ".join([reached, ", ".join([*beside, format_chance(scoring, held["baseline"], 1)])])
    first = ""
    if held["ranking"] and scoring in ("average_precision", "roc_auc"):
        k = held["ranking"]["positives"]
        name = record["classes"][held["ranking"]["code"]]
        first = f" Of the first {k:,} by the probability of {name}, {dict(map(tuple, held['ranking']['first']))[k]:,} are {name}."
    return head, f"{words}{told}.{first}", "accuracy"


def _counts(record: dict[str, Any]) -> str:
    parts = record["model"]["overview"]["components"]
    used = sorted((part for part in parts if not part["removed"]), key=lambda part: -part["norm"])
    named = [f"{part['short_title']} {part['share']:.0%}" for part in used[:NAMED]]
    rest = len(used) - len(named)
    told = f"{', '.join(named) or 'nothing, all weights are zero'}{f', {rest} more' if rest else ''}."
    zero = [part["short_title"] for part in parts if part["removed"] and not part["name"].startswith(part["short_title"])]
    without = [name for name, weight in relation_weights(record).items() if not weight]
    told += f" Exactly zero: {list_names(zero, LISTED)}." if zero else ""
    return told + (f" Relations without a weight: {list_names(without, LISTED)}." if without else "")


def titled(record: dict[str, Any], node: Any) -> str:
    """A node by its name and id, or its id alone.

    Returns
    -------
    str
    """
    ids, names = record["nodes"]["ids"], record["nodes"]["names"]
    name = names[ids.index(str(node))] if names and str(node) in ids else ""
    return f"{name} ({node})" if name else str(node)


def relation_weights(record: dict[str, Any]) -> dict[str, float]:
    """Relation → the weight of its directions.

    Returns
    -------
    dict of str to float
    """
    found: dict[str, float] = {}
    for each in record["read"]["relations"]:
        name = each["direction"].removesuffix(OUT).removesuffix(INTO)
        found[name] = found.get(name, 0.0) + each["weight"]
    return found


def _careful(record: dict[str, Any]) -> tuple[str, str]:
    """The first of what there is to be careful of, and the section that shows it."""
    held, found = record["held_out"], record["diagnosis"]
    few = [name for name, each in zip(record["classes"], held["classes"], strict=True) if each["nodes"] < FEW]
    most = [each["gain"]["interval"][1] for each in record["comparison"]["models"] if "gain" in each]
    if found and (found["trust"] != "yes" or min(most, default=0) < 0):
        return found["advice"][0], "diagnosis"
    if few:
        return f"Few labels of {show(few)} (fewer than {FEW}): their predictions are the least certain.", "accuracy"
    if held["calibration_error"] > OFF:
        off = f"{held['calibration_error']:.2f}"
        return f"Probabilities differ by {off} on average from how often they are right.", "accuracy"
    if found and found["evidence"]["suspicious"]:
        doubted = number_of(len(found["evidence"]["suspicious"]), "label looks", "labels look")
        return f"{doubted} wrong: check {titled(record, found['evidence']['suspicious'][0]['node'])} first.", "diagnosis"
    return "The score holds for nodes like the labelled ones, that is if labels were given at random.", "accuracy"
