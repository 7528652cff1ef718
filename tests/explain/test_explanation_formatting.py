"""An explanation in sentences and in JSON: every number is there, and they add up."""

import json
import re

import numpy as np
import pytest

from explain_graphs import planted
from slimg import SlimG
from slimg.lab.baselines.ablations import slimg_components


@pytest.fixture(scope="module")
def explanation():
    return SlimG(grid=[(1e-4, 1e-3)]).fit(planted()).explain("n7")


def test_the_text_names_what_matters(explanation):
    text = explanation.text()
    assert text.startswith(f"'n7' is classified as '{explanation.prediction}' (probability ")
    assert "eatures within 2 steps" in text and "word" in text and "from " in text
    assert f"{explanation.components(against='mean')['bias']:+.2f}" in text


def test_json_holds_every_number(explanation):
    record = json.loads(json.dumps(explanation.to_dict(k=3)))
    total = np.array(record["bias"]) + record["rounding"]
    for part in record["components"]:
        total += part["scores"]
        if "features" in part:
            named = np.sum([each["scores"] for each in part["features"]], axis=0)
            np.testing.assert_allclose(named + part["other_features"]["scores"], part["scores"], atol=1e-9)
        named = np.sum([each["scores"] for each in part["sources"]], axis=0) if part["sources"] else 0
        others = np.add(part["other_sources"]["scores"], part["source_rest"])
        np.testing.assert_allclose(named + others, part["scores"], atol=1e-9)
    np.testing.assert_allclose(total, record["scores"], atol=1e-9)
    assert record["prediction"] == explanation.prediction


def test_the_numbers_of_each_line_add_up(explanation):
    """``Title (+2.10): a +1.10, b +0.80, 12 other features +0.20; from …`` to the two digits that are shown."""
    lines = [line for line in explanation.text(k=3).splitlines() if re.match(r".*\([+-]\d+\.\d+\): ", line)]
    assert lines
    for line in lines:
        total = float(re.search(r"\(([+-]\d+\.\d+)\)", line)[1])
        for clause in line.split("): ", 1)[1].split("; from"):
            terms = [float(number) for number in re.findall(r" ([+-]\d+\.\d+)", clause)]
            assert sum(terms) == pytest.approx(total, abs=0.005 * (len(terms) + 1))


def test_removed_components_are_named():
    model = SlimG(grid=[(0, 0.12)]).fit(planted(inside=0.05, outside=0.05))
    text = model.explain("n3").text()
    assert "Not used" in text and "its place in the network" in text
    parts = {part["name"]: part for part in model.explain("n3").to_dict()["components"]}
    assert all(parts[name]["removed"] and not parts[name]["sources"] for name in model.zero_components_)


def test_a_node_among_its_own_sources_is_itself():
    model = SlimG(grid=[(1e-4, 1e-3)], components=slimg_components(["sym"])).fit(planted())
    assert "itself" in model.explain("lone").text()
