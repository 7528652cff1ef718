"""Page, Markdown and JSON of a record hold the same sentences and numbers."""

import html
import re

import pytest
from test_page import Tables

from slimg.report.page import formula, markdown, render
from slimg.report.record import results

COMPONENTS = ("component", "share of the weights", "‖W‖")
RELATIONS = ("relation and direction", "share of the weights", "edges", "of one class", "by chance")


def read_markdown(text):
    """Lines of prose without marks, and rows of each table by its head."""
    prose, tables, head = [], {}, None
    for line in text.splitlines():
        cells = tuple(re.sub(r"\\(.)", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        if not cells:
            head = None
            prose.append(re.sub(r"\\(.)", r"\1", re.sub(r"^(- |#+ |\d\. )|\*\*", "", line)))
        elif head is None:
            head = cells
            tables[head] = []
        elif not set(cells[0]) <= set("-"):
            tables[head].append(cells)
    return [line for line in prose if line], tables


def visible(page):
    """The text of a page without scripts, with single blanks."""
    page = re.sub("<(script|style).*?</\\1>", "", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub("<[^>]*>", "", page)).split())


@pytest.mark.parametrize("kind", ["homophily", "rare", "typed"])
def test_markdown_says_what_the_page_says(kind, fitted_kind):
    record = fitted_kind(kind)[2]
    page = render(record)
    text = visible(page)
    prose, tables = read_markdown(markdown(record))
    shown = {tuple(rows[0]): [tuple(row) for row in rows[1:]] for rows in Tables(page).found.values() if rows}
    assert set(tables) - set(shown) == {COMPONENTS, RELATIONS} & set(tables) and len(tables) >= 3
    for head, rows in tables.items():
        assert rows == shown.get(head, rows), head
    missing = [line for line in prose if " ".join(line.split()) not in text]
    assert len(missing) <= 3 and all(re.search("nodes, .* edges|on average from|^slimg ", line) for line in missing), missing
    sizes = next(line for line in missing if "edges" in line)
    assert all(number in text for number in re.findall(r"[\d,]*\d", sizes))


@pytest.mark.parametrize("kind", ["homophily", "rare", "typed"])
def test_json_has_the_numbers_of_markdown(kind, fitted_kind):
    record = fitted_kind(kind)[2]
    told, (prose, tables) = results(record), read_markdown(markdown(record))
    text = "\n".join(prose)
    shares = told["scoring"] == "accuracy"

    def score(value):
        return f"{value:.1%}" if shares else f"{value:.3f}"

    def ends(pair):
        return " to ".join(map(score, pair))

    models = next(rows for head, rows in tables.items() if head[0] == "model")
    for (name, value, interval, ahead), each in zip(models, told["comparison"]["models"], strict=True):
        assert (name, value, interval) == (each["name"], score(each["value"]), ends(each["interval"]))
        gain = each.get("gain", {"value": None})["value"]
        shown = "–" if gain is None else f"{100 * gain:+.1f} points" if shares else f"{gain:+.3f}"
        assert ahead.startswith(shown.replace("-", "−"))
    for name, *cells in tables["class", "labels", "precision", "recall", "F1"]:
        each = told["per_class"][name]
        rates = ["–" if each[key] is None else f"{each[key]:.0%}" for key in ("precision", "recall", "f1")]
        assert cells == [f"{each['nodes']:,}", *rates]
    for (_, _, norm), (_, weight) in zip(tables[COMPONENTS], told["weights"].items(), strict=True):
        assert norm == (f"{weight:.1f}" if weight else "exactly zero")
    assert all(f"({formula(name)})" in row[0] for row, name in zip(tables[COMPONENTS], told["weights"], strict=True))
    for row, each in zip(tables.get(RELATIONS, []), told["relations"], strict=True):
        share = f"{each['share']:.1%}" if each["weight"] else each["state"]
        alike = [f"{each[name]:.1%}" for name in ("alike", "alike_by_chance")]
        assert row == (each["direction"], share, f"{each['edges']:,}", *alike)
    assert score(told["score"]) in text and ends(told["score_interval"]) in text and score(told["baseline"]) in text
    assert f"{told['accuracy']:.1%} of the predictions are correct" in text and f"{told['sets']['held']:.1%}" in text
    off = told["calibration_error"] if shares else told["ranking"]["calibration_error"]
    assert f"by {off:.3f} on average" in text
    assert all(f"{told[name]:,} {name}" in text for name in ("nodes", "edges", "features"))
    if told["ranking"]:
        assert tables["k", "found", "of"] == [(f"{k:,}", f"{hits:,}", f"{record['held_out']['ranking']['positives']:,}")
                                             for k, hits in told["ranking"]["first"]]  # fmt: skip
        for name, row in zip(("average_precision", "roc_auc"), tables["measure", "value", "95% interval"], strict=True):
            each = told["ranking"][name]
            assert row[1:] == (f"{each['value']:.3f}", " to ".join(f"{end:.3f}" for end in each["interval"]))
    for sentence in (*told["verdict"], *told["advice"], *told["notes"], *(each["text"] for each in told["findings"])):
        assert " ".join(sentence.split()) in " ".join(text.split())
